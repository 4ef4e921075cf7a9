"""The models on this disk that have a name of their own: by the operator, or by the catalog. Fetches none."""

from collections.abc import Iterator
from pathlib import Path

from ignis.catalog import Catalog, CatalogModel, Presence
from ignis.config_fields import SwitchConfig
from ignis.errors import ModelFileError
from ignis.models.local import Claim, LocalModel


def named_models(switch: SwitchConfig) -> list[LocalModel]:
    """Those of switch.known_models, be they there or not."""
    known = switch.known_models
    return [] if known is None else [LocalModel(name, path) for name, path in known.entries]


def verified_models(catalog: Catalog, folder: Path) -> Iterator[LocalModel | Claim]:
    """What the catalog's ids mean: its files where they are here and right. Hashes what was not hashed yet."""
    for entry in catalog.models.values():
        try:
            is_right = entry.verified(folder) is not None
        except ModelFileError:
            is_right = False
        yield _meant(entry, folder, is_right)


def whole_models(catalog: Catalog, folder: Path) -> Iterator[LocalModel | Claim]:
    """As `verified_models`, by what is known without hashing."""
    for entry in catalog.models.values():
        yield _meant(entry, folder, entry.presence(folder) is Presence.COMPLETE)


def _meant(entry: CatalogModel, folder: Path, is_right: bool) -> LocalModel | Claim:
    path = entry.path(folder)
    if is_right:
        return LocalModel(entry.id, path, entry.sampling)
    match entry.presence(folder):
        case Presence.ABSENT:
            return Claim(entry.id, path)
        case Presence.PARTIAL:
            return Claim(entry.id, path, f"it lacks {', '.join(entry.lacking(folder))}", is_begun=True)
        case _:
            return Claim(entry.id, path, entry.foreign(folder) or "its files cannot be read")
