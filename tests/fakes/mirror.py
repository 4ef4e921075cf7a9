"""A static mirror of a hub on this machine, as bad as a test wants it: real sockets, real HTTP."""

import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Handler = http.server.BaseHTTPRequestHandler


@dataclass(frozen=True)
class Asked:
    """One request that came."""

    path: str
    range: str | None
    authorization: str | None


@dataclass
class Mirror:
    """Serves `files` by their address. `answers` take over the first requests, one each; `answer` all the others."""

    files: dict[str, bytes] = field(default_factory=dict)
    answers: list[Callable[[Handler], None]] = field(default_factory=list)
    answer: Callable[[Handler], None] | None = None
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    num_open: int = 0
    most_open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def handle(self, handler: Handler) -> None:
        with self._lock:
            headers = handler.headers
            self.asked.append(Asked(handler.path, headers.get("Range"), headers.get("Authorization")))
            self.num_open += 1
            self.most_open = max(self.most_open, self.num_open)
            answer = self.answers.pop(0) if self.answers else self.answer or self.serve
        try:
            answer(handler)
        except (BrokenPipeError, ConnectionResetError):
            # The client has seen enough.
            handler.close_connection = True
        finally:
            with self._lock:
                self.num_open -= 1

    def serve(self, handler: Handler) -> None:
        """As a good server does: with ranges."""
        body = self.files.get(handler.path)
        wanted = handler.headers.get("Range")
        if body is None:
            reply(handler, 404, b"no")
        elif wanted is None:
            reply(handler, 200, body)
        else:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                reply(handler, 416, b"", {"Content-Range": f"bytes */{len(body)}"})
            else:
                reply(handler, 206, body[start:], {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"})


def reply(handler: Handler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    """Sends an answer; `headers` beat the Content-Length that the body has."""
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Mirror]:
    """Runs a mirror on a port of its own."""
    mirror = Mirror()

    class OneHandler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            mirror.handle(self)

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OneHandler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    mirror.url = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield mirror
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
