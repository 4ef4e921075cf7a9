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
        """Takes 0.1 to 0.7 s, half of it without letting any other thread run: for the time of a load.

        vocab_size: rows of the model's head, of which some may be no token.
        """
        self.tokenizer = tokenizer
        self.vocab_size = vocab_size
        self.stop_ids = tuple(sorted(stop_ids))
        self.can_force = not tokenizer.leads_with_space
        """Where only one text may come, only the tokens that it is encoded in may: the model then writes it as it reads
        it. Not where encoding puts a space before a text."""
        wrapper = TokenizerWrapper(_Tokens(tokenizer, self.stop_ids, vocab_size))
        self.matcher_tokens = LLTokenizer(
            wrapper,
            n_vocab=vocab_size,
            eos_token=list(self.stop_ids),
            slices=LLTokenizer.general_slices(),
        )
        # It has copied them, and keeps the wrapper for the sake of its call.
        wrapper.tokens = ()

    def control_id(self, spelling: str) -> int | None:
        """The control token that is spelled so; None where it is text."""
        return next(iter(self.tokenizer.control_bytes((spelling,))), None)


class _Tokens:
    """What llguidance asks a tokenizer for."""

    def __init__(self, tokenizer: Tokenizer, stop_ids: tuple[int, ...], vocab_size: int) -> None:
        self._tokenizer = tokenizer
        self._vocab_size = vocab_size
        self._known: dict[bytes, int] = {}
        self.eos_token_id = stop_ids[0]
        self.bos_token_id = tokenizer.bos
        self.special_token_ids: list[int] = []

    @property
    def tokens(self) -> list[bytes]:
        """By id; control tokens with their mark."""
        tokenizer = self._tokenizer
        controls = tokenizer.control_bytes(tokenizer.control_spellings)
        return [
            _CONTROL_MARK + controls[token_id] if token_id in controls else tokenizer.token_bytes(token_id)
            for token_id in range(self._vocab_size)
        ]

    def __call__(self, text: str) -> list[int]:
        data = text.encode()
        ids = self._tokenizer.encode(text)
        # A tokenizer may write a text otherwise, composing its characters: then it is not what the grammar says.
        return ids if b"".join(map(self._tokenizer.token_bytes, ids)) == data else self._greedy(data)

    def _greedy(self, data: bytes) -> list[int]:
        """The longest token first; as far as the vocabulary can spell it."""
        if not self._known:
            self._known = {self._tokenizer.token_bytes(token): token for token in range(self._vocab_size)}
        ids: list[int] = []
        while data:
            length = next((n for n in range(min(len(data), _MAX_TOKEN_BYTES), 0, -1) if data[:n] in self._known), 0)
            if not length:
                break
            ids.append(self._known[data[:length]])
            data = data[length:]
        return ids
