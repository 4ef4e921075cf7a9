"""Two tabs of one browser on one chat: the one that streams writes, the other follows; looking on cuts nothing."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.playground import CHROMIUM, LIMIT_MS, answered, ask, grown, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def beside(page: Page) -> Page:
    """A second tab at the same chat."""
    return open_page(page.context, int(page.url.split(":")[2].split("/")[0]), page.url.partition("/ui/")[2])


def test_a_second_tab_follows_the_answer_and_cuts_nothing(context: BrowserContext, story_server: Server) -> None:
    first = open_page(context, story_server.port)
    ask(first, "A story, with a limit")
    grown(first)
    second = beside(first)
    before = grown(second)
    expect(second.locator(".turn.answer")).to_have_class("turn answer running")
    grown(second, len(before) + 100)
    expect(second.locator("#stop")).to_be_visible()
    second.click("#stop")
    expect(first.locator(".ending")).to_contain_text("Stopped by you")
    expect(second.locator(".ending")).to_contain_text("Stopped by you")
    assert answered(first) == answered(second)
    second.reload()
    expect(second.locator(".ending")).to_contain_text("Stopped by you")
    assert answered(first) == answered(second)


def test_a_tab_that_looks_on_sees_what_the_other_one_asks(context: BrowserContext, story_server: Server) -> None:
    first = open_page(context, story_server.port)
    ask(first, "Say exactly: One.")
    answered(first)
    second = beside(first)
    assert answered(second) == ["One."]
    ask(first, "Say exactly: Two.")
    assert answered(second, 2) == ["One.", "Two."]
    ask(second, "Say exactly: Three.")
    assert answered(first, 3) == ["One.", "Two.", "Three."]
    expect(first.locator(".list li")).to_have_count(1)


def test_an_answer_whose_tab_was_closed_is_cut_with_all_that_came(
    context: BrowserContext, story_server: Server
) -> None:
    first = open_page(context, story_server.port)
    ask(first, "A story")
    grown(first)
    second = beside(first)
    before = grown(second)
    first.close()
    expect(second.locator(".ending")).to_contain_text("Cut off", timeout=LIMIT_MS)
    (kept,) = answered(second)
    assert kept.startswith(before)
    second.reload()
    expect(second.locator(".ending")).to_contain_text("Cut off")
    assert answered(second) == [kept]


def test_two_tabs_that_find_a_cut_answer_lose_none_of_it(context: BrowserContext, story_server: Server) -> None:
    first = open_page(context, story_server.port)
    ask(first, "A story")
    grown(first, 200)
    address: Any = first.url.partition("/ui/")[2]
    first.close()
    both = [open_page(context, story_server.port, address) for _ in range(2)]
    for page in both:
        expect(page.locator(".ending")).to_contain_text("Cut off")
    # What a tab behind others has not laid out has no inner text.
    one, other = (page.locator(".turn.answer .prose").text_content() or "" for page in both)
    assert one == other
    assert len(one) > 150
