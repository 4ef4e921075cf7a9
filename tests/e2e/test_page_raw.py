"""What the panel tells of an answer: of the one that is chosen, and both as they went over the wire."""

import json
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, NO_SOCKET, answered, ask, cap, open_page
from tests.e2e.server import Server
from tests.e2e.test_page_turns import keep

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def raw(page: Page) -> list[Any]:
    """The request and the answer, as they are shown as text."""
    page.click("#tab-raw")
    page.click("#raw-text")
    shown = page.locator("#panel-body pre")
    expect(shown).to_have_count(2)
    return [json.loads(text) for text in shown.all_inner_texts()]


def test_this_turn_tells_where_the_time_went(page: Page) -> None:
    times = {"sent": 1000, "thought": 2500, "first": 1500, "text": 2500, "last": 4500}
    thought = {"reasoning_tokens": 8, "rewound_tokens": 1}
    details = {"prompt_tokens_details": {"cached_tokens": 75}, "completion_tokens_details": thought}
    usage = {"prompt_tokens": 100, "completion_tokens": 40, **details}
    keep(page, {"reasoning": "Hm.", "text": "Yes.", "times": times, "usage": usage, "timings": {"queued_ms": 200}})
    page.click(".readout")
    parts = [("waited", "0.20 s"), ("read", "0.30 s"), ("thought", "1.0 s"), ("wrote", "2.0 s")]
    expect(page.locator("#panel-body h2").first).to_have_text("Time 3.5 s")
    time, counts = page.locator("#panel-body dl").all()
    assert list(zip(time.locator("dt").all_inner_texts(), time.locator("dd").all_inner_texts(), strict=True)) == parts
    widths = page.locator(".time-bar span").evaluate_all("(parts) => parts.map((part) => part.style.flexGrow * 3.5)")
    assert widths == pytest.approx([0.2, 0.3, 1, 2], abs=0.01)
    told = dict(zip(counts.locator("dt").all_inner_texts(), counts.locator("dd").all_inner_texts(), strict=True))
    assert (told["Prompt"], told["From cache"], told["Answer"]) == ("100 tokens", "75 tokens", "40 tokens")
    assert told["Rewound"] == "1 token"
    assert (told["Reasoning"], told["Finish"], told["Seed"], told["Model"]) == ("8 tokens", "stop", "1", "m")


def test_the_panel_tells_of_the_answer_that_was_chosen(page: Page, axe: str) -> None:
    for number, word in enumerate(("One", "Two", "Three"), 1):
        ask(page, f"Say exactly: {word}.")
        answered(page, number)
    page.click(".readout >> nth=1")
    expect(page.locator("#tab-turn")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#panel-body h2").first).to_contain_text("Answer 2 of 3")
    page.click("#tab-raw")
    expect(page.locator("#panel-body .tree").last).to_contain_text("Two.")
    expect(page.locator("#panel-body .tree").last).not_to_contain_text("Three.")
    assert findings(page, axe) == []
    page.click("#show-last")
    expect(page.locator("#panel-body .tree").last).to_contain_text("Three.")
    # Of the next one the panel tells when it comes.
    page.click(".readout >> nth=0")
    expect(page.locator("#panel-body .tree").last).to_contain_text("One.")
    ask(page, "Say exactly: Four.")
    answered(page, 4)
    expect(page.locator("#panel-body .tree").last).to_contain_text("Four.")
    page.click("[aria-label=Settings]")
    page.focus(".readout >> nth=0")
    page.keyboard.press("Enter")
    expect(page.locator("#panel-body h2").first).to_contain_text("Answer 1 of 4")


def test_the_request_is_the_one_that_was_sent_and_the_answer_the_one_that_came(page: Page) -> None:
    frames: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: frames.append(json.loads(data))))
    answers: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: answers.append(json.loads(data))))
    cap(page, 20)
    ask(page, "A story")
    answered(page)
    request, answer = raw(page)
    sent = {name: value for name, value in frames[0].items() if name != "stream_id"}
    assert request == sent
    (response,) = [each["response"] for each in answers if each["type"] == "response.incomplete"]
    assert answer == response
    expect(page.locator(".readout")).to_contain_text("length")
    page.reload()
    assert raw(page) == [request, answer]


def test_of_a_turn_that_went_on_the_request_is_what_was_new(page: Page) -> None:
    frames: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: frames.append(json.loads(data))))
    for number, word in enumerate(("One.", "Two."), 1):
        ask(page, f"Say exactly: {word}")
        answered(page, number)
    request, answer = raw(page)
    assert request == {name: value for name, value in frames[1].items() if name != "stream_id"}
    assert request["previous_response_id"] == answer["previous_response_id"] != answer["id"]
    assert len(request["input"]) == 1


def test_over_http_they_are_a_chat_completion(context: BrowserContext, story_server: Server) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, story_server.port)
    with page.expect_request("**/v1/chat/completions") as waiting:
        ask(page, "Say exactly: One.")
    assert answered(page) == ["One."]
    request, answer = raw(page)
    assert request == json.loads(waiting.value.post_data or "")
    assert (answer["object"], answer["id"][:9]) == ("chat.completion", "chatcmpl-")
    assert answer["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": "One."},
        "finish_reason": "stop",
    }
    expect(page.locator(".readout")).not_to_contain_text("stop")


def test_after_a_switch_a_turn_says_which_model_wrote_it(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    ask(page, "Say exactly: Two.")
    answered(page, 2)
    expect(page.locator(".turn .tag")).to_have_count(0)
    page.evaluate(
        """async () => { const { path } = await import("/ui/state/tree.js");
        await (await import("/ui/store/turns.js")).save({ ...path.value[1].record, model: "another-model" }); }"""
    )
    page.reload()
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    name = page.locator("#model-name").inner_text()
    expect(page.locator(".turn .tag")).to_have_text([name])
    expect(page.locator(".turn.answer").last.locator(".tag")).to_have_text(name)


def test_a_long_request_is_laid_out_piece_by_piece_and_is_whole(page: Page) -> None:
    said = "Words of a long line, \U0001f600 and more. " * 5000 + "\n" + "x" * 40_000
    ask(page, "Say exactly: One.")
    answered(page)
    page.evaluate(
        """async (said) => {
          const { path } = await import("/ui/state/tree.js");
          const { record } = path.value[1];
          const request = { ...record.request, messages: [{ role: "user", content: said }] };
          await (await import("/ui/store/turns.js")).save({ ...record, request });
        }""",
        said,
    )
    page.reload()
    page.click("#tab-raw")
    value = page.locator("#panel-body .tree .value", has_text="Words of a long line")
    assert value.text_content() == said
    pieces = value.locator(".piece").all_text_contents()
    assert len(pieces) > 20
    assert max(map(len, pieces)) <= 8000
    assert all(piece[-1] in " \nx" for piece in pieces)
    assert value.locator(".piece").first.evaluate("(piece) => getComputedStyle(piece).contentVisibility") == "auto"
    page.click("#raw-text")
    request = json.loads(page.locator("#panel-body pre").first.text_content() or "")
    assert said in json.dumps(request, ensure_ascii=False).replace("\\n", "\n")
