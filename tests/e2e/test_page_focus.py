"""What goes away with the focus on it leaves that where a person goes on."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.playground import CHROMIUM, answered, ask, grown, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def test_after_stop_it_is_in_the_message_field(page: Page) -> None:
    ask(page, "A story")
    grown(page)
    page.click("#stop")
    expect(page.locator("#send")).to_be_visible()
    expect(page.locator("#prompt")).to_be_focused()


def test_after_an_edit_is_sent_it_is_on_what_was_sent(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    page.click(".turn.user .edit")
    page.fill(".turn.user textarea", "Say exactly: Two.")
    page.press(".turn.user textarea", "Control+Enter")
    expect(page.locator(".turn.user .said")).to_have_text("Say exactly: Two.")
    expect(page.locator(".turn.user")).to_be_focused()


def test_whoever_goes_on_at_once_after_a_deletion_is_not_led_back(page: Page) -> None:
    for word in ("One", "Two"):
        ask(page, f"Say exactly: {word}.")
        expect(page.locator(".turn.answer .prose").last).to_have_text(f"{word}.")
    answered(page, 2)
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator(".turn.answer[data-keyed]")).to_be_focused()
    # As soon as it is gone, and before the next frame.
    page.evaluate(
        """async () => {
        const press = (key) => document.activeElement.dispatchEvent(
          new KeyboardEvent("keydown", { key, code: key, bubbles: true, cancelable: true }));
        const gone = new Promise((resolve) => new MutationObserver(() => {
          if (document.querySelectorAll(".turn").length === 3) resolve();
        }).observe(document.getElementById("log"), { childList: true }));
        press("d");
        await gone;
        press("/");
        for (let frame = 0; frame < 10; frame += 1) await new Promise(requestAnimationFrame); }"""
    )
    expect(page.locator("#prompt")).to_be_focused()


def test_after_a_deletion_it_is_on_what_is_next_and_after_undo_on_what_came_back(page: Page) -> None:
    for word in ("One", "Two"):
        page.click("#new-chat")
        expect(page.locator("#suggestions")).to_be_visible()
        ask(page, f"Say exactly: {word}.")
        assert answered(page) == [f"{word}."]
    rows = page.locator(".list li a")
    expect(rows).to_have_count(2)
    page.hover(".list li >> nth=0")
    page.click(".list li .drop >> nth=0")
    expect(rows).to_have_count(1)
    expect(rows).to_be_focused()
    page.click("#undo")
    expect(rows).to_have_count(2)
    expect(rows.first).to_be_focused()
    rows.first.click()
    assert answered(page) == ["Two."]
    page.click(".turn.user .drop")
    expect(page.locator(".turn")).to_have_count(0)
    expect(page.locator("#prompt")).to_be_focused()
    page.click("#undo")
    assert answered(page) == ["Two."]
    expect(page.locator(".turn.user")).to_be_focused()
    # Of what is nowhere on the screen when it comes back, the view has the focus.
    page.evaluate("import('/ui/state/session.js').then(({ offerUndo }) => offerUndo('Deleted it', () => {}))")
    page.click("#undo")
    expect(page.locator("#undo")).to_have_count(0)
    expect(page.locator("#prompt")).to_be_focused()


def test_of_two_deletions_each_undo_takes_back_one(page: Page) -> None:
    for word in ("One", "Two"):
        page.click("#new-chat")
        expect(page.locator("#suggestions")).to_be_visible()
        ask(page, f"Say exactly: {word}.")
        assert answered(page) == [f"{word}."]
    rows = page.locator(".list li a")
    toast = page.locator(".toast")
    expect(rows).to_have_text([re.compile("Two"), re.compile("One")])
    for number in (1, 0):
        page.hover(".list li >> nth=0")
        page.click(".list li .drop >> nth=0")
        expect(rows).to_have_count(number)
    expect(toast).to_have_text(re.compile("One.*1 before it.*Undo"))
    page.click("#undo")
    expect(rows).to_have_text([re.compile("One")])
    expect(toast).to_have_text(re.compile("Two.*Undo"))
    page.click("#undo")
    expect(rows).to_have_text([re.compile("Two"), re.compile("One")])
    expect(toast).to_have_count(0)


MAINS = {"chat": ".middle", "compare": ".compare", "agents": ".tasks", "monitor": ".monitor", "server": ".server"}
# "": what has the focus has a ring of 2 px, of its own or of what it stands in; null: nothing has it.
RINGED = """() => {
  const place = document.activeElement;
  if (!place || place === document.body) return null;
  const isRinged = (element) => {
    const { outlineStyle, outlineWidth, boxShadow, borderTopColor, borderTopWidth } = getComputedStyle(element);
    const isLined = boxShadow.startsWith(borderTopColor) && boxShadow.endsWith("0px 1px") && borderTopWidth === "1px";
    return isLined || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2);
  };
  const around = ["label", ".box", ".search", ".shared-prompt"].map((name) => place.closest(name)).filter(Boolean);
  return [place, ...around].some(isRinged) ? "" : place.outerHTML.slice(0, 120);
}"""


def test_wherever_it_is_it_is_seen(page: Page) -> None:
    ask(page, "Say exactly: one.\n\n```py\nx\n```")
    answered(page)
    for view in ("chat", "compare", "agents", "monitor", "server"):
        page.evaluate("(view) => { location.hash = `#/${view}`; }", view)
        expect(page.locator(f"main{MAINS[view]}")).to_be_visible()
        page.locator(".skip").focus()
        reached = 0
        for _ in range(30):
            page.keyboard.press("Tab")
            unseen = page.evaluate(RINGED)
            assert not unseen, unseen
            reached += unseen is not None
        assert reached > 20, view
