"""What the answers of an order are held to: a form, calls, and the bounds of their reasoning."""

from collections.abc import Sequence

from ignis.api.grammars import Grammars
from ignis.api.order import Order
from ignis.api.thinking import Thinking
from ignis.api.wish import Conversation, Names, ToolChoice, ToolMode, Wish
from ignis.errors import InvalidRequestError
from ignis.grammar.calls import call_opening
from ignis.grammar.forms import CallTarget, Freedom
from ignis.grammar.grammar import Calls
from ignis.scheduler.constraint import Constraint
from ignis.stream.dialects import NONE, OutputDialect
from ignis.stream.loop_guard import LoopGuard
from ignis.stream.reasoning import ReasoningConstraint, ReasoningForm, opens_reasoning


async def constraints_of(
    grammars: Grammars,
    order: Order,
    wish: Wish,
    conversation: Conversation | None = None,
    dialect: OutputDialect = NONE,
) -> tuple[Constraint, ...]:
    """Makes what holds each answer to the form and the choice of tools; none where they leave it free.

    Raises:
        RequestError: it cannot be compiled or held.
    """
    choice = ToolChoice(ToolMode.NONE) if conversation is None else conversation.tool_choice
    must_call = conversation is not None and is_forced(conversation)
    is_strict = (
        conversation is not None
        and choice.mode is ToolMode.AUTO
        and any(tool.strict is True for tool in conversation.tools)
    )
    if wish.form is None and not must_call and not is_strict:
        return ()
    if order.ignores_eos and (must_call or wish.form is not None):
        param = "tool_choice" if wish.form is None else wish.form.param
        raise InvalidRequestError(f"{param} cannot be given with ignore_eos: what is held has an end", param)
    if must_call:
        _check_opening(order, choice, dialect, wish.names)
    return await grammars.constraints(
        order.model,
        wish.form,
        None if conversation is None else _calls(conversation, dialect),
        freedom=Freedom.NONE if must_call else Freedom.ANY if wish.form is None else Freedom.FORM,
        num_answers=order.num_answers,
    )


def reasoning_of(
    order: Order, form: ReasoningForm, dialect: OutputDialect, thinking: Thinking, inner: Sequence[Constraint]
) -> tuple[ReasoningConstraint, ...]:
    """What each answer of a model that may think is held to, around what rules the text after that."""
    return tuple(
        ReasoningConstraint(
            form,
            is_open=opens_reasoning(order.model.tokenizer, dialect, order.prompt),
            budget=thinking.budget_within(order.max_tokens),
            stop_ids=frozenset() if order.ignores_eos else order.model.special.stop_ids,
            # Whoever measures wants the tokens as they are drawn.
            guard=LoopGuard() if thinking.has_loop_guard and not order.ignores_eos else None,
            inner=inner[number] if inner else None,
        )
        for number in range(order.num_answers)
    )


def is_forced(conversation: Conversation) -> bool:
    """Whether an answer has to call."""
    return conversation.tool_choice.mode in (ToolMode.REQUIRED, ToolMode.NAMED)


def held_param(wish: Wish, conversation: Conversation) -> str:
    """Names the field that a constraint comes from, where there is one."""
    if is_forced(conversation):
        return "tool_choice"
    return "tools" if wish.form is None else wish.form.param


def _calls(conversation: Conversation, dialect: OutputDialect) -> Calls | None:
    """The calls that the answer may make; which it has to make is the grammar's question."""
    choice = conversation.tool_choice
    offered = [] if choice.mode is ToolMode.NONE else conversation.tools
    if choice.mode is ToolMode.NAMED:
        offered = [tool for tool in offered if tool.name == choice.name]
    has_choice = choice.mode is ToolMode.AUTO
    targets = tuple(
        CallTarget(
            tool.name,
            f"{tool.param}.{tool.schema_name}",
            tool.parameters,
            is_held=not has_choice or tool.strict is True,
        )
        for tool in offered
    )
    is_single = choice.mode is ToolMode.NAMED or not conversation.parallel_tool_calls
    return Calls(targets, dialect, is_single) if targets else None


def _check_opening(order: Order, choice: ToolChoice, dialect: OutputDialect, names: Names) -> None:
    """Raises InvalidRequestError where the cap ends the answer before its forced call has begun."""
    opening = call_opening(dialect, choice.name if choice.mode is ToolMode.NAMED else None)
    num_tokens = len(order.model.tokenizer.encode(opening, allow_special=True))
    if order.max_tokens <= num_tokens:
        raise InvalidRequestError(
            f"{names.max_tokens} must be more than {num_tokens}, not {order.max_tokens}: a call that tool_choice asks "
            "for begins with as many tokens",
            names.max_tokens,
        )
