"""The configuration as text for a person: what is in effect, a file to begin with, and a file as it is, its secrets
hidden."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from ignis.config import Config
from ignis.config_fields import FIELDS, GROUP_TEXTS, ConfigFields, Kind
from ignis.config_file import PROFILES, content_of
from ignis.config_slots import SLOTS, Slot, Source
from ignis.config_store import as_json
from ignis.config_table import Document, document_of, plain, value_of
from ignis.config_values import rule

HIDDEN = "(set, not shown)"
_SECRETS = "|".join(field.name for field in FIELDS if field.kind is Kind.SECRET)
_COMMENTED_SECRET = re.compile(rf"^([ \t]*#.*\b(?:{_SECRETS})[ \t]*=[ \t]*)\S.*$", re.MULTILINE)
_WIDTH = 110


def effective_text(config: Config) -> str:
    """What is in effect as TOML, each value with where it came from."""
    lines: list[str] = []
    for title, rows in _sections(effective_document(config)):
        lines += [f"[{title}]"]
        for name, value in rows.items():
            place = config.origins[f"{title}.{name}"].place
            # TOML has no null.
            line = f"# {name} is unset" if value is None else f"{name} = {_toml(value)}"
            lines.append(f"{line}  # {place}")
        lines.append("")
    return "\n".join(lines)


def effective_document(config: Config) -> Document:
    """As config_table.document_of, with a mark for each secret that is set."""
    document = document_of(config)
    for field in FIELDS:
        if field.kind is Kind.SECRET:
            document[field.group][field.name] = None if value_of(config, field) is None else HIDDEN
    return {
        group: {field.name: values[field.name] for field in FIELDS if field.group == group}
        | {family: own for family, own in values.items() if isinstance(own, dict) and f"{group}.{family}" not in SLOTS}
        for group, values in document.items()
    }


def file_text(config: Config) -> str:
    """A TOML file with every field and what it takes: what was chosen as it was, the rest commented out."""
    lines = ["# The configuration of ignis-server. What is commented out, as #name = value, is the default."]
    for group, text in GROUP_TEXTS.items():
        lines += ["", f"# {text}", f"[{group}]"]
        for field in FIELDS:
            if field.group != group:
                continue
            lines += _comment(f"{field.text} ({rule(field)})")
            if config.origins[field.key].source is Source.DEFAULT:
                default = "" if field.default is None else _toml(plain_default(Slot(field)))
                lines.append(f"#{field.name} = {default}".rstrip())
            else:
                lines.append(f"{field.name} = {_toml(chosen(config, Slot(field)))}")
        for family, fields in config.families.items():
            slots = [Slot(field, family) for field in FIELDS if field.group == group]
            own = [slot for slot in slots if slot.key in config.origins]
            if own:
                lines += ["", f"[{group}.{family}]"]
                lines += [
                    f"{slot.field.name} = {_toml(plain(slot.field, value_of(fields, slot.field)))}" for slot in own
                ]
    return "\n".join(lines) + "\n"


def chosen(config: ConfigFields, slot: Slot) -> Any:
    """A value as a file has it; a secret too, for it was given to be written."""
    value = value_of(config, slot.field)
    return value if slot.field.kind is Kind.SECRET else plain(slot.field, value)


def plain_default(slot: Slot) -> Any:
    """The default as a person would write it: a size with its unit, else a number, a word or true."""
    text = slot.field.default or ""
    if slot.field.kind in (Kind.INTEGER, Kind.NUMBER, Kind.SECONDS):
        return float(text) if "." in text else int(text)
    return text == "true" if slot.field.kind is Kind.BOOL else text


def hidden_text(text: str, file: Path) -> str:
    """The text of a configuration file, a mark in the place of each secret, and of credentials in addresses; in its
    profiles and its comments too.

    Raises:
        ConfigError: it is no file of ours.
    """
    content_of(text, file)
    is_json = file.suffix == ".json"
    document: Any = json.loads(text) if is_json else tomlkit.parse(text)
    for groups in (document, *document.get(PROFILES, {}).values()):
        for field in FIELDS:
            values = groups.get(field.group)
            # Of a profile that is not taken nothing was looked at yet.
            value = values.get(field.name) if isinstance(values, dict) else None
            if value is not None and field.kind is Kind.SECRET:
                values[field.name] = HIDDEN
            elif isinstance(value, str) and field.kind is Kind.TEXT and plain(field, value) != value:
                values[field.name] = plain(field, value)
    if is_json:
        return as_json(document, text)
    return _COMMENTED_SECRET.sub(rf"\1{HIDDEN}", tomlkit.dumps(document))


def changes_text(config: Config) -> str:
    """What differs from the defaults, as a TOML file would have it, without secrets."""
    document = tomlkit.document()
    for title, rows in _sections(document_of(config)):
        chosen_rows = {
            name: value
            for name, value in rows.items()
            if value is not None and config.origins[f"{title}.{name}"].source is not Source.DEFAULT
        }
        if chosen_rows:
            group, _, family = title.partition(".")
            table = document.setdefault(group, {})
            (table.setdefault(family, {}) if family else table).update(chosen_rows)
    return tomlkit.dumps(document)


def _sections(document: Document) -> list[tuple[str, Mapping[str, Any]]]:
    """The tables of a document: each group's own fields, then those of its families."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for group, values in document.items():
        families = {name: own for name, own in values.items() if f"{group}.{name}" not in SLOTS}
        found.append((group, {name: value for name, value in values.items() if name not in families}))
        found += [(f"{group}.{family}", own) for family, own in families.items()]
    return found


def _toml(value: Any) -> str:
    """A JSON string, number or boolean is TOML too; a table is written inline."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {json.dumps(path)}" for name, path in value.items()) + " }"
    return json.dumps(value)


def _comment(text: str) -> list[str]:
    """Comment lines of a text."""
    lines, line = [], "#"
    for word in text.split():
        if len(line) + 1 + len(word) > _WIDTH:
            lines.append(line)
            line = "#"
        line += " " + word
    return [*lines, line]
