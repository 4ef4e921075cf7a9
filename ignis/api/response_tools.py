"""The tools of a response body as the model knows them, and how its calls are spelled back.

To the model every tool is a function: a custom tool is one with a single text, a tool in a namespace has its name
behind the namespace's. A search of the web with external_web_access, as agents list it, is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ignis.api.schema.responses import NamespacedTool, ResponseTool
from ignis.api.wish import FunctionTool, ToolChoice, ToolMode
from ignis.errors import InvalidRequestError, UnsupportedValueError

CUSTOM_INPUT = "input"
"""The one parameter of the function that a custom tool is to the model."""

_CUSTOM_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "required": [CUSTOM_INPUT],
    "additionalProperties": False,
}
_SEARCH = "web_search"


@dataclass(frozen=True, slots=True)
class ToolName:
    """How a tool is spelled to the client."""

    name: str
    namespace: str | None = None
    is_custom: bool = False

    @property
    def known_as(self) -> str:
        """Its name to the model."""
        return self.name if self.namespace is None else f"{self.namespace}.{self.name}"


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """What the model is offered."""

    functions: Sequence[FunctionTool]
    names: Mapping[str, ToolName]
    """By the names that the model knows."""
    choice: ToolChoice
    places: frozenset[int]
    """Which entries of the body's list they came from."""


def offer_tools(tools: Sequence[ResponseTool], choice: str | Mapping[str, Any] | None) -> OfferedTools:
    """Reads tools and choice.

    Raises:
        InvalidRequestError: a tool lacks what its kind needs, or there is no such choice.
        UnsupportedValueError: the choice is of a tool that would run on the server.
    """
    found = [(index, name, tool) for index, entry in enumerate(tools) for name, tool in _functions(entry, index)]
    read, allowed = _read_choice(choice)
    if allowed is not None:
        found = [entry for entry in found if entry[1].known_as in allowed]
        if missing := allowed - {name.known_as for _, name, _ in found}:
            raise InvalidRequestError(f"tool_choice.tools names {min(missing)[:60]!r}, which is no tool", "tool_choice")
    return OfferedTools(
        functions=[tool for _, _, tool in found],
        names={name.known_as: name for _, name, _ in found},
        choice=read,
        places=frozenset(index for index, _, _ in found),
    )


def _functions(entry: ResponseTool, index: int) -> Iterator[tuple[ToolName, FunctionTool]]:
    param = f"tools[{index}]"
    if entry.type == "tool_search":
        return
    if entry.type == _SEARCH:
        if entry.external_web_access is None:
            raise UnsupportedValueError(
                f'{param}.type "{_SEARCH}" is not served: the server searches nothing', f"{param}.type"
            )
        return
    if not entry.name:
        raise InvalidRequestError(f"{param}.name must be a non-empty string", f"{param}.name")
    if entry.type != "namespace":
        yield _function(entry, entry.name, param)
        return
    if not entry.tools:
        raise InvalidRequestError(f"{param}.tools must be an array of tools", f"{param}.tools")
    for place, tool in enumerate(entry.tools):
        name, function = _function(tool, tool.name, f"{param}.tools[{place}]", entry.name)
        texts = [text for text in (entry.description, function.description) if text]
        yield name, replace(function, description="\n\n".join(texts) or None)


def _function(
    tool: ResponseTool | NamespacedTool, name: str, param: str, namespace: str | None = None
) -> tuple[ToolName, FunctionTool]:
    spelled = ToolName(name, namespace, is_custom=tool.type == "custom")
    if spelled.is_custom:
        return spelled, _custom_function(tool, spelled.known_as, param)
    function = FunctionTool(
        name=spelled.known_as,
        param=param,
        description=tool.description,
        parameters=tool.parameters,
        strict=tool.strict,
    )
    return spelled, function


def _custom_function(tool: ResponseTool | NamespacedTool, name: str, param: str) -> FunctionTool:
    """The function that a custom tool is to the model. Its text is held to an expression; of a grammar it is told."""
    form = tool.format
    pattern = form.definition if form is not None and form.syntax == "regex" else None
    text = {"type": "string"} if pattern is None else {"type": "string", "pattern": f"^(?:{pattern})$"}
    return FunctionTool(
        name=name,
        param=param,
        description=_custom_description(tool),
        parameters={**_CUSTOM_PARAMETERS, "properties": {CUSTOM_INPUT: text}},
        schema_name="parameters" if pattern is None else "format.definition",
        strict=None if pattern is None else True,
    )


def _custom_description(tool: ResponseTool | NamespacedTool) -> str | None:
    texts = [tool.description or ""]
    form = tool.format
    if form is not None and form.type == "grammar" and form.definition:
        texts.append(f"The text of {CUSTOM_INPUT} must match this {form.syntax or ''} grammar:\n{form.definition}")
    return "\n\n".join(text for text in texts if text) or None


def _read_choice(choice: str | Mapping[str, Any] | None) -> tuple[ToolChoice, frozenset[str] | None]:
    """The choice, and the names that alone are offered where it lists some."""
    if choice is None:
        return ToolChoice(), None
    if isinstance(choice, str):
        return ToolChoice(_mode(choice, "tool_choice", ToolMode.NONE)), None
    kind = choice.get("type")
    if kind in ("function", "custom"):
        return ToolChoice(ToolMode.NAMED, _named(choice, "tool_choice")), None
    if kind == "allowed_tools":
        mode = _mode(choice.get("mode", "auto"), "tool_choice.mode")
        tools = choice.get("tools")
        if not isinstance(tools, list) or not tools:
            raise InvalidRequestError("tool_choice.tools must be an array of tools", "tool_choice.tools")
        return ToolChoice(mode), frozenset(
            _named(tool, f"tool_choice.tools[{index}]") for index, tool in enumerate(tools)
        )
    shown = repr(kind[:60]) if isinstance(kind, str) else "nothing"
    raise UnsupportedValueError(
        f'tool_choice.type must be "function", "custom" or "allowed_tools", not {shown}: '
        "the server runs no tools of its own",
        "tool_choice.type",
    )


def _mode(value: object, param: str, *more: ToolMode) -> ToolMode:
    modes = (*more, ToolMode.AUTO, ToolMode.REQUIRED)
    for mode in modes:
        if value == mode.value:
            return mode
    allowed = " or ".join(f'"{mode.value}"' for mode in modes)
    raise InvalidRequestError(f"{param} must be {allowed} or an object, not {str(value)[:60]!r}", param)


def _named(choice: object, param: str) -> str:
    name = choice.get("name") if isinstance(choice, Mapping) else None
    namespace = choice.get("namespace") if isinstance(choice, Mapping) else None
    if not isinstance(name, str) or not name:
        raise InvalidRequestError(f"{param}.name must be a non-empty string", f"{param}.name")
    return ToolName(name, namespace if isinstance(namespace, str) else None).known_as
