"""Thinking: what a request says of it, what the server says where it does not, and what the loaded template can do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from ignis.chat.thinking import Effort, ThinkingAbility
from ignis.config_fields import ModelConfig
from ignis.errors import ConfigError, InvalidRequestError, ReasoningEffortUnsupportedError, UnsupportedValueError
from ignis.stream.dialects import OutputDialect

ENABLE, EFFORT, PRESERVE = "enable_thinking", "reasoning_effort", "preserve_thinking"
_SWITCHES = (ENABLE, EFFORT, PRESERVE)
_EFFORTS = {effort.value: effort for effort in Effort}
ANSWER_RESERVE_TOKENS = 2048
"""Of a request's cap, so many are left for the answer: a budget is cut to what is left beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedThinking:
    """What a request says, already at one with itself. None: nothing."""

    is_on: bool | None = None
    is_on_param: str = ENABLE
    """The field that said so."""
    effort: Effort | None = None
    effort_param: str = EFFORT
    effort_is_hint: bool = False
    """It does not turn thinking on, and a model that takes no effort leaves it aside."""
    keeps_history: bool | None = None
    keeps_history_param: str = PRESERVE
    budget: int | None = None
    """Reasoning tokens; 0: no budget."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """The other variables of the template that the client named."""


def asked_thinking(
    *,
    enable_thinking: bool | None = None,
    enable_param: str = ENABLE,
    preserve_thinking: bool | None = None,
    reasoning_effort: str | None = None,
    effort_param: str = EFFORT,
    effort_is_hint: bool = False,
    thinking_budget: int | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
) -> AskedThinking:
    """Brings together what the fields of a body say. `enable_param`, `effort_param`: where the body has them.

    Raises:
        InvalidRequestError: a value of another type, or two fields that contradict each other.
    """
    variables = {name: value for name, value in (chat_template_kwargs or {}).items() if value is not None}
    inner = {name: variables.pop(name) for name in _SWITCHES if name in variables}
    for name in (ENABLE, PRESERVE):
        if not isinstance(inner.get(name, True), bool):
            raise InvalidRequestError(f"{_inner(name)} must be true or false", _inner(name))
    if inner.get(EFFORT, "none") not in _EFFORTS:
        allowed = ", ".join(_EFFORTS)
        raise InvalidRequestError(f"{_inner(EFFORT)} must be one of {allowed}", _inner(EFFORT))
    is_on, is_on_param = _one(enable_thinking, enable_param, inner.get(ENABLE), _inner(ENABLE))
    keeps, keeps_param = _one(preserve_thinking, PRESERVE, inner.get(PRESERVE), _inner(PRESERVE))
    effort, effort_param = _one(reasoning_effort, effort_param, inner.get(EFFORT), _inner(EFFORT))
    if effort is not None and not effort_is_hint:
        implied = effort != "none"
        if is_on is not None and is_on is not implied:
            spelled = "true" if is_on else "false"
            raise InvalidRequestError(
                f"{effort_param} {effort} and {is_on_param} {spelled} contradict each other", effort_param
            )
        is_on, is_on_param = implied, effort_param
    return AskedThinking(
        is_on=is_on,
        is_on_param=is_on_param,
        effort=None if effort is None else _EFFORTS[effort],
        effort_param=effort_param,
        effort_is_hint=effort_is_hint,
        keeps_history=keeps,
        keeps_history_param=keeps_param,
        budget=thinking_budget,
        variables=variables,
    )


@dataclass(frozen=True, slots=True)
class ThinkingDefaults:
    """What the server does where a request says nothing."""

    is_on: bool = True
    effort: Effort | None = None
    """None: as the template has it."""
    budget: int = 0
    """Reasoning tokens; 0: no budget."""
    has_loop_guard: bool = True

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:
        effort = config.reasoning_effort
        return cls(
            config.enable_thinking,
            None if effort is None else Effort(effort.value),
            config.thinking_budget,
            config.loop_guard,
        )

    def check(self, ability: ThinkingAbility, dialect: OutputDialect) -> None:
        """Raises ConfigError where the loaded template cannot honour them."""
        is_off = not self.is_on or self.effort is Effort.NONE
        if is_off and _always_thinks(ability, dialect):
            name = "model.enable_thinking" if not self.is_on else "model.reasoning_effort"
            raise ConfigError(f"{name} turns thinking off, which the chat template of this model cannot", name)
        if self.effort not in (None, Effort.NONE) and not ability.efforts:
            raise ConfigError(
                f"model.reasoning_effort is {self.effort.value}, but the chat template of this model takes no effort",
                "model.reasoning_effort",
            )


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a request gets."""

    is_on: bool
    """The model may think. False too where it cannot."""
    budget: int
    """Reasoning tokens before they are cut to the request's cap; 0: no budget."""
    variables: Mapping[str, object]
    """For the template."""
    has_loop_guard: bool = True

    def budget_within(self, max_tokens: int) -> int | None:
        """The budget beside the answer's reserve; None where there is none or nothing is left."""
        budget = min(self.budget, max_tokens - ANSWER_RESERVE_TOKENS)
        return budget if self.is_on and budget > 0 else None


def resolve(
    asked: AskedThinking, ability: ThinkingAbility, dialect: OutputDialect, defaults: ThinkingDefaults
) -> Thinking:
    """Fills in the defaults.

    Raises:
        ReasoningEffortUnsupportedError: the loaded template cannot do what the request asks for.
        UnsupportedValueError: it does not know preserve_thinking.
    """
    is_able = can_think(ability, dialect)
    is_effort = asked.effort not in (None, Effort.NONE)
    if is_effort and not ability.efforts and not asked.effort_is_hint:
        raise _unsupported(asked.effort_param, "the chat template of this model takes no reasoning effort")
    if asked.is_on and not (is_able and ability.turns_on):
        raise _unsupported(asked.is_on_param, "this model does not think")
    if asked.is_on is False and _always_thinks(ability, dialect):
        raise _unsupported(asked.is_on_param, "the chat template of this model cannot turn thinking off")
    if asked.keeps_history and not ability.keeps_history:
        raise UnsupportedValueError(
            f"{asked.keeps_history_param} is not served: the chat template of this model does not mention it",
            asked.keeps_history_param,
        )
    is_default_on = defaults.is_on and defaults.effort is not Effort.NONE
    is_on = (is_default_on or _always_thinks(ability, dialect)) if asked.is_on is None else asked.is_on
    variables: dict[str, object] = {ENABLE: is_on, PRESERVE: bool(asked.keeps_history)}
    effort = asked.effort or defaults.effort
    if is_on and ability.efforts and effort not in (None, Effort.NONE):
        variables[EFFORT] = ability.nearest(effort).value
    default_budget = 0 if effort is Effort.MAX else defaults.budget
    return Thinking(
        is_on=is_on and is_able,
        budget=default_budget if asked.budget is None else asked.budget,
        variables=variables,
        has_loop_guard=defaults.has_loop_guard,
    )


def can_think(ability: ThinkingAbility, dialect: OutputDialect) -> bool:
    """Whether there is anything to switch on."""
    return ability.has_switch or bool(ability.efforts) or bool(dialect.think_open)


def _always_thinks(ability: ThinkingAbility, dialect: OutputDialect) -> bool:
    if ability.has_switch:
        return not ability.turns_off
    return bool(dialect.think_open) and ability.prompt_end.rstrip().endswith(dialect.think_open)


def _unsupported(param: str, why: str) -> ReasoningEffortUnsupportedError:
    return ReasoningEffortUnsupportedError(f"{param} is not served: {why}", param)


def _inner(name: str) -> str:
    return f"chat_template_kwargs.{name}"


def _one(outer: Any, outer_param: str, inner: Any, inner_param: str) -> tuple[Any, str]:
    """What one of two fields says, and which one; both may say it, if they agree."""
    if outer is not None and inner is not None and outer != inner:
        raise InvalidRequestError(f"{outer_param} and {inner_param} contradict each other", outer_param)
    return (inner, inner_param) if outer is None and inner is not None else (outer, outer_param)
