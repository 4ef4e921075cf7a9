"""Checks a conversation beyond its types and hands it on as plain dictionaries; chat knows what templates want."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ignis.api.schema.messages import ContentPart, Message, Tool, ToolCall
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
_CHOICES = ("none", "auto", "required")
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


def template_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Gives the messages as they were sent, without the keys that are not listed: text stays text, parts stay parts and
    arguments keep their spelling. chat/messages.py fits them to the loaded template.

    Raises:
        InvalidRequestError: content is missing where a role needs it, a part has no text, or a call is not the
            assistant's or has arguments that are no object.
    """
    return [_template_message(message, f"messages[{index}]") for index, message in enumerate(messages)]


def template_tools(
    tools: Sequence[Tool] | None, choice: str | Mapping[str, Any] | None, template: str, dialect: OutputDialect
) -> list[dict[str, Any]] | None:
    """Gives the tools as a template takes them; None where there are none, or the choice "none" drops them.

    Raises:
        InvalidRequestError: two tools have one name, or a choice that there is not.
        UnsupportedValueError: the choice forces a call, or the model cannot be told of tools.
    """
    if isinstance(choice, str) and choice not in _CHOICES:
        allowed = " or ".join(f'"{name}"' for name in _CHOICES)
        raise InvalidRequestError(f"tool_choice must be {allowed} or a function, not {choice[:60]!r}", "tool_choice")
    spelled = [_template_tool(tool, f"tools[{index}]") for index, tool in enumerate(tools or ())]
    names: set[str] = set()
    for index, tool in enumerate(spelled):
        name = tool["function"]["name"]
        if name in names:
            param = f"tools[{index}].function.name"
            raise InvalidRequestError(f"{param} is {name[:60]!r}, as that of another tool", param)
        names.add(name)
    if choice == "none":
        return None
    if choice not in (None, "auto"):
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


def _template_tool(tool: Tool, param: str) -> dict[str, Any]:
    """A function without parameters takes an empty object."""
    function = tool.function
    spelled: dict[str, Any] = {"name": function.name}
    if function.description is not None:
        spelled["description"] = function.description
    _check_depth(function.parameters, f"{param}.function.parameters")
    spelled["parameters"] = _NO_ARGUMENTS if function.parameters is None else function.parameters
    if function.strict is not None:
        spelled["strict"] = function.strict
    return {"type": "function", "function": spelled}


@dataclass(frozen=True, slots=True)
class Switch:
    """A field of the body that is short for a variable of the template."""

    field: str
    variable: str
    value: bool | None
    """None: not given."""


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
        _check_depth(value, param)
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


def _check_mentioned(source: str, name: str, value: object, param: str, *, is_flag: bool) -> None:
    # A switch that is off asks a template without that switch for nothing.
    if (is_flag and value is False) or re.search(rf"\b{re.escape(name)}\b", source):
        return
    raise UnsupportedValueError(f"{param} is not served: the chat template of this model does not mention it", param)


def _template_message(message: Message, param: str) -> dict[str, Any]:
    content = message.content
    if content is None and message.role != "assistant":
        raise InvalidRequestError(f"{param}.content must be a string or an array, not null", f"{param}.content")
    spelled: dict[str, Any] = {
        "role": message.role,
        "content": _parts(content, f"{param}.content") if isinstance(content, list) else content,
    }
    if message.reasoning_content:
        spelled["reasoning_content"] = message.reasoning_content
    if message.tool_calls:
        if message.role != "assistant":
            raise InvalidRequestError(f"{param}.tool_calls belongs to an assistant message", f"{param}.tool_calls")
        spelled["tool_calls"] = [
            _template_call(call, f"{param}.tool_calls[{index}]") for index, call in enumerate(message.tool_calls)
        ]
    if message.tool_call_id is not None:
        spelled["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        spelled["name"] = message.name
    return spelled


def _parts(parts: Sequence[ContentPart], param: str) -> list[dict[str, str]]:
    """The parts, all of them text: a refusal is what the assistant said."""
    texts = []
    for index, part in enumerate(parts):
        text = part.text if part.type == "text" else part.refusal
        if text is None:
            missing = f"{param}[{index}].{part.type}"
            raise InvalidRequestError(f"{missing} is missing", missing)
        texts.append({"type": "text", "text": text})
    return texts


def _template_call(call: ToolCall, param: str) -> dict[str, Any]:
    """The arguments stay as they were sent, so that a template that prints them gives the model its own text back."""
    arguments = call.function.arguments
    name = f"{param}.function.arguments"
    value: object = arguments
    if isinstance(arguments, str):
        try:
            value = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise InvalidRequestError(f"{name} must be the JSON text of an object", name) from error
        except RecursionError as error:
            raise InvalidRequestError(f"{name} is nested too deeply", name) from error
    _check_depth(value, name)
    return {
        "id": call.id or "",
        "type": "function",
        "function": {"name": call.function.name, "arguments": arguments},
    }


def _check_depth(value: object, param: str) -> None:
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
