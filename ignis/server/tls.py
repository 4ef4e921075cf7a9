"""TLS as a codec: bytes of the socket in, plain bytes out, and back. Reads the certificate; touches no socket.

Not trio's SSLStream: a send that is cancelled there leaves the stream broken, while a wire's sends go out whole even
then (a deadline may strike inside an event), and each of its sends is a turn of the event loop, which costs a stream as
much again. Python's own SSLObject does the same work in memory.
"""

import contextlib
import ssl
from pathlib import Path

from ignis.errors import ConfigError

_HANDSHAKE = 0x16
"""First byte of a TLS connection: a record of the handshake (RFC 8446 section 5.1)."""
_READ_BYTES = 64 << 10
_MISMATCH = "KEY_VALUES_MISMATCH"


def load_tls(certificate: Path, key: Path) -> ssl.SSLContext:
    """Reads a server's certificate chain and its private key, both PEM. TLS 1.2 and 1.3 are spoken, and HTTP/1.1.

    Raises:
        ConfigError: a file cannot be read, is not what it should be, or the two do not belong together.
    """
    _look_at(certificate, "CERTIFICATE-----", "server.tls_cert", "certificate")
    _look_at(key, "PRIVATE KEY-----", "server.tls_key", "private key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without a password OpenSSL would ask for one at the terminal.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        if error.reason == _MISMATCH:
            raise ConfigError(
                f"server.tls_key {key} is not the key of server.tls_cert {certificate}", param="server.tls_key"
            ) from error
        reason = (error.reason or str(error)).replace("_", " ").lower()
        raise ConfigError(
            f"server.tls_cert {certificate} and server.tls_key {key} cannot be used: {reason}; "
            "a key with a password is not read",
            param="server.tls_cert",
        ) from error
    return context


class Certificate:
    """A certificate and its key as files, which are read again when they change: they are renewed every few weeks."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Raises ConfigError as `load_tls` does."""
        self.context = load_tls(certificate, key)
        """Of every handshake from now on, the latest files' too."""
        self._files = (certificate, key)
        self._seen = self._stamps()

    def refresh(self) -> bool:
        """Takes files that have changed since they were last looked at. Connections that are open keep theirs.

        Raises:
            ConfigError: the new ones cannot be used, and the old ones stay. They are not looked at again until they
                change again: a renewal that is half done is whole a moment later.
        """
        stamps = self._stamps()
        if stamps == self._seen:
            return False
        self._seen = stamps
        # In a context of its own first: one that took the half of a pair would refuse every handshake.
        load_tls(*self._files)
        self.context.load_cert_chain(*self._files, password="")
        return True

    def _stamps(self) -> list[tuple[int, int, int] | None]:
        """What changes when a file is written or replaced; None where there is none."""
        found: list[tuple[int, int, int] | None] = []
        for path in self._files:
            try:
                state = path.stat()
            except OSError:
                found.append(None)
            else:
                found.append((state.st_ino, state.st_mtime_ns, state.st_size))
        return found


def _look_at(path: Path, mark: str, field: str, what: str) -> None:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{field} {path} cannot be read: {error.strerror}", param=field) from error
    if mark.encode() not in text:
        raise ConfigError(f"{field} {path} holds no {what} in PEM", param=field)


class TlsCodec:
    """One connection's TLS, on the server's side. The handshake happens inside `decrypt`."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._received = ssl.MemoryBIO()
        self._to_send = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._received, self._to_send, server_side=True)
        self.is_ready = False
        """Whether the handshake is done, so that `encrypt` may be called."""
        self.has_ended = False
        """Whether the client said that nothing follows."""

    @staticmethod
    def is_plain(first_bytes: bytes) -> bool:
        """Whether a connection's first bytes are those of a client that does not speak TLS."""
        return first_bytes[0] != _HANDSHAKE

    def decrypt(self, data: bytes) -> bytes:
        """Takes bytes of the client; returns the plain ones among them. `take_answer` may have something then.

        Raises:
            ssl.SSLError: they are no TLS, or not one that is spoken here. `take_answer` has the alert that says so.
        """
        self._received.write(data)
        parts: list[bytes] = []
        try:
            if not self.is_ready:
                self._object.do_handshake()
                self.is_ready = True
            while part := self._object.read(_READ_BYTES):
                parts.append(part)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.has_ended = True
        else:
            self.has_ended = True
        return b"".join(parts)

    def take_answer(self) -> bytes:
        """Takes what TLS itself has to say: the handshake's side of the server, alerts, keys."""
        return self._to_send.read()

    def encrypt(self, data: bytes) -> bytes:
        if data:
            self._object.write(data)
        return self._to_send.read()

    def end(self) -> bytes:
        """Says that nothing follows. Nothing can be encrypted or decrypted any more."""
        # It waits for the client's own word, which nobody needs (RFC 8446 section 6.1).
        with contextlib.suppress(ssl.SSLError):
            self._object.unwrap()
        return self._to_send.read()
