"""The events of a response: their grammar holds for any text, however it comes and wherever it ends."""

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignis.api.generation import Delta, Outcome
from ignis.api.reasoning_seal import seal, unseal
from ignis.api.response_shape import PrewarmShape, ResponseShape, ResponseTale
from ignis.api.response_tools import ToolName
from ignis.api.schema.responses import AnsweredReasoning, AnsweredText, Response
from ignis.errors import EngineError, InvalidRequestError
from ignis.scheduler.request import FinishReason
from ignis.stream.parts import CallArguments, CallBegin, Content, Part, Reasoning
from tests.fakes.response_reader import ResponseReader, without_ids

TOOLS = {"f": ToolName("f"), "n.g": ToolName("g", "n"), "c": ToolName("c", is_custom=True)}
OUTCOME = Outcome(
    prompt_tokens=3,
    cached_tokens=1,
    completion_tokens=5,
    reasoning_tokens=2,
    rewound_tokens=0,
    queued_s=0.0,
    prefill_s=0.1,
    decode_s=0.2,
    num_answers=1,
)
texts = st.text(min_size=1, max_size=5)
calls = st.sampled_from(["f", "n.g", "c", "unknown"]).flatmap(
    lambda name: st.lists(texts, max_size=3).map(lambda pieces: [(name, None), *[(name, piece) for piece in pieces]])
)
spoken = st.lists(
    st.one_of(texts.map(lambda text: [("say", text)]), texts.map(lambda text: [("think", text)]), calls), max_size=6
)


def parts_of(groups: list[list[tuple[str, str | None]]]) -> list[Part]:
    parts: list[Part] = []
    num_calls = 0
    for group in groups:
        for kind, text in group:
            if text is None:
                parts.append(CallBegin(num_calls, kind))
                num_calls += 1
            elif kind == "say":
                parts.append(Content(text))
            elif kind == "think":
                parts.append(Reasoning(text))
            else:
                parts.append(CallArguments(num_calls - 1, text))
    return parts


def response() -> Response:
    return Response(
        id="resp_1",
        created_at=1,
        model="tiny",
        reasoning=AnsweredReasoning(),
        temperature=1.0,
        text=AnsweredText(format={"type": "text"}),
        tool_choice="auto",
        tools=[],
        top_p=1.0,
    )


def read(shape: ResponseShape, deltas: list[Delta], ending: Any) -> dict[str, Any]:
    reader = ResponseReader()
    events = [*shape.begin()]
    for delta in deltas:
        events += shape.delta(delta)
    events += ending(shape)
    for event in events:
        value = msgspec.json.decode(event.data)
        assert event.name == value["type"]
        reader.read(value)
    assert reader.has_ended
    assert msgspec.json.decode(msgspec.json.encode(shape.tale.response)) == reader.response
    return reader.response


ENDINGS = {
    "end": lambda shape: shape.end(OUTCOME),
    "fail": lambda shape: shape.fail(EngineError("broke")),
    "cancel": lambda shape: shape.cancel(),
}


@settings(max_examples=150, deadline=None)
@given(
    groups=spoken,
    cuts=st.lists(st.integers(0, 20), max_size=5),
    finish=st.sampled_from([FinishReason.STOP, FinishReason.LENGTH]),
    ending=st.sampled_from(sorted(ENDINGS)),
)
def test_the_grammar_holds_however_parts_come_and_wherever_they_end(
    groups: list[list[tuple[str, str | None]]], cuts: list[int], finish: FinishReason, ending: str
) -> None:
    parts = parts_of(groups)
    places = sorted({0, len(parts), *(cut for cut in cuts if cut < len(parts))})
    grouped = [Delta(0, tuple(parts[start:stop])) for start, stop in itertools.pairwise(places)]
    single = [Delta(0, (part,)) for part in parts]
    last = Delta(0, finish=finish)
    ends = ENDINGS[ending]
    first = read(ResponseShape(ResponseTale(response(), TOOLS)), [*grouped, last], ends)
    second = read(ResponseShape(ResponseTale(response(), TOOLS)), [*single, last], ends)
    assert without_ids(first) == without_ids(second)
    assert "".join(item["content"][0]["text"] for item in first["output"] if item["type"] == "message") == "".join(
        part.text for part in parts if isinstance(part, Content)
    )


def test_a_named_stream_is_on_every_event() -> None:
    shape = ResponseShape(ResponseTale(response(), {}), 'a"b')
    events = [*shape.queue(1), *shape.begin(), *shape.delta(Delta(0, (Content("x"),))), *shape.end(OUTCOME)]
    values = [msgspec.json.decode(event.data) for event in events]
    assert {value["stream_id"] for value in values} == {'a"b'}
    assert [value["type"].removeprefix("response.") for value in values] == [
        "created",
        "queued",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]


@pytest.mark.parametrize("num_sent", range(10))
def test_whoever_is_cancelled_between_two_events_leaves_no_gap(num_sent: int) -> None:
    shape = ResponseShape(ResponseTale(response(), {}))
    sent = list(itertools.islice(shape.begin(), num_sent))
    if num_sent > len(sent):
        sent += itertools.islice(shape.delta(Delta(0, (Reasoning("x"), Content("y")))), num_sent - len(sent))
    assert len(sent) == min(num_sent, 9)
    reader = ResponseReader()
    for event in [*sent, *shape.cancel()]:
        reader.read(msgspec.json.decode(event.data))
    assert reader.response["status"] == "cancelled"


def test_an_event_holds_the_response_as_it_was_then() -> None:
    tale = ResponseTale(response(), {})
    created, _ = tale.begin()
    tale.delta(Delta(0, (Content("x"),), finish=FinishReason.STOP))
    tale.end(OUTCOME)
    assert (created.response.status, created.response.output) == ("in_progress", [])  # type: ignore[attr-defined]
    assert tale.response.status == "completed"


def test_a_prompt_that_is_read_ahead_tells_nothing_of_the_token_that_was_drawn() -> None:
    shape = PrewarmShape(ResponseTale(response(), {}))
    told = read(shape, [Delta(0, (Content("x"),), finish=FinishReason.STOP)], ENDINGS["end"])
    assert (told["output"], told["usage"]["output_tokens"]) == ([], 0)


def test_a_budget_that_closed_the_reasoning_is_told_at_the_end() -> None:
    deltas = [Delta(0, (Reasoning("x"), Content("y"))), Delta(0, finish=FinishReason.STOP, forced_at=7)]
    told = read(ResponseShape(ResponseTale(response(), {})), deltas, ENDINGS["end"])
    assert told["thinking_budget_forced_at"] == 7
    unforced = read(ResponseShape(ResponseTale(response(), {})), deltas[:1], ENDINGS["end"])
    assert "thinking_budget_forced_at" not in unforced


@given(st.text())
def test_sealed_reasoning_is_read_again(text: str) -> None:
    assert unseal(seal(text), "p") == text


@pytest.mark.parametrize("sealed", ["", "gAAAA", "ignis1.%%", "ignis1.a", "ignis1.gA=="])
def test_what_was_not_sealed_here_is_refused(sealed: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        unseal(sealed, "input[0].encrypted_content")
    assert caught.value.param == "input[0].encrypted_content"
