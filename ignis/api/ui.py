"""Static files: the page at /ui/ and the reference at /v1/docs/, each from one folder and never from outside of it."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import trio

from ignis.errors import RouteNotFoundError
from ignis.exchange import IMMUTABLE, Exchange

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
_INDEX = "index.html"
# How index.html says where its files are. All of them are the page's own.
_REFERENCE = re.compile(rb' (href|src)="')
# A comment that has its lines to itself.
_COMMENT = re.compile(rb"^[ \t]*(?://.*|/\*\*(?:(?!\*/)[\s\S])*\*/[ \t]*)$", re.MULTILINE)
# Of others: their comments have their licences.
_VENDOR = "vendor/"
# What `export *` leaves out.
_DEFAULT = re.compile(rb"\b(?:export|as) default\b")
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


@dataclass(frozen=True, slots=True)
class _Build:
    """The files of a page as they were at one time."""

    id: str
    """Of their names and contents."""
    seen: Mapping[str, tuple[int, int]]
    """What was looked at: when each file was written, and its size."""
    files: Mapping[str, bytes]


class Page:
    """Serves a page whose files lie under the hash of them all, so that a browser keeps each and never asks again.

    index.html alone is asked for each time, and says where the others are. Only then does the server look at the
    folder: a page under work shows at once, and one that is open gets no file of another version. A name under an old
    hash is not found; the page knows by then that the server was replaced (`build` of GET /v1/models), and says so.
    """

    def __init__(self, prefix: str, folder: Path) -> None:
        assert prefix.endswith("/")
        self._prefix = prefix
        self._folder = folder.resolve()
        self._build: _Build | None = None

    async def show(self, exchange: Exchange) -> None:
        name = exchange.path.removeprefix(self._prefix)
        build = self._build
        if build is None or name in ("", _INDEX):
            build = self._build = await trio.to_thread.run_sync(self._look, build)
        place, _, rest = name.partition("/")
        if name in ("", _INDEX) and _INDEX in build.files:
            content = _REFERENCE.sub(rb' \1="%b/' % build.id.encode(), build.files[_INDEX])
            await _send(exchange, content, _CONTENT_TYPES[".html"])
        elif place == build.id and rest in build.files:
            await _send(exchange, build.files[rest], _CONTENT_TYPES[Path(rest).suffix], IMMUTABLE)
        elif name.endswith(".js") and name in build.files:
            # For a console or a test, which know no hash: the module that the page has, and not a second one like it.
            words = ("*", "{ default }") if _DEFAULT.search(build.files[name]) else ("*",)
            module = "".join(f'export {word} from "{self._prefix}{build.id}/{name}";\n' for word in words)
            await _send(exchange, module.encode(), _CONTENT_TYPES[".js"])
        else:
            raise RouteNotFoundError(f"nothing is served at {exchange.path[:200]}")

    def _look(self, last: _Build | None) -> _Build:
        """Reads the folder, unless it is as it was."""
        seen = dict(_servable(str(self._folder)))
        if last is not None and seen == last.seen:
            return last
        names = {Path(path).relative_to(self._folder).as_posix(): Path(path) for path in seen}
        files = {name: as_sent(name, path.read_bytes()) for name, path in names.items()}
        hashed = hashlib.sha256()
        for name, content in files.items():
            hashed.update(b"%b %d " % (name.encode(), len(content)) + content)
        return _Build(hashed.hexdigest()[:12], seen, files)


def as_sent(name: str, content: bytes) -> bytes:
    """A file of the page as a browser gets it: a module of its own without its comments, a tenth of all bytes.

    The lines stay where they are, so that what a browser says of one is true of its source.
    """
    if not name.endswith(".js") or name.startswith(_VENDOR):
        return content
    return _COMMENT.sub(lambda comment: b"\n" * comment[0].count(b"\n"), content)


def _servable(folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The files below a folder that it may show, in order: none that is hidden, and none that is a link.

    In plain strings: with Path it takes twenty times the 1.3 ms, and each start of a page waits for it.
    """
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if os.path.splitext(name)[1] in _CONTENT_TYPES and not name.startswith("."):
                path = os.path.join(parent, name)
                found = os.lstat(path)
                if stat.S_ISREG(found.st_mode):
                    yield path, (found.st_mtime_ns, found.st_size)


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


async def _send(exchange: Exchange, content: bytes, content_type: str, caching: str = "no-cache") -> None:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    # no-cache: kept, but asked for each time, so that a new version of the server never meets an old page.
    headers = [*SECURITY, ("ETag", tag), ("Cache-Control", caching)]
    if _matches(exchange.headers.get("if-none-match", ""), tag):
        await exchange.respond(304, b"", content_type, headers)
    else:
        await exchange.respond(200, content, content_type, headers)


def _matches(header: str, tag: str) -> bool:
    """RFC 9110 section 13.1.2: weak comparison, or any with *."""
    return header.strip() == "*" or tag in (entry.strip().removeprefix("W/") for entry in header.split(","))
