"""A hub of models, or a mirror of one: where a repository's files lie, and who is told the token. Keeps nothing."""

import re
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPResponse

from ignis.config_fields import DownloadConfig
from ignis.errors import ConfigError
from ignis.pinned import PinnedFile
from ignis.version import VERSION
from ignis.web import OnSocket, open_address, redact, split_credentials, verifying_context

TIMEOUT_S = 30.0
_HUGGING_FACE = "huggingface.co"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class HubFile(PinnedFile):
    """A file of a repository, by its name there."""

    repo: str
    """owner/name."""
    revision: str
    """A commit, tag or branch. What comes is held against the digest in any case."""


def is_repository(text: str) -> bool:
    """Tells whether the text is owner/name, with nothing in it that would lead elsewhere in an address."""
    return _REPOSITORY.fullmatch(text) is not None and ".." not in text


class HubClient:
    """Opens files at one endpoint. May be used from several threads."""

    def __init__(
        self,
        endpoint: str,
        authorization: str | None,
        certificates: str | None,
        timeout_s: float,
        on_socket: OnSocket = lambda _socket: None,
    ) -> None:
        """
        Args:
            authorization: goes to the endpoint alone, never where it redirects to.
            on_socket: as web.open_address.

        Raises:
            DownloadError: the certificates cannot be read.
        """
        self._endpoint, self._authorization = endpoint.rstrip("/"), authorization
        self._timeout_s = timeout_s
        self._on_socket = on_socket
        self._context = verifying_context(certificates)
        self._proxies = urllib.request.ProxyHandler(urllib.request.getproxies())

    @classmethod
    def from_config(
        cls,
        download: DownloadConfig,
        environ: Mapping[str, str],
        timeout_s: float = TIMEOUT_S,
        on_socket: OnSocket = lambda _socket: None,
    ) -> "HubClient":
        """
        Raises:
            ConfigError: the endpoint is no address.
            DownloadError: the certificates cannot be read.
        """
        endpoint, authorization = split_credentials(download.endpoint)
        parts = urllib.parse.urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ConfigError(
                f"download.endpoint {redact(download.endpoint)}: must be an http or https address", "download.endpoint"
            )
        token = download.token
        # The environment's token is Hugging Face's own, and no mirror's business; nor does it travel in the clear.
        if token is None and (parts.scheme, parts.netloc) == ("https", _HUGGING_FACE):
            token = environ.get("HF_TOKEN", "").strip() or None
        if token is not None:
            authorization = f"Bearer {token}"
        certificates = None if download.certificates is None else str(download.certificates)
        return cls(endpoint, authorization, certificates, timeout_s, on_socket)

    def address(self, file: HubFile) -> str:
        revision, name = (urllib.parse.quote(text, safe="") for text in (file.revision, file.name))
        return f"{self._endpoint}/{file.repo}/resolve/{revision}/{name}"

    def open(self, file: HubFile, start: int) -> HTTPResponse:
        """Asks for the file from a byte on; the caller closes what it returns. Raises as web.open_address."""
        headers = {"Accept-Encoding": "identity", "User-Agent": f"ignis-server/{VERSION}"} | (
            {"Range": f"bytes={start}-"} if start else {}
        )
        return open_address(
            self.address(file),
            headers,
            authorization=self._authorization,
            proxies=self._proxies,
            context=self._context,
            timeout_s=self._timeout_s,
            on_socket=self._on_socket,
        )
