"""What the server was told to be: flags, environment, file, profile and defaults, each value with its origin. Opens no
model.

Per field the first of flag, environment variable, file key, profile and default that is there decides; an empty
environment variable is not there. Every refusal is one line that names the flag, variable or key and says what is
allowed.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from ignis.config_fields import FAMILIES, FIELDS, GROUPS, ConfigFields, Field, Kind
from ignis.config_file import FileContent, find_file, read_file
from ignis.config_flags import read_environment, read_flags
from ignis.config_profile import read_profile
from ignis.config_slots import Given, Layers, Origin, Slot, Source
from ignis.config_values import parse_value, port_hint, rule, text_hint
from ignis.errors import ConfigError

Settings = TypeVar("Settings")

PROFILE_VARIABLE = "IGNIS_PROFILE"


@dataclass(frozen=True, slots=True)
class Config(ConfigFields):
    """The effective configuration: the fields by group, and how each came to its value."""

    origins: Mapping[str, Origin] = dataclasses.field(default_factory=dict)
    """By the key of the field, and of a family's field where it has a value of its own."""
    families: Mapping[str, ConfigFields] = dataclasses.field(default_factory=dict)
    """Those for whose models something differs."""
    layers: Layers = dataclasses.field(default_factory=Layers)

    @property
    def file(self) -> Path | None:
        return self.layers.file

    def of(self, family: str) -> ConfigFields:
        """What holds for models of that family."""
        return self.families.get(family, self)


@dataclass(frozen=True)
class ByFamily(Generic[Settings]):
    """Settings that may differ by the family of the model that they are for."""

    default: Settings
    own: Mapping[str, Settings] = dataclasses.field(default_factory=dict)

    def of(self, family: str | None) -> Settings:
        return self.default if family is None else self.own.get(family, self.default)

    @classmethod
    def make(cls, config: Config, make: Callable[[ConfigFields], Settings]) -> Self:
        return cls(make(config), {family: make(fields) for family, fields in config.families.items()})


def load_config(arguments: Sequence[str], environ: Mapping[str, str], folder: Path) -> Config:
    """Reads the configuration of a server that is started in `folder`.

    Raises:
        ConfigError: something is unknown, unreadable or out of its range.
    """
    return resolve(read_layers(arguments, environ, folder))


def read_layers(arguments: Sequence[str], environ: Mapping[str, str], folder: Path) -> Layers:
    """Reads what is written where; raises as `load_config`."""
    flags = read_flags(arguments, folder)
    variables = read_environment(environ, folder)
    file = find_file(flags.file, environ, folder)
    content = FileContent({}, None, {}) if file is None else read_file(file)
    profile = flags.profile or environ.get(PROFILE_VARIABLE) or content.profile
    name, values = read_profile(profile, content.profiles, folder if file is None else file.parent)
    return Layers(flags.values, variables, content.values, values, folder, file, name)


def resolve(layers: Layers) -> Config:
    """Reads every value.

    Raises:
        ConfigError: one is out of its range, or two contradict each other. `param` is the key.
    """
    origins: dict[str, Origin] = {}
    values: dict[str, dict[str, object]] = {group: {} for group in GROUPS}
    for field in FIELDS:
        given = layers.find(Slot(field))
        if given is None:
            given = Given(field.default or "", Origin(Source.DEFAULT, "default"), layers.folder)
        origins[field.key] = given.origin
        if given.text or given.origin.source is not Source.DEFAULT:
            values[field.group][field.name] = _read_value(field, given)
    families = {}
    for family in FAMILIES:
        own = _own_values(family, layers, origins)
        if own:
            families[family] = _fields({group: {**values[group], **own.get(group, {})} for group in GROUPS})
    fields = _fields(values)
    for each in (fields, *families.values()):
        _check(each)
    return Config(
        **{group: getattr(fields, group) for group in GROUPS}, origins=origins, families=families, layers=layers
    )


def _own_values(family: str, layers: Layers, origins: dict[str, Origin]) -> dict[str, dict[str, object]]:
    """The values by group that differ for a family; notes their origins."""
    own: dict[str, dict[str, object]] = {}
    for field in FIELDS:
        slot = Slot(field, family)
        given = layers.find(slot) if field.is_scoped else None
        if given is not None and given is not layers.find(Slot(field)):
            origins[slot.key] = given.origin
            own.setdefault(field.group, {})[field.name] = _read_value(field, given, slot.key)
    return own


def _fields(values: Mapping[str, Mapping[str, object]]) -> ConfigFields:
    groups: dict[str, Any] = {group: make(**values[group]) for group, make in GROUPS.items()}
    return ConfigFields(**groups)


def _check(config: ConfigFields) -> None:
    """Raises ConfigError where fields contradict each other."""
    server = config.server
    if server.metrics and server.metrics_bind.port and server.metrics_bind in server.bind:
        raise ConfigError(
            f"server.metrics_bind is the API's own address {server.metrics_bind}; "
            "it must be another, or server.metrics false",
            param="server.metrics_bind",
        )
    if (server.tls_cert is None) != (server.tls_key is None):
        lacking = "server.tls_cert" if server.tls_cert is None else "server.tls_key"
        raise ConfigError(
            f"server.tls_cert and server.tls_key go together: the path of {lacking} is not set", param=lacking
        )
    vram = config.vram
    if vram.headroom_bytes is not None and vram.budget_bytes is not None:
        raise ConfigError(
            "vram.headroom_bytes and vram.budget_bytes are both set, and a budget leaves none to choose; give one",
            param="vram.headroom_bytes",
        )
    if vram.allow_oversubscription and vram.budget_bytes is None:
        raise ConfigError(
            "vram.allow_oversubscription needs a vram.budget_bytes: without one the budget is what is free",
            param="vram.allow_oversubscription",
        )


def _read_value(field: Field, given: Given, key: str | None = None) -> object:
    try:
        return parse_value(field, given.text, given.folder)
    except ValueError as error:
        shown = "" if field.kind is Kind.SECRET else f" {given.text!r}"
        hint = "" if field.kind is Kind.SECRET else text_hint(error, given.text)
        hint = hint or (port_hint(given.text) if field.kind in (Kind.ADDRESS, Kind.BINDS) else "")
        place = f"the default of {field.flag}" if given.origin.source is Source.DEFAULT else given.origin.place
        raise ConfigError(f"{place}{shown}: must be {rule(field)}{hint}", param=key or field.key) from None
