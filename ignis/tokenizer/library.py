"""An Encoder that is run by the tokenizers library."""

import tokenizers


class LibraryEncoder:
    """Both tokenizers are built or set so that special tokens are not matched in text."""

    def __init__(self, first: tokenizers.Tokenizer, rest: tokenizers.Tokenizer) -> None:
        """`first` encodes a text that starts the prompt, `rest` one that follows a token."""
        self._first = first
        self._rest = rest

    def encode(self, text: str, is_first: bool) -> list[int]:
        tokenizer = self._first if is_first else self._rest
        # The batch call gives the GIL back while it works; `encode` holds it, and the step loop with it.
        encoding = tokenizer.encode_batch_fast([text], add_special_tokens=False)[0]
        ids: list[int] = encoding.ids
        return ids
