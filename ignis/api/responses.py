"""The HTTP routes of /v1/responses: made whole or as a stream, shown, listed, cancelled, forgotten, and counted."""

from collections.abc import Sequence

import msgspec

from ignis.api.answering import Answering, Event
from ignis.api.body import opening, read_body
from ignis.api.generation import Delta
from ignis.api.orders import Orders
from ignis.api.response_run import ResponseRun, ResponseRuns
from ignis.api.response_shape import ResponseShape
from ignis.api.response_store import StoredResponse
from ignis.api.schema.responses import (
    DeletedResponse,
    InputItemList,
    InputTokens,
    InputTokensRequest,
    ResponseRequest,
)
from ignis.errors import InvalidRequestError, ResponseNotFoundError, UnsupportedValueError
from ignis.exchange import Exchange

_PREFIX = "/v1/responses/"
_MAX_PAGE = 100
_PAGE = 20


class Responses:
    """The endpoints."""

    def __init__(self, orders: Orders, answering: Answering, runs: ResponseRuns, max_body_bytes: int) -> None:
        self._orders = orders
        self._answering = answering
        self._runs = runs
        self._max_body_bytes = max_body_bytes

    async def create(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, ResponseRequest)
        fields = read.fields
        self._orders.report_ignored(read.ignored, exchange)
        earlier = self._runs.earlier(fields.previous_response_id)
        on_long = opening(exchange, read, fields.stream)
        run = await self._runs.make(fields, read.raw, earlier, exchange.request_id, on_long)
        if fields.stream:
            await self._stream(exchange, run, read.headers)
        else:
            await self._whole(exchange, run, read.headers)

    async def _whole(self, exchange: Exchange, run: ResponseRun, headers: Sequence[tuple[str, str]]) -> None:
        tale = run.tale

        def keep(delta: Delta) -> None:
            tale.delta(delta)

        with self._runs.running(run):
            tale.begin()
            tale.end(await self._answering.whole([run.order], keep))
        await exchange.respond(200, msgspec.json.encode(run.response), headers=headers)

    async def _stream(self, exchange: Exchange, run: ResponseRun, headers: Sequence[tuple[str, str]]) -> None:
        shape = ResponseShape(run.tale)
        with self._answering.submitted([run.order]) as mailboxes:
            events = await exchange.open_events(headers)

            async def send(event: Event) -> None:
                await events.send(event.data, event.name)

            with self._runs.running(run):
                with run.scope:
                    await self._answering.tell([run.order], mailboxes, shape, send, exchange.request_id)
                if run.scope.cancelled_caught:
                    for event in shape.cancel():
                        await send(event)
            await events.close()

    async def show(self, exchange: Exchange) -> None:
        response_id = _id(exchange)
        if exchange.query.get("stream", "false") != "false":
            raise UnsupportedValueError("stream is not served here: a response is streamed as it is made", "stream")
        running = self._runs.find_running(response_id)
        body = self._stored(response_id).body if running is None else msgspec.json.encode(running.response)
        await exchange.respond(200, body)

    async def delete(self, exchange: Exchange) -> None:
        response_id = _id(exchange)
        if not self._runs.store.remove(response_id):
            raise _not_found(response_id)
        await exchange.respond(200, msgspec.json.encode(DeletedResponse(id=response_id)))

    async def cancel(self, exchange: Exchange) -> None:
        """Gives a running response up, whoever asked for it; a cancelled one is shown again."""
        response_id = _id(exchange)
        run = self._runs.find_running(response_id)
        if run is not None:
            run.scope.cancel()
            await run.ended.wait()
            await exchange.respond(200, msgspec.json.encode(run.response))
            return
        body = self._stored(response_id).body
        status = msgspec.json.decode(body)["status"]
        if status != "cancelled":
            raise InvalidRequestError(f"the response has ended: it is {status}", "response_id")
        await exchange.respond(200, body)

    async def list_input(self, exchange: Exchange) -> None:
        stored = self._stored(_id(exchange))
        items = list(stored.items[: stored.num_read])
        if _choice(exchange, "order", ("desc", "asc")) == "desc":
            items.reverse()
        after = exchange.query.get("after")
        if after is not None:
            places = [index for index, item in enumerate(items) if item["id"] == after]
            if not places:
                raise InvalidRequestError(f"after is {after[:80]!r}, which is no item of this response", "after")
            items = items[places[0] + 1 :]
        limit = _limit(exchange)
        page = [dict(item) for item in items[:limit]]
        answer = InputItemList(
            data=page,
            first_id=page[0]["id"] if page else None,
            last_id=page[-1]["id"] if page else None,
            has_more=len(items) > limit,
        )
        await exchange.respond(200, msgspec.json.encode(answer))

    async def count_input(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, InputTokensRequest)
        self._orders.report_ignored(read.ignored, exchange)
        answer = InputTokens(input_tokens=await self._runs.count(read.fields, read.raw))
        await exchange.respond(200, msgspec.json.encode(answer), headers=read.headers)

    def _stored(self, response_id: str) -> StoredResponse:
        found = self._runs.store.get(response_id)
        if found is None:
            raise _not_found(response_id)
        return found


def _id(exchange: Exchange) -> str:
    return exchange.path.removeprefix(_PREFIX).partition("/")[0]


def _not_found(response_id: str) -> ResponseNotFoundError:
    return ResponseNotFoundError(f"there is no response {response_id[:80]!r}")


def _choice(exchange: Exchange, name: str, allowed: tuple[str, str]) -> str:
    value = exchange.query.get(name, allowed[0])
    if value not in allowed:
        raise InvalidRequestError(f"{name} must be {' or '.join(allowed)}, not {value[:60]!r}", name)
    return value


def _limit(exchange: Exchange) -> int:
    text = exchange.query.get("limit", str(_PAGE))
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0
    if not 1 <= limit <= _MAX_PAGE:
        raise InvalidRequestError(f"limit must be an integer from 1 to {_MAX_PAGE}, not {text[:60]!r}", "limit")
    return limit
