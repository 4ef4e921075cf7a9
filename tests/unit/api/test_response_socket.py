"""/v1/responses over a WebSocket: streams, the queue, what is gone on from, cancelling, and refusals."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from ignis.errors import DrainingError, EngineError
from ignis.limits import MAX_ACTIVE_RESPONSES, MAX_STREAMS, MAX_WAITING_RESPONSES
from ignis.scheduler.request import FinishReason
from tests.fakes.engine import script
from tests.fakes.exchange import FakeExchange, FakeSocket
from tests.fakes.response_reader import ResponseReader, without_ids
from tests.unit.api.rig import Rig
from tests.unit.api.test_responses import ALL, PATH, F, make, prompt, rig, stream


@asynccontextmanager
async def opened_socket(opened: Rig, **headers: str) -> AsyncIterator[FakeSocket]:
    """A socket; at the end the server drains and the handler must return by itself."""
    exchange = FakeExchange("GET", PATH, is_upgrade=True, headers=headers)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(opened.router, exchange)
        socket = await exchange.wait_accepted()
        yield socket
        socket.drain()


async def read(socket: FakeSocket, stream_id: str | None = None) -> dict[str, Any]:
    """The next response; every event of it must name the stream, and no other may come between."""
    reader = ResponseReader()
    while not reader.has_ended:
        event = await socket.hear()
        assert event.pop("stream_id", None) == stream_id
        reader.read(event)
    return reader.response


async def ask(socket: FakeSocket, **fields: Any) -> dict[str, Any]:
    socket.say({"type": "response.create", "input": "Hi", **fields})
    return await read(socket, fields.get("stream_id"))


async def submitted(opened: Rig, count: int) -> None:
    """Waits for so many submissions: prompts are made in threads, which no silence of the tasks shows."""
    while len(opened.engine.submissions) < count:
        await trio.lowlevel.checkpoint()
    await trio.testing.wait_all_tasks_blocked()


async def refused(socket: FakeSocket, message: Any) -> tuple[int, str, str | None]:
    socket.say({"type": "response.create", "input": "Hi", **message} if isinstance(message, dict) else message)
    told = await socket.hear()
    assert told["type"] == "error", told
    return told["status"], told["error"]["code"], told["error"]["param"]


async def test_a_response_is_that_of_the_http_stream_event_for_event() -> None:
    fields: Any = {"tools": [F], "seed": 1, "include": ["message.output_text.logprobs"]}
    async with opened_socket(rig(script(ALL))) as socket:
        over_socket = await ask(socket, **fields, stream=False)
    over_http = await stream(rig(script(ALL)), **fields, store=False)
    assert without_ids(over_socket) == without_ids(over_http)


async def test_a_get_without_an_upgrade_is_a_400() -> None:
    answer = await rig().answer("GET", PATH)
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_request_error")


async def test_the_key_may_come_as_a_subprotocol_which_is_never_sent_back() -> None:
    offered = {"sec-websocket-protocol": "openai-insecure-api-key.sk, realtime"}
    async with opened_socket(rig(api_key="sk"), **offered) as socket:
        assert socket.subprotocol == "realtime"
    for header in ("openai-insecure-api-key.other", "sk"):
        exchange = FakeExchange("GET", PATH, is_upgrade=True, headers={"sec-websocket-protocol": header})
        await rig(api_key="sk").router(exchange)
        assert exchange.answer.status == 401
    # Over plain HTTP it is no key.
    answer = await rig(api_key="sk").answer("POST", PATH, {"input": "Hi"}, headers=offered)
    assert answer.status == 401


async def test_responses_of_one_stream_come_in_order_and_others_beside_them() -> None:
    opened = rig(script("AA"), script("BB"), script("CC"), is_held=True)
    async with opened_socket(opened) as socket:
        for name in ("a", "a", "b"):
            socket.say({"type": "response.create", "input": "Hi", "stream_id": name})
        await submitted(opened, 2)
        assert sorted(event["stream_id"] for event in socket.heard()) == ["a", "a", "b", "b"]
        assert len(opened.engine.submissions) == 2
        opened.engine.deliver(1)
        opened.engine.deliver(2)
        assert {(await read_rest(socket)), (await read_rest(socket))} == {"a", "b"}
        await submitted(opened, 3)
        opened.engine.deliver(3)
        assert (await read(socket, "a"))["output"][0]["content"][0]["text"] == "CC"


async def read_rest(socket: FakeSocket) -> str:
    """Reads to the next end of a response, which must have gone well, and names its stream."""
    while "response" not in (event := await socket.hear()) or event["type"] == "response.created":
        pass
    assert event["type"] == "response.completed"
    return str(event["stream_id"])


async def test_a_connection_has_so_many_responses_under_way_and_the_rest_wait() -> None:
    opened = rig(is_held=True)
    async with opened_socket(opened) as socket:
        for number in range(MAX_ACTIVE_RESPONSES + 2):
            socket.say({"type": "response.create", "input": "Hi", "stream_id": str(number)})
        await submitted(opened, MAX_ACTIVE_RESPONSES)
        for number in range(1, MAX_ACTIVE_RESPONSES + 3):
            # One more can only begin when one has ended.
            assert len(opened.engine.submissions) <= MAX_ACTIVE_RESPONSES + number - 1
            await submitted(opened, number)
            opened.engine.deliver(number)
        assert len(opened.engine.submissions) == MAX_ACTIVE_RESPONSES + 2


async def test_a_response_that_finds_no_lane_is_queued_and_all_sockets_wait_in_one_row() -> None:
    opened = rig(script("first"), script("second"))
    opened.engine.num_free = 0
    async with opened_socket(opened) as one, opened_socket(opened) as other:
        for place, socket in ((1, one), (2, other)):
            socket.say({"type": "response.create", "input": str(place)})
            for name in ("response.created", "response.queued"):
                event = await socket.hear()
                assert (event["type"], event["response"]["status"]) == (name, "queued")
            assert event["place"] == place
        assert b"\nignis_responses_queued_requests 2.0\n" in opened.metrics.expose()
        opened.engine.free(1)
        await trio.testing.wait_all_tasks_blocked()
        assert one.heard()[0]["type"] == "response.in_progress"
        # It is told that it has moved up.
        assert [(event["type"], event["place"]) for event in other.heard()] == [("response.queued", 1)]
        opened.engine.free(1)
        await trio.testing.wait_all_tasks_blocked()
        events = other.heard()
        assert (events[0]["type"], events[-1]["type"]) == ("response.in_progress", "response.completed")
        assert [event["sequence_number"] for event in events] == list(range(3, 3 + len(events)))


async def test_a_queued_response_whose_server_shuts_down_fails() -> None:
    opened = rig()
    opened.engine.num_free = 0
    async with opened_socket(opened) as socket:
        socket.say({"type": "response.create", "input": "Hi"})
        reader = ResponseReader()
        for _ in range(2):
            reader.read(await socket.hear())
        opened.engine.refusal = DrainingError("it shuts down")
        opened.engine.free(1)
        reader.read(await socket.hear())
        ended = reader.response
        assert (ended["status"], ended["error"]["code"]) == ("failed", DrainingError.code)


async def test_a_queued_response_can_be_cancelled_and_leaves_the_row() -> None:
    opened = rig(script("A"))
    opened.engine.num_free = 0
    async with opened_socket(opened) as one, opened_socket(opened) as other:
        one.say({"type": "response.create", "input": "Hi"})
        reader = ResponseReader()
        for _ in range(2):
            reader.read(await one.hear())
        other.say({"type": "response.create", "input": "Hi"})
        one.say({"type": "response.cancel", "response_id": reader.created["id"]})
        reader.read(await one.hear())
        assert (reader.response["status"], reader.response["output"]) == ("cancelled", [])
        opened.engine.free(1)
        assert (await read(other))["status"] == "completed"


async def test_the_latest_response_of_a_stream_is_gone_on_from_without_being_stored() -> None:
    opened = rig(script("A"), script("B"), script("C"))
    async with opened_socket(opened) as socket:
        first = await ask(socket)
        assert first["store"] is False
        second = await ask(socket, input="And?", previous_response_id=first["id"])
        assert prompt(opened) == "<user>|Hi;<assistant>|A;<user>|And?;<assistant>"
        # A fork from another stream leaves it where it is; an older one is gone.
        await ask(socket, input="Fork", previous_response_id=second["id"], stream_id="fork")
        assert prompt(opened).endswith("<assistant>|B;<user>|Fork;<assistant>")
        wanted = (400, "previous_response_not_found", "previous_response_id")
        assert await refused(socket, {"previous_response_id": first["id"]}) == wanted
        assert await refused(socket, {"previous_response_id": "resp_0"}) == wanted
    answer = await opened.answer("GET", f"{PATH}/{second['id']}")
    assert answer.status == 404
    async with opened_socket(opened) as another:
        assert await refused(another, {"previous_response_id": second["id"]}) == wanted


async def test_a_stored_response_is_gone_on_from_anywhere() -> None:
    opened = rig(script("A"), script("B"), script("C"))
    over_http = await make(opened)
    async with opened_socket(opened) as socket:
        stored = await ask(socket, input="And?", previous_response_id=over_http["id"], store=True)
    await make(opened, input="Then?", previous_response_id=stored["id"])
    assert prompt(opened) == "<user>|Hi;<assistant>|A;<user>|And?;<assistant>|B;<user>|Then?;<assistant>"


async def test_a_continuation_that_fails_takes_its_parent_with_it_and_a_failed_fork_does_not() -> None:
    opened = rig(script("A"), script("B"), script("C", FinishReason.FAULT), script("D"))
    async with opened_socket(opened) as socket:
        first = await ask(socket)
        fork = {"previous_response_id": first["id"], "stream_id": "fork", "input": "x" * 5000}
        assert (await refused(socket, fork))[1] == "context_length_exceeded"
        second = await ask(socket, previous_response_id=first["id"])
        failed = await ask(socket, previous_response_id=second["id"])
        assert (failed["status"], failed["error"]["code"]) == ("failed", EngineError.code)
        again = await refused(socket, {"previous_response_id": second["id"]})
        assert again[1] == "previous_response_not_found"
        # It is the same for one that was refused for its fields.
        fourth = await ask(socket)
        assert (await refused(socket, {"previous_response_id": fourth["id"], "temperature": 9}))[2] == "temperature"
        assert (await refused(socket, {"previous_response_id": fourth["id"]}))[1] == "previous_response_not_found"


async def test_a_prompt_that_is_only_read_ahead_gives_no_output_and_can_be_gone_on_from() -> None:
    opened = rig(script("Hello"), script("A"))
    async with opened_socket(opened) as socket:
        warm = await ask(socket, generate=False)
        assert (warm["status"], warm["output"], warm["usage"]["output_tokens"]) == ("completed", [], 0)
        assert opened.engine.submissions[0].max_tokens == 1
        await ask(socket, input=[], previous_response_id=warm["id"])
    assert prompt(opened, 0) == prompt(opened, 1)


async def test_a_cancelled_response_ends_incomplete_with_what_came() -> None:
    opened = rig(script("Hello"), script("Next"), is_held=True)
    async with opened_socket(opened) as socket:
        for fields in ({}, {"response_id": None}):
            socket.say({"type": "response.create", "input": "Hi"})
            number = len(opened.engine.submissions) + 1
            await submitted(opened, number)
            opened.engine.deliver(number, 2)
            await trio.testing.wait_all_tasks_blocked()
            created = await socket.hear()
            named = dict.fromkeys(fields, created["response"]["id"])
            socket.say({"type": "response.cancel", **named})
            reader = ResponseReader()
            reader.read(created)
            while not reader.has_ended:
                reader.read(await socket.hear())
            assert reader.names[-1] == "response.incomplete"
            assert reader.response["status"] == "cancelled"
            assert opened.engine.ended[-1] == (number, FinishReason.CANCELLED)
        assert await refused(socket, '{"type": "response.cancel"}') == (404, "response_not_found", "response_id")
        wrong = '{"type": "response.cancel", "response_id": "resp_0"}'
        assert await refused(socket, wrong) == (404, "response_not_found", "response_id")


async def test_a_response_is_cancelled_before_it_has_begun() -> None:
    opened = rig()
    async with opened_socket(opened) as socket:
        socket.say({"type": "response.create", "input": "Hi"})
        socket.say({"type": "response.cancel"})
        ended = await read(socket)
    assert (ended["status"], ended["output"]) == ("cancelled", [])
    assert opened.engine.submissions == []


async def test_a_client_that_leaves_ends_all_that_it_asked_for() -> None:
    opened = rig(script("Hello"), is_held=True)
    async with trio.open_nursery() as nursery:
        exchange = FakeExchange("GET", PATH, is_upgrade=True)
        nursery.start_soon(opened.router, exchange)
        socket = await exchange.wait_accepted()
        for name in ("a", "b", "b"):
            socket.say({"type": "response.create", "input": "Hi", "stream_id": name})
        await submitted(opened, 2)
        nursery.cancel_scope.cancel()
    assert sorted(opened.engine.ended) == [(1, FinishReason.CANCELLED), (2, FinishReason.CANCELLED)]


async def test_a_server_that_drains_ends_what_was_begun_and_then_the_socket() -> None:
    opened = rig(script("Hello"), is_held=True)
    async with opened_socket(opened) as socket:
        socket.say({"type": "response.create", "input": "Hi"})
        await submitted(opened, 1)
        socket.drain()
        await trio.testing.wait_all_tasks_blocked()
        opened.engine.deliver(1)
        assert (await read(socket))["status"] == "completed"


@pytest.mark.parametrize(
    ("message", "code", "param"),
    [
        (b"{}", "invalid_request_error", None),
        ("{", "invalid_request_error", None),
        ("[1]", "invalid_request_error", None),
        ("{}", "invalid_request_error", "type"),
        ('{"type": "response.make"}', "invalid_request_error", "type"),
        ('{"type": "response.steer"}', "steering_not_supported", None),
        ({"stream_id": ""}, "invalid_stream_id", "stream_id"),
        ({"stream_id": "a b"}, "invalid_stream_id", "stream_id"),
        ({"stream_id": "a" * 257}, "invalid_stream_id", "stream_id"),
        ({"stream_id": 3}, "invalid_request_error", "stream_id"),
        ({"temperature": 3}, "invalid_sampling_parameter", "temperature"),
        ({"temperatur": 1}, "invalid_request_error", "temperatur"),
        ({"tools": [{"type": "mcp"}]}, "unsupported_value", "tools[0].type"),
        ({"background": True}, "unsupported_value", "background"),
        ({"input": None}, "invalid_request_error", "input"),
        ({"model": "other"}, "model_not_found", "model"),
    ],
)
async def test_a_refusal_is_an_error_event_and_the_socket_stays_open(
    message: Any, code: str, param: str | None
) -> None:
    async with opened_socket(rig()) as socket:
        assert (await refused(socket, message))[1:] == (code, param)
        assert (await ask(socket))["status"] == "completed"


async def test_half_a_character_is_read_as_over_http() -> None:
    opened = rig()
    async with opened_socket(opened) as socket:
        socket.say(r'{"type": "response.create", "stream_id": "half", "input": "Hi \ud83d"}')
        assert (await read(socket, "half"))["status"] == "completed"
        await ask(socket, input="Hi \ufffd")
    first, second = opened.engine.submissions
    assert first.prompt == second.prompt


async def test_a_client_that_asks_without_end_is_told_that_enough_wait() -> None:
    opened = rig(is_held=True)
    async with opened_socket(opened) as socket:
        socket.say({"type": "response.create", "input": "Hi"})
        await submitted(opened, 1)
        for _ in range(MAX_WAITING_RESPONSES + 1):
            socket.say({"type": "response.create", "input": "Hi"})
        await trio.testing.wait_all_tasks_blocked()
        told = [event for event in socket.heard() if event["type"] == "error"]
        assert [(event["status"], event["error"]["code"]) for event in told] == [(503, "engine_full")]
        for number in range(1, MAX_WAITING_RESPONSES + 2):
            await submitted(opened, number)
            opened.engine.deliver(number)


async def test_a_refusal_on_a_named_stream_names_it_and_takes_no_name() -> None:
    async with opened_socket(rig()) as socket:
        for number in range(MAX_STREAMS + 1):
            bad = {"type": "response.create", "input": "Hi", "stream_id": str(number), "temperature": 3}
            socket.say(bad)
            told = await socket.hear()
            assert (told["type"], told["stream_id"]) == ("error", str(number))
        for number in range(MAX_STREAMS):
            await ask(socket, stream_id=f"s{number}")
        assert await refused(socket, {"stream_id": "more"}) == (400, "websocket_stream_limit_reached", "stream_id")
        # Those that there are, and the unnamed one, go on.
        await ask(socket, stream_id="s0")
        await ask(socket)
