"""Token ids to text while they come. It owns the bytes of an unfinished character and refuses to send half of one."""

import codecs
from collections.abc import Sequence

from ignis.tokenizer import Tokenizer

_UTF8 = codecs.getincrementaldecoder("utf-8")


class Detokenizer:
    """One answer's text. The pieces joined are what one decode of all ids gives, however the ids are grouped.

    Bytes that are no UTF-8 become U+FFFD as soon as that is certain, and not before.
    """

    def __init__(self, tokenizer: Tokenizer, tags: Sequence[str] = (), *, continues: bool = False) -> None:
        """
        Args:
            tags: control tokens that are spelled out, because the text is split at them.
            continues: the text goes on where the prompt's ended, so that its first space is part of it.
        """
        self._tokenizer = tokenizer
        self._tags = tokenizer.control_bytes(tags)
        self._decoder = _UTF8("replace")
        # SentencePiece encodes a text with a space before it, so a text's first space is not part of it.
        self._drops_space = tokenizer.leads_with_space and not continues

    def push(self, ids: Sequence[int]) -> str:
        """Returns the text that these tokens complete; control tokens have none, unless they are tags."""
        data = b"".join(map(self.token_bytes if self._tags else self._tokenizer.token_bytes, ids))
        if data and self._drops_space:
            self._drops_space = False
            data = data.removeprefix(b" ")
        return self._decoder.decode(data)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token adds to the text."""
        return self._tags.get(token_id) or self._tokenizer.token_bytes(token_id)

    def finish(self) -> str:
        """Returns U+FFFD for a character that was begun and never finished, else nothing."""
        return self._decoder.decode(b"", final=True)
