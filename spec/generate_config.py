"""Derives ignis/config_fields.py from spec/config.toml; spec/generate.py runs it as its target `config`."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "ignis" / "config_fields.py"
SIZE_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

# kind: the Python type of a value.
TYPES = {
    "address": "Address",
    "binds": "tuple[Bind, ...]",
    "bool": "bool",
    "integer": "int",
    "mode": "int",
    "number": "float",
    "origins": "frozenset[str]",
    "path": "Path",
    "paths": "NamedPaths",
    "pool_size": "PoolSize",
    "secret": "str",
    "seconds": "float",
    "size": "int",
    "text": "str",
}
KEYS = {
    "group",
    "name",
    "kind",
    "default",
    "minimum",
    "maximum",
    "multiple",
    "choices",
    "zero",
    "text",
    "stands_for_group",
    "effect",
    "patchable",
    "scoped",
}
EFFECTS = ("live", "reload", "restart")

HEAD = '''"""Every configuration field. Generated from spec/config.toml by spec/generate.py: do not edit.

One frozen dataclass a group, which ignis/config.py fills, and FIELDS, the table that it fills them by. A seconds field
is a float, a size an int of bytes; None is unset, and of origins any.
"""

import enum
from dataclasses import dataclass
from pathlib import Path

from ignis.units import Address, Bind, NamedPaths, PoolSize


class Kind(enum.Enum):
    """How a field's value is written."""

    ADDRESS = "address"
    BINDS = "binds"
    BOOL = "bool"
    CHOICE = "choice"
    INTEGER = "integer"
    MODE = "mode"
    NUMBER = "number"
    ORIGINS = "origins"
    PATH = "path"
    PATHS = "paths"
    POOL_SIZE = "pool_size"
    SECRET = "secret"
    SECONDS = "seconds"
    SIZE = "size"
    TEXT = "text"


class Effect(enum.Enum):
    """When a change takes effect in a server that runs."""

    LIVE = "live"
    """At once."""
    RELOAD = "reload"
    """With the model loaded anew."""
    RESTART = "restart"
    """At the next start."""


@dataclass(frozen=True, slots=True)
class Field:
    """One row. `default` is spelled as a person would; `zero` is what 0 means where it has a meaning of its own."""

    group: str
    name: str
    kind: Kind
    default: str | None
    text: str
    effect: Effect
    minimum: float | None = None
    maximum: float | None = None
    multiple: int | None = None
    zero: str | None = None
    choices: type[enum.StrEnum] | None = None
    stands_for_group: bool = False
    """Its flag and its variable have the group's name alone."""
    is_patchable: bool = True
    """Whether clients may change it while the server runs."""
    is_scoped: bool = False
    """Whether it may differ by the model's family."""

    @property
    def key(self) -> str:
        return f"{self.group}.{self.name}"

    @property
    def flag(self) -> str:
        return f"--{self.group}" if self.stands_for_group else f"--{self.group}-{self.name}".replace("_", "-")

    @property
    def env(self) -> str:
        return (f"IGNIS_{self.group}" if self.stands_for_group else f"IGNIS_{self.group}_{self.name}").upper()
'''


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def member(choice: str) -> str:
    """The name of a choice in its enum."""
    return choice.upper().replace("-", "_")


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def enum_of(field: dict[str, Any]) -> str:
    """The enum of a choice."""
    return camel(f"{field['group']}_{field['name']}")


def type_of(field: dict[str, Any]) -> str:
    base = enum_of(field) if field["kind"] == "choice" else TYPES[field["kind"]]
    # Any origin is None, whatever the default.
    return base if "default" in field and field["kind"] != "origins" else f"{base} | None"


def default_of(field: dict[str, Any]) -> str:
    """Spells the default as a Python expression."""
    text = field.get("default")
    if text is None:
        return "None"
    match field["kind"]:
        case "address":
            host, _, port = text.rpartition(":")
            return f"Address({quoted(host)}, {port})"
        case "binds":
            host, _, port = text.rpartition(":")
            return f"(Address({quoted(host)}, {port}),)"
        case "bool":
            return {"true": "True", "false": "False"}[text]
        case "choice":
            return f"{type_of(field)}.{member(text)}"
        case "integer":
            return str(int(text))
        case "mode":
            return f"0o{text}"
        case "origins":
            return {"*": "None"}[text]
        case "path":
            return f"Path({quoted(text)})"
        case "number" | "seconds":
            return repr(float(text))
        case "size":
            match = re.fullmatch(r"([0-9]+)([KMGT]?)", text)
            assert match is not None, text
            return str(int(match[1]) * SIZE_FACTORS[match[2]])
    return quoted(text)


def row(field: dict[str, Any]) -> str:
    """Spells one Field(...) of the table, one argument a line as the formatter does."""
    arguments = [
        quoted(field["group"]),
        quoted(field["name"]),
        f"Kind.{field['kind'].upper()}",
        quoted(field["default"]) if "default" in field else "None",
        quoted(field["text"]),
        f"Effect.{field['effect'].upper()}",
    ]
    arguments += [f"{key}={field[key]}" for key in ("minimum", "maximum", "multiple") if key in field]
    if "zero" in field:
        arguments.append(f"zero={quoted(field['zero'])}")
    if field["kind"] == "choice":
        arguments.append(f"choices={enum_of(field)}")
    if field.get("stands_for_group"):
        arguments.append("stands_for_group=True")
    if not field.get("patchable", True):
        arguments.append("is_patchable=False")
    if field.get("scoped"):
        arguments.append("is_scoped=True")
    return "    Field(\n" + "".join(f"        {argument},\n" for argument in arguments) + "    ),\n"


def spelled(value: Any, indent: int = 0) -> str:
    """Spells nested tables of scalars as the formatter does."""
    if not isinstance(value, dict):
        return quoted(value) if isinstance(value, str) else repr(value)
    inner = "    " * (indent + 1)
    rows = "".join(f"{inner}{quoted(key)}: {spelled(entry, indent + 1)},\n" for key, entry in value.items())
    return "{\n" + rows + "    " * indent + "}"


def config() -> dict[Path, str]:
    """Returns the derived file's text.

    Raises:
        ValueError: a field names an unknown key, group or kind, or is listed twice.
    """
    spec = tomllib.loads((ROOT / "spec" / "config.toml").read_text(encoding="utf-8"))
    profiles = tomllib.loads((ROOT / "spec" / "profiles.toml").read_text(encoding="utf-8"))["profile"]
    values = {name: row["values"] for row in profiles for name in (row["name"], *row.get("aliases", ()))}
    cards = {card: row["name"] for row in profiles for card in row.get("cards", ())}
    texts = {row["name"]: row["text"] for row in profiles}
    texts |= {alias: f"as {row['name']}" for row in profiles for alias in row.get("aliases", ())}
    groups, fields, families, environment = spec["groups"], spec["field"], spec["families"], spec["environment"]
    seen = set()
    for field in fields:
        key = (field["group"], field["name"])
        known = field["group"] in groups and field["kind"] in {*TYPES, "choice"} and field["effect"] in EFFECTS
        if key in seen or not known or not field.keys() <= KEYS:
            raise ValueError(
                f"spec/config.toml: {'.'.join(key)} is listed twice, or has an unknown group, kind, effect or key"
            )
        seen.add(key)
    parts = [HEAD]
    for field in fields:
        if field["kind"] == "choice":
            lines = [
                f"class {enum_of(field)}(enum.StrEnum):",
                f'    """{field["text"][0].upper()}{field["text"][1:]}."""',
                "",
            ]
            lines += [f"    {member(choice)} = {quoted(choice)}" for choice in field["choices"]]
            parts.append("\n".join(lines) + "\n")
    for group, text in groups.items():
        lines = ["@dataclass(frozen=True, slots=True)", f"class {camel(group)}Config:", f'    """{text}"""', ""]
        lines += [f"    {f['name']}: {type_of(f)} = {default_of(f)}" for f in fields if f["group"] == group]
        parts.append("\n".join(lines) + "\n")
    lines = ["@dataclass(frozen=True, slots=True)", "class ConfigFields:", '    """All groups."""', ""]
    lines += [f"    {group}: {camel(group)}Config = {camel(group)}Config()" for group in groups]
    parts.append("\n".join(lines) + "\n")
    tables = [
        "GROUPS: dict[str, type] = {\n" + "".join(f"    {quoted(g)}: {camel(g)}Config,\n" for g in groups) + "}\n",
        "GROUP_TEXTS = {\n" + "".join(f"    {quoted(g)}: {quoted(t)},\n" for g, t in groups.items()) + "}\n",
        "FAMILIES = {\n" + "".join(f"    {quoted(n)}: {quoted(t)},\n" for n, t in families.items()) + "}\n",
        "PROFILES: dict[str, dict[str, dict[str, str | int | bool]]] = " + spelled(values) + "\n",
        "PROFILE_TEXTS = " + spelled(texts) + "\n",
        "CARDS = " + spelled(cards) + "\n",
        "ENVIRONMENT = {\n" + "".join(f"    {quoted(n)}: {quoted(t)},\n" for n, t in environment.items()) + "}\n",
        "FIELDS: tuple[Field, ...] = (\n" + "".join(row(field) for field in fields) + ")\n",
    ]
    return {OUTPUT: "\n\n".join(parts) + "\n\n" + "\n".join(tables)}
