"""A stop ends what is seen, and what goes out of sight has ended."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.browser import comes_to
from tests.e2e.playground import CHROMIUM, answered, ask, grown, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# A network on which a WebSocket is never open, nor refused before the page gives it up.
NEVER_OPEN = "window.WebSocket = class { close() { this.onclose(); } }"
NUM_RUNNING = "async () => (await import('/ui/state/running.js')).running.value.size"


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def test_an_edit_that_is_sent_while_its_answer_runs_stops_that(page: Page) -> None:
    ask(page, "A story")
    grown(page)
    page.click(".turn.user .edit")
    page.fill(".turn.user textarea", "Another story")
    page.press(".turn.user textarea", "Control+Enter")
    expect(page.locator(".turn.user .branches")).to_contain_text("2 / 2")
    grown(page)
    comes_to(lambda: page.evaluate(NUM_RUNNING), 1)
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    expect(page.locator("#send")).to_be_visible()
    page.click("[aria-label='Earlier version']")
    expect(page.locator(".turn.user .said")).to_have_text("A story")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")


def test_of_two_answers_that_which_is_seen_is_stopped(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    ask(page, "A story")
    grown(page)
    # Another answer to the first question: what answered below it is not seen any more.
    page.click(".turn.answer .again >> nth=0")
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    expect(page.locator("#stop")).to_have_count(0)
    # Both answers to one question run.
    ask(page, "A story")
    grown(page)
    page.evaluate(
        """async () => { const { again } = await import("/ui/state/talk.js");
        again((await import("/ui/state/tree.js")).path.value.at(-1)); }"""
    )
    expect(page.locator(".branches").last).to_contain_text("2 / 2")
    grown(page)
    assert page.evaluate(NUM_RUNNING) == 2
    page.click("#stop")
    expect(page.locator(".turn.answer").last).to_have_attribute("data-state", "STOPPED")
    comes_to(lambda: page.evaluate(NUM_RUNNING), 1)
    page.click("[aria-label='Earlier version'] >> nth=-1")
    expect(page.locator(".turn.answer").last).to_have_class(re.compile("running"))
    page.click("#stop")
    expect(page.locator(".turn.answer").last).to_have_attribute("data-state", "STOPPED")


def test_before_there_is_a_connection_a_stop_is_one_and_what_is_said_then_goes(
    context: BrowserContext, story_server: Server
) -> None:
    context.add_init_script(NEVER_OPEN)
    page = open_page(context, story_server.port)
    ask(page, "A story")
    expect(page.locator(".turn .waiting")).to_be_visible()
    page.keyboard.press("Escape")
    ask(page, "Say exactly: One.")
    expect(page.locator(".queue")).to_have_count(0)
    expect(page.locator(".ending")).to_contain_text("Stopped by you after 0")
    expect(page.locator(".turn.answer .prose").last).to_have_text("One.")
