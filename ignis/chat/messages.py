"""Spells a conversation as a template can read it. What comes in is typed; this decides on roles and forms."""

import json
from collections.abc import Mapping, Sequence

from ignis.chat.content import text_of
from ignis.chat.dialect import Dialect
from ignis.chat.instructions import InstructionPolicies, late_as_user, place_instructions
from ignis.chat.tool_prompt import ToolPrompt, tell_tools
from ignis.errors import InvalidRequestError

_ROLES = ("system", "developer", "user", "assistant", "tool")

Message = Mapping[str, object]


def spell_messages(
    messages: Sequence[Message],
    dialect: Dialect,
    policies: InstructionPolicies,
    tools: Sequence[Mapping[str, object]] | None = None,
    tool_prompt: ToolPrompt | None = None,
) -> list[dict[str, object]]:
    """Returns the messages for a template of this dialect. Keys other than those named here pass through.

    - System and developer messages stand where the policies put them (chat/instructions.py).
    - With a `tool_prompt` tools, calls and their results become contents (chat/tool_prompt.py); else `tools` are the
      template's own business.
    - Content is a string, or a list of {"type": "text", "text": ...}, and null only from the assistant. Parts are
      joined by a line break for a template that reads only strings.
    - Arguments of calls are objects, or JSON text for a template that can read nothing else. JSON text stays as it is
      for a template that prints it: so an answer's call is the same text in the next prompt, and its prefix is found.

    Raises:
        InvalidRequestError: a role or a content that no template can take, with its place in the list.
        SystemMessagePositionError, DeveloperMessagePositionError: the policies refuse where one stands.
    """
    for index, message in enumerate(messages):
        _check(message, index)
    placed = place_instructions([dict(message) for message in messages], policies, has_developer=dialect.has_developer)
    if not dialect.has_late_system:
        placed = late_as_user(placed)
    told = placed if tool_prompt is None else tell_tools(placed, tools, tool_prompt)
    return [_spell(message, dialect) for message in told]


def _check(message: Message, index: int) -> None:
    role = message.get("role")
    if role not in _ROLES:
        raise InvalidRequestError(
            f"the role must be one of {', '.join(_ROLES)}, not {role!r}", f"messages[{index}].role"
        )
    content = message.get("content")
    if content is None and role != "assistant":
        raise InvalidRequestError(f"a {role} message needs content", f"messages[{index}].content")
    if isinstance(content, list | tuple):
        _check_parts(content, index)
    elif content is not None and not isinstance(content, str):
        raise InvalidRequestError("content must be a string or a list of text parts", f"messages[{index}].content")


def _spell(message: Message, dialect: Dialect) -> dict[str, object]:
    spelled = dict(message)
    calls = message.get("tool_calls")
    content = message.get("content")
    if calls and not content and not dialect.reads_empty_calls:
        spelled["content"] = None
    else:
        spelled["content"] = _content("" if content is None else content, dialect)
    if isinstance(calls, list | tuple):
        spelled["tool_calls"] = [_spell_call(call, dialect) for call in calls]
    elif calls is None:
        spelled.pop("tool_calls", None)
    return spelled


def _check_parts(parts: Sequence[object], index: int) -> None:
    for place, part in enumerate(parts):
        if not isinstance(part, Mapping) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise InvalidRequestError(
                'a part of the content must be {"type": "text", "text": "..."}', f"messages[{index}].content[{place}]"
            )


def _content(content: object, dialect: Dialect) -> object:
    """A string or parts, whichever was sent where the template reads both."""
    if isinstance(content, str):
        return dialect.spell_text(content)
    return content if dialect.reads_parts else text_of(content)


def _spell_call(call: object, dialect: Dialect) -> object:
    if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
        return call
    function: Mapping[str, object] = call["function"]
    arguments = function.get("arguments")
    if isinstance(arguments, str) and dialect.reads_objects and not (arguments and dialect.prints_arguments):
        try:
            value = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return call  # what is no JSON is shown to the model as it was sent
        arguments = value if isinstance(value, dict) else arguments
    elif isinstance(arguments, Mapping) and not dialect.reads_objects:
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {**call, "function": {**function, "arguments": arguments}}
