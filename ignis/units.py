"""Values with a unit, and how a person writes them: sizes and listener addresses. Knows no configuration field."""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

SIZE_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"([0-9]+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
UNIX = "unix:"
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/,\s?#@]+")
_UNIX_PATH_BYTES = 107
"""The kernel's limit, less the NUL."""
_TOKENS = re.compile(r"([0-9]+)\s*tok(?:ens)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """A TCP listener's host and port. An IPv6 host is held without its brackets; port 0 means any free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether this machine alone can reach it. A name other than localhost may be any machine's."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixPath:
    """A Unix socket's file."""

    path: Path

    def __str__(self) -> str:
        return f"{UNIX}{self.path}"


Bind = Address | UnixPath


@dataclass(frozen=True, slots=True)
class PoolSize:
    """A size of the KV pool: bytes, or tokens whose bytes the model's shape decides. Exactly one of the two is set."""

    size_bytes: int | None = None
    tokens: int | None = None

    def __str__(self) -> str:
        return f"{self.tokens}tok" if self.tokens is not None else format_size(self.size_bytes or 0)


@dataclass(frozen=True, slots=True)
class NamedPaths:
    """Files or folders by name, in the order in which they were given."""

    entries: tuple[tuple[str, Path], ...]

    def __str__(self) -> str:
        return ";".join(f"{name}={path}" for name, path in self.entries)


def parse_address(text: str) -> Address:
    """Reads host:port.

    Raises:
        ValueError: not of that form, or the port is past 65535.
    """
    host, colon, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("host:port, an IPv6 host in brackets")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError("host:port with a port from 0 to 65535")
    return Address(host, int(port))


def parse_binds(text: str, folder: Path) -> tuple[Bind, ...]:
    """Reads addresses with commas between them, each host:port or unix:/path. A relative path starts at the folder.

    Raises:
        ValueError: not of that form, or one is named twice.
    """
    binds = tuple(parse_bind(part.strip(), folder) for part in text.split(","))
    fixed = [bind for bind in binds if isinstance(bind, UnixPath) or bind.port]
    if len(set(fixed)) < len(fixed):
        raise ValueError("each address once")
    return binds


def parse_bind(text: str, folder: Path) -> Bind:
    """Reads one address, host:port or unix:/path.

    Raises:
        ValueError: not of that form; of a path that is no UTF-8, a UnicodeEncodeError.
    """
    if not text.startswith(UNIX):
        return parse_address(text)
    path = folder / text.removeprefix(UNIX)
    # A path that is no text could be told to nobody.
    name = str(path).encode()
    if path == folder or b"\0" in name or len(name) > _UNIX_PATH_BYTES:
        raise ValueError(f"unix:/path of at most {_UNIX_PATH_BYTES} bytes")
    return UnixPath(path)


def parse_mode(text: str) -> int:
    """Reads a file's permissions as chmod does: three octal digits.

    Raises:
        ValueError: not of that form.
    """
    if re.fullmatch(r"0?[0-7]{3}", text.strip()) is None:
        raise ValueError("three octal digits")
    return int(text, 8)


def parse_origins(text: str) -> frozenset[str] | None:
    """Reads the origins of web pages with commas between them, as browsers send them; None is `*`, any.

    Raises:
        ValueError: not of that form.
    """
    if text.strip() == "*":
        return None
    origins = frozenset(part.strip().lower() for part in text.split(","))
    if not all(_ORIGIN.fullmatch(origin) for origin in origins):
        raise ValueError("* or scheme://host[:port], several with commas")
    return origins


def parse_size(text: str) -> int:
    """Reads a number of bytes with an optional K, M, G or T (powers of 1024).

    Raises:
        ValueError: not of that form.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("bytes, with an optional K, M, G or T")
    return int(match[1]) * SIZE_FACTORS[match[2].upper()]


def parse_pool_size(text: str) -> PoolSize:
    """Reads a size as parse_size does, or `<n>tok`.

    Raises:
        ValueError: neither.
    """
    match = _TOKENS.fullmatch(text.strip())
    if match is not None:
        return PoolSize(tokens=int(match[1]))
    try:
        return PoolSize(size_bytes=parse_size(text))
    except ValueError:
        raise ValueError("bytes with an optional K, M, G or T, or <n>tok") from None


def shown_size(size_bytes: int) -> str:
    """Writes a size for a person, rounded: 15.3 GiB, 640 bytes."""
    for unit in ("T", "G", "M", "K"):
        if abs(size_bytes) >= SIZE_FACTORS[unit]:
            return f"{size_bytes / SIZE_FACTORS[unit]:.1f} {unit}iB"
    return f"{size_bytes} bytes"


def shown_file_size(size_bytes: int) -> str:
    """Writes the size of files for a person, rounded, in the powers of ten that disks and hubs count in, as the page
    does: 98 MB, 4.7 GB."""
    size, units = float(size_bytes), iter(("bytes", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while size >= 999.5 and unit != "TB":
        size, unit = size / 1000, next(units)
    digits = 0 if size >= 100 or unit in ("bytes", "kB", "MB") else 1
    return f"{size:.{digits}f} {unit}"


def format_size(size_bytes: int) -> str:
    """Writes a size with the largest unit that divides it, so that parse_size reads the same number back."""
    for unit in ("T", "G", "M", "K"):
        if size_bytes and size_bytes % SIZE_FACTORS[unit] == 0:
            return f"{size_bytes // SIZE_FACTORS[unit]}{unit}"
    return str(size_bytes)
