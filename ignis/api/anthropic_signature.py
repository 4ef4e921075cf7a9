"""Signatures of thinking blocks: opaque to clients, never secret. They bring left-out reasoning back, statelessly."""

import base64
import hashlib
import zlib

_DIGEST = "ignis.digest."
_TEXT = "ignis.text."
_MAX_TEXT_BYTES = 1 << 24


class ThinkingSignature:
    """Signs the reasoning of one block as it comes. The same reasoning has the same signature."""

    def __init__(self, *, is_hidden: bool) -> None:
        """`is_hidden`: the block goes out without its text, so that the signature must carry it."""
        self._is_hidden = is_hidden
        self._digest = hashlib.sha256()
        self._packer = zlib.compressobj()
        self._packed: list[bytes] = []

    def add(self, text: str) -> None:
        data = text.encode()
        if self._is_hidden:
            self._packed.append(self._packer.compress(data))
        else:
            self._digest.update(data)

    def finish(self) -> str:
        if not self._is_hidden:
            # It has to be there, for clients drop reasoning that is not signed; nobody ever checks it.
            return _DIGEST + base64.b64encode(self._digest.digest()).decode()
        return _TEXT + base64.b64encode(b"".join([*self._packed, self._packer.flush()])).decode()


def hidden_reasoning(signature: str) -> str:
    """Returns the reasoning that a signature carries; "" where it carries none, or is not ours."""
    if not signature.startswith(_TEXT):
        return ""
    unpacker = zlib.decompressobj()
    try:
        packed = base64.b64decode(signature.removeprefix(_TEXT), validate=True)
        # Bounded: a few bytes can unpack to gigabytes.
        text = unpacker.decompress(packed, _MAX_TEXT_BYTES)
        return text.decode() if unpacker.eof else ""
    except (ValueError, zlib.error):
        return ""
