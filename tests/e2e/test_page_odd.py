"""Odd input and odd endings: what is no number, picture or chat is said to be none, and what was cut to be cut."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.playground import CHROMIUM, ask, open_page
from tests.e2e.server import Server
from tests.e2e.test_page_transfer import choose
from tests.e2e.test_page_turns import PASTE, keep

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"state": "CUT"}, "cut off"),
        ({"state": "STOPPED"}, "cut off"),
        ({"state": "DONE", "finish": "length"}, "cut off"),
        ({"state": "DONE", "finish": "tool_calls"}, "malformed"),
    ],
)
def test_a_call_whose_arguments_are_not_whole_was_not_called(page: Page, fields: dict[str, Any], word: str) -> None:
    calls = [{"name": "weather", "arguments": arguments} for arguments in ('{"city": "Bonn"}', '{"city": "Col')]
    keep(page, {"tools": calls, **fields})
    expect(page.locator(".tool-card header .tag")).to_have_text(["called", word])


def test_what_ended_in_its_thinking_says_how_far_it_thought(page: Page) -> None:
    keep(page, {"state": "STOPPED", "reasoning": "Hm. " * 400})
    expect(page.locator(".ending")).to_contain_text("Stopped by you after 1,600 characters of thinking")


def test_what_is_typed_for_a_number_and_is_none_stays_and_is_said(page: Page) -> None:
    box, problem = page.locator("#set-temperature"), page.locator("#set-temperature-problem")
    for typed, words in (("abc", "Not a number"), ("0x10", "Not a number"), ("1,5", "Decimals have a point: 1.5")):
        box.fill(typed)
        box.press("Tab")
        expect(problem).to_have_text(words)
        expect(box).to_have_value(typed)
        expect(box).to_have_attribute("aria-invalid", "true")
    ask(page, "Hi")
    expect(page.locator(".composer [role=alert]")).to_contain_text("Temperature: Decimals have a point: 1.5")
    assert page.locator(".turn").count() == 0
    # A phone's keys for decimals have no minus.
    expect(box).to_have_attribute("inputmode", "decimal")
    expect(page.locator("#set-presence_penalty")).to_have_attribute("inputmode", "text")
    box.fill("1.5")
    box.press("Tab")
    expect(problem).to_have_count(0)
    expect(page.get_by_role("slider", name="Temperature")).to_have_value("1.5")


def test_a_name_of_a_file_turns_nothing_round_and_takes_one_line(page: Page) -> None:
    text = base64.b64encode(b"hello").decode()
    page.evaluate(PASTE, ["", [["\u202etxt.exe", "", text], ["very" * 200 + ".txt", "text/plain", text]]])
    names = page.locator(".composer .attached .name")
    expect(names).to_have_count(2)
    for name in names.all():
        expect(name).to_have_css("unicode-bidi", "isolate")
        box = name.bounding_box()
        assert box and box["height"] < 30
    # The size stands behind the name.
    name, size = names.first.bounding_box(), page.locator(".composer .attached .about").first.bounding_box()
    assert name and size and size["x"] >= name["x"] + name["width"]


def test_a_broken_picture_is_not_taken(page: Page) -> None:
    page.evaluate(PASTE, ["", [["b.gif", "image/gif", base64.b64encode(b"GIF89a junk").decode()]]])
    expect(page.locator(".composer [role=alert]")).to_contain_text("b.gif: not a picture that can be read")
    assert page.locator(".composer .attached li").count() == 0


def test_a_file_without_chats_brings_nothing_in(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    file.write_text(json.dumps({"ignis_export": 1, "conversations": [], "turns": []}))
    choose(page, file)
    expect(page.locator(".importing [role=alert]")).to_contain_text("This file has no chats in it.")
    assert page.locator("#take-in").count() == 0


def test_the_palette_calls_a_button_by_its_words(page: Page) -> None:
    page.click(".rail a[href='#/compare']")
    page.evaluate("import('/ui/state/compare.js').then(({ setForAll }) => setForAll('temperature', 0.5))")
    expect(page.locator("#values .tag")).to_be_visible()
    page.keyboard.press("Control+k")
    page.fill("#palette", "settings")
    expect(page.get_by_role("option", name="Settings in this view", exact=True)).to_be_visible()


@pytest.mark.parametrize(("kept", "shown"), [(1e9, "130%"), (-5, "90%"), ("wide", ""), (110, "110%")])
def test_a_size_of_text_that_no_page_offers_is_none(page: Page, kept: Any, shown: str) -> None:
    page.evaluate("(size) => localStorage.setItem('ignis.look', JSON.stringify({ textSize: size }))", kept)
    page.reload()
    expect(page.locator("#prompt")).to_be_visible()
    assert page.evaluate("document.documentElement.style.fontSize") == shown
    size = page.evaluate("async () => (await import('/ui/state/session.js')).look.value.textSize")
    assert f"{size}%" == (shown or "100%")
