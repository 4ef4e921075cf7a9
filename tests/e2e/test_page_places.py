"""Where an address leads: back to the open chat, to a new one, and away from what is not there."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.playground import CHROMIUM, answered, ask, grown, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def test_chat_in_the_rail_is_the_open_chat_with_its_running_answer(page: Page) -> None:
    ask(page, "A story")
    before = grown(page)
    address = page.url
    page.click(".rail a[href='#/monitor']")
    expect(page.locator("#view h1")).to_have_text(re.compile("Monitor"))
    page.click(".rail a.place[href='#/chat']")
    expect(page.locator("#stop")).to_be_visible()
    expect(page).to_have_url(address)
    grown(page, len(before) + 50)
    page.keyboard.press("Alt+4")
    expect(page.locator("#view h1")).to_have_text(re.compile("Monitor"))
    page.keyboard.press("Alt+1")
    expect(page.locator("#stop")).to_be_visible()
    page.click("#stop")
    # The flame is what begins a new one, and Back comes from there.
    page.click(".flame")
    expect(page.locator("#suggestions")).to_be_visible()
    page.go_back()
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    expect(page).to_have_url(address)
    page.go_forward()
    expect(page.locator("#suggestions")).to_be_visible()


def test_an_address_of_what_is_not_there_is_replaced(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    address = page.url
    page.evaluate("location.hash = '#/chat/doesnotexist'")
    expect(page).to_have_url(re.compile("#/chat/new$"))
    ask(page, "Say exactly: Two.")
    assert answered(page) == ["Two."]
    page.reload()
    assert answered(page) == ["Two."]
    page.goto(address)
    expect(page.locator(".turn.answer .prose")).to_have_text("One.")
    page.evaluate("location.hash = '#/decide'")
    expect(page).to_have_url(address)
    expect(page.locator(".rail a[aria-current=page]")).to_have_text("Chat")
    assert answered(page) == ["One."]


def test_whoever_goes_on_at_once_is_not_led_back(page: Page) -> None:
    led = page.evaluate(
        """async () => {
        const places = [];
        const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
        for (let time = 0; time < 12; time += 1) {
          location.hash = "#/compare";
          await new Promise((resolve) => {
            addEventListener("hashchange", resolve, { once: true });
            setTimeout(resolve, 200);
          });
          // Drawn by then, and what follows a drawing is not done yet.
          for (let turn = 0; turn < time; turn += 1) await Promise.resolve();
          location.hash = "#/monitor";
          await wait(150);
          places.push(location.hash);
        }
        return places; }"""
    )
    assert led == ["#/monitor"] * 12


def test_a_new_chat_begins_however_late_the_address_is_heard(context: BrowserContext, story_server: Server) -> None:
    # A page that is busy hears of its new name only after what is pressed meanwhile, all in one moment.
    context.add_init_script(
        """addEventListener("hashchange", (event) => event.stopImmediatePropagation(), true);
        const now = Date.now();
        Date.now = () => now;"""
    )
    page = open_page(context, story_server.port, "#/chat/new")
    ask(page, "Say exactly: One.")
    answered(page)
    expect(page).to_have_url(re.compile("#/chat/[0-9a-f]+$"))
    page.keyboard.press("Control+Shift+O")
    expect(page.locator(".turn")).to_have_count(0)
    ask(page, "Say exactly: Two.")
    expect(page.locator(".list li a")).to_have_count(2)
    assert answered(page) == ["Two."]


def test_an_empty_chat_keeps_its_settings_with_its_draft(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    page.click("#new-chat")
    expect(page.locator("#suggestions")).to_be_visible()
    page.fill("#system", "Be short.")
    page.fill("#set-temperature", "0.4")
    page.fill("#prompt", "half a thought")
    page.click(".list li a")
    expect(page.locator("#system")).to_have_value("")
    page.click("#new-chat")
    for _ in range(2):
        expect(page.locator("#system")).to_have_value("Be short.")
        expect(page.locator("#set-temperature")).to_have_value("0.4")
        expect(page.locator("#prompt")).to_have_value("half a thought")
        page.reload()
    # The next empty one has none of it.
    ask(page, "Say exactly: Two.")
    answered(page)
    expect(page.locator("#system")).to_have_value("Be short.")
    page.click("#new-chat")
    expect(page.locator("#suggestions")).to_be_visible()
    expect(page.locator("#system")).to_have_value("")
    expect(page.locator("#set-temperature")).to_have_value("")
