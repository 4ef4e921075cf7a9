"""Fits tools and variables to the loaded model's template: what it does not mention is refused, never dropped."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ignis.api.wish import FunctionTool, Switch, ToolChoice, ToolMode
from ignis.errors import InvalidRequestError, UnsupportedValueError
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
_MAX_DEPTH = 128
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


def template_tools(
    tools: Sequence[FunctionTool], choice: ToolChoice, template: str, dialect: OutputDialect
) -> list[dict[str, Any]] | None:
    """Gives the tools as a template takes them; None where there are none, or the choice drops them.

    Raises:
        InvalidRequestError: two tools have one name, or a choice that there is not.
        UnsupportedValueError: the choice forces a call, or the model cannot be told of tools.
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
        raise UnsupportedValueError('tool_choice is served as "auto" and "none" only', "tool_choice")
    if not spelled:
        return None
    if not re.search(r"\btools\b", template):
        raise UnsupportedValueError(
            "tools are not served: the chat template of this model does not mention them", "tools"
        )
    if dialect.call_form is None:
        raise UnsupportedValueError(
            "tools are not served: how this model writes calls is not known; model.dialect may say so", "tools"
        )
    return spelled


def template_variables(source: str, extra: Mapping[str, Any] | None, switches: Sequence[Switch]) -> dict[str, Any]:
    """Gathers the template's variables from chat_template_kwargs and from the fields that are short for one.

    Raises:
        InvalidRequestError: a variable is given twice and differs, or is one that the server sets.
        UnsupportedValueError: the template does not mention it, so that it would change nothing.
    """
    names = {switch.variable for switch in switches}
    variables: dict[str, Any] = {}
    givers: dict[str, str] = {}
    for name, value in (extra or {}).items():
        param = f"chat_template_kwargs.{name[:60]}"
        if value is None:
            continue
        if name in _OWN_VARIABLES:
            raise InvalidRequestError(f"{param} is set by the server", param)
        if name in names and not isinstance(value, bool):
            raise InvalidRequestError(f"{param} must be true or false", param)
        check_depth(value, param)
        variables[name], givers[name] = value, param
        _check_mentioned(source, name, value, param, is_flag=name in names)
    for switch in switches:
        name, value = switch.variable, switch.value
        if value is None:
            continue
        if variables.get(name, value) != value:
            raise InvalidRequestError(f"{switch.field} and {givers[name]} contradict each other", switch.field)
        variables[name], givers[name] = value, switch.field
        _check_mentioned(source, name, value, switch.field, is_flag=True)
    return variables


def check_depth(value: object, param: str) -> None:
    """Raises InvalidRequestError where a value that a template will walk is nested too deeply to be walked."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        inner: list[object] = []
        for container in level:
            if isinstance(container, dict):
                inner += container.values()
            elif isinstance(container, list):
                inner += container
        if not inner:
            return
        level = inner
    raise InvalidRequestError(f"{param} is nested more than {_MAX_DEPTH} levels deep", param)


def _check_mentioned(source: str, name: str, value: object, param: str, *, is_flag: bool) -> None:
    # A switch that is off asks a template without that switch for nothing.
    if (is_flag and value is False) or re.search(rf"\b{re.escape(name)}\b", source):
        return
    raise UnsupportedValueError(f"{param} is not served: the chat template of this model does not mention it", param)


def _template_tool(tool: FunctionTool) -> dict[str, Any]:
    """A function without parameters takes an empty object."""
    spelled: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        spelled["description"] = tool.description
    check_depth(tool.parameters, f"{tool.param}.{tool.schema_name}")
    spelled["parameters"] = _NO_ARGUMENTS if tool.parameters is None else tool.parameters
    if tool.strict is not None:
        spelled["strict"] = tool.strict
    return {"type": "function", "function": spelled}
