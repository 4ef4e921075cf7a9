"""Opens http and https addresses: proxies, certificates, and credentials that stay with their host. Keeps nothing."""

import base64
import contextlib
import socket
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import IO, Any, cast

from ignis.errors import DownloadError
from ignis.halt import StoppedError
from ignis.resolver import look_up

CERTIFICATE_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where distributions keep their certificates: a Python built on one of them does not find those of another."""

HEAD_LIMIT_S = 60.0
"""From the first connection to the end of the answer's head: each byte of a head that drips comes in time."""
_MAX_DIGITS = 18
_RETRIED = frozenset({408, 425, 429})

OnSocket = Callable[[socket.socket | None], None]


class RefusedError(DownloadError):
    """A server answered, with an error."""

    def __init__(self, message: str, http_status: int, wait_s: float = 0.0) -> None:
        """wait_s: what its Retry-After asks for; 0 where it has none."""
        super().__init__(message)
        self.http_status = http_status
        self.wait_s = wait_s


class FinalError(DownloadError):
    """Another attempt changes nothing."""


class UnfitAddressError(FinalError):
    """An address that is not opened, whatever answers there."""


def is_passing(error: DownloadError) -> bool:
    """Tells whether another attempt may end better, after a wait."""
    if isinstance(error, RefusedError):
        return error.http_status >= 500 or error.http_status in _RETRIED
    return not isinstance(error, FinalError | StoppedError)


def verifying_context(certificates: str | None) -> ssl.SSLContext:
    """Trusts the certificates of a file; without one those of SSL_CERT_FILE, or the system's.

    Raises:
        DownloadError: the file cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=certificates)
        if certificates is None and context.cert_store_stats()["x509_ca"] == 0:
            for file in CERTIFICATE_FILES:
                if Path(file).is_file():
                    context.load_verify_locations(file)
                    break
        return context
    except OSError as error:
        raise DownloadError(f"the certificates {certificates} cannot be read: {error}") from error


def open_address(
    url: str,
    headers: Mapping[str, str],
    *,
    authorization: str | None,
    proxies: urllib.request.ProxyHandler,
    context: ssl.SSLContext,
    timeout_s: float,
    on_socket: OnSocket,
) -> HTTPResponse:
    """Opens an address, after redirects; the caller closes what it returns.

    Args:
        on_socket: called with each connection's socket before it connects, again once it has, and with that of TLS
            before its handshake; with None now and then while the address of a name is waited for. What it raises is
            passed on.
        authorization: sent to the address' own origin alone, wherever that redirects to.
        timeout_s: for the connection, and then for every read.

    Raises:
        RefusedError: the answer is an error.
        UnfitAddressError: the address, or one that it redirects to, is of no kind that is opened, or its certificate is
            nobody's that is trusted.
        FinalError: it is that of a local file which cannot be read.
        DownloadError: nobody answers.
    """
    request = urllib.request.Request(url, headers=dict(headers))
    if authorization is not None:
        # Unredirected: urllib leaves it out of the next request, and the handler below puts it back at the same origin.
        request.add_unredirected_header("Authorization", authorization)
    watch = _HeadWatch(on_socket)
    opener = urllib.request.build_opener(proxies, _PlainHandler(watch), _TlsHandler(watch, context), _Redirects())
    try:
        with watch:
            return cast(HTTPResponse, opener.open(request, timeout=timeout_s))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code < 400:
            # To a kind of address that urllib knows better than to open, or in a circle.
            raise UnfitAddressError(f"{redact(url)}: HTTP {error.code}, a redirect that is not followed") from error
        wait = error.headers.get("Retry-After", "")
        wait_s = float(count_in(wait) or 0)
        raise RefusedError(f"{redact(url)}: HTTP {error.code} {error.reason}", error.code, wait_s) from error
    except (OSError, HTTPException, ValueError, OverflowError) as error:
        # The last two: of an address that a redirect made up, with a port beyond all ports for one.
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        is_unknown = isinstance(reason, ssl.SSLCertVerificationError)
        if is_unknown:
            hint = "install ca-certificates, or name yours by SSL_CERT_FILE"
            raise UnfitAddressError(f"{redact(url)}: {reason}; {hint}") from error
        if isinstance(reason, FileNotFoundError):
            raise FinalError(f"{redact(url)}: is not there") from error
        told = f"no answer was whole after {HEAD_LIMIT_S:.0f} s" if watch.is_late else why(reason)
        # urllib puts the proxy in the host's place. Whose connection failed is its, not the address' own.
        if request.host and request.host != urllib.parse.urlsplit(url).netloc:
            told += f" (by the proxy {request.host})"
        is_no_address = isinstance(reason, ValueError | OverflowError)
        kind = UnfitAddressError if is_no_address else FinalError if url.startswith("file:") else DownloadError
        raise kind(f"{redact(url)}: {told}") from error


def why(reason: object) -> str:
    """What the system says of a failure, for a person: without its number and the path, which stands before it."""
    return (reason.strerror if isinstance(reason, OSError) else None) or str(reason)


def count_in(text: str) -> int | None:
    """Reads the number of a header; None where it is none, or no number of bytes that anybody has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def split_credentials(url: str) -> tuple[str, str | None]:
    """Takes user:password out of an address; returns the rest, and the Authorization field that says the same."""
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, None
    encoded = base64.b64encode(urllib.parse.unquote(user).encode()).decode()
    return urllib.parse.urlunsplit(parts._replace(netloc=host)), f"Basic {encoded}"


def redact(url: str) -> str:
    """Returns an address fit for a message: without its user name, password, query and fragment."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _HeadWatch:
    """Called with the sockets of each connection that is made for an answer, None while that waits for a name; ends it
    when the answer's head does not come in time."""

    def __init__(self, on_socket: OnSocket) -> None:
        self._on_socket = on_socket
        self._timer = threading.Timer(HEAD_LIMIT_S, self._end)
        self._timer.daemon = True
        self._sockets: list[socket.socket] = []
        self.is_late = False

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._sockets.clear()

    def __call__(self, connected: socket.socket | None) -> None:
        if connected is not None:
            self._sockets.append(connected)
        elif self.is_late:
            raise TimeoutError
        self._on_socket(connected)

    def _end(self) -> None:
        self.is_late = True
        for connected in list(self._sockets):
            # As a halt does: whoever waits for a byte is told that none follows.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connected, socket.SHUT_RDWR)


class _PlainHandler(urllib.request.HTTPHandler):
    """Tells of the sockets of each connection that it makes."""

    def __init__(self, on_socket: OnSocket) -> None:
        super().__init__()
        self._on_socket = on_socket

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(partial(_PlainConnection, self._on_socket), req)


class _TlsHandler(urllib.request.HTTPSHandler):
    """Tells of the sockets of each connection that it makes."""

    def __init__(self, on_socket: OnSocket, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._connection = partial(_TlsConnection, on_socket, context=context)

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._connection, req)


class _PlainConnection(HTTPConnection):
    def __init__(self, on_socket: OnSocket, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        # What its connect calls in place of socket.create_connection.
        self._create_connection = partial(_connected, on_socket)


class _TlsConnection(HTTPSConnection):
    _context: ssl.SSLContext
    _tunnel_host: str | None

    def __init__(self, on_socket: OnSocket, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._on_socket = on_socket
        self._create_connection = partial(_connected, on_socket)

    def connect(self) -> None:
        HTTPConnection.connect(self)
        # The plain socket is an empty shell from here on: whoever would end the handshake needs the one of TLS.
        self.sock = self._context.wrap_socket(
            self.sock, server_hostname=self._tunnel_host or self.host, do_handshake_on_connect=False
        )
        self._on_socket(self.sock)
        self.sock.do_handshake()


def _connected(
    on_socket: OnSocket, address: tuple[str, int], timeout_s: float | None, source: tuple[str, int] | None
) -> socket.socket:
    """Connects as socket.create_connection does, and tells of each socket before that, so that another thread may end
    it: nobody may ever answer."""
    failure = OSError("the name has no address")
    for family, kind, protocol, _, place in look_up(address, lambda: on_socket(None)):
        try:
            connected = socket.socket(family, kind, protocol)
        except OSError as error:
            # The name has an address of a kind that this machine has not, of IPv6 for one.
            failure = error
            continue
        try:
            connected.settimeout(timeout_s)
            on_socket(connected)
            if source is not None:
                connected.bind(source)
            connected.connect(place)
            # One that was ended just before seems to connect at once.
            on_socket(connected)
            return connected
        except OSError as error:
            connected.close()
            failure = error
        except BaseException:
            connected.close()
            raise
    raise failure


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https, never from https to http; a credential follows within its origin only."""

    def http_error_302(self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)  # type: ignore[arg-type]
        except ValueError:
            # The target is no address.
            fp.close()
            raise

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        before, after = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        if after.scheme not in ("http", "https") or (before.scheme, after.scheme) == ("https", "http"):
            fp.close()
            raise UnfitAddressError(f"{redact(req.full_url)}: to {redact(newurl)}, a redirect that is not followed")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        if request is None:
            return None
        # For the proxy alone, whose handler sets it again.
        request.headers.pop("Proxy-authorization", None)
        authorization = req.unredirected_hdrs.get("Authorization")
        if authorization is not None and (before.scheme, before.netloc) == (after.scheme, after.netloc):
            request.add_unredirected_header("Authorization", authorization)
        return request
