"""Makes orders out of wishes: the model, the prompt, the cap that fits, and every default filled in."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Self

from ignis.api.holding import constraints_of, held_param, is_forced, reasoning_of
from ignis.api.order import Order
from ignis.api.prompt import Prompts
from ignis.api.sampling import defaults_of, sampling_defaults, sampling_params
from ignis.api.schema.models import Capabilities
from ignis.api.schema.sampling import SamplingFields
from ignis.api.serving import OnLong, Serving, split_suffix
from ignis.api.templating import takes_tools, template_tools, template_variables, tool_prompt
from ignis.api.thinking import Thinking, ThinkingDefaults, can_think, resolve
from ignis.api.wish import Conversation, FillIn, Names, Prompt, ToolMode, Wish
from ignis.chat.instructions import InstructionPolicies
from ignis.config import ByFamily
from ignis.config_fields import ConfigFields
from ignis.engine.gate import Use
from ignis.engine.lifecycle import LoadedModel, ModelFacts
from ignis.engine.limits import REJECTIONS
from ignis.errors import (
    ContextLengthExceededError,
    InvalidRequestError,
    RequestError,
)
from ignis.exchange import Exchange
from ignis.limits import MAX_SCORED_TOKENS, MAX_STOP_CHARACTERS, MAX_STOPS
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.scheduler.request import RequestClass
from ignis.stream.dialects import OutputDialect, choose_dialect

_MAX_NAMES_REPORTED = 1000
_MESSAGE = re.compile(r"messages\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class OrderSettings:
    default_max_tokens: int
    """The cap of a request that names none, cut to what fits; 0: all that fits."""
    request_timeout_s: float | None
    """None: never."""
    dialect: str
    """A name of stream/dialects.py, or auto: the model's template decides."""
    policies: InstructionPolicies
    thinking: ThinkingDefaults
    sampling: Mapping[str, float] = field(default_factory=dict)
    """What the operator chose, by field."""

    @classmethod
    def from_config(cls, config: ConfigFields) -> Self:
        return cls(
            default_max_tokens=config.model.default_max_tokens,
            request_timeout_s=config.server.request_timeout or None,
            dialect=config.model.dialect.value,
            policies=InstructionPolicies.from_config(config.server),
            thinking=ThinkingDefaults.from_config(config.model),
            sampling=defaults_of(config.sampling),
        )


class Orders:
    """Turns bodies into orders."""

    def __init__(
        self, serving: Serving, prompts: Prompts, settings: ByFamily[OrderSettings], metrics: Metrics, log: Log
    ) -> None:
        self.settings = settings
        """May be replaced at any time; a request that is being made takes either."""
        self._serving = serving
        self._prompts = prompts
        self._metrics = metrics
        self._log = log
        self._reported: set[str] = set()

    @asynccontextmanager
    async def use(self, name: str | None, on_long: OnLong | None = None) -> AsyncIterator[Use]:
        """Keeps the model of that name until the block is left: what is made of it meanwhile can be submitted.

        The wait counts against the request's time. The submission comes before the next checkpoint after the block.

        Raises:
            ServerNotReadyError, DrainingError, ModelNotFoundError, ModelSwitchingError, SwitchFailedError,
            RequestTimeoutError: as Serving.use.
        """
        async with self._serving.use(name, self.settings.default.request_timeout_s, on_long) as use:
            yield use

    async def make(self, wish: Wish, trace: str, on_long: OnLong | None = None) -> Order:
        """Waits for the model where it has to, renders the prompt in a worker thread and fills in what the wish leaves
        open. Whoever makes several orders for one request keeps the model by `use` and calls `make_with`.

        Args:
            on_long: called once where the wait for the model is long; a route that streams opens its stream.

        Raises:
            RequestError: it asks for something that cannot be served.
            ServerNotReadyError, DrainingError: no model serves.
        """
        async with self.use(wish.fields.model, on_long) as use:
            return await self.make_with(use, wish, trace)

    async def make_with(self, use: Use, wish: Wish, trace: str) -> Order:
        """Makes an order for a model that is kept; raises as `make`."""
        model = use.model
        # Once for the whole request: it may be replaced while the prompt is rendered.
        settings = self._of(model)
        stops = _stops(wish.stop, wish.names.stop)
        sampling = sampling_params(wish.fields, wish.top_logprobs, model, settings.sampling)
        if wish.fields.ignore_eos and wish.max_tokens is None:
            raise InvalidRequestError(f"ignore_eos needs {wish.names.max_tokens}", "ignore_eos")
        prompt = await self.prompt(model, wish.prompt, wish.names, model.max_context, settings)
        if wish.prompt_logprobs is not None and len(prompt) > MAX_SCORED_TOKENS:
            raise InvalidRequestError(
                f"{wish.names.prompt} has {len(prompt)} tokens, but log probabilities are given of at most "
                f"{MAX_SCORED_TOKENS}",
                wish.names.prompt,
            )
        order = Order(
            model=model,
            prompt=prompt,
            max_tokens=self._cap(model, len(prompt), wish, settings.default_max_tokens),
            sampling=sampling,
            num_answers=wish.num_answers,
            stops=stops,
            ignores_eos=bool(wish.fields.ignore_eos),
            prompt_logprobs=wish.prompt_logprobs,
            request_class=_request_class(wish.fields),
            timeout_s=settings.request_timeout_s,
            waited_s=use.waited_s,
            trace=trace,
        )
        if not isinstance(wish.prompt, Conversation):
            constraints = await constraints_of(self._prompts.grammars, order, wish)
            param = None if wish.form is None else wish.form.param
            return replace(order, continues=True, constraints=constraints, held_param=param)
        conversation = wish.prompt
        tools = () if conversation.tool_choice.mode is ToolMode.NONE else conversation.tools
        is_single = not conversation.parallel_tool_calls or conversation.tool_choice.mode is ToolMode.NAMED
        dialect = _dialect(model, settings)
        constraints = await constraints_of(self._prompts.grammars, order, wish, conversation, dialect)
        thinking = await self._thinking(model, conversation, settings)
        form = self._prompts.reasoning_form(model, dialect) if thinking.is_on else None
        reasoning = () if form is None else reasoning_of(order, form, dialect, thinking, constraints)
        return replace(
            order,
            dialect=dialect,
            tools={tool.name: tool.parameters or {} for tool in tools},
            max_calls=1 if tools and is_single else None,
            is_held=wish.form is not None,
            is_forced=is_forced(conversation),
            held_param=held_param(wish, conversation),
            continues=bool(conversation.begun),
            constraints=reasoning or constraints,
            reasoning=tuple(constraint.record for constraint in reasoning),
        )

    async def prompt(
        self,
        model: LoadedModel,
        prompt: Prompt,
        names: Names,
        max_tokens: int | None = None,
        settings: OrderSettings | None = None,
    ) -> tuple[int, ...]:
        """Renders and tokenises a prompt in a worker thread; a conversation far past `max_tokens` not to its end.

        Args:
            settings: those of the order; None: of now.

        Raises:
            RequestError: the template or a check refuses it.
        """
        match prompt:
            case str():
                return await self._prompts.complete(model, prompt, names.prompt)
            case FillIn(prefix, suffix):
                return await self._prompts.fill_in(model, prefix, suffix)
            case tuple():
                if max_tokens is not None and len(prompt) > max_tokens:
                    raise ContextLengthExceededError(
                        f"the prompt has {len(prompt)} tokens, the context holds {max_tokens} with the answer",
                        names.prompt,
                    )
                _check_ids(prompt, model.vocab_size, names.prompt)
                return prompt
        source = model.template or ""
        settings = settings or self._of(model)
        dialect = _dialect(model, settings)
        tools = template_tools(prompt.tools, prompt.tool_choice, source, dialect)
        named = template_variables(source, prompt.thinking.variables)
        thinking = await self._thinking(model, prompt, settings)
        variables = {**named, **thinking.variables}
        told = tool_prompt(source, dialect)
        try:
            return await self._prompts.build(
                model, prompt.messages, tools, variables, settings.policies, told, max_tokens, prompt.begun
            )
        except RequestError as error:
            param = error.param or ""
            place = _place(param, prompt.places, names.prompt)
            if place == param:
                raise
            raise type(error)(error.message.replace(param, place), place) from error

    async def check(self, model: ModelFacts, settings: ByFamily[OrderSettings]) -> None:
        """Raises ConfigError where a model that is loaded, or was, could not honour them."""
        own = settings.of(model.family)
        ability = await self._prompts.ability(model)
        if ability is not None:
            own.thinking.check(ability, _dialect(model, own))

    async def _thinking(self, model: LoadedModel, conversation: Conversation, settings: OrderSettings) -> Thinking:
        template = await self._prompts.template(model)
        return resolve(conversation.thinking, template.thinking, _dialect(model, settings), settings.thinking)

    def _of(self, model: ModelFacts) -> OrderSettings:
        return self.settings.of(model.family)

    async def count(self, name: str | None, prompt: Prompt, names: Names) -> int:
        """Counts the tokens of a prompt for the model of that name; raises as `make` does."""
        async with self.use(name) as use:
            return len(await self.prompt(use.model, prompt, names))

    async def capabilities(self, model: ModelFacts) -> Capabilities:
        """Says what a model can do that is loaded, or was."""
        settings = self._of(model)
        dialect = _dialect(model, settings)
        ability = await self._prompts.ability(model)
        is_thinking = ability is not None and can_think(ability, dialect)
        return Capabilities(
            tools=model.template is not None and takes_tools(model.template, dialect),
            thinking=is_thinking,
            thinking_efforts=[] if ability is None else [effort.value for effort in ability.efforts],
            thinking_budget=settings.thinking.budget if is_thinking else 0,
            vision=False,
        )

    async def defaults(self, model: ModelFacts) -> dict[str, float]:
        """What a request has of it that says nothing else, by field."""
        settings, context = self._of(model), model.max_context
        found = sampling_defaults(model, settings.sampling)
        found["max_completion_tokens"] = min(settings.default_max_tokens or context, context)
        if (await self.capabilities(model)).thinking:
            found["thinking_budget"] = settings.thinking.budget
        return found

    def report_ignored(self, names: Sequence[str], exchange: Exchange) -> None:
        """Says once in the log for each name that a field was ignored."""
        for name in names:
            if name not in self._reported and len(self._reported) < _MAX_NAMES_REPORTED:
                self._reported.add(name)
                self._log.emit(
                    "ignis.request.field_ignored", request_id=exchange.request_id, field=name[:64], path=exchange.path
                )

    def _cap(self, model: LoadedModel, num_prompt: int, wish: Wish, default_max_tokens: int) -> int:
        """Returns the cap that fits beside the prompt.

        Raises:
            ContextLengthExceededError: the prompt fills the context, or the explicit cap does not fit beside it.
        """
        explicit, name = wish.max_tokens, wish.names.max_tokens
        room = model.max_context - num_prompt
        if num_prompt == 0:
            raise InvalidRequestError(f"{wish.names.prompt} must hold a token at least", wish.names.prompt)
        if room < 1:
            message = f"the prompt has {num_prompt} tokens, the context holds {model.max_context} with the answer"
            param = wish.names.prompt
        elif explicit is not None and explicit > room:
            message = (
                f"{name} is {explicit}, but beside a prompt of {num_prompt} tokens the context of {model.max_context} "
                f"has room for {room}"
            )
            param = name
        else:
            return explicit or min(room, wish.default_max_tokens or default_max_tokens or room)
        self._metrics.count("ignis_requests_rejected", label=REJECTIONS[ContextLengthExceededError])
        raise ContextLengthExceededError(message, param)


def _dialect(model: ModelFacts, settings: OrderSettings) -> OutputDialect:
    return choose_dialect(model.template, settings.dialect, model.architecture)


def _place(param: str, places: Sequence[str], prompt_name: str) -> str:
    """Where the client's body has what an error of the prompt names as messages, or inside one of them."""
    match = _MESSAGE.match(param)
    if match is None:
        return prompt_name if param == Names().prompt else param
    return places[int(match[1])] if places else param


def _stops(stop: str | Sequence[str] | None, name: str) -> tuple[str, ...]:
    stops = () if stop is None else (stop,) if isinstance(stop, str) else tuple(stop)
    if len(stops) > MAX_STOPS:
        raise InvalidRequestError(f"{name} must hold at most {MAX_STOPS} strings, not {len(stops)}", name)
    for index, text in enumerate(stops):
        if not 0 < len(text) <= MAX_STOP_CHARACTERS:
            place = name if isinstance(stop, str) else f"{name}[{index}]"
            raise InvalidRequestError(f"{place} must be a string of 1 to {MAX_STOP_CHARACTERS} characters", place)
    return stops


def _check_ids(ids: Sequence[int], vocab_size: int, name: str) -> None:
    for index, token_id in enumerate(ids):
        if not 0 <= token_id < vocab_size:
            place = f"{name}[{index}]"
            raise InvalidRequestError(
                f"{place} is {token_id}, but the ids of this model are 0 to {vocab_size - 1}", place
            )


def _request_class(fields: SamplingFields) -> RequestClass:
    if fields.request_class is not None:
        return RequestClass.AGENT if fields.request_class == "agent" else RequestClass.INTERACTIVE
    return split_suffix(fields.model or "")[1] or RequestClass.INTERACTIVE
