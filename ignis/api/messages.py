"""POST /v1/messages and /v1/messages/count_tokens: Anthropic's Messages API over the same one path."""

import secrets
from dataclasses import replace

import msgspec

from ignis.api.answering import Answering
from ignis.api.anthropic_blocks import BlockGatherer
from ignis.api.anthropic_conversation import messages_conversation
from ignis.api.anthropic_events import MessageEvents, PrewarmEvents
from ignis.api.body import opening, read_body
from ignis.api.generation import Delta
from ignis.api.held import json_schema_form, one_form
from ignis.api.orders import Orders
from ignis.api.schema.anthropic_answer import TokenCount
from ignis.api.schema.anthropic_request import CountTokensRequest, MessagesFields, MessagesRequest
from ignis.api.wish import Names, Wish
from ignis.errors import InvalidSamplingParameterError
from ignis.exchange import Exchange
from ignis.grammar.forms import Form
from ignis.metrics import Metrics

_NAMES = Names(stop="stop_sequences")


class Messages:
    """The two endpoints."""

    def __init__(self, orders: Orders, answering: Answering, metrics: Metrics, max_body_bytes: int) -> None:
        self._orders = orders
        self._answering = answering
        self._metrics = metrics
        self._max_body_bytes = max_body_bytes

    async def create(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, MessagesRequest)
        fields = read.fields
        self._orders.report_ignored(read.ignored, exchange)
        if fields.top_logprobs and not fields.logprobs:
            raise InvalidSamplingParameterError("top_logprobs needs logprobs to be true", "top_logprobs")
        wish = Wish(
            fields=fields,
            prompt=messages_conversation(fields),
            # Clients of this API must name a cap, and they name large ones: it is cut to what fits.
            max_tokens=fields.max_tokens if fields.ignore_eos else None,
            default_max_tokens=fields.max_tokens or None,
            stop=fields.stop_sequences,
            top_logprobs=(fields.top_logprobs or 0) if fields.logprobs else None,
            form=_form(fields),
            names=_NAMES,
        )
        order = await self._orders.make(wish, exchange.request_id, opening(exchange, read, fields.stream))
        if not fields.max_tokens:
            # One token is drawn where a prompt is read to its end.
            order = replace(order, max_tokens=1)
        shape = (MessageEvents if fields.max_tokens else PrewarmEvents)(
            f"msg_{secrets.token_hex(12)}",
            order,
            exchange.request_id,
            hides_thinking=fields.thinking is not None and fields.thinking.display == "omitted",
            is_cut=order.max_tokens < fields.max_tokens,
        )
        if fields.stream:
            await self._answering.stream(exchange, [order], shape, read.headers)
            return
        gatherer = BlockGatherer()

        def keep(delta: Delta) -> None:
            for event in shape.block_events(delta):
                gatherer.add(event)

        outcome = await self._answering.whole([order], keep)
        last = shape.last(outcome)
        body = msgspec.structs.replace(
            shape.message(last.usage),
            content=gatherer.blocks,
            stop_reason=last.delta.stop_reason,
            stop_sequence=last.delta.stop_sequence,
            thinking_budget_forced_at=last.thinking_budget_forced_at,
            logprobs=[*gatherer.logprobs, *(last.logprobs or ())] if fields.logprobs else msgspec.UNSET,
            timings=last.timings,
        )
        await exchange.respond(200, msgspec.json.encode(body), headers=read.headers)

    async def count_tokens(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, CountTokensRequest)
        fields = read.fields
        self._orders.report_ignored(read.ignored, exchange)
        count = await self._orders.count(fields.model, messages_conversation(fields), _NAMES)
        self._metrics.count("ignis_tokenize_requests", label="count_tokens")
        await exchange.respond(200, msgspec.json.encode(TokenCount(input_tokens=count)), headers=read.headers)


def _form(fields: MessagesFields) -> Form | None:
    """What the text of the answer is held to."""
    config = fields.output_config
    named = {"output_config.format": None if config is None else config.format, "output_format": fields.output_format}
    return one_form(
        *(json_schema_form(given.schema, f"{param}.schema") for param, given in named.items() if given is not None)
    )
