"""A chat that is pinned stands above all others, in each tab, however old it is, until it is pinned no more."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, answered, ask, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# Sixty chats fill the list; these are older than all of them.
SEED = """async () => {
  const { save } = await import("/ui/store/conversations.js");
  for (let at = 0; at < 64; at += 1) {
    const about = { id: `chat-${at}`, title: `Chat ${at}`, head: null, settings: {}, created: 1, preview: "", v: 1 };
    await save({ ...about, updated: Date.now() - at * 1000, ...(at === 63 ? { pinned: 5 } : {}) });
  }
}"""


def names(page: Page) -> Any:
    return page.locator(".list li .name")


def chats(page: Page, *words: str) -> None:
    """Chats of those names, the last one the newest."""
    for word in words:
        page.click("#new-chat")
        ask(page, f"Say exactly: {word}.")
        # The chat before has an answer too, until it has left the screen.
        expect(page.locator(".turn.user .said")).to_have_text(f"Say exactly: {word}.")
        answered(page)
        expect(names(page).first).to_have_text(f"Say exactly: {word}.")


def test_a_pinned_chat_stands_above_the_newer_ones_here_and_in_other_tabs(
    context: BrowserContext, story_server: Server, axe: str
) -> None:
    page = open_page(context, story_server.port)
    chats(page, "One", "Two")
    second = open_page(context, story_server.port)
    expect(names(second)).to_have_count(2)
    page.click(".list li .pin >> nth=1")
    expect(page.locator(".list h2").first).to_have_text("Pinned")
    expect(names(page)).to_have_text(["Say exactly: One.", "Say exactly: Two."])
    expect(page.locator(".list li .pin").first).to_be_focused()
    expect(page.locator(".list li .pin").first).to_have_attribute("aria-pressed", "true")
    expect(names(second)).to_have_text(["Say exactly: One.", "Say exactly: Two."])
    assert findings(page, axe) == []
    # What is said in another one makes that the newest, and no more.
    ask(page, "Say exactly: More.")
    answered(page, 2)
    expect(names(page)).to_have_text(["Say exactly: One.", "Say exactly: Two."])
    page.reload()
    expect(names(page)).to_have_text(["Say exactly: One.", "Say exactly: Two."])
    page.click(".list li .drop")
    expect(names(page)).to_have_text(["Say exactly: Two."])
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".list h2").first).to_have_text("Pinned")


def test_a_key_and_the_palette_pin_a_chat_and_pin_it_no_more(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    chats(page, "One", "Two")
    page.locator(".list li a").nth(1).focus()
    page.keyboard.press("p")
    expect(names(page)).to_have_text(["Say exactly: One.", "Say exactly: Two."])
    expect(page.locator(".list li a").first).to_be_focused()
    page.keyboard.press("p")
    expect(names(page)).to_have_text(["Say exactly: Two.", "Say exactly: One."])
    for label in ("Pin this chat", "Unpin this chat"):
        page.keyboard.press("Control+K")
        expect(page.locator("#palette")).to_be_focused()
        page.fill("#palette", label)
        page.keyboard.press("Enter")
        expect(page.locator(".list section h2").first).to_have_text("Pinned" if label[0] == "P" else "Today")


def test_a_pinned_chat_is_in_the_list_however_old_it_is(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    page.evaluate(SEED)
    page.reload()
    expect(names(page).first).to_have_text("Chat 63")
    expect(names(page)).to_have_count(61)
    page.get_by_role("button", name="Show more").click()
    expect(names(page)).to_have_count(64)
