"""A socket under any order of asking, cancelling, drawing and freeing: every response ends once, and in order."""

from functools import partial
from typing import Any

import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.engine import script
from tests.fakes.exchange import FakeSocket
from tests.fakes.response_reader import ResponseReader
from tests.unit.api.rig import Rig
from tests.unit.api.test_response_socket import opened_socket
from tests.unit.api.test_responses import rig

STREAMS = (None, "a", "b")
ASKED: dict[str, dict[str, Any]] = {
    "plain": {"input": "Hi"},
    "ahead": {"input": "Hi", "generate": False},
    "wrong": {"input": "Hi", "temperature": 9},
    "long": {"input": "x" * 5000},
    "foreign": {"input": "Hi", "previous_response_id": "resp_0"},
}
steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(STREAMS), st.sampled_from([*ASKED, "on"])),
        st.tuples(st.just("cancel"), st.sampled_from(STREAMS), st.just("")),
        st.tuples(st.just("draw"), st.integers(1, 4), st.just("")),
        st.tuples(st.just("lanes"), st.integers(0, 2), st.just("")),
    ),
    max_size=25,
)


class Client:
    """Asks, and reads what comes: the events of each stream, one response after another."""

    def __init__(self, socket: FakeSocket) -> None:
        self._socket = socket
        self._readers: dict[str | None, ResponseReader] = {}
        self.latest: dict[str | None, str] = {}
        self.num_asked = self.num_cancels = self.num_ended = self.num_refused = 0

    def ask(self, stream: str | None, kind: str) -> None:
        fields = ASKED.get(kind) or {"input": "On", "previous_response_id": self.latest.get(stream)}
        named = {} if stream is None else {"stream_id": stream}
        self._socket.say({"type": "response.create", **fields, **named})
        self.num_asked += 1

    def cancel(self, stream: str | None) -> None:
        self._socket.say({"type": "response.cancel", **({} if stream is None else {"stream_id": stream})})
        self.num_cancels += 1

    def read(self) -> None:
        for event in self._socket.heard():
            stream = event.pop("stream_id", None)
            if event["type"] == "error":
                self.num_refused += event["error"]["code"] != "response_not_found"
                continue
            reader = self._readers.setdefault(stream, ResponseReader())
            reader.read(event)
            if reader.has_ended:
                self.num_ended += 1
                self.latest[stream] = reader.response["id"]
                del self._readers[stream]

    @property
    def is_answered(self) -> bool:
        return self.num_ended + self.num_refused == self.num_asked and not self._readers


@settings(max_examples=60, deadline=None)
@given(steps=steps)
def test_every_response_ends_once_and_streams_keep_their_order(steps: list[tuple[str, Any, str]]) -> None:
    trio.run(partial(play, steps))


async def play(steps: list[tuple[str, Any, str]]) -> None:
    opened = rig(script("Hello"), is_held=True)
    with trio.fail_after(20):
        async with opened_socket(opened) as socket:
            client = Client(socket)
            for step, what, kind in steps:
                if step == "ask":
                    client.ask(what, kind)
                elif step == "cancel":
                    client.cancel(what)
                elif step == "draw":
                    deliver(opened, what)
                else:
                    opened.engine.free(what)
                await trio.testing.wait_all_tasks_blocked()
                client.read()
            opened.engine.free(1000)
            while not client.is_answered:
                deliver(opened, 100)
                await trio.lowlevel.checkpoint()
                client.read()


def deliver(opened: Rig, num_events: int) -> None:
    for number in range(1, len(opened.engine.submissions) + 1):
        opened.engine.deliver(number, num_events)
