"""The loaded model's vocabulary as llguidance reads it, made once a model out of our own tokenizer's bytes."""

from collections.abc import Collection

from llguidance import LLTokenizer, TokenizerWrapper

from ignis.tokenizer import Tokenizer

_CONTROL_MARK = b"\xff"
"""llguidance's sign before the spelling of a control token: no text matches it, a grammar names it by its id."""


class Vocabulary:
    """Immutable and thread-safe. Tokens that add no bytes to a text, and ids without a token, are never permitted."""

    def __init__(self, tokenizer: Tokenizer, stop_ids: Collection[int], vocab_size: int) -> None:
        """Takes some 0.1 s: for a worker. `vocab_size`: rows of the model's head, of which some may be no token."""
        self.tokenizer = tokenizer
        self.vocab_size = vocab_size
        self.stop_ids = tuple(sorted(stop_ids))
        self.matcher_tokens = LLTokenizer(
            TokenizerWrapper(_Tokens(tokenizer, self.stop_ids, vocab_size)),
            n_vocab=vocab_size,
            eos_token=list(self.stop_ids),
            slices=LLTokenizer.general_slices(),
        )

    def control_id(self, spelling: str) -> int | None:
        """The control token that is spelled so; None where it is text."""
        return next(iter(self.tokenizer.control_bytes((spelling,))), None)


class _Tokens:
    """What llguidance asks a tokenizer for."""

    def __init__(self, tokenizer: Tokenizer, stop_ids: tuple[int, ...], vocab_size: int) -> None:
        controls = tokenizer.control_bytes(tokenizer.control_spellings)
        self.eos_token_id = stop_ids[0]
        self.bos_token_id = tokenizer.bos
        self.tokens = [
            _CONTROL_MARK + controls[token_id] if token_id in controls else tokenizer.token_bytes(token_id)
            for token_id in range(vocab_size)
        ]
        self.special_token_ids: list[int] = []
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> list[int]:
        return self._tokenizer.encode(text)
