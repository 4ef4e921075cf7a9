"""Where a value of the configuration can be written, and how it came to be: fields, of all models or of a family's."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ignis.config_fields import FAMILIES, FIELDS, Field


class Source(enum.Enum):
    """Where a value came from, strongest first; a change while the server runs is as strong as the file."""

    FLAG = "flag"
    ENVIRONMENT = "env"
    CHANGED = "changed"
    FILE = "file"
    PROFILE = "profile"
    DEFAULT = "default"


LOCKED = frozenset({Source.FLAG, Source.ENVIRONMENT})
"""What these say comes back at the next start, whatever the file says."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A value's source and its spelling there: `--server-bind`, `IGNIS_SERVER_BIND`, `server.bind in /etc/x.toml`."""

    source: Source
    place: str


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it was written, not yet read. A relative path in it is relative to the folder."""

    text: str
    origin: Origin
    folder: Path


@dataclass(frozen=True, slots=True)
class Slot:
    """A field, of every model, or of one family's."""

    field: Field
    family: str | None = None

    @property
    def key(self) -> str:
        """`model.max_context`, or `model.qwen3.max_context`; so a file has it too."""
        return self.field.key if self.family is None else f"{self.field.group}.{self.family}.{self.field.name}"

    @property
    def flag(self) -> str:
        return self.field.flag if self.family is None else f"--{self.family}-{self.field.flag[2:]}".replace("_", "-")

    @property
    def env(self) -> str:
        return self.field.env if self.family is None else self.field.env.replace("_", f"_{self.family.upper()}_", 1)


SLOTS: Mapping[str, Slot] = {
    slot.key: slot
    for field in FIELDS
    for slot in (Slot(field), *(Slot(field, family) for family in FAMILIES if field.is_scoped))
}
"""All of them by key."""

Values = Mapping[str, Given]
"""By the slot's key."""


@dataclass(frozen=True, slots=True)
class Layers:
    """What was written where, strongest first."""

    flags: Values = field(default_factory=dict)
    variables: Values = field(default_factory=dict)
    keys: Values = field(default_factory=dict)
    """Of the file, and what was changed since the start."""
    profile: Values = field(default_factory=dict)
    folder: Path = Path()
    """Of the start."""
    file: Path | None = None
    profile_name: str | None = None

    def find(self, slot: Slot) -> Given | None:
        """The strongest value; at each source that of the family comes before that of all."""
        for values in (self.flags, self.variables, self.keys, self.profile):
            given = values.get(slot.key) or values.get(slot.field.key)
            if given is not None:
                return given
        return None
