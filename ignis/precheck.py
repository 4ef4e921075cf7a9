"""What of a configuration cannot come true here and now, told before anything is begun. Opens no model, keeps no port.

With the standard library alone: a fresh clone asks before it compiles for minutes.
"""

import contextlib
import errno
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from ignis.config import Config
from ignis.config_fields import FIELDS
from ignis.config_slots import Slot, Source
from ignis.config_values import nearest
from ignis.errors import ConfigError
from ignis.units import Address

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REPOSITORY = re.compile(rf"{_ID.pattern}/{_ID.pattern}")
_LASTING = frozenset({errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES})
"""What is wrong with an address and will be in a few minutes too."""

(_ARTIFACT,) = [field for field in FIELDS if field.key == "model.artifact"]


def check_artifact(config: Config) -> None:
    """A path that leads nowhere is a slip of whoever typed it.

    Raises:
        ConfigError: `model.artifact` is not there, or in a folder that may not be entered.
    """
    given = config.layers.find(Slot(_ARTIFACT))
    if config.model.artifact is not None and given is not None:
        check_model(given.origin.place, given.text, config.model.artifact)


def check_model(place: str, text: str, path: Path) -> None:
    """As `check_artifact`, for a model's path from anywhere; `text` is what a person wrote."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        beside: list[str] = []
        with contextlib.suppress(OSError):
            beside = os.listdir(path.parent)
        hint = nearest(path.name, beside) or meant_model(text)
        raise ConfigError(f"{place} {path}: there is no such file or folder{hint}") from error
    except OSError as error:
        raise ConfigError(f"{place} {path}: {error.strerror}") from error


def meant_model(text: str) -> str:
    """What else a word may name that leads to no file: a repository of a hub, or an id; nothing where it looks like a
    path."""
    if _REPOSITORY.fullmatch(text) and not text.endswith(".gguf"):
        return (
            "; a hub's repository is no name here: --model-artifact takes a path on this disk, --model-id an id that"
            " model list shows, and --download-catalog names a catalog with more of them"
        )
    if _ID.fullmatch(text) and not text.endswith(".gguf"):
        return f"; one of the catalog is served by --model-id {text}, and model download {text} prints its path"
    return ""


def check_addresses(config: Config) -> None:
    """Tries whether the server could listen where it is to.

    Raises:
        ConfigError: an address is taken, not this machine's, or not allowed.
    """
    server = config.server
    places: list[tuple[Address, str]] = [(bind, "--server-bind") for bind in server.bind if isinstance(bind, Address)]
    # One that nobody chose may be another.
    if server.metrics and config.origins["server.metrics_bind"].source is not Source.DEFAULT:
        places.append((server.metrics_bind, "--server-metrics-bind"))
    for address, option in places:
        for family, kind, _, _, place in _resolve(address):
            with contextlib.suppress(OSError), socket.socket(family, kind) as trying:
                trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    trying.bind(place)
                except OSError as error:
                    if error.errno in _LASTING:
                        reason = os.strerror(error.errno)
                        hint = f"{option} names another address"
                        raise ConfigError(f"cannot listen on {address}: {reason}; {hint}") from error


def _resolve(address: Address) -> Iterator[tuple[int, int, int, str, tuple[object, ...]]]:
    with contextlib.suppress(OSError, UnicodeError):
        yield from socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
