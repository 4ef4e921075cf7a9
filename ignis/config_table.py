"""The configuration as plain values: a row for every field, the values in effect, and where each came from."""

import re
from pathlib import Path
from typing import Any

from ignis.config import Config
from ignis.config_fields import FAMILIES, FIELDS, ConfigFields, Effect, Field, Kind
from ignis.config_slots import LOCKED, SLOTS, Slot, Source
from ignis.config_values import parse_value, rule, written
from ignis.units import PoolSize

_CREDENTIALS = re.compile(r"(//)[^/@]*(?:@[^/@]*)*@")

Document = dict[str, dict[str, Any]]
"""Fields by group, and in a group those of a family by its name."""


def describe_fields() -> list[dict[str, Any]]:
    """Returns one object a configuration field, in the order of the help."""
    return [_describe(field) for field in FIELDS]


def document_of(config: Config) -> Document:
    """The values in effect, without secrets; a family's where they differ."""
    found: Document = {}
    for field in FIELDS:
        group = found.setdefault(field.group, {})
        if field.kind is not Kind.SECRET:
            group[field.name] = plain(field, value_of(config, field))
    for family, fields in config.families.items():
        for field in FIELDS:
            slot = Slot(field, family)
            if slot.key in config.origins:
                found[field.group].setdefault(family, {})[field.name] = plain(field, value_of(fields, field))
    return found


def origins_of(config: Config, next_config: Config) -> list[dict[str, Any]]:
    """Where each value came from, in the order of the help; a family's field where it has a value of its own.

    Args:
        next_config: what the next start would make of the file.
    """
    rows = []
    places = {key: place for place, key in enumerate(SLOTS)}
    for key, origin in sorted(config.origins.items(), key=lambda entry: places[entry[0]]):
        slot, field = SLOTS[key], SLOTS[key].field
        fields, next_fields = (each if slot.family is None else each.of(slot.family) for each in (config, next_config))
        rows.append(
            {
                "key": key,
                "source": origin.source.value,
                "place": origin.place,
                "is_set": origin.source is not Source.DEFAULT or field.default is not None,
                "is_locked": origin.source in LOCKED,
                "pending": value_of(fields, field) != value_of(next_fields, field),
            }
        )
    return rows


def value_of(config: ConfigFields, field: Field) -> Any:
    return getattr(getattr(config, field.group), field.name)


def plain(field: Field, value: Any) -> Any:
    """A value as JSON has it; None is unset."""
    if field.kind is Kind.PATHS:
        return {} if value is None else {name: str(path) for name, path in value.entries}
    if isinstance(value, PoolSize):
        return value.size_bytes if value.tokens is None else f"{value.tokens}tok"
    if field.kind is Kind.TEXT and value is not None:
        # An address may have a user and a password in it.
        return _CREDENTIALS.sub(r"\1(not shown)@", value)
    return written(field, value)


def _describe(field: Field) -> dict[str, Any]:
    families = list(FAMILIES) if field.is_scoped else []
    # A relative path is one of the folder that the server is started in.
    default = None if field.default is None else parse_value(field, field.default, Path())
    return {
        "key": field.key,
        "group": field.group,
        "name": field.name,
        "flag": field.flag,
        "env": field.env,
        "file_key": field.key,
        "kind": field.kind.value,
        "default": None if field.default is None else plain(field, default),
        "rule": rule(field),
        "minimum": field.minimum,
        "maximum": field.maximum,
        "multiple": field.multiple,
        "zero": field.zero,
        "choices": None if field.choices is None else [choice.value for choice in field.choices],
        "families": families,
        "scoped_flags": [Slot(field, family).flag for family in families],
        "visible": field.kind is not Kind.SECRET,
        "effect": field.effect.value,
        "patchable": field.is_patchable,
        "reload_required": field.effect is Effect.RELOAD,
        "description": field.text,
    }
