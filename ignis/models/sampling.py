"""The sampling values that a model's makers recommend, held to the ranges that requests have."""

from collections.abc import Mapping

from ignis.models.fields import Fields

_RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (0.0, 100.0),
    "top_p": (1e-6, 1.0),
    "top_k": (-1.0, 1e9),
    "min_p": (0.0, 1.0),
    "repetition_penalty": (0.01, 100.0),
}
SAMPLING_NAMES = tuple(_RANGES)


def sampling_defaults(fields: Fields, names: Mapping[str, str]) -> dict[str, float]:
    """Reads those that are there. `names` has the file's name of each.

    Raises:
        ModelFileError: a value is not a number or out of range.
    """
    defaults: dict[str, float] = {}
    for name, own_name in names.items():
        value = fields.number(own_name, *_RANGES[name])
        if value is not None:
            defaults[name] = value
    return defaults
