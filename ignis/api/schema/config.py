"""Bodies of the routes below /v1/config. Documents of values are made of the table of fields."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from ignis.api.schema.models import Switching
from ignis.config_fields import FAMILIES, FIELDS, GROUP_TEXTS, Field, Kind
from ignis.config_values import rule

EffectName = Literal["live", "reload", "restart"]
SourceName = Literal["flag", "env", "changed", "file", "profile", "default"]
_MAX_NUMBER = 2**53
"""JavaScript's; a bound past it says nothing to a page."""


class ConfigField(msgspec.Struct, kw_only=True):
    """A field of the configuration, and what it takes."""

    key: Annotated[str, msgspec.Meta(description="`<group>.<name>`.")]
    group: str
    name: str
    flag: str
    env: str
    file_key: str
    kind: Annotated[Literal[tuple(kind.value for kind in Kind)], msgspec.Meta(description="How its value is written.")]  # type: ignore[valid-type]
    default: Annotated[bool | float | str | None, msgspec.Meta(description="Null: unset.")]
    rule: Annotated[str, msgspec.Meta(description="The values that it takes, in words.")]
    minimum: float | None
    maximum: float | None
    multiple: int | None
    zero: Annotated[str | None, msgspec.Meta(description="What 0 means, where the range excludes it.")]
    choices: Sequence[str] | None
    families: Annotated[Sequence[str], msgspec.Meta(description="Of models, that may have a value of their own.")]
    scoped_flags: Annotated[Sequence[str], msgspec.Meta(description="Its flags for those.")]
    visible: Annotated[bool, msgspec.Meta(description="False: a secret, whose value is never shown.")]
    effect: Annotated[
        EffectName,
        msgspec.Meta(description="When a change takes effect: at once, with the model loaded anew, or at a restart."),
    ]
    patchable: Annotated[bool, msgspec.Meta(description="Whether PATCH /v1/config may change it.")]
    reload_required: bool
    description: str


class ConfigGroup(msgspec.Struct, kw_only=True):
    """A group of fields."""

    name: str
    description: str


class ConfigFieldList(msgspec.Struct, kw_only=True):
    """Every field, in the order of the help."""

    object: Literal["list"]
    data: Sequence[ConfigField]
    groups: Sequence[ConfigGroup]


class ConfigOrigin(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where a value came from."""

    key: Annotated[str, msgspec.Meta(description="Of the field; `<group>.<family>.<name>` for a family's own value.")]
    source: Annotated[
        SourceName, msgspec.Meta(description="Strongest first. changed: while the server ran, and in no file.")
    ]
    place: Annotated[str, msgspec.Meta(description="Its spelling there.")]
    is_set: Annotated[bool, msgspec.Meta(description="False: nothing says what it is. Of a secret that is all.")]
    is_locked: Annotated[
        bool, msgspec.Meta(description="A flag or a variable says it, and would say it again at the next start.")
    ]
    pending: Annotated[
        bool, msgspec.Meta(description="The file says otherwise by now, which takes effect at the next start.")
    ] = False
    in_force: (
        Annotated[int, msgspec.Meta(description="What holds instead: the loaded model has no more context.")] | None
    ) = None


class ConfigOrigins(msgspec.Struct, kw_only=True):
    """Where each value in effect came from."""

    object: Literal["list"]
    data: Sequence[ConfigOrigin]
    file: Annotated[str | None, msgspec.Meta(description="The configuration file; null: there is none.")]
    profile: str | None


def _value_type(field: Field) -> Any:
    match field.kind:
        case Kind.BOOL:
            kind: Any = bool
        case Kind.INTEGER | Kind.SIZE:
            kind = (
                Annotated[int, _bounds(field)] if field.kind is Kind.INTEGER else Annotated[int, _bounds(field)] | str
            )
        case Kind.NUMBER | Kind.SECONDS:
            kind = Annotated[float, _bounds(field)]
        case Kind.POOL_SIZE:
            kind = int | str
        case Kind.CHOICE:
            assert field.choices is not None
            kind = Literal[tuple(choice.value for choice in field.choices)]
        case Kind.PATHS:
            kind = dict[str, str]
        case _:
            kind = str
    described = msgspec.Meta(description=f"{field.text} ({rule(field)}; {field.effect.value})")
    return Annotated[kind | None, described]


def _bounds(field: Field) -> msgspec.Meta:
    """0 is taken where it has a meaning of its own."""
    assert field.minimum is not None and field.maximum is not None
    lowest = 0 if field.zero is not None else field.minimum
    return msgspec.Meta(ge=lowest, le=min(field.maximum, _MAX_NUMBER))


def _struct(name: str, text: str, members: list[tuple[str, Any]]) -> type[msgspec.Struct]:
    """Each member may be absent."""
    fields = [(member, kind | msgspec.UnsetType, msgspec.UNSET) for member, kind in members]
    return msgspec.defstruct(name, fields, kw_only=True, namespace={"__doc__": text})


def _document(name: str, text: str, taken: Sequence[Field]) -> type[msgspec.Struct]:
    """A struct with a field for each group, whose own fields are those that are taken."""
    groups: list[tuple[str, Any]] = []
    for group, group_text in GROUP_TEXTS.items():
        fields = [field for field in taken if field.group == group]
        members = [(field.name, _value_type(field)) for field in fields]
        scoped = [(field.name, _value_type(field)) for field in fields if field.is_scoped]
        if scoped:
            family = _struct(f"{name}{group.capitalize()}Family", "What differs for one family's models.", scoped)
            members += [(each, family) for each in FAMILIES]
        groups.append((group, _struct(f"{name}{group.capitalize()}", group_text, members)))
    return _struct(name, text, groups)


ConfigDocument = _document(
    "ConfigDocument",
    "The values in effect, without secrets.",
    [field for field in FIELDS if field.kind is not Kind.SECRET],
)
"""For the document of the API: what is sent is config_table.document_of."""

ConfigPatch = _document(
    "ConfigPatch",
    "What is to be changed; null takes a value out of the file. The fields say which may be.",
    [field for field in FIELDS if field.is_patchable],
)
"""For the document of the API: what comes is read by config_change.plan_change."""


class ConfigPatched(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a change came to."""

    applied: Annotated[
        Literal["live", "reload", "restart"],
        msgspec.Meta(description="reload: the model is loaded anew. restart: all of it takes effect at a restart."),
    ]
    persisted: Annotated[
        Literal["yes", "no", "after_reload"], msgspec.Meta(description="Whether the configuration file has it.")
    ]
    path: Annotated[str, msgspec.Meta(description="The configuration file.")] | None = None
    reason: Annotated[str, msgspec.Meta(description="Why the file has it not.")] | None = None
    restart_required: Annotated[
        Sequence[str], msgspec.Meta(description="Fields that take effect at the next start.")
    ] = ()
    switching: Annotated[Switching, msgspec.Meta(description="While the model is loaded anew.")] | None = None
    config: Annotated[dict[str, Any], msgspec.Meta(description="What is in effect, as GET has it.")] | None = None
