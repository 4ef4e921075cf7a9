"""A change of a running server's configuration, checked as a whole before anything of it is done. Does nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ignis.config import Config, resolve
from ignis.config_fields import Effect, Kind
from ignis.config_file import PROFILE, PROFILES, in_file, slots_of, text_of
from ignis.config_slots import SLOTS, Given, Origin, Slot, Source
from ignis.config_table import plain
from ignis.config_values import parse_value, rule, text_hint
from ignis.errors import ConfigError, ConfigFieldNotPatchableError

CHANGED = Origin(Source.CHANGED, "changed since the start, in no file")
_AS_WRITTEN = frozenset({Kind.BINDS, Kind.ORIGINS, Kind.PATH, Kind.PATHS, Kind.POOL_SIZE, Kind.SIZE})
"""Kinds whose values have several spellings: a file gets the client's."""
_BUDGET = ("vram.budget_bytes", "vram.headroom_bytes")
_HELD_AGAINST = {
    "model.decode_lanes": ("model.max_context", *_BUDGET),
    "model.max_context": ("model.kv_format", *_BUDGET),
    "model.prefill_chunk": ("model.max_context", *_BUDGET),
    "vram.budget_bytes": ("vram.allow_oversubscription",),
    "vram.kv_pool_bytes": ("model.max_context", "model.kv_format", *_BUDGET),
    "reuse.kv_host_pool_bytes": ("model.kv_format", "reuse.prompt", *_BUDGET),
}
"""Of a load that cannot be: what else could be changed than the field that is named."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a client asks for, and what comes of it."""

    values: Mapping[str, Any]
    """By the slot's key, as a file has them; None takes a value out."""
    config: Config
    """In effect afterwards."""
    restart: tuple[str, ...]
    """The keys that take effect at the next start only."""

    @property
    def reload(self) -> tuple[str, ...]:
        """The keys that ask for a load."""
        return tuple(key for key in self.values if SLOTS[key].field.effect is Effect.RELOAD)


def plan_change(config: Config, document: Any) -> Change:
    """Checks a partial document of groups, and in a group of families, against what is in effect.

    Raises:
        ConfigError: a name is unknown, a value is out of its range, or fields contradict each other.
        ConfigFieldNotPatchableError: a field is the operator's alone. `param` is its key.
    """
    if not isinstance(document, dict):
        raise ConfigError('the body must hold groups of fields, like {"model": {"decode_lanes": 4}}')
    for name in (PROFILE, PROFILES):
        if name in document:
            raise ConfigFieldNotPatchableError(f"{name} is read at the start, from the file", name)
    given: dict[str, Given | None] = {}
    values: dict[str, Any] = {}
    restart = []
    folder = config.layers.folder if config.file is None else config.file.parent
    for slot, value in slots_of(document, ""):
        _check_patchable(slot, config)
        given[slot.key] = None if value is None else Given(text_of(slot, value), CHANGED, folder)
        values[slot.key] = None if value is None else file_value(slot, value, folder)
        if slot.field.effect is Effect.RESTART:
            restart.append(slot.key)
    if not given:
        raise ConfigError("the body names no field")
    # What comes with the restart must go together with the rest too.
    _with(config, given)
    at_once = {key: value for key, value in given.items() if key not in restart}
    return Change(values, _with(config, at_once), tuple(restart))


def kept_in_file(config: Config, keys: Mapping[str, Any]) -> Config:
    """The same configuration, its changed values now those of the file."""
    file = config.file
    assert file is not None
    kept = {
        key: replace(given, origin=in_file(SLOTS[key], file)) if key in keys else given
        for key, given in config.layers.keys.items()
    }
    return resolve(replace(config.layers, keys=kept))


def is_changeable(config: Config, key: str | None) -> bool:
    """Whether a client may have said what the field is, or what it is held against, and can say otherwise. None: what
    any field is that a load goes by."""
    keys = None if key is None else (key, *_HELD_AGAINST.get(key, ()))
    sources = (Source.FILE, Source.CHANGED)
    fields = (SLOTS[place].field for place, origin in config.origins.items() if origin.source in sources)
    return any(
        field.is_patchable and (field.effect is Effect.RELOAD if keys is None else field.key in keys)
        for field in fields
    )


def _check_patchable(slot: Slot, config: Config) -> None:
    field = slot.field
    if not field.is_patchable:
        raise ConfigFieldNotPatchableError(
            f"{slot.key} is the operator's to choose: {field.flag}, {field.env} or the configuration file", slot.key
        )
    for values in (config.layers.flags, config.layers.variables):
        locked = values.get(slot.key) or values.get(field.key)
        if locked is not None:
            raise ConfigFieldNotPatchableError(
                f"{slot.key} is set by {locked.origin.place}, which would say it again at the next start: "
                "change it there",
                slot.key,
            )


def file_value(slot: Slot, value: Any, folder: Path) -> Any:
    """Checks a value by itself, and spells it for a file."""
    field, text = slot.field, text_of(slot, value)
    try:
        parsed = parse_value(field, text, folder)
    except ValueError as error:
        shown, hint = ("", "") if field.kind is Kind.SECRET else (f" {text[:100]!r}", text_hint(error, text))
        raise ConfigError(f"{slot.key}{shown}: must be {rule(field)}{hint}", slot.key) from None
    if field.kind in _AS_WRITTEN:
        return value
    spelled = text if field.kind in (Kind.TEXT, Kind.SECRET) else plain(field, parsed)
    return int(spelled) if isinstance(spelled, float) and spelled.is_integer() else spelled


def _with(config: Config, given: Mapping[str, Given | None]) -> Config:
    keys = dict(config.layers.keys)
    for key, value in given.items():
        if value is None:
            keys.pop(key, None)
        else:
            keys[key] = value
    return resolve(replace(config.layers, keys=keys))
