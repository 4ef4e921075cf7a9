"""Words for the field tables: how a struct says that a field is honoured, inert or refused, and with which error.

A field's `Meta` carries all of it: the description goes to the OpenAPI document, the range is checked by msgspec, and
`extra` says which error a bad value is. So a refusal cannot be undocumented, and the document cannot promise more.
"""

from typing import Any

import msgspec

from ignis import errors

CODE = "code"
"""Key of `extra`: the error class for any bad value of this field."""
CODES = "codes"
"""Key of `extra`: error classes by value, before CODE."""
ALLOWED = "allowed"
"""Key of `extra`: what is allowed, where the type's own words are not enough."""
WHY_NOT = "why not"
"""Key of `extra`: why a field is refused whatever it holds."""
RULE = "x-ignis"
"""Key of the JSON schema: honoured, inert or refused."""


def honoured(description: str, **constraints: Any) -> msgspec.Meta:
    """A field that does what it says."""
    return msgspec.Meta(description=description, extra_json_schema={RULE: "honoured"}, **constraints)


def sampling(description: str, **constraints: Any) -> msgspec.Meta:
    """An honoured field that shapes how tokens are drawn."""
    return honoured(description, extra={CODE: errors.InvalidSamplingParameterError}, **constraints)


def inert(description: str, allowed: str | None = None, **constraints: Any) -> msgspec.Meta:
    """A field whose allowed values ask for nothing that is not done anyway; any other value is refused by name."""
    return msgspec.Meta(
        description=f"Inert: {description}",
        extra={CODE: errors.UnsupportedValueError, ALLOWED: allowed},
        extra_json_schema={RULE: "inert"},
        **constraints,
    )


def off(value: str, why: str, **constraints: Any) -> msgspec.Meta:
    """A field of which one value is taken, that which switches it off: some clients send all that they know."""
    return inert(f"only {value}: {why}.", f"{value} ({why})", **constraints)


def refused(why: str) -> msgspec.Meta:
    """A field that is refused by name unless it is null; its type is None."""
    return msgspec.Meta(
        description=f"Refused: {why}",
        extra={CODE: errors.UnsupportedValueError, WHY_NOT: why},
        extra_json_schema={RULE: "refused"},
    )
