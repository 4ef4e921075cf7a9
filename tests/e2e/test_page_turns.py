"""What stands in a turn beside its text: calls of tools, thoughts, the tokens with what else they could have been."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import CHROMIUM, opened_page, started_browser
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# Keeps a chat of one question and its answer; opens it.
KEEP = """async (fields) => {
  const conversations = await import("/ui/store/conversations.js");
  const turns = await import("/ui/store/turns.js");
  const id = "kept";
  const times = { sent: 1, thought: 3401, first: 1, text: 3401, last: 4000 };
  const base = {
    conversation: id, text: "", reasoning: "", tools: [], state: "DONE", request: null, model: "m", seed: 1,
    finish: "stop", failure: null, usage: null, timings: null, times, isEdited: false, created: 1, v: 1,
  };
  await turns.save({ ...base, id: "q", parent: null, role: "user", text: "Weather?" });
  await turns.save({ ...base, id: "a", parent: "q", role: "assistant", ...fields });
  const kept = { id, title: "Kept", head: "a", settings: {}, created: 1, updated: Date.now(), preview: "", v: 1 };
  await conversations.save(kept);
  location.hash = "#/chat/kept";
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as running:
        yield running


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    server.wait_ready()
    with opened_page(browser, f"http://127.0.0.1:{server.port}") as opened:
        yield opened


def keep(page: Page, fields: dict[str, Any]) -> None:
    page.evaluate(KEEP, fields)
    page.reload()
    expect(page.locator(".turn.answer")).to_be_visible()


def test_a_call_shows_its_arguments_as_a_tree_and_its_result_folded(page: Page) -> None:
    arguments = {"city": "Cologne", "days": [1, 2], "options": {"unit": "C"}}
    result = "\n".join(f"line {number}" for number in range(9))
    keep(page, {"tools": [{"name": "weather", "arguments": json.dumps(arguments), "result": result}]})
    card = page.locator(".tool-card")
    expect(card.locator("strong")).to_have_text("weather")
    assert card.locator(".tree .key").all_inner_texts() == ["city", "days", "0", "1", "options", "unit"]
    expect(card.locator(".tree summary").first).to_contain_text("2 items")
    expect(card.locator(".result pre")).to_have_text("line 0\nline 1\nline 2 …")
    card.locator(".more").click()
    expect(card.locator(".result pre")).to_have_text(result)
    card.get_by_text("Raw").click()
    expect(card.locator("pre >> nth=0")).to_have_text(json.dumps(arguments))


def test_arguments_that_were_cut_are_shown_as_far_as_they_came(page: Page) -> None:
    keep(page, {"state": "STOPPED", "tools": [{"name": "weather", "arguments": '{"city": "Col'}]})
    expect(page.locator(".tool-card .tree .value")).to_have_text("Col")


def test_thoughts_are_one_line_that_says_what_became_of_them(page: Page) -> None:
    details = {"reasoning_tokens": 412, "rewound_tokens": 30}
    usage = {"completion_tokens": 500, "prompt_tokens": 9, "completion_tokens_details": details}
    keep(page, {"text": "Rain.", "reasoning": "First. " * 400, "usage": usage, "forcedAt": 412})
    line = page.locator(".thinking > button")
    expect(line).to_contain_text("Thought for 3.4 s")
    expect(line).to_contain_text("412 tokens · ended at its limit · 30 tokens of a loop taken back")
    assert page.locator(".thoughts").count() == 0
    line.click()
    box = page.locator(".thoughts")
    expect(box).to_have_text("First. " * 400)
    height, window = box.bounding_box(), page.viewport_size
    assert height and window and height["height"] <= 0.4 * window["height"] + 1
