"""Spells declarations as Python source, the way the formatter would. Shared by the generators beside it."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def load(name: str) -> dict[str, Any]:
    """Reads one declaration of spec/."""
    return tomllib.loads((ROOT / "spec" / name).read_text(encoding="utf-8"))


def literal(value: object) -> str:
    """Spells a value as the formatter does, with double quotes."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def tuple_literal(values: Sequence[object]) -> str:
    """Spells a tuple on one line."""
    inside = ", ".join(literal(value) for value in values)
    return f"({inside},)" if len(values) == 1 else f"({inside})"
