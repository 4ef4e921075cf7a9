"""What a chat template can do about thinking, found out by rendering a word with it once for each setting."""

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ignis.errors import TemplateError

_SWITCH, _EFFORT, _HISTORY = "enable_thinking", "reasoning_effort", "preserve_thinking"

RenderWith = Callable[[Mapping[str, object]], str]
"""Renders one small message with these variables to flat text; raises TemplateError."""


class Effort(enum.Enum):
    """How much a model thinks, the least first."""

    NONE = "none"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


_ORDER = tuple(Effort)


@dataclass(frozen=True, slots=True)
class ThinkingAbility:
    """What the variables of a template do."""

    has_switch: bool = False
    """enable_thinking is one of them."""
    turns_on: bool = True
    turns_off: bool = False
    """With enable_thinking false the prompt is another one, and the template does not refuse."""
    efforts: tuple[Effort, ...] = ()
    """Values of reasoning_effort that the template takes; none where it does not mention it."""
    keeps_history: bool = False
    """preserve_thinking is one of them."""
    prompt_end: str = ""
    """The last characters of a prompt with thinking on."""

    def nearest(self, effort: Effort) -> Effort:
        """The effort of the template that comes next above, or where there is none, below. Only with efforts."""
        wanted = _ORDER.index(effort)
        above = [known for known in self.efforts if _ORDER.index(known) >= wanted]
        return above[0] if above else self.efforts[-1]


_END_CHARACTERS = 64


def probe_thinking(source: str, render: RenderWith) -> ThinkingAbility:
    """Tries each setting. A template that fails on the plain message has no abilities."""
    has_switch = _mentions(source, _SWITCH)
    on = _try(render, {_SWITCH: True})
    off = _try(render, {_SWITCH: False}) if has_switch else None
    efforts = [
        effort
        for effort in _ORDER[1:]
        if _mentions(source, _EFFORT) and _try(render, {_SWITCH: True, _EFFORT: effort.value}) is not None
    ]
    return ThinkingAbility(
        has_switch=has_switch,
        turns_on=on is not None,
        turns_off=off is not None and off != on,
        efforts=tuple(efforts),
        keeps_history=_mentions(source, _HISTORY),
        prompt_end=(on or "")[-_END_CHARACTERS:],
    )


def _mentions(source: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", source) is not None


def _try(render: RenderWith, variables: Mapping[str, object]) -> str | None:
    try:
        return render(variables)
    except TemplateError:
        return None
