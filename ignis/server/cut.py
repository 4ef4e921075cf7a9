"""Why an exchange ended before its handler did."""

import enum


class Cut(enum.Enum):
    """The first reason is kept; it says what becomes of the connection."""

    CLIENT_LEFT = "client_left"
    CLIENT_STALLED = "client_stalled"
    CLIENT_CLOSED = "client_closed"
    """It closed its WebSocket in order."""
    CLIENT_FAULT = "client_fault"
    """It sent on a WebSocket what RFC 6455 or a limit forbids, and was told so in the close frame."""
    DRAINED = "drained"
    """The server stops and waits no longer."""
