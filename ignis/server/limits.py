"""What the server allows a client, in bytes, seconds and connections."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """One set for every listener."""

    header_bytes: int = 32 << 10
    """Request line and header fields; more is a 431, a long target a 414."""
    header_timeout_s: float = 10.0
    """From a request's first byte to the end of its header: 408. On a new connection also the wait for that byte."""
    body_timeout_s: float = 30.0
    """Longest pause inside a body that a handler reads: 408."""
    idle_timeout_s: float = 75.0
    """Longest wait for the next request on a connection that was used; then it is closed."""
    write_timeout_s: float = 60.0
    """Longest wait for a client that takes nothing; then its connection is reset."""
    keepalive_comment_s: float = 10.0
    """Longest silence on an event stream."""
    max_connections: int = 512
    """For each listener. Past it the longest idle connection is closed; with none idle, the newcomer gets a 503."""
    drain_timeout_s: float = 30.0
    """How long running exchanges may take once the server drains."""
