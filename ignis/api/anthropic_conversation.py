"""Fits the blocks of an Anthropic conversation to plain template messages. Checks what types cannot say."""

from collections.abc import Sequence
from typing import Any

from ignis.api.anthropic_signature import hidden_reasoning
from ignis.api.schema.anthropic_request import (
    Block,
    InputMessage,
    InputTool,
    MessagesFields,
    ResultBlock,
    TextBlock,
    ToolSelection,
)
from ignis.api.templating import check_depth
from ignis.api.thinking import AskedThinking, asked_thinking
from ignis.api.wish import Conversation, FunctionTool, ToolChoice, ToolMode
from ignis.errors import InvalidRequestError, UnsupportedValueError
from ignis.limits import MAX_TOOLS

_BOOKKEEPING = "x-anthropic-billing-header:"
"""Begins a line that agents put before their system prompt. It differs in every request, so that with it no prefix
would ever be found again, and it says nothing to the model."""

_ERROR_MARK = "Error:"
_MODES = {"auto": ToolMode.AUTO, "any": ToolMode.REQUIRED, "tool": ToolMode.NAMED, "none": ToolMode.NONE}
_IS_ON = {"enabled": True, "disabled": False, "adaptive": None}


def messages_conversation(fields: MessagesFields) -> Conversation:
    """Makes the prompt of a body.

    Raises:
        InvalidRequestError: a block lacks what its type needs or stands where it cannot, or a choice names no tool.
        UnsupportedValueError: the last turn is the assistant's and is not text alone, or goes with what it cannot.
    """
    choice = fields.tool_choice
    told, places = template_messages(fields.messages)
    turns, begun = _part_begun(told, f"messages[{len(fields.messages) - 1}]")
    system = _system(fields.system)
    if begun:
        _check_begun(fields)
    return Conversation(
        messages=[*system, *turns],
        places=[*("system" for _ in system), *places],
        tools=[_tool(tool, f"tools[{index}]") for index, tool in enumerate(fields.tools or ())],
        tool_choice=_choice(choice),
        parallel_tool_calls=choice is None or not choice.disable_parallel_tool_use,
        thinking=_thinking(fields, is_silent=bool(begun)),
        begun=begun,
    )


def template_messages(messages: Sequence[InputMessage]) -> tuple[list[dict[str, Any]], list[str]]:
    """Gives the turns as templates take them, oldest first, and the message that each of them begins with.

    - Neighbours of one role are one turn: the user's texts are its parts, the assistant's texts are joined as they are.
    - A tool's result is a message of its own, where it stands.
    - The input of a call stays an object: so the template spells it as the model was taught to, which is how it wrote
      it, and the prefix of the next turn is found.

    Raises:
        InvalidRequestError, UnsupportedValueError: as messages_conversation.
    """
    turns = _Turns()
    places: list[str] = []
    for index, message in enumerate(messages):
        param = f"messages[{index}].content"
        content = message.content
        blocks = [Block(type="text", text=content)] if isinstance(content, str) else content
        num_calls = sum(block.type == "tool_use" for block in blocks)
        if num_calls > MAX_TOOLS:
            raise InvalidRequestError(f"{param} holds {num_calls} calls, at most {MAX_TOOLS} are taken", param)
        if not blocks and message.role == "assistant":
            turns.begin_assistant()
        for place, block in enumerate(blocks):
            where = param if isinstance(content, str) else f"{param}[{place}]"
            turns.add(message.role, block, where)
        places += [f"messages[{index}]"] * (turns.num_turns - len(places))
    told = turns.finish()
    if not told:
        raise InvalidRequestError("messages[0].content holds nothing", "messages[0].content")
    return told, places


def _part_begun(turns: list[dict[str, Any]], where: str) -> tuple[list[dict[str, Any]], str]:
    """Parts what the assistant has said last, with which its answer goes on."""
    last = turns[-1]
    if last["role"] != "assistant":
        return turns, ""
    if last.keys() != {"role", "content"}:
        raise UnsupportedValueError(f"{where}: an answer can go on with text only, not with thinking or a call", where)
    return turns[:-1], last["content"]


def _check_begun(fields: MessagesFields) -> None:
    """What an answer that has begun cannot do any more."""
    config = fields.output_config
    for name, value in (
        ("thinking", fields.thinking is not None and fields.thinking.type == "enabled"),
        ("output_config.format", config is not None and config.format is not None),
        ("output_format", fields.output_format is not None),
    ):
        if value:
            raise UnsupportedValueError(f"{name} cannot be given where the answer has begun: the last message", name)


class _Turns:
    """The template messages of a conversation, as far as it was read."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        """Text and reasoning of an assistant's are lists of pieces until the end: a turn may have thousands."""
        self._names: dict[str, str] = {}
        """Of the tools that were called, by the call's id."""

    def add(self, role: str, block: Block, where: str) -> None:
        match role, block.type:
            case "assistant", "text":
                self.begin_assistant()["content"].append(_need(block.text, f"{where}.text"))
            case "assistant", "thinking":
                thought = _need(block.thinking, f"{where}.thinking")
                thought = thought or hidden_reasoning(block.signature or "", f"{where}.signature")
                self.begin_assistant().setdefault("reasoning_content", []).append(thought)
            case "assistant", "redacted_thinking":
                self.begin_assistant()
            case "assistant", "tool_use":
                self._call(block, where)
            case "user" | "system", "text":
                self._say(role, _need(block.text, f"{where}.text"))
            case "user", "tool_result":
                self._result(block, where)
            case _:
                raise InvalidRequestError(f"{where} is a block of type {block.type} in a {role} message", where)

    @property
    def num_turns(self) -> int:
        return len(self._messages)

    def begin_assistant(self) -> dict[str, Any]:
        """Returns the assistant's turn that is the last message."""
        if not self._messages or self._messages[-1]["role"] != "assistant":
            self._messages.append({"role": "assistant", "content": []})
        return self._messages[-1]

    def finish(self) -> list[dict[str, Any]]:
        """Returns the messages; nothing is added any more."""
        for message in self._messages:
            if message["role"] == "assistant":
                for name in ("content", "reasoning_content"):
                    if name in message:
                        message[name] = "".join(message[name])
        return self._messages

    def _say(self, role: str, text: str) -> None:
        last = self._messages[-1] if self._messages else {}
        if last.get("role") != role:
            self._messages.append({"role": role, "content": text})
            return
        if isinstance(last["content"], str):
            last["content"] = [_text_part(last["content"])]
        last["content"].append(_text_part(text))

    def _call(self, block: Block, where: str) -> None:
        call_id, name = _need(block.id, f"{where}.id"), _need(block.name, f"{where}.name")
        if block.input is None:
            raise InvalidRequestError(f"{where}.input must be an object", f"{where}.input")
        check_depth(block.input, f"{where}.input")
        self._names[call_id] = name
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": block.input}}
        self.begin_assistant().setdefault("tool_calls", []).append(call)

    def _result(self, block: Block, where: str) -> None:
        call_id = _need(block.tool_use_id, f"{where}.tool_use_id")
        message = {"role": "tool", "tool_call_id": call_id, "content": _result_content(block, where)}
        if call_id in self._names:
            message["name"] = self._names[call_id]
        self._messages.append(message)


def _result_content(block: Block, where: str) -> str | list[dict[str, str]]:
    content: str | list[dict[str, str]]
    if isinstance(block.content, list):
        content = [_result_part(part, f"{where}.content[{place}]") for place, part in enumerate(block.content)]
        return [_text_part(_ERROR_MARK), *content] if block.is_error else content
    content = block.content or ""
    return f"{_ERROR_MARK}\n{content}" if block.is_error else content


def _result_part(part: ResultBlock, where: str) -> dict[str, str]:
    return _text_part(_need(part.text, f"{where}.text"))


def _system(system: str | Sequence[TextBlock] | None) -> list[dict[str, Any]]:
    if isinstance(system, str):
        text = _without_bookkeeping(system)
        return [{"role": "system", "content": text}] if text else []
    texts = [_without_bookkeeping(block.text) for block in system or ()]
    parts = [_text_part(text) for text in texts if text]
    return [{"role": "system", "content": parts}] if parts else []


def _without_bookkeeping(text: str) -> str:
    return text.partition("\n")[2] if text.startswith(_BOOKKEEPING) else text


def _tool(tool: InputTool, param: str) -> FunctionTool:
    return FunctionTool(
        name=tool.name,
        param=param,
        schema_name="input_schema",
        description=tool.description,
        parameters=tool.input_schema,
        strict=tool.strict,
    )


def _choice(choice: ToolSelection | None) -> ToolChoice:
    if choice is None:
        return ToolChoice()
    if (choice.type == "tool") != (choice.name is not None):
        needs = 'is missing beside type "tool"' if choice.name is None else f'does not belong to type "{choice.type}"'
        raise InvalidRequestError(f"tool_choice.name {needs}", "tool_choice.name")
    return ToolChoice(_MODES[choice.type], choice.name)


def _thinking(fields: MessagesFields, *, is_silent: bool) -> AskedThinking:
    """`is_silent`: the answer has begun, so that it is too late to think."""
    config = fields.output_config
    thinking = fields.thinking
    return asked_thinking(
        enable_thinking=False if is_silent else None if thinking is None else _IS_ON[thinking.type],
        enable_param="thinking",
        reasoning_effort=None if config is None else config.effort,
        effort_param="output_config.effort",
        # Agents send one whatever the model is.
        effort_is_hint=True,
        thinking_budget=None if thinking is None else thinking.budget_tokens,
        chat_template_kwargs=fields.chat_template_kwargs,
    )


def _need(value: str | None, where: str) -> str:
    if value is None:
        raise InvalidRequestError(f"{where} is missing", where)
    return value


def _text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
