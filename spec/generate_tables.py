"""Derives ignis/log_events.py and ignis/metric_families.py from their declarations; run by spec/generate.py."""

from pathlib import Path

from generate_source import ROOT, literal, load, tuple_literal

EVENTS_HEAD = '''"""Every event: level, fields. Generated from spec/events.toml by spec/generate.py: do not edit."""

EVENTS: dict[str, tuple[str, frozenset[str]]] = {'''

METRICS_HEAD = '''"""Every metric family. Generated from spec/metrics.toml by spec/generate.py: do not edit."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Family:
    """One declared family."""

    kind: Literal["counter", "gauge", "histogram"]
    text: str
    label: str | None = None
    values: tuple[str, ...] = ()
    """Of the label; each is exported from the start."""
    buckets: tuple[float, ...] = ()
    snapshot: tuple[tuple[str, str], ...] = ()
    """(label value, snapshot field) pairs; the value is empty where the family has no label."""


FAMILIES: dict[str, Family] = {'''


def events() -> dict[Path, str]:
    declared = load("events.toml")
    fields = declared.pop("fields")
    used: set[str] = set()
    parts = [EVENTS_HEAD]
    for name, event in declared.items():
        if unknown := sorted(set(event["fields"]) - set(fields)):
            raise SystemExit(f"spec/events.toml: {name} has undeclared fields: {', '.join(unknown)}")
        used |= set(event["fields"])
        parts += [f"    {literal(name)}: (", f"        {literal(event.get('level', 'info'))},", "        frozenset("]
        parts += [
            "            {",
            *(f"                {literal(field)}," for field in event["fields"]),
            "            }",
        ]
        parts += ["        ),", "    ),"]
    if unused := sorted(set(fields) - used):
        raise SystemExit(f"spec/events.toml: fields of no event: {', '.join(unused)}")
    return {ROOT / "ignis" / "log_events.py": "\n".join([*parts, "}", ""])}


def metrics() -> dict[Path, str]:
    parts = [METRICS_HEAD]
    for name, family in load("metrics.toml").items():
        parts.append(f"    {literal(name)}: Family(")
        parts += [f"        kind={literal(family['kind'])},", f"        text={literal(family['text'])},"]
        for label, values in family.get("labels", {}).items():
            one_line = f"        values={tuple_literal(values)},"
            listed = ["        values=(", *(f"            {literal(value)}," for value in values), "        ),"]
            parts += [f"        label={literal(label)},", *([one_line] if len(one_line) <= 120 else listed)]
        if "buckets" in family:
            parts.append(f"        buckets={tuple_literal([float(bound) for bound in family['buckets']])},")
        if "snapshot" in family:
            source = family["snapshot"]
            pairs = list(source.items()) if isinstance(source, dict) else [("", source)]
            if len(pairs) == 1:
                parts.append(f"        snapshot=({tuple_literal(pairs[0])},),")
            else:
                parts += [
                    "        snapshot=(",
                    *(f"            {tuple_literal(pair)}," for pair in pairs),
                    "        ),",
                ]
        parts.append("    ),")
    return {ROOT / "ignis" / "metric_families.py": "\n".join([*parts, "}", ""])}
