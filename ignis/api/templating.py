"""Fits tools and variables to the loaded model's template: what it does not mention is refused, never dropped."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ignis.api.wish import FunctionTool, ToolChoice, ToolMode
from ignis.chat.tool_prompt import TOOL_PROMPTS, ToolPrompt
from ignis.errors import InvalidRequestError, UnsupportedValueError
from ignis.limits import MAX_DEPTH, MAX_SCHEMA_BYTES
from ignis.stream.dialects import OutputDialect

_OWN_VARIABLES = frozenset(
    {
        "messages",
        "tools",
        "documents",
        "add_generation_prompt",
        "bos_token",
        "eos_token",
        "raise_exception",
        "strftime_now",
    }
)
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


def template_tools(
    tools: Sequence[FunctionTool], choice: ToolChoice, template: str, dialect: OutputDialect
) -> list[dict[str, Any]] | None:
    """Gives the tools as a template takes them; None where there are none, or the choice drops them.

    Raises:
        InvalidRequestError: two tools have one name, or a choice that there is not.
        UnsupportedValueError: the model cannot be told of tools.
    """
    spelled = [_template_tool(tool) for tool in tools]
    names: set[str] = set()
    for tool in tools:
        if tool.name in names:
            param = f"{tool.param}.name"
            raise InvalidRequestError(f"{param} is {tool.name[:60]!r}, as that of another tool", param)
        names.add(tool.name)
    if choice.mode is ToolMode.NONE:
        return None
    if choice.mode is not ToolMode.AUTO:
        if not spelled:
            raise InvalidRequestError("tool_choice asks for a call, but there are no tools", "tool_choice")
        if choice.mode is ToolMode.NAMED and choice.name not in names:
            shown = "no function" if choice.name is None else f"{choice.name[:60]!r}, which is no tool of the request"
            raise InvalidRequestError(f"tool_choice names {shown}", "tool_choice")
    if not spelled:
        return None
    if not mentions_tools(template) and dialect.name not in TOOL_PROMPTS:
        raise UnsupportedValueError(
            "tools are not served: the chat template of this model does not mention them", "tools"
        )
    if dialect.call_form is None:
        raise UnsupportedValueError(
            "tools are not served: how this model writes calls is not known; model.dialect may say so", "tools"
        )
    return spelled


def takes_tools(template: str, dialect: OutputDialect) -> bool:
    """Whether a model can be told of tools, and how it writes calls is known."""
    return dialect.call_form is not None and (mentions_tools(template) or dialect.name in TOOL_PROMPTS)


def mentions_tools(template: str) -> bool:
    return re.search(r"\btools\b", template) is not None


def tool_prompt(template: str, dialect: OutputDialect) -> ToolPrompt | None:
    """How the model is told of tools where its template does not do it."""
    return None if mentions_tools(template) else TOOL_PROMPTS.get(dialect.name)


def template_variables(source: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Checks the variables that a client named in chat_template_kwargs.

    Raises:
        InvalidRequestError: one is set by the server, or the template does not mention it: it would change nothing.
    """
    for name, value in asked.items():
        param = f"chat_template_kwargs.{name[:60]}"
        if name in _OWN_VARIABLES:
            raise InvalidRequestError(f"{param} is set by the server", param)
        check_depth(value, param)
        if not re.search(rf"\b{re.escape(name)}\b", source):
            raise InvalidRequestError(f"{param} is no variable that the chat template of this model mentions", param)
    return dict(asked)


def check_depth(value: object, param: str) -> None:
    """Raises InvalidRequestError where a value that a template will walk is nested too deeply to be walked."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for container in level:
            if isinstance(container, dict):
                inner += container.values()
            elif isinstance(container, list):
                inner += container
        if not inner:
            return
        level = inner
    raise InvalidRequestError(f"{param} is nested more than {MAX_DEPTH} levels deep", param)


def check_size(schema: Mapping[str, Any] | None, param: str) -> None:
    """Raises InvalidRequestError where a schema is larger than any is taken."""
    size_bytes = 0 if schema is None else len(msgspec.json.encode(schema))
    if size_bytes > MAX_SCHEMA_BYTES:
        raise InvalidRequestError(
            f"{param} has {size_bytes} bytes of JSON, at most {MAX_SCHEMA_BYTES} are taken", param
        )


def _template_tool(tool: FunctionTool) -> dict[str, Any]:
    """A function without parameters takes an empty object. `strict` is always said, so that clients which leave it out
    and clients which send false or null share their prefix.
    """
    spelled: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        spelled["description"] = tool.description
    check_depth(tool.parameters, f"{tool.param}.{tool.schema_name}")
    check_size(tool.parameters, f"{tool.param}.{tool.schema_name}")
    spelled["parameters"] = _NO_ARGUMENTS if tool.parameters is None else tool.parameters
    spelled["strict"] = bool(tool.strict)
    return {"type": "function", "function": spelled}
