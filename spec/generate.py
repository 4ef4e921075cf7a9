"""Writes every file that is derived from the declarations in spec/; with --check it only compares and fails on drift.

    python spec/generate.py [--check] [config errors events limits metrics commands openapi]

The tables need the standard library only. The page of commands and the OpenAPI document import ignis.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from generate_commands import commands
from generate_config import config
from generate_errors import errors
from generate_limits import limits
from generate_openapi import openapi
from generate_source import ROOT
from generate_tables import events, metrics

# In this order: the last two import what the others write.
TARGETS: dict[str, Callable[[], dict[Path, str]]] = {
    "config": config,
    "errors": errors,
    "events": events,
    "limits": limits,
    "metrics": metrics,
    "commands": commands,
    "openapi": openapi,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file differs")
    parser.add_argument("targets", nargs="*", metavar="target", help=", ".join(TARGETS) + " (all of them)")
    chosen = parser.parse_args()
    drifted = []
    for name in chosen.targets or TARGETS:
        if name not in TARGETS:
            parser.error(f"no target {name!r}; there are {', '.join(TARGETS)}")
        for path, text in TARGETS[name]().items():
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            if chosen.check:
                drifted.append(path.relative_to(ROOT))
            else:
                path.write_text(text, encoding="utf-8")
                print(f"wrote {path.relative_to(ROOT)}")
    for path in drifted:
        print(f"{path} is not what spec/ says; run: python spec/generate.py")
    return 1 if drifted else 0


if __name__ == "__main__":
    sys.exit(main())
