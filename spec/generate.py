"""Writes every file that is derived from the declarations in spec/; with --check it only compares, and fails on a drift.

    python spec/generate.py [--check] [errors metrics events openapi]

The tables need the standard library only. The OpenAPI document is made from the request structs and so imports ignis.
"""

import argparse
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "spec"
BASES = {"request": "RequestError", "busy": "BusyError", "fault": "Fault"}

ERRORS_HEAD = '''"""Every error that ignis raises on purpose. Generated from spec/errors.toml by spec/generate.py: do not edit.

Three families, by who can mend it. Raise the leaf at the place that knows; `api/errors.py` turns it into an answer.
"""

from typing import ClassVar


class IgnisError(Exception):
    """Root of all of them; raise a leaf."""

    status: ClassVar[int]
    type: ClassVar[str]
    code: ClassVar[str]
    public: ClassVar[str | None] = None
    """What clients read in place of the message."""
    default_param: ClassVar[str | None] = None
    default_retry_after_s: ClassVar[int | None] = None

    def __init__(self, message: str, param: str | None = None, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = self.default_param if param is None else param
        self.retry_after_s = self.default_retry_after_s if retry_after_s is None else retry_after_s


class RequestError(IgnisError):
    """The caller can mend it."""


class BusyError(IgnisError):
    """Time mends it."""


class Fault(IgnisError):
    """Ours to mend."""
'''


def load(name: str) -> dict[str, Any]:
    """Reads one declaration of spec/."""
    return tomllib.loads((SPEC / name).read_text(encoding="utf-8"))


def literal(value: object) -> str:
    """Spells a value as the formatter does, with double quotes."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def errors() -> dict[Path, str]:
    parts = [ERRORS_HEAD]
    for error in load("errors.toml")["error"]:
        lines = [
            f"class {error['name']}({BASES[error['family']]}):",
            f'    """{error["text"]}"""',
            "",
            f"    status = {error['status']}",
            f"    type = {literal(error['type'])}",
            f"    code = {literal(error['code'])}",
        ]
        if "public" in error:
            lines.append(f"    public = {literal(error['public'])}")
        if "param" in error:
            lines.append(f"    default_param = {literal(error['param'])}")
        if "retry_after_s" in error:
            lines.append(f"    default_retry_after_s = {error['retry_after_s']}")
        parts.append("\n".join(lines) + "\n")
    return {ROOT / "ignis" / "errors.py": "\n\n".join(parts)}


TARGETS: dict[str, Callable[[], dict[Path, str]]] = {"errors": errors}


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
