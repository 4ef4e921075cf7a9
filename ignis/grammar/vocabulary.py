"""The loaded model's vocabulary as llguidance reads it, made once a model out of our own tokenizer's bytes."""

from collections.abc import Collection

from llguidance import LLTokenizer, TokenizerWrapper

from ignis.tokenizer import Tokenizer

_CONTROL_MARK = b"\xff"
"""llguidance's sign before the spelling of a control token: no text matches it, a grammar names it by its id."""
_MAX_TOKEN_BYTES = 64


class Vocabulary:
    """Immutable and thread-safe. Tokens that add no bytes to a text, and ids without a token, are never permitted."""

    def __init__(self, tokenizer: Tokenizer, stop_ids: Collection[int], vocab_size: int) -> None:
        """Takes some 0.1 s: for a worker. `vocab_size`: rows of the model's head, of which some may be no token."""
        self.tokenizer = tokenizer
        self.vocab_size = vocab_size
        self.stop_ids = tuple(sorted(stop_ids))
        self.can_force = not tokenizer.leads_with_space
        """Where only one text may come, only the tokens that it is encoded in may: the model then writes it as it reads
        it. Not where encoding puts a space before a text."""
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
        self._ids = {data: token_id for token_id, data in enumerate(self.tokens)}

    def __call__(self, text: str) -> list[int]:
        data = text.encode()
        ids = self._tokenizer.encode(text)
        # A tokenizer may write a text otherwise, composing its characters: then it is not what the grammar says.
        return ids if b"".join(self.tokens[token] for token in ids) == data else self._greedy(data)

    def _greedy(self, data: bytes) -> list[int]:
        """The longest token first; as far as the vocabulary can spell it."""
        ids: list[int] = []
        while data:
            length = next((n for n in range(min(len(data), _MAX_TOKEN_BYTES), 0, -1) if data[:n] in self._ids), 0)
            if not length:
                break
            ids.append(self._ids[data[:length]])
            data = data[length:]
        return ids
