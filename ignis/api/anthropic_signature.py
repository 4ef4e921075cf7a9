"""Signatures of thinking blocks: opaque to clients, never secret. They bring left-out reasoning back, statelessly."""

import base64
import hashlib

from ignis.api.reasoning_seal import is_sealed, seal, unseal


class ThinkingSignature:
    """Signs the reasoning of one block as it comes. The same reasoning has the same signature."""

    def __init__(self, *, is_hidden: bool) -> None:
        """`is_hidden`: the block goes out without its text, so that the signature must carry it."""
        self._is_hidden = is_hidden
        self._digest = hashlib.sha256()
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        if self._is_hidden:
            self._texts.append(text)
        else:
            self._digest.update(text.encode())

    def finish(self) -> str:
        if self._is_hidden:
            return seal("".join(self._texts))
        # It has to be there, for clients drop reasoning that is not signed; nobody ever checks it.
        return base64.b64encode(self._digest.digest()).decode()


def hidden_reasoning(signature: str, param: str) -> str:
    """Returns the reasoning that a signature carries; "" where it carries none, or is another server's.

    Raises:
        InvalidRequestError: it is this server's, and was changed.
    """
    return unseal(signature, param) if is_sealed(signature) else ""
