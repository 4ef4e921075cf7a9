"""How a vocabulary spells the bytes of its tokens: the byte alphabet of GPT-2, or SentencePiece's ▁ and <0xNN>."""

import enum
from collections.abc import Callable, Container, Sequence


class Alphabet(enum.Enum):
    BYTES = "bytes"
    """Each character stands for one byte (GPT-2's bytes_to_unicode)."""
    PIECES = "pieces"
    """UTF-8, with ▁ for a space and <0xNN> for a byte."""


def _byte_alphabet() -> dict[int, int]:
    """GPT-2's table, characters to bytes: a printable byte is its own character, the others follow from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(0x100) if byte not in printable]
    return {byte: byte for byte in printable} | {0x100 + index: byte for index, byte in enumerate(rest)}


_BYTE_OF = _byte_alphabet()
_BYTE_PIECES = {f"<0x{byte:02X}>": bytes([byte]) for byte in range(0x100)}


class Spelling:
    """The bytes of each token, made when first asked for: a vocabulary has far more tokens than an answer uses."""

    def __init__(
        self, spell: Callable[[int], str | None], alphabet: Alphabet, literal: Container[int], leads_with_space: bool
    ) -> None:
        """`spell`: a token's spelling by id, None where it has none; `literal`: ids whose spelling is their text."""
        self.leads_with_space = leads_with_space
        self._spell = spell
        self._alphabet = alphabet
        self._literal = literal
        self._known: dict[int, bytes] = {}

    def token_bytes(self, token_id: int) -> bytes:
        data = self._known.get(token_id)
        if data is None:
            data = self._known[token_id] = self._make_bytes(token_id)
        return data

    def _make_bytes(self, token_id: int) -> bytes:
        token = self._spell(token_id) if token_id >= 0 else None
        if token is None:
            return b""
        if token_id in self._literal:
            return token.encode("utf-8", "replace")
        if self._alphabet is Alphabet.BYTES:
            try:
                return bytes(_BYTE_OF[ord(character)] for character in token)
            except KeyError:
                return token.encode("utf-8", "replace")
        return _BYTE_PIECES.get(token) or token.replace("▁", " ").encode("utf-8", "replace")


def lookup(tokens: Sequence[str]) -> Callable[[int], str | None]:
    """The spelling of each id of a list."""
    return lambda token_id: tokens[token_id] if token_id < len(tokens) else None
