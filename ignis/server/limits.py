"""What the server allows a client, in bytes, seconds, connections and origins."""

from dataclasses import dataclass
from typing import Self

from ignis.config_fields import ServerConfig
from ignis.limits import MAX_HEADER_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """One set for every listener. What has a default here is no field of the configuration."""

    header_bytes: int = MAX_HEADER_BYTES
    """Request line and header fields; more is a 431, a long target a 414."""
    header_timeout_s: float
    """From a request's first byte to the end of its header: 408. On a new connection also the wait for that byte."""
    body_timeout_s: float = 30.0
    """Longest pause inside a body that a handler reads: 408; inside a message of a WebSocket: 1008."""
    body_bytes_s: int = 256
    """Rate at which a body or a message has to come on average, or one byte now and then would hold a connection for
    days. Apache's mod_reqtimeout asks for 500."""
    idle_timeout_s: float
    """Longest wait for the next request on a connection that was used; then it is closed."""
    write_timeout_s: float
    """Longest wait for a client that takes nothing; then its connection is reset."""
    keepalive_comment_s: float
    """Longest silence on an event stream."""
    max_connections: int
    """For each listener. Past it the longest idle connection is closed; with none idle, the newcomer gets a 503."""
    drain_timeout_s: float
    """How long running exchanges may take once the server drains."""
    origins: frozenset[str] | None = None
    """Whose pages may use the API, beside the server's own. None: any page's."""

    @classmethod
    def from_config(cls, server: ServerConfig) -> Self:
        return cls(
            header_timeout_s=server.header_timeout,
            idle_timeout_s=server.idle_timeout,
            write_timeout_s=server.write_timeout,
            keepalive_comment_s=server.keepalive_interval,
            max_connections=server.max_connections,
            drain_timeout_s=server.drain_timeout,
            origins=server.origins,
        )
