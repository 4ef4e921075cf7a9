"""How model families write thinking and tool calls: one row each, and the rule that picks a model's row."""

import enum
from dataclasses import dataclass


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


_THINK = ("<think>", "</think>")
_TAGGED = ("<tool_call>", "</tool_call>")

NONE = OutputDialect("none")
THINK = OutputDialect("think", *_THINK)
QWEN_XML = OutputDialect("qwen_xml", *_THINK, CallForm.XML, *_TAGGED)
QWEN_JSON = OutputDialect("qwen_json", *_THINK, CallForm.JSON, *_TAGGED)
HERMES = OutputDialect("hermes", "", "", CallForm.JSON, *_TAGGED)
LLAMA3 = OutputDialect("llama3", "", "", CallForm.JSON, "<|python_tag|>", "", has_bare_calls=True)
SMOLLM2 = OutputDialect("smollm2", "", "", CallForm.JSON, *_TAGGED)

DIALECTS = {row.name: row for row in (NONE, THINK, QWEN_XML, QWEN_JSON, HERMES, LLAMA3, SMOLLM2)}

_BY_TEMPLATE: tuple[tuple[tuple[str, ...], OutputDialect], ...] = (
    (("<tool_call>", "<function="), QWEN_XML),
    (("<tool_call>", "</think>"), QWEN_JSON),
    (("<tool_call>",), HERMES),
    (("<|python_tag|>",), LLAMA3),
    (("<|start_header_id|>", "tools"), LLAMA3),
    (("</think>",), THINK),
    (("SmolLM",), SMOLLM2),
)
"""The first row whose words are all in the template's source wins."""

AUTO = "auto"


def choose_dialect(template: str | None, name: str = AUTO) -> OutputDialect:
    """Picks the row of that name, or the one that fits the source of a model's template."""
    if name != AUTO:
        return DIALECTS[name]
    source = template or ""
    return next((row for words, row in _BY_TEMPLATE if all(word in source for word in words)), NONE)
