"""Static files: the page at /ui/ and the reference at /v1/docs/, each from one folder and never from outside of it."""

import hashlib
from pathlib import Path

from ignis.errors import RouteNotFoundError
from ignis.exchange import Exchange

_CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_MAX_NAME_BYTES = 200
SECURITY = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; frame-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)


class StaticFiles:
    """Serves one folder under one prefix. Files are read when asked for, so a page under work shows at once."""

    def __init__(self, prefix: str, folder: Path) -> None:
        assert prefix.endswith("/")
        self._prefix = prefix
        self._folder = folder.resolve()

    async def show(self, exchange: Exchange) -> None:
        path = self._find(exchange.path.removeprefix(self._prefix))
        if path is None:
            raise RouteNotFoundError(f"nothing is served at {exchange.path[:200]}")
        await _send(exchange, path.read_bytes(), _CONTENT_TYPES[path.suffix])

    def _find(self, name: str) -> Path | None:
        """Returns the file of that name. A folder is its index.html. None: there is no such file, or it is not ours."""
        if "\\" in name or not name.isprintable() or len(name.encode()) > _MAX_NAME_BYTES:
            return None
        parts = name.split("/")
        if parts[-1] == "":
            parts[-1] = "index.html"
        if any(part.startswith(".") or not part for part in parts):
            return None
        path = self._folder.joinpath(*parts).resolve()
        is_ours = path.is_relative_to(self._folder) and path.suffix in _CONTENT_TYPES and path.is_file()
        return path if is_ours else None


class Document:
    """Serves one shipped file."""

    def __init__(self, path: Path, content_type: str) -> None:
        self._path = path
        self._content_type = content_type

    async def show(self, exchange: Exchange) -> None:
        await _send(exchange, self._path.read_bytes(), self._content_type)


class Redirect:
    """Sends on to another path of this server."""

    def __init__(self, status: int, location: str) -> None:
        self._status = status
        self._location = location

    async def show(self, exchange: Exchange) -> None:
        await exchange.respond(self._status, b"", "text/plain; charset=utf-8", [("Location", self._location)])


async def _send(exchange: Exchange, content: bytes, content_type: str) -> None:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    # no-cache: kept, but asked for each time, so that a new version of the server never meets an old page.
    headers = [*SECURITY, ("ETag", tag), ("Cache-Control", "no-cache")]
    if _matches(exchange.headers.get("if-none-match", ""), tag):
        await exchange.respond(304, b"", content_type, headers)
    else:
        await exchange.respond(200, content, content_type, headers)


def _matches(header: str, tag: str) -> bool:
    """RFC 9110 section 13.1.2: weak comparison, or any with *."""
    return header.strip() == "*" or tag in (entry.strip().removeprefix("W/") for entry in header.split(","))
