"""A call of a tool: its result is given on its card, both are history, and the model goes on from there."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

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
