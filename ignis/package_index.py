"""Finds files on Python package indexes (PEP 503, PEP 691) and find-links pages, as pip is configured."""

import configparser
import contextlib
import html.parser
import json
import re
import ssl
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from ignis.clock import Clock, monotonic_s
from ignis.errors import DownloadError
from ignis.web import FinalError, OnSocket, count_in, open_address, redact, split_credentials, verifying_context, why

PYPI = "https://pypi.org/simple"
ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
PAGE_LIMIT_BYTES = 32 << 20
PAGE_LIMIT_S = 60.0
"""Each byte of a page that drips comes in time."""
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Where files are looked for, and how: pages or folders of links first, then the indexes in order."""

    indexes: tuple[str, ...] = (PYPI,)
    find_links: tuple[str, ...] = ()
    certificates: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    timeout_s: float = TIMEOUT_S


@dataclass(frozen=True, slots=True)
class FileLink:
    """A file's address (http, https or file), and the Authorization field that goes with it."""

    url: str
    authorization: str | None = None


def index_settings(package_index: str | None, environ: Mapping[str, str], files: Sequence[Path]) -> IndexSettings:
    """Returns the settings: package_index alone where it is given, else what pip would use.

    `files` are pip's configuration files, weakest first; environment variables (PIP_INDEX_URL, ...) beat them.

    Raises:
        DownloadError: one of the files cannot be read.
    """
    options: dict[str, str] = {}
    for file in files:
        parser = configparser.RawConfigParser()
        try:
            parser.read(file, encoding="utf-8")
        except (OSError, UnicodeDecodeError, configparser.Error) as error:
            raise DownloadError(f"pip's configuration file {file} cannot be read: {error}") from error
        for section in ("global", "install", "download"):
            if parser.has_section(section):
                options.update((name.replace("_", "-"), value) for name, value in parser.items(section))
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            options[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    certificates = options.get("cert")
    proxy = options.get("proxy")
    trusted = tuple(options.get("trusted-host", "").split())
    if package_index is not None:
        return IndexSettings((package_index,), (), certificates, proxy, trusted)
    indexes = (options.get("index-url", PYPI), *options.get("extra-index-url", "").split())
    if options.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        indexes = ()
    return IndexSettings(indexes, tuple(options.get("find-links", "").split()), certificates, proxy, trusted)


def pip_files(environ: Mapping[str, str], prefix: str) -> list[Path]:
    """Lists the configuration files that pip would read for a Python in `prefix`, weakest first."""
    if environ.get("PIP_CONFIG_FILE") == "/dev/null":
        return []
    shared = environ.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    files = [Path(folder) / "pip" / "pip.conf" for folder in reversed(shared.split(":")) if folder]
    files.append(Path("/etc/pip.conf"))
    home = environ.get("HOME")
    if home:
        files.append(Path(home) / ".pip" / "pip.conf")
    if environ.get("XDG_CONFIG_HOME") or home:
        files.append(Path(environ.get("XDG_CONFIG_HOME") or f"{home}/.config") / "pip" / "pip.conf")
    files.append(Path(prefix) / "pip.conf")
    if environ.get("PIP_CONFIG_FILE"):
        files.append(Path(environ["PIP_CONFIG_FILE"]))
    return files


class IndexClient:
    """Opens addresses with the settings' proxy, certificates and time limit."""

    def __init__(
        self,
        settings: IndexSettings,
        on_socket: OnSocket = lambda _socket: None,
        clock: Clock = monotonic_s,
    ) -> None:
        """
        Args:
            on_socket: as web.open_address.

        Raises:
            DownloadError: the certificate file cannot be read.
        """
        self._on_socket = on_socket
        self._clock = clock
        self.settings = settings
        proxies = {"http": settings.proxy, "https": settings.proxy} if settings.proxy else urllib.request.getproxies()
        self._proxies = urllib.request.ProxyHandler(proxies)
        self._verifying = verifying_context(settings.certificates)
        # pip's trusted-host. What is fetched is held against a digest of ours in any case.
        self._trusting = ssl.create_default_context()
        self._trusting.check_hostname = False
        self._trusting.verify_mode = ssl.CERT_NONE

    def find_files(self, package: str, is_wanted: Callable[[str], bool]) -> Iterator[FileLink | DownloadError]:
        """Yields every place that has a file of a wanted name, best first; one that has none is yielded as an error."""
        for page in self.settings.find_links:
            yield from self._links_of(page, is_wanted)
        for index in self.settings.indexes:
            yield from self._links_of(f"{index.rstrip('/')}/{normalise(package)}/", is_wanted)

    def open(self, link: FileLink, headers: Mapping[str, str]) -> HTTPResponse:
        """Opens an address; the caller closes what it returns.

        Raises:
            RefusedError: the answer is an error.
            DownloadError: the address is unfit, or nobody answers.
        """
        parts = urllib.parse.urlsplit(link.url)
        if parts.scheme not in ("http", "https", "file"):
            raise FinalError(f"{redact(link.url)}: only http, https and file addresses are fetched")
        is_trusted = parts.hostname in self.settings.trusted_hosts or parts.netloc in self.settings.trusted_hosts
        return open_address(
            link.url,
            headers,
            authorization=link.authorization,
            proxies=self._proxies,
            context=self._trusting if is_trusted else self._verifying,
            timeout_s=self.settings.timeout_s,
            on_socket=self._on_socket,
        )

    def _links_of(self, place: str, is_wanted: Callable[[str], bool]) -> Iterator[FileLink | DownloadError]:
        try:
            links = [link for link in self._read_place(place) if is_wanted(file_name(link.url))]
        except DownloadError as error:
            yield error
            return
        yield from links
        if not links:
            yield FinalError(f"{redact(place)}: does not have it")

    def _read_place(self, place: str) -> list[FileLink]:
        """Lists what a page links to, or what lies in a local folder."""
        page = place if "://" in place else Path(place).absolute().as_uri() + ("/" if place.endswith("/") else "")
        url, authorization = split_credentials(page)
        parts = urllib.parse.urlsplit(url)
        if parts.scheme == "file":
            folder = Path(urllib.request.url2pathname(parts.path))
            try:
                if folder.is_dir():
                    if not (folder / "index.html").is_file():
                        return [FileLink(file.absolute().as_uri()) for file in sorted(folder.iterdir())]
                    url = (folder / "index.html").absolute().as_uri()
            except OSError as error:
                raise FinalError(f"{place}: {why(error)}") from error
        with self.open(FileLink(url, authorization), {"Accept": ACCEPT}) as response:
            body = self._read_page(response, redact(url))
            base, content_type = response.geturl(), response.headers.get_content_type()
        try:
            addresses = _json_links(body) if content_type.endswith("json") else _html_links(body)
        except FinalError as error:
            raise FinalError(f"{redact(url)}: {error.message}") from error
        found = [link for link in (_joined(base, address) for address in addresses) if link is not None]
        # The index's user name and password belong to its own host alone, and a remote page names no local files.
        own = urllib.parse.urlsplit(url).netloc
        if parts.scheme != "file":
            found = [link for link in found if urllib.parse.urlsplit(link).scheme in ("http", "https")]
        return [FileLink(link, authorization if urllib.parse.urlsplit(link).netloc == own else None) for link in found]

    def _read_page(self, response: HTTPResponse, place: str) -> bytes:
        began_s, body = self._clock(), bytearray()
        try:
            while block := response.read1(1 << 16):
                body += block
                if len(body) > PAGE_LIMIT_BYTES:
                    raise FinalError(f"{place}: the page is over {PAGE_LIMIT_BYTES} bytes")
                if self._clock() - began_s > PAGE_LIMIT_S:
                    raise DownloadError(f"{place}: the page was not whole after {PAGE_LIMIT_S:.0f} s")
        except (OSError, HTTPException) as error:
            raise DownloadError(f"{place}: {why(error)}") from error
        said = count_in(response.headers.get("Content-Length", ""))
        if said is not None and len(body) < said:
            raise DownloadError(f"{place}: ended after {len(body)} of {said} bytes")
        return bytes(body)


def normalise(package: str) -> str:
    """Spells a package's name as indexes do (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package).lower()


def file_name(url: str) -> str:
    """Returns the last part of an address."""
    return urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])


def is_wheel_of(name: str, package: str, version: str) -> bool:
    """Tells whether a file's name is that of a wheel of the package and version."""
    parts = name.split("-")
    return (
        name.endswith(".whl") and len(parts) >= 5 and normalise(parts[0]) == normalise(package) and parts[1] == version
    )


def _json_links(body: bytes) -> list[str]:
    """Reads a PEP 691 page."""
    try:
        return [file["url"] for file in json.loads(body)["files"] if isinstance(file["url"], str)]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FinalError("the JSON page is malformed") from error


def _html_links(body: bytes) -> list[str]:
    parser = _AnchorParser()
    # Its word for a declaration that never ends. What came before holds.
    with contextlib.suppress(AssertionError):
        parser.feed(body.decode("utf-8", "replace"))
    return parser.links


def _joined(base: str, address: str) -> str | None:
    """The whole address of a link; None where it is none."""
    try:
        link = urllib.parse.urljoin(base, address)
        urllib.parse.urlsplit(link)
    except ValueError:
        return None
    return link


class _AnchorParser(html.parser.HTMLParser):
    """Collects the targets of a page's anchors (PEP 503)."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]
