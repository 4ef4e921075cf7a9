"""Reasoning as a client keeps it that keeps nothing else: one opaque text, handed back in a later input."""

import base64
import binascii

from ignis.errors import InvalidRequestError

_MARK = "ignis1."


def seal(text: str) -> str:
    """Spells reasoning as encrypted_content. It is no secret: the same answer has it as text."""
    return _MARK + base64.urlsafe_b64encode(text.encode()).decode()


def is_sealed(text: str) -> bool:
    """Whether a text may be one that `seal` wrote."""
    return text.startswith(_MARK)


def unseal(sealed: str, param: str) -> str:
    """Reads what `seal` wrote.

    Raises:
        InvalidRequestError: it is of another server, or was changed.
    """
    try:
        if not is_sealed(sealed):
            raise ValueError(sealed)
        return base64.b64decode(sealed.removeprefix(_MARK), b"-_", validate=True).decode()
    except (ValueError, binascii.Error) as error:
        raise InvalidRequestError(f"{param} was not written by this server", param) from error
