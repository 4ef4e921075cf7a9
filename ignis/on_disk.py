"""The models on this disk that have a name of their own: by the operator, or by the catalog. Fetches none."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ignis.catalog import Catalog, Presence
from ignis.config_fields import SwitchConfig
from ignis.errors import ModelFileError
from ignis.models.local import LocalModel


def named_models(switch: SwitchConfig) -> list[LocalModel]:
    """Those of switch.known_models, be they there or not."""
    known = switch.known_models
    return [] if known is None else [LocalModel(name, path) for name, path in known.entries]


def verified_models(catalog: Catalog, folder: Path) -> Iterator[LocalModel]:
    """The catalog's models whose files are here and right. Hashes what was not hashed yet."""
    for entry in catalog.models.values():
        # A file of that name that is not the catalog's is a model of its own.
        with contextlib.suppress(ModelFileError):
            path = entry.verified(folder)
            if path is not None:
                yield LocalModel(entry.id, path, entry.sampling)


def whole_models(catalog: Catalog, folder: Path) -> Iterator[LocalModel]:
    """The catalog's models whose files are here, by names and sizes alone."""
    for entry in catalog.models.values():
        if entry.presence(folder) is Presence.COMPLETE:
            yield LocalModel(entry.id, entry.path(folder), entry.sampling)
