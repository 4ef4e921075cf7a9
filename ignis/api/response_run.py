"""What the routes of responses share: a checked body becomes a run, and a run that has ended is kept.

A run knows its conversation; how it is told, over HTTP or a socket, is its route's.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import trio

from ignis.api.figures import logprobs_of
from ignis.api.generation import DrawnToken
from ignis.api.held import json_schema_form, one_form, structured_outputs
from ignis.api.order import Order
from ignis.api.orders import Orders
from ignis.api.response_input import plain_items, references, template_messages
from ignis.api.response_shape import ResponseTale
from ignis.api.response_store import Item, ResponseStore, StoredResponse, json_bytes
from ignis.api.response_tools import OfferedTools, offer_tools
from ignis.api.response_writers import new_id
from ignis.api.schema.responses import (
    AnsweredReasoning,
    AnsweredText,
    ConversationFields,
    Response,
    ResponseFields,
)
from ignis.api.schema.usage import TokenLogprobEntry
from ignis.api.serving import OnLong
from ignis.api.thinking import AskedThinking, asked_thinking
from ignis.api.wish import Conversation, Names, Wish
from ignis.clock import unix_s
from ignis.errors import (
    InvalidRequestError,
    InvalidSamplingParameterError,
    PreviousResponseNotFoundError,
    UnsupportedValueError,
)
from ignis.grammar.forms import Form, JsonForm

NAMES = Names(prompt="input", max_tokens="max_output_tokens", stop="stop")
_INLINE_ITEMS = 256
"""A conversation of so many items is read in a millisecond."""
_LOGPROBS = "message.output_text.logprobs"
_SEALED = "reasoning.encrypted_content"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The conversation that a response goes on from."""

    items: Sequence[Item] = ()
    items_bytes: int = 0


@dataclass(slots=True)
class ResponseRun:
    """One response on its way."""

    order: Order
    tale: ResponseTale
    earlier: Earlier
    own: Sequence[Item]
    """The new input."""
    is_stored: bool
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    """Cancelled by whoever gives the response up."""
    ended: trio.Event = field(default_factory=trio.Event)

    @property
    def response(self) -> Response:
        return self.tale.response

    def conversation(self) -> StoredResponse:
        """The response as it ended, with everything before it."""
        output = msgspec.to_builtins(self.response.output)
        return StoredResponse(
            id=self.response.id,
            body=msgspec.json.encode(self.response),
            items=(*self.earlier.items, *self.own, *output),
            num_earlier=len(self.earlier.items),
            num_read=len(self.earlier.items) + len(self.own),
            items_bytes=self.earlier.items_bytes + json_bytes([*self.own, *output]),
        )


class ResponseRuns:
    """Makes runs, knows those on their way, and keeps those that ended."""

    def __init__(self, orders: Orders, store: ResponseStore) -> None:
        self.store = store
        self._orders = orders
        self._running: dict[str, ResponseRun] = {}

    def earlier(self, response_id: str | None) -> Earlier:
        """Looks up what a response goes on from.

        Raises:
            PreviousResponseNotFoundError: it was never kept, or not until now.
        """
        if response_id is None:
            return Earlier()
        found = self.store.get(response_id)
        if found is None:
            raise PreviousResponseNotFoundError(
                f"previous_response_id is {response_id[:80]!r}, and no such response can be gone on from"
            )
        return Earlier(found.items, found.items_bytes)

    async def make(
        self,
        fields: ResponseFields,
        raw: Mapping[str, Any],
        earlier: Earlier,
        request_id: str,
        on_long: OnLong | None = None,
    ) -> ResponseRun:
        """Makes the order and the response that tells of it; submits nothing.

        Args:
            on_long: called once where the wait for the model is long.

        Raises:
            RequestError: the body asks for something that cannot be served.
            ServerNotReadyError, DrainingError: no model serves.
        """
        if fields.store and not self.store.keeps:
            raise UnsupportedValueError("store must be false: this server keeps no responses", "store")
        include = fields.include or []
        if fields.top_logprobs and _LOGPROBS not in include:
            raise InvalidSamplingParameterError(f"top_logprobs needs include to name {_LOGPROBS}", "top_logprobs")
        tools = offer_tools(fields.tools or (), fields.tool_choice)
        own, conversation = await self._read(fields, raw, earlier, tools)
        wish = Wish(
            fields=fields,
            prompt=conversation,
            max_tokens=fields.max_output_tokens,
            stop=fields.stop,
            form=one_form(_text_form(fields), structured_outputs(fields.structured_outputs)),
            top_logprobs=(fields.top_logprobs or 0) if _LOGPROBS in include else None,
            names=NAMES,
        )
        order = await self._orders.make(wish, request_id, on_long)
        is_stored = self.store.keeps if fields.store is None else fields.store

        def spell(tokens: Sequence[DrawnToken]) -> list[TokenLogprobEntry]:
            return logprobs_of(tokens, order.model.tokenizer)

        tale = ResponseTale(
            _response(fields, raw, order, tools, is_stored=is_stored),
            tools.names,
            seed=order.sampling.seed,
            spell_logprobs=None if order.sampling.top_logprobs is None else spell,
            seals_reasoning=_SEALED in include,
        )
        return ResponseRun(order, tale, earlier, own, is_stored)

    async def count(self, fields: ConversationFields, raw: Mapping[str, Any]) -> int:
        """Counts the tokens of the prompt; raises as `make`."""
        earlier = self.earlier(fields.previous_response_id)
        _, conversation = await self._read(fields, raw, earlier, offer_tools(fields.tools or (), fields.tool_choice))
        return await self._orders.count(fields.model, conversation, NAMES)

    async def _read(
        self, fields: ConversationFields, raw: Mapping[str, Any], earlier: Earlier, tools: OfferedTools
    ) -> tuple[Sequence[Item], Conversation]:
        """The new input as items, and the conversation; a long one is put together in a worker thread."""
        given = fields.input
        known = {name: item for name in references(given) if (item := self.store.item(name)) is not None}
        num_items = len(earlier.items) + (0 if given is None or isinstance(given, str) else len(given))
        if num_items <= _INLINE_ITEMS:
            return _read(fields, raw, earlier.items, known, tools)
        return await trio.to_thread.run_sync(_read, fields, raw, earlier.items, known, tools)

    @contextmanager
    def running(self, run: ResponseRun) -> Iterator[None]:
        """Knows the run by its id while the block lasts, and keeps it if it has ended then."""
        self._running[run.response.id] = run
        try:
            yield
        finally:
            del self._running[run.response.id]
            run.ended.set()
        if run.is_stored and run.response.status not in ("queued", "in_progress"):
            self.store.put(run.conversation())

    def find_running(self, response_id: str) -> ResponseRun | None:
        return self._running.get(response_id)


def _read(
    fields: ConversationFields,
    raw: Mapping[str, Any],
    earlier: Sequence[Item],
    known: Mapping[str, Item],
    tools: OfferedTools,
) -> tuple[Sequence[Item], Conversation]:
    own = plain_items(fields.input, raw.get("input"), known)
    messages, places = template_messages(fields.instructions, earlier, own)
    return own, Conversation(
        messages=messages,
        places=places,
        tools=tools.functions,
        tool_choice=tools.choice,
        parallel_tool_calls=fields.parallel_tool_calls is not False,
        thinking=_thinking(fields),
    )


def _text_form(fields: ConversationFields) -> Form | None:
    form = None if fields.text is None else fields.text.format
    if form is None or form.type == "text":
        return None
    return (
        JsonForm("text.format") if form.type == "json_object" else json_schema_form(form.schema, "text.format.schema")
    )


def _thinking(fields: ConversationFields) -> AskedThinking:
    is_nested = fields.reasoning is not None and fields.reasoning.effort is not None
    return asked_thinking(
        enable_thinking=fields.enable_thinking,
        preserve_thinking=fields.preserve_thinking,
        reasoning_effort=_effort(fields),
        effort_param="reasoning.effort" if is_nested else "reasoning_effort",
        thinking_budget=fields.thinking_budget,
        chat_template_kwargs=fields.chat_template_kwargs,
    )


def _effort(fields: ConversationFields) -> str | None:
    nested = None if fields.reasoning is None else fields.reasoning.effort
    if nested is not None and fields.reasoning_effort is not None and nested != fields.reasoning_effort:
        raise InvalidRequestError("reasoning.effort and reasoning_effort contradict each other", "reasoning_effort")
    return nested or fields.reasoning_effort


def _response(
    fields: ResponseFields, raw: Mapping[str, Any], order: Order, tools: OfferedTools, *, is_stored: bool
) -> Response:
    """The response before anything was drawn, with what was asked for and what the defaults made of the rest."""
    sampling = order.sampling
    return Response(
        id=new_id("resp"),
        created_at=unix_s(),
        model=order.model.name,
        instructions=fields.instructions,
        max_output_tokens=fields.max_output_tokens,
        metadata=fields.metadata or {},
        parallel_tool_calls=fields.parallel_tool_calls is not False,
        previous_response_id=fields.previous_response_id,
        reasoning=AnsweredReasoning(effort=_effort(fields)),
        store=is_stored,
        temperature=sampling.temperature,
        text=AnsweredText(format=(raw.get("text") or {}).get("format") or {"type": "text"}),
        tool_choice="auto" if fields.tool_choice is None else fields.tool_choice,
        tools=[tool for index, tool in enumerate(raw.get("tools") or ()) if index in tools.places],
        top_logprobs=sampling.top_logprobs or 0,
        top_p=sampling.top_p,
    )
