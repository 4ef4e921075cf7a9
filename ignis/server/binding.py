"""The sockets that a server listens on: opens them, names them, and takes a Unix socket's file away with its socket."""

import errno
import os
import socket
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path

import trio

from ignis.errors import ConfigError
from ignis.server.connection import Handler
from ignis.units import UNIX, Address

BACKLOG = 1024
"""Clients that the kernel lets connect before they are accepted; one more, as it counts."""
_PROBE_S = 1.0


@dataclass(frozen=True, slots=True)
class Listen:
    """One address and who answers there."""

    address: str
    """`host:port`, `[v6]:port`, `unix:/path`; port 0 takes a free one."""
    handler: Handler
    option: str | None = None
    """What names another address, for the message that this one cannot be had."""
    tls: ssl.SSLContext | None = None
    """None: not encrypted."""
    unix_mode: int = 0o600
    """Who may use a Unix socket: the permissions of its file."""
    is_movable: bool = False
    """Where its port is taken, a free one does."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An address that is listened on."""

    listen: Listen
    listeners: tuple[trio.SocketListener, ...]
    address: str
    """As in `Listen`, with the port that it really is."""
    fault: ConfigError | None = None
    """Why it is another port than the one that was asked for."""
    file: tuple[Path, int] | None = None
    """A Unix socket's file, and its inode."""

    def close(self) -> None:
        """Listens no more. A file that is another server's by now is left alone. Does nothing when closed."""
        for listener in self.listeners:
            listener.socket.close()
        if self.file is not None:
            path, inode = self.file
            try:
                if path.lstat().st_ino == inode:
                    path.unlink()
            except FileNotFoundError:
                pass


async def bind(listen: Listen) -> Bound:
    """Listens at every address that the host stands for; with port 0 they share the first one's.

    Raises:
        ConfigError: the address is malformed, taken, or not this machine's.
    """
    if listen.address.startswith(UNIX):
        return _bind_unix(listen, Path(listen.address.removeprefix(UNIX)))
    host, port = _split(listen.address)
    try:
        listeners = await _bind_tcp(listen, host, port)
    except _Taken as taken:
        if not listen.is_movable:
            raise taken.error from taken
        listeners = await _bind_tcp(listen, host, 0)
        return Bound(listen, listeners, _named(host, listeners[0]), taken.error)
    return Bound(listen, listeners, _named(host, listeners[0]))


def _named(host: str, listener: trio.SocketListener) -> str:
    """The address with the host as it was asked for: a name may be what a certificate is for."""
    return str(Address(host, listener.socket.getsockname()[1]))


class _Taken(Exception):
    """Somebody else listens there."""

    def __init__(self, error: ConfigError) -> None:
        super().__init__(error.message)
        self.error = error


async def _bind_tcp(listen: Listen, host: str, port: int) -> tuple[trio.SocketListener, ...]:
    try:
        listeners = await trio.open_tcp_listeners(port, host=host, backlog=BACKLOG)
    except UnicodeError as error:
        raise ConfigError(f"cannot listen on {listen.address}: the host's name is malformed") from error
    except OSError as error:
        number, reason = _reason(error)
        fault = _cannot(listen, reason)
        if number == errno.EADDRINUSE:
            raise _Taken(fault) from error
        raise fault from error
    if port == 0 and len(listeners) > 1:
        for listener in listeners[1:]:
            listener.socket.close()
        del listeners[1:]
    return tuple(listeners)


def _bind_unix(listen: Listen, path: Path) -> Bound:
    _clear(listen, path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The permissions are those of the file from its first moment on: changed afterwards, anybody could slip in before.
    mask = os.umask(0o777 & ~listen.unix_mode)
    try:
        listening.bind(str(path))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise _cannot(listen, _reason(error)[1]) from error
    finally:
        os.umask(mask)
    listener = trio.SocketListener(trio.socket.from_stdlib_socket(listening))
    return Bound(listen, (listener,), f"{UNIX}{path}", file=(path, path.lstat().st_ino))


def _clear(listen: Listen, path: Path) -> None:
    """Takes away what a server that was killed left behind: a socket that nobody listens on.

    Raises:
        ConfigError: somebody listens on it, or it is something else.
    """
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise _cannot(listen, "there is a file of that name, and it is no socket")
    except FileNotFoundError:
        return
    except OSError as error:
        raise _cannot(listen, _reason(error)[1]) from error
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise _cannot(listen, _reason(error)[1]) from error
    raise _cannot(listen, os.strerror(errno.EADDRINUSE))


def spell(name: object) -> str:
    """Writes the name of a socket as an address."""
    if not isinstance(name, tuple):
        return UNIX.removesuffix(":")
    host, port = name[0], name[1]
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"


def _cannot(listen: Listen, reason: str) -> ConfigError:
    other = f"; {listen.option} names another address" if listen.option is not None else ""
    return ConfigError(f"cannot listen on {listen.address}: {reason}{other}")


def _split(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    is_bare_v6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not colon or not host or is_bare_v6 or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise ConfigError(f"{address!r} is not an address to listen on, use host:port, [v6]:port or unix:/path")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _reason(error: OSError) -> tuple[int | None, str]:
    # trio wraps the errors of several addresses in one; the first number found says what is wrong with the address.
    causes = [error, error.__cause__, error.__context__]
    for cause in causes:
        if isinstance(cause, OSError) and cause.errno is not None:
            return cause.errno, os.strerror(cause.errno) if cause.errno > 0 else str(cause.strerror)
    return None, str(error)
