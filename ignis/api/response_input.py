"""Items of a response body as the messages that a template reads. Reasoning, text and calls in a row are one turn.

Text that stands alone is a string however it was sent, so that a conversation reads the same to the model whether a
client repeats it or goes on from a stored response.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ignis.api.reasoning_seal import unseal
from ignis.api.response_tools import CUSTOM_INPUT, ToolName
from ignis.api.response_writers import new_id
from ignis.api.schema.response_items import InputItem, InputPart
from ignis.errors import InvalidRequestError


def references(given: str | Sequence[InputItem] | None) -> list[str]:
    """The ids that the input refers to."""
    if given is None or isinstance(given, str):
        return []
    return [item.id for item in given if item.id is not None and _kind(item) == "item_reference"]


def plain_items(
    given: str | Sequence[InputItem] | None, raw: object, known: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Spells input out as items that can be listed, kept and read again: each has its type and an id, the content of a
    message is parts, and a reference is what it refers to.

    Args:
        given: the input as it was checked; raw: the same as plain JSON values.
        known: stored items by their ids.

    Raises:
        InvalidRequestError: a reference leads nowhere.
    """
    if given is None:
        return []
    if isinstance(given, str):
        return [_plain_message({"role": "user", "content": given})]
    assert isinstance(raw, list)
    items = []
    for index, (item, value) in enumerate(zip(given, raw, strict=True)):
        kind = _kind(item)
        kept = {key: inner for key, inner in value.items() if inner is not None}
        if kind == "item_reference":
            param = f"input[{index}].id"
            found = known.get(_needed(item.id, param))
            if found is None:
                raise InvalidRequestError(f"{param} is {(item.id or '')[:80]!r}, and no stored response has it", param)
            items.append(dict(found))
        elif kind == "message":
            items.append(_plain_message(kept))
        else:
            items.append({**kept, "type": kind, "id": item.id or new_id(_PREFIXES[kind])})
    return items


_PREFIXES = {
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "reasoning": "rs",
}


def _plain_message(kept: Mapping[str, Any]) -> dict[str, Any]:
    message = {"status": "completed", **kept, "type": "message", "id": kept.get("id") or new_id("msg")}
    if isinstance(text := kept.get("content"), str):
        is_output = kept.get("role") == "assistant"
        part = {"type": "output_text", "text": text, "annotations": []} if is_output else None
        message["content"] = [part or {"type": "input_text", "text": text}]
    return message


def template_messages(
    instructions: str | None, earlier: Sequence[Mapping[str, Any]], own: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Gives the messages of a conversation, and where the body has what each of them begins with.

    Args:
        earlier: items of the responses before; own: the new input. Both as plain_items spelled them.

    Raises:
        InvalidRequestError: there is nothing to read, or an item lacks what its kind needs.
    """
    turns = _Turns()
    for item in msgspec.convert(list(earlier), list[InputItem]):
        turns.add(item, "previous_response_id")
    for index, item in enumerate(msgspec.convert(list(own), list[InputItem])):
        turns.add(item, f"input[{index}]")
    messages, places = turns.finish()
    if instructions is not None:
        messages.insert(0, {"role": "system", "content": instructions})
        places.insert(0, "instructions")
    if not messages:
        raise InvalidRequestError("input is missing", "input")
    return messages, places


class _Turns:
    """Messages, and the assistant's turn that is being gathered."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._places: list[str] = []
        """Of the messages, and of the turn that is gathered."""
        self._reasoning: list[str] = []
        self._content: list[str] | None = None
        self._calls: list[dict[str, Any]] = []
        self._called: dict[str, str] = {}
        """The tool of each call so far."""

    def add(self, item: InputItem, param: str) -> None:
        self._add(item, param)
        # What is longer now begins with this item.
        self._places += [param] * (len(self._messages) + self._is_gathering() - len(self._places))

    def _add(self, item: InputItem, param: str) -> None:
        match _kind(item):
            case "message":
                self._message(item, param)
            case "reasoning":
                if self._content is not None or self._calls:
                    self._flush()
                self._reasoning.append(_reasoning(item, param))
            case "function_call" | "custom_tool_call" as kind:
                self._call(item, param, is_custom=kind == "custom_tool_call")
            case "function_call_output" | "custom_tool_call_output":
                self._output(item, param)
            case _:
                raise InvalidRequestError(f"{param}.type is missing", f"{param}.type")

    def finish(self) -> tuple[list[dict[str, Any]], list[str]]:
        self._flush()
        return self._messages, self._places

    def _message(self, item: InputItem, param: str) -> None:
        if item.role is None:
            raise InvalidRequestError(f"{param}.role is missing", f"{param}.role")
        if item.content is None:
            raise InvalidRequestError(f"{param}.content must be a string or an array of parts", f"{param}.content")
        texts = _texts(item.content, f"{param}.content")
        if item.role == "assistant":
            if self._content is not None or self._calls:
                self._flush()
            self._content = texts
            return
        self._flush()
        self._messages.append({"role": item.role, "content": _content(texts)})

    def _call(self, item: InputItem, param: str, *, is_custom: bool) -> None:
        call_id, name = _needed(item.call_id, f"{param}.call_id"), _needed(item.name, f"{param}.name")
        if is_custom:
            if item.input is None:
                raise InvalidRequestError(f"{param}.input is missing", f"{param}.input")
            arguments = json.dumps({CUSTOM_INPUT: item.input}, ensure_ascii=False)
        else:
            if item.arguments is None:
                raise InvalidRequestError(f"{param}.arguments is missing", f"{param}.arguments")
            # A call that was broken off has no JSON here: it is shown to the model as it wrote it.
            arguments = item.arguments
        known_as = ToolName(name, item.namespace).known_as
        self._called[call_id] = known_as
        self._calls.append({"id": call_id, "type": "function", "function": {"name": known_as, "arguments": arguments}})

    def _output(self, item: InputItem, param: str) -> None:
        call_id = _needed(item.call_id, f"{param}.call_id")
        if item.output is None:
            raise InvalidRequestError(f"{param}.output must be a string or an array of parts", f"{param}.output")
        self._flush()
        message = {
            "role": "tool",
            "tool_call_id": call_id,
            "content": _content(_texts(item.output, f"{param}.output")),
        }
        if call_id in self._called:
            message["name"] = self._called[call_id]
        self._messages.append(message)

    def _is_gathering(self) -> bool:
        return self._content is not None or bool(self._calls) or bool(self._reasoning)

    def _flush(self) -> None:
        if not self._is_gathering():
            return
        # Content that an answer with calls does not have is null, as chat completions spell it.
        content = None if self._content is None else _content(self._content)
        message: dict[str, Any] = {"role": "assistant", "content": content or (None if self._calls else "")}
        if reasoning := "".join(self._reasoning):
            message["reasoning_content"] = reasoning
        if self._calls:
            message["tool_calls"] = self._calls
        self._messages.append(message)
        self._reasoning, self._content, self._calls = [], None, []


def _kind(item: InputItem) -> str:
    return item.type or ("item_reference" if item.role is None and item.id is not None else "message")


def _reasoning(item: InputItem, param: str) -> str:
    if item.content:
        return "".join(_texts(item.content, f"{param}.content"))
    if item.encrypted_content:
        return unseal(item.encrypted_content, f"{param}.encrypted_content")
    return "\n".join(_texts(item.summary or [], f"{param}.summary"))


def _texts(content: str | Sequence[InputPart], param: str) -> list[str]:
    if isinstance(content, str):
        return [content]
    texts = []
    for index, part in enumerate(content):
        text = part.refusal if part.type == "refusal" else part.text
        if text is None:
            missing = f"{param}[{index}].{'refusal' if part.type == 'refusal' else 'text'}"
            raise InvalidRequestError(f"{missing} is missing", missing)
        texts.append(text)
    return texts


def _content(texts: Sequence[str]) -> str | list[dict[str, str]]:
    if len(texts) == 1:
        return texts[0]
    return [{"type": "text", "text": text} for text in texts] if texts else ""


def _needed(value: str | None, param: str) -> str:
    if not value:
        raise InvalidRequestError(f"{param} must be a non-empty string", param)
    return value
