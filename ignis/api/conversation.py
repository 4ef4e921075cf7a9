"""Checks the conversation of a chat body beyond its types and hands it on; chat/ knows what templates want."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ignis.api.schema.chat_completions import ChatFields
from ignis.api.schema.messages import ContentPart, Message, Tool, ToolCall
from ignis.api.templating import check_depth
from ignis.api.thinking import asked_thinking
from ignis.api.wish import Conversation, FunctionTool, ToolChoice, ToolMode
from ignis.errors import InvalidRequestError

_CHOICES = (ToolMode.NONE, ToolMode.AUTO, ToolMode.REQUIRED)


def chat_conversation(messages: Sequence[Message], fields: ChatFields) -> Conversation:
    """Makes the prompt of a chat body.

    Raises:
        InvalidRequestError: as template_messages and asked_thinking, or a choice of tools that there is not.
    """
    tools = function_tools(fields.tools or ())
    choice, allowed = tool_choice(fields.tool_choice)
    if allowed is not None:
        if missing := allowed - {tool.name for tool in tools}:
            raise InvalidRequestError(f"tool_choice names {min(missing)[:60]!r}, which is no tool", "tool_choice")
        tools = [tool for tool in tools if tool.name in allowed]
    return Conversation(
        messages=template_messages(messages),
        tools=tools,
        tool_choice=choice,
        parallel_tool_calls=fields.parallel_tool_calls is not False,
        thinking=asked_thinking(
            enable_thinking=fields.enable_thinking,
            preserve_thinking=fields.preserve_thinking,
            reasoning_effort=fields.reasoning_effort,
            thinking_budget=fields.thinking_budget,
            chat_template_kwargs=fields.chat_template_kwargs,
        ),
    )


def template_messages(messages: Sequence[Message], name: str = "messages") -> list[dict[str, Any]]:
    """Gives the messages as they were sent, without the keys that are not listed: text stays text, parts stay parts and
    arguments keep their spelling. chat/messages.py fits them to the loaded template.

    Args:
        name: what the route calls the list.

    Raises:
        InvalidRequestError: content is missing where a role needs it, a part has no text, or a call is not the
            assistant's or has arguments that are no object.
    """
    return [_template_message(message, f"{name}[{index}]") for index, message in enumerate(messages)]


def function_tools(tools: Sequence[Tool]) -> list[FunctionTool]:
    return [
        FunctionTool(
            name=tool.function.name,
            param=f"tools[{index}].function",
            description=tool.function.description,
            parameters=tool.function.parameters,
            strict=tool.function.strict,
        )
        for index, tool in enumerate(tools)
    ]


def tool_choice(choice: str | Mapping[str, Any] | None) -> tuple[ToolChoice, frozenset[str] | None]:
    """Reads a choice as chat bodies spell it; with it the tools that alone may be called, where it lists some.

    Raises:
        InvalidRequestError: there is no such choice.
    """
    if choice is None:
        return ToolChoice(), None
    if isinstance(choice, str):
        for mode in _CHOICES:
            if choice == mode.value:
                return ToolChoice(mode), None
        allowed = " or ".join(f'"{mode.value}"' for mode in _CHOICES)
        raise InvalidRequestError(f"tool_choice must be {allowed} or a function, not {choice[:60]!r}", "tool_choice")
    if choice.get("type") == "allowed_tools":
        return _allowed_tools(choice.get("allowed_tools"))
    return ToolChoice(ToolMode.NAMED, _function_name(choice)), None


def _allowed_tools(allowed: object) -> tuple[ToolChoice, frozenset[str]]:
    param = "tool_choice.allowed_tools"
    mode = allowed.get("mode") if isinstance(allowed, Mapping) else None
    modes = {mode.value: mode for mode in (ToolMode.AUTO, ToolMode.REQUIRED)}
    if mode not in modes:
        raise InvalidRequestError(f'{param}.mode must be "auto" or "required"', f"{param}.mode")
    tools = allowed.get("tools") if isinstance(allowed, Mapping) else None
    names = [_function_name(tool) for tool in tools] if isinstance(tools, list) else []
    if not names or None in names:
        raise InvalidRequestError(f"{param}.tools must be an array of functions", f"{param}.tools")
    return ToolChoice(modes[mode]), frozenset(name for name in names if name is not None)


def _function_name(value: object) -> str | None:
    function = value.get("function") if isinstance(value, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None


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
    check_depth(value, name)
    return {
        "id": call.id or "",
        "type": "function",
        "function": {"name": call.function.name, "arguments": arguments},
    }
