"""A call of a tool: its result is given on its card, both are history, and the model goes on from there."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.axe import findings
from tests.e2e.browser import CHROMIUM, opened_page
from tests.e2e.conftest import ANSWER
from tests.e2e.playground import answered, ask
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

WEATHER = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}


@pytest.fixture
def page(browser: Browser, agent_server: Server) -> Iterator[Page]:
    agent_server.wait_ready()
    with opened_page(browser, f"http://127.0.0.1:{agent_server.port}") as opened:
        opened.click("#set-tools-on")
        opened.fill("#set-tools", json.dumps([WEATHER]))
        yield opened


def test_a_result_that_is_given_is_history_and_the_model_goes_on(page: Page, axe: str) -> None:
    ask(page, "The weather in Cologne?")
    card = page.locator(".tool-card")
    expect(card.locator("strong")).to_have_text("weather")
    box = card.get_by_label("Result of weather")
    box.fill("Ra")
    page.reload()
    expect(box).to_have_value("Ra")
    assert findings(page, axe) == []
    box.fill("Rain")
    box.press("Control+Enter")
    expect(card.locator(".tag")).to_have_text("answered")
    expect(page.locator(".turn.answer")).to_have_count(2)
    assert answered(page, 2)[1] == ANSWER
    ask(page, "And tomorrow?")
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(3)
    page.click("#tab-raw")
    page.click("#raw-text")
    request = json.loads(page.locator("#panel-body pre").first.inner_text())
    _, said, result, answer, question = request["messages"]
    (call,) = said["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"city": "Köln", "days": 2}
    assert (said["role"], result["role"], result["tool_call_id"]) == ("assistant", "tool", call["id"])
    assert (result["content"], answer["content"], question["content"]) == ("Rain", ANSWER, "And tomorrow?")


def test_a_model_that_did_not_go_on_can_be_told_to(page: Page) -> None:
    ask(page, "The weather in Cologne?")
    page.get_by_label("Result of weather").fill("Rain")
    page.get_by_text("Give the result").click()
    assert answered(page, 2)[1] == ANSWER
    page.reload()
    assert answered(page, 2)[1] == ANSWER
    page.click(".turn.answer [aria-haspopup=menu] >> nth=1")
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.locator(".turn.answer")).to_have_count(1)
    page.click(".carry-on")
    assert answered(page, 2)[1] == ANSWER
    expect(page.locator(".carry-on")).to_have_count(0)


def streamed(*deltas: dict[str, Any], reason: str = "stop") -> str:
    """A completion as a server streams it."""
    chunks = [*({"delta": delta} for delta in deltas), {"delta": {}, "finish_reason": reason}]
    return (
        "".join(f"data: {json.dumps({'model': 'm', 'choices': [chunk]})}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    )


def test_the_pages_own_tools_are_done_as_they_are_called(page: Page) -> None:
    calls = [
        {"index": 0, "function": {"name": "date_and_time", "arguments": "{}"}},
        {"index": 1, "function": {"name": "agents", "arguments": json.dumps({"tasks": ["One", "Two"]})}},
        {"index": 2, "function": {"name": "ask", "arguments": json.dumps({"question": "Why?"})}},
    ]
    answers = [streamed({"tool_calls": calls}, reason="tool_calls"), streamed({"content": "It is so."})]
    asked: list[Any] = []

    def answer(route: Route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(body=answers[len(asked) - 1], headers={"Content-Type": "text/event-stream"})

    page.route("**/v1/chat/completions", answer)
    page.click("#set-own-tools")
    ask(page, "What now?")
    cards = page.locator(".tool-card")
    expect(cards).to_have_count(3)
    # What asks the person waits for the person.
    expect(cards.locator(".tag")).to_have_text(["answered", "answered", "called"])
    page.get_by_label("Result of ask").fill("Because")
    page.get_by_text("Give the result").click()
    expect(page.locator(".turn.answer .prose").last).to_have_text("It is so.")
    assert [tool["function"]["name"] for tool in asked[0]["tools"]] == ["agents", "ask", "date_and_time", "weather"]
    now, agents, why = (message["content"] for message in asked[1]["messages"] if message["role"] == "tool")
    assert now.split()[3] == str(datetime.now().astimezone().year)
    assert agents == f"Task 1: One\n{ANSWER}\n\nTask 2: Two\n{ANSWER}"
    assert why == "Because"
    page.evaluate("location.hash = '#/agents'")
    expect(page.locator(".task-table tbody tr")).to_have_count(2)


def test_a_list_of_tasks_that_is_stopped_leaves_the_call_to_the_person(page: Page) -> None:
    call = {"index": 0, "function": {"name": "agents", "arguments": json.dumps({"tasks": ["One"]})}}
    page.route(
        "**/v1/chat/completions",
        lambda route: route.fulfill(
            body=streamed({"tool_calls": [call]}), headers={"Content-Type": "text/event-stream"}
        ),
    )
    # An agent that never answers.
    page.evaluate(
        "import('/ui/api/socket.js').then(({ socket }) => { socket.respond = async function* (_, signal) {"
        " await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))); }; })"
    )
    page.click("#set-own-tools")
    ask(page, "What now?")
    expect(page.locator(".tool-card")).to_contain_text("0 of 1 tasks done")
    page.locator(".tool-card").get_by_text("Stop").click()
    expect(page.locator(".tool-card .do")).to_have_text("Do it")
    expect(page.locator(".tool-card .tag")).to_have_text("called")
    expect(page.locator(".turn.answer")).to_have_count(1)


def test_a_result_that_comes_after_another_message_leaves_that_where_it_is(page: Page) -> None:
    ask(page, "The weather in Cologne?")
    box = page.get_by_label("Result of weather")
    expect(box).to_be_visible()
    ask(page, "Never mind")
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(2)
    box.first.fill("Rain")
    box.first.press("Control+Enter")
    expect(page.locator(".tool-card .tag").first).to_have_text("answered")
    expect(page.locator(".turn.user .said")).to_have_text(["The weather in Cologne?", "Never mind"])
    expect(page.locator(".turn.answer")).to_have_count(2)
