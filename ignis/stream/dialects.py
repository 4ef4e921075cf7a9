"""How model families write thinking and tool calls: one row each, and the rule that picks a model's row."""

import enum
from dataclasses import dataclass

from ignis.models.base import Architecture


class CallForm(enum.Enum):
    """How the text of a call is written between its tags."""

    JSON = enum.auto()
    """{"name": ..., "arguments": {...}}, alone, one after another or in a list. `parameters` is `arguments`."""
    XML = enum.auto()
    """<function=NAME>, then <parameter=NAME> value </parameter> for each argument, then </function>."""


@dataclass(frozen=True, slots=True)
class OutputDialect:
    """One row. Without think tags there is no reasoning, without a call form no call: everything is content."""

    name: str
    think_open: str = ""
    think_close: str = ""
    call_form: CallForm | None = None
    call_open: str = ""
    call_close: str = ""
    """Empty: a call ends where its JSON does."""
    has_bare_calls: bool = False
    """A part that begins with the JSON of a call to a known tool is that call, without any tag."""
    lists_calls: bool = False
    """Between the tags stands one list with all calls."""


_THINK = ("<think>", "</think>")
_TAGGED = ("<tool_call>", "</tool_call>")

NONE = OutputDialect("none")
THINK = OutputDialect("think", *_THINK)
QWEN_XML = OutputDialect("qwen_xml", *_THINK, CallForm.XML, *_TAGGED)
QWEN_JSON = OutputDialect("qwen_json", *_THINK, CallForm.JSON, *_TAGGED)
HERMES = OutputDialect("hermes", "", "", CallForm.JSON, *_TAGGED)
LLAMA3 = OutputDialect("llama3", "", "", CallForm.JSON, "<|python_tag|>", "", has_bare_calls=True)
SMOLLM2 = OutputDialect("smollm2", "", "", CallForm.JSON, *_TAGGED, lists_calls=True)

DIALECTS = {row.name: row for row in (NONE, THINK, QWEN_XML, QWEN_JSON, HERMES, LLAMA3, SMOLLM2)}

_CHOICES: tuple[tuple[Architecture | None, tuple[str, ...], OutputDialect], ...] = (
    (None, ("<tool_call>", "<function="), QWEN_XML),
    (None, ("<tool_call>", "</think>"), QWEN_JSON),
    (None, ("<tool_call>",), HERMES),
    (None, ("<|python_tag|>",), LLAMA3),
    (None, ("</think>",), THINK),
    (Architecture.LLAMA, ("<|start_header_id|>",), LLAMA3),
    (Architecture.LLAMA, ("SmolLM",), SMOLLM2),
    # A plain template was put on it: the model thinks and calls as it was taught.
    (Architecture.QWEN3, (), QWEN_JSON),
)
"""The first row wins whose architecture is the model's, or any, and whose words are all in the template's source."""

AUTO = "auto"


def choose_dialect(template: str | None, name: str = AUTO, architecture: Architecture | None = None) -> OutputDialect:
    """Picks the row of that name, or the one that fits a model's architecture and the source of its template."""
    if name != AUTO:
        return DIALECTS[name]
    if template is None:
        return NONE
    return next(
        (
            row
            for kind, words, row in _CHOICES
            if kind in (None, architecture) and all(word in template for word in words)
        ),
        NONE,
    )
