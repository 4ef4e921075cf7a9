"""Derives ignis/errors.py from spec/errors.toml; spec/generate.py runs it as its target `errors`."""

from pathlib import Path

from generate_source import ROOT, literal, load

BASES = {"request": "RequestError", "busy": "BusyError", "fault": "Fault"}

ERRORS_HEAD = '''"""Every error raised on purpose. Generated from spec/errors.toml by spec/generate.py: do not edit.

Three families, by who can mend it. Raise the leaf at the place that knows; `error_body.py` spells it for clients.
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

    def __init__(
        self, message: str, param: str | None = None, retry_after_s: int | None = None, told: str | None = None
    ) -> None:
        """told: what clients read of this one, where the place that raises it knows more than `public` says."""
        super().__init__(message)
        self.message = message
        self.told = told
        self.param = self.default_param if param is None else param
        self.retry_after_s = self.default_retry_after_s if retry_after_s is None else retry_after_s


class RequestError(IgnisError):
    """The caller can mend it."""


class BusyError(IgnisError):
    """Time mends it."""


class Fault(IgnisError):
    """Ours to mend."""
'''


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
