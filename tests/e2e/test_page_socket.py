"""The answers of chats come by the page's one socket: places in the line, stops, and what comes after them."""

import json
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.playground import CHROMIUM, LIMIT_MS, Start, answered, ask, cap, grown, open_page, paced
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def sent(page: Page) -> list[str]:
    """Notes from now on where the page asks for answers."""
    asked: list[str] = []
    page.on("websocket", lambda socket: asked.append(socket.url))
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/completions") else None)
    return asked


def creates(page: Page) -> list[Any]:
    """Notes from now on what the page asks the socket for."""
    frames: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: frames.append(json.loads(data))))
    return frames


# Answers the last of these messages by both transports; over the socket the answer before it was asked for too.
BOTH = """async () => {
  const { generate } = await import("/ui/api/generate.js");
  const { generateBeside } = await import("/ui/api/beside.js");
  const read = async (way, messages) => {
    const found = { text: "", usage: null };
    const request = { messages, seed: 11, max_completion_tokens: 24, temperature: 0.9 };
    for await (const event of way(request, new AbortController().signal)) {
      if (event.kind === "text") found.text += event.text;
      else if (event.kind === "usage") found.usage = event.usage;
    }
    return found;
  };
  const long = Array.from({ length: 300 }, (_, at) => `Line ${at}.`).join("\\n");
  const first = [{ role: "system", content: "Be brief" }, { role: "user", content: long }];
  const { text } = await read(generateBeside, first);
  const messages = [...first, { role: "assistant", content: text }, { role: "user", content: "And then?" }];
  return [await read(generateBeside, messages), await read(generate, messages)];
}"""


def test_a_turn_that_goes_on_says_only_what_is_new(context: BrowserContext, story_server: Server) -> None:
    page = context.new_page()
    frames = creates(page)
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/")
    short, full = page.evaluate(BOTH)
    first, second = frames
    assert first["input"][0] == {"role": "system", "content": "Be brief"}
    assert second["input"] == [{"role": "user", "content": "And then?"}]
    assert second["previous_response_id"].startswith("resp_")
    assert second["stream_id"] == first["stream_id"]
    assert short["text"] == full["text"] != ""
    # The same tokens: all of the prompt but its last page and its last token is found by what it holds.
    assert short["usage"]["prompt_tokens"] == full["usage"]["prompt_tokens"] > 900
    cached = full["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached >= full["usage"]["prompt_tokens"] - 65


def test_a_server_that_does_not_know_the_answer_before_is_told_all(
    context: BrowserContext, story_server: Server
) -> None:
    page = context.new_page()
    frames = creates(page)
    page.add_init_script(
        """const { send } = WebSocket.prototype;
        WebSocket.prototype.send = function (text) { send.call(this, text.replace('"resp_', '"resp_not')); };"""
    )
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/")
    for number, word in enumerate(("One.", "Two.", "Three."), 1):
        ask(page, f"Say exactly: {word}")
        assert answered(page, number)[-1] == word
    expect(page.locator(".ending")).to_have_count(0)
    assert ["previous_response_id" in frame for frame in frames] == [False, True, False, True, False]
    assert [len(frame["input"]) for frame in frames] == [1, 1, 3, 1, 5]


def test_another_branch_and_another_chat_do_not_go_on_from_what_is_not_theirs(
    context: BrowserContext, story_server: Server
) -> None:
    page = context.new_page()
    frames = creates(page)
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/")
    ask(page, "Say exactly: One.")
    answered(page)
    page.click("#new-chat")
    expect(page.locator("#suggestions")).to_be_visible()
    ask(page, "Say exactly: Other.")
    assert answered(page) == ["Other."]
    page.click(".list li a >> nth=1")
    expect(page.locator(".turn.user .said")).to_have_text("Say exactly: One.")
    ask(page, "Say exactly: Two.")
    assert answered(page, 2) == ["One.", "Two."]
    page.click("[aria-label=Regenerate] >> nth=0")
    assert answered(page) == ["One."]
    assert [len(frame["input"]) for frame in frames] == [1, 1, 1, 1]
    assert ["previous_response_id" in frame for frame in frames] == [False, False, True, False]
    assert frames[2]["stream_id"] == frames[0]["stream_id"] != frames[1]["stream_id"]


def test_half_a_character_is_no_reason_to_wait_for_ever(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    page.evaluate("async () => (await import('/ui/state/outbox.js')).send('Say exactly: half \\ud83d of it.')")
    assert answered(page) == ["half \ufffd of it."]


def test_after_an_answer_over_http_the_next_says_all(context: BrowserContext, story_server: Server) -> None:
    page = context.new_page()
    frames = creates(page)
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/")
    for number, (word, logprobs) in enumerate((("One.", "false"), ("Two.", "true"), ("Three.", "false")), 1):
        page.evaluate(f"async () => (await import('/ui/state/settings.js')).set({{ logprobs: {logprobs} }})")
        ask(page, f"Say exactly: {word}")
        assert answered(page, number)[-1] == word
    # Raw shows what was sent, and it knows no more of an answer before than its name.
    assert [len(frame["input"]) for frame in frames] == [1, 5]
    page.get_by_role("tab", name="Raw").click()
    expect(page.locator("#panel-body")).to_contain_text("Say exactly: One.")


def test_a_place_in_the_line_is_told_and_a_stop_gives_it_up(context: BrowserContext, start_server: Start) -> None:
    with start_server("--model-decode-lanes", "1", command=paced(60)) as server:
        page = open_page(context, server.port)
        ask(page, "A story")
        grown(page)
        for text in ("Say exactly: Second.", "Say exactly: Third."):
            page.click("#new-chat")
            expect(page.locator("#suggestions")).to_be_visible()
            ask(page, text)
            expect(page.locator(".turn .waiting")).to_contain_text("Waits for a lane, place")
        page.keyboard.press("Escape")
        expect(page.locator(".ending")).to_contain_text("Stopped by you")
        page.click(".list li a >> nth=2")
        expect(page.locator(".turn.user .said")).to_have_text("A story")
        page.click("#stop")
        page.click(".list li a >> nth=1")
        expect(page.locator(".turn.user .said")).to_have_text("Say exactly: Second.")
        assert answered(page) == ["Second."]
        context.close()


def test_stops_never_mix_up_what_comes_after_them(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    asked = sent(page)
    cap(page, 400)
    for number in range(3):
        ask(page, "A story")
        expect(page.locator(".turn.answer.running .prose")).to_contain_text("The ")
        page.keyboard.press("Escape")
        expect(page.locator(".turn.answer.running")).to_have_count(0)
        ask(page, f"Say exactly: Number {number}.")
        expect(page.locator(".turn.answer .prose").last).to_have_text(f"Number {number}.", timeout=LIMIT_MS)
        expect(page.locator(".turn.answer.running")).to_have_count(0)
    assert [url.partition("/v1/")[2] for url in asked] == ["responses"]
