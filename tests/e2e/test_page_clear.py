"""All chats go at once for whoever writes how many those are, and come back as one."""

import signal

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, Start, answered, ask, grown, open_own, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def chats(page: Page, *words: str) -> None:
    for number, word in enumerate(words, 1):
        page.click("#new-chat")
        ask(page, f"Say exactly: {word}.")
        # The chat before has an answer too, until it has left the screen.
        expect(page.locator(".turn.user .said")).to_have_text(f"Say exactly: {word}.")
        answered(page)
        expect(page.locator(".list li")).to_have_count(number)


def open_dialog(page: Page) -> None:
    page.click("#transfer")
    page.get_by_role("menuitem", name="Delete all chats…").click()
    expect(page.locator("#clear-number")).to_be_focused()


def test_all_chats_go_by_their_number_and_come_back(context: BrowserContext, story_server: Server, axe: str) -> None:
    page = open_page(context, story_server.port)
    chats(page, "One", "Two")
    second = open_page(context, story_server.port)
    expect(second.locator(".list li")).to_have_count(2)
    page.fill("#prompt", "half a thought")
    open_dialog(page)
    expect(page.locator("#clear-chats")).to_have_text("Delete 2 chats")
    page.fill("#clear-number", "20")
    expect(page.locator("#clear-chats")).to_be_disabled()
    assert findings(page, axe) == []
    page.keyboard.press("Enter")
    expect(page.locator(".list li")).to_have_count(2)
    page.fill("#clear-number", "2")
    expect(page.locator("#clear-chats")).to_be_enabled()
    page.keyboard.press("Enter")
    for each in (page, second):
        expect(each.locator(".list li")).to_have_count(0)
        expect(each.locator("#suggestions")).to_be_visible()
    expect(page.locator(".toast")).to_contain_text("Deleted 2 chats")
    page.click("#undo")
    for each in (page, second):
        expect(each.locator(".list li")).to_have_count(2)
    page.locator(".list li a").first.click()
    assert answered(page) == ["Two."]
    expect(page.locator("#prompt")).to_have_value("half a thought")


def test_an_answer_under_way_comes_back_with_what_there_was_of_it(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port)
    ask(page, "A story")
    begun = grown(page)[:60]
    open_dialog(page)
    page.fill("#clear-number", "1")
    page.click("#clear-chats")
    expect(page.locator(".list li")).to_have_count(0)
    page.click("#undo")
    page.locator(".list li a").click()
    expect(page.locator(".ending")).to_contain_text("Resume")
    assert answered(page)[0].startswith(begun)


def test_what_is_deleted_so_is_gone_from_the_store(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    chats(page, "One")
    page.keyboard.press("Control+K")
    expect(page.locator("#palette")).to_be_focused()
    page.fill("#palette", "Delete all chats")
    page.keyboard.press("Enter")
    page.fill("#clear-number", "1")
    page.click("#clear-chats")
    expect(page.locator(".toast")).to_contain_text("Deleted 1 chat")
    page.reload()
    expect(page.locator(".list .none")).to_be_visible()
    kept = """async () => {
      const { inRange } = await import("/ui/store/database.js");
      return Promise.all(["conversations", "turns", "drafts"].map(async (name) => (await inRange(name)).length));
    }"""
    assert page.evaluate(kept) == [0, 0, 0]


def test_chats_are_deleted_without_a_server_too(context: BrowserContext, start_server: Start) -> None:
    server, page = open_own(context, start_server)
    chats(page, "One", "Two")
    page.wait_for_function("() => performance.getEntriesByName('whole').length")
    server.stop(signal.SIGKILL)
    page.locator(".list li").first.hover()
    page.locator(".list li .drop").first.click()
    expect(page.locator(".list li")).to_have_count(1)
    open_dialog(page)
    page.fill("#clear-number", "1")
    page.click("#clear-chats")
    expect(page.locator(".list li")).to_have_count(0)
    page.click("#undo")
    expect(page.locator(".list li")).to_have_count(1)
    context.close()
