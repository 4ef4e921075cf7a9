"""The keys that hold in every view, the palette, and the sheet that lists them; turns have theirs in test_page_acts."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, answered, ask, grown, listening, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

VIEWS = ("Chat", "Compare", "Agents", "Monitor", "Server")


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def choose(page: Page, words: str) -> None:
    listening(page)
    # One that is just going would be closed by the key.
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("Control+K")
    expect(page.locator("#palette")).to_be_focused()
    page.fill("#palette", words)
    page.keyboard.press("Enter")
    expect(page.locator("#palette")).to_have_count(0)
    # What was chosen is done just after the palette has gone.
    page.evaluate("() => new Promise((next) => requestAnimationFrame(() => setTimeout(next)))")


def test_each_key_of_the_page_does_what_the_sheet_says(page: Page) -> None:
    for number in (2, 3, 4, 5, 1):
        page.keyboard.press(f"Alt+{number}")
        expect(page.locator(".rail [aria-current=page]")).to_have_text(VIEWS[number - 1])
    page.keyboard.press("/")
    expect(page.locator("#prompt")).to_be_focused()
    ask(page, "Say exactly: One.\n\n```\nx = 1\n```")
    answered(page)
    page.keyboard.press("Control+Shift+C")
    expect(page.locator("[aria-live=polite]")).to_have_text(re.compile("Copied|No access"))
    page.keyboard.press("Control+Shift+Semicolon")
    expect(page.locator("[aria-live=polite]")).to_have_text("Copied the last code block")
    expect(page.locator(".answer figure .copy").last).to_have_text("Copied")
    page.evaluate("""() => {
      document.execCommand = () => false;
      navigator.clipboard.writeText = () => Promise.reject(new Error("no"));
    }""")
    page.keyboard.press("Control+Shift+Semicolon")
    expect(page.locator("[role=alert].reader")).to_have_text("No access to the clipboard")
    page.keyboard.press("Control+.")
    expect(page.locator(".panel")).to_have_count(0)
    page.keyboard.press("Control+.")
    expect(page.locator(".panel")).to_be_visible()
    page.keyboard.press("Control+Shift+O")
    expect(page.locator("#suggestions")).to_be_visible()
    ask(page, "Say exactly: Two.")
    answered(page)
    page.keyboard.press("Control+Shift+F")
    expect(page.locator("#search-chats")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator(".list li a").first).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".list li a").nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator(".list li a").first).to_be_focused()
    # A field keeps its letters, and takes a further line.
    page.fill("#prompt", "")
    page.focus("#prompt")
    page.keyboard.type("j/")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("?")
    expect(page.locator("#prompt")).to_have_value("j/\n?")
    expect(page.locator("dialog")).to_have_count(0)


def test_tab_stops_at_one_row_of_the_list_and_arrows_reach_the_others(page: Page) -> None:
    page.evaluate(
        """async () => {
          const { save } = await import("/ui/store/conversations.js");
          const about = { head: null, settings: {}, created: 1, preview: "", v: 1 };
          for (const at of [0, 1, 2, 3])
            await save({ ...about, id: `chat-${at}`, title: `Chat ${at}`, updated: Date.now() - at * 1000 });
        }"""
    )
    page.reload()
    listening(page)
    rows = page.locator(".list li")
    expect(rows).to_have_count(4)
    page.focus("#new-chat")
    page.keyboard.press("Tab")
    expect(rows.nth(0).locator("a")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(rows.nth(2).locator("a")).to_be_focused()
    page.keyboard.press("ArrowUp")
    for part in ("a", ".pin", ".drop"):
        expect(rows.nth(1).locator(part)).to_be_focused()
        page.keyboard.press("Tab")
    expect(page.locator(".list li :focus")).to_have_count(0)
    # Back at the row that was left, not at the first.
    page.keyboard.press("Shift+Tab")
    expect(rows.nth(1).locator(".drop")).to_be_focused()
    page.fill("#search-chats", "Chat")
    expect(page.locator(".list section h2")).to_have_text(["Titles"])
    expect(rows.locator("a[tabindex='0']")).to_have_count(1)


def test_the_first_stop_of_each_view_leads_past_the_rail(page: Page) -> None:
    skip = page.locator(".skip")
    assert page.evaluate("document.querySelector('a, button, input, [tabindex]').className") == "skip"
    skip.focus()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#prompt")).to_be_focused()
    page.keyboard.press("Alt+4")
    expect(page.locator("h1")).to_have_text("Monitor")
    address = page.url
    skip.focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_focused()
    assert page.url == address


def test_home_and_end_go_through_the_chat_and_end_follows(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 400})
    ask(page, "A story")
    grown(page, 1500)
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    # Until what follows from the answer has begun, Escape stops that.
    expect(page.locator("#prompt")).to_have_attribute("placeholder", "Message")
    page.keyboard.press("Escape")
    expect(page.locator("#prompt")).not_to_be_focused()
    top = "document.querySelector('.transcript').scrollTop"
    page.keyboard.press("Home")
    page.wait_for_function(f"() => {top} === 0")
    expect(page.locator(".to-end")).to_be_visible()
    page.keyboard.press("End")
    page.wait_for_function(f"() => {top} > 100")
    expect(page.locator(".to-end")).to_have_count(0)


def test_the_sheet_turns_single_letters_off(page: Page, axe: str) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("dialog.keys")).to_be_visible()
    assert page.locator("dialog.keys dt").count() == page.locator("dialog.keys dd").count() > 20
    assert findings(page, axe) == []
    page.uncheck("#letters")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("s")
    page.keyboard.press("?")
    page.keyboard.press("/")
    expect(page.locator(".turn.answer[data-keyed]")).to_be_focused()
    expect(page.locator(".branches")).to_have_count(0)
    expect(page.locator("dialog")).to_have_count(0)
    page.reload()
    answered(page)
    choose(page, "single letters on")
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("s")
    expect(page.locator(".branches")).to_contain_text("2 / 2")


def test_the_palette_finds_actions_views_chats_models_and_fields(page: Page, axe: str) -> None:
    ask(page, "Say exactly: Harbour.")
    answered(page)
    page.focus("#prompt")
    page.keyboard.press("Control+K")
    expect(page.locator("#palette")).to_be_focused()
    groups = page.locator(".choices-list .group-name")
    expect(groups).to_have_text(["Actions", "Views", "Chats", "Models", "Fields of a request", "Configuration"])
    assert findings(page, axe) == []
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#palette").get_attribute("aria-activedescendant")
    assert page.locator("[role=option][aria-selected=true]").get_attribute("id") == chosen == "choice-1"
    page.fill("#palette", "no such thing")
    expect(page.locator("dialog [role=status]")).to_have_text("Nothing has that name.")
    page.keyboard.press("Escape")
    expect(page.locator("#prompt")).to_be_focused()
    choose(page, "theme dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    choose(page, "text larger")
    expect(page.locator("html")).to_have_attribute("style", re.compile("105%"))
    choose(page, "monitor")
    expect(page.locator(".rail [aria-current=page]")).to_have_text("Monitor")
    expect(page.locator(".monitor .pause")).to_be_visible()
    choose(page, "pause in this view")
    expect(page.locator(".monitor .pause")).to_have_attribute("aria-pressed", "true")
    choose(page, "model.max_context")
    expect(page).to_have_url(re.compile("#/server/config/model.max_context$"))
    choose(page, "say exactly harbour")
    assert answered(page) == ["Harbour."]
    page.keyboard.press("Control+.")
    choose(page, "repetition")
    expect(page.locator("#set-repetition_penalty")).to_be_focused()
    choose(page, "response_format")
    expect(page.locator("[name=format]:focus")).to_have_count(1)
    choose(page, "new chat")
    expect(page.locator("#suggestions")).to_be_visible()


def test_what_the_palette_opens_holds_the_focus(page: Page) -> None:
    choose(page, "keys")
    expect(page.locator("dialog.keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("Control+K")
    page.keyboard.press("Control+K")
    expect(page.locator("dialog")).to_have_count(0)


def test_a_field_of_the_configuration_that_the_palette_names_has_the_focus(page: Page) -> None:
    field = page.locator("[id='field-model.max_context']")
    choose(page, "model.max_context")
    expect(field).to_be_focused()
    # Once more, from where it is not shown.
    page.get_by_role("tab", name="As a file").click()
    expect(field).to_have_count(0)
    choose(page, "model.max_context")
    expect(field).to_be_focused()
    # One that cannot be changed here is shown all the same.
    choose(page, "model.artifact")
    expect(page.locator("[data-key='model.artifact']")).to_be_focused()


def test_enter_in_the_palette_waits_for_what_is_on_its_way(page: Page) -> None:
    held: list[Route] = []
    page.route("**/v1/config/fields", lambda route: held.append(route))
    with page.expect_request("**/v1/config/fields"):
        page.keyboard.press("Control+K")
    expect(page.locator("#palette")).to_be_focused()
    page.fill("#palette", "model.max_context")
    page.keyboard.press("Enter")
    expect(page.locator("dialog [role=status]")).to_have_text("Nothing has that name.")
    held[0].continue_()
    expect(page).to_have_url(re.compile("#/server/config/model.max_context$"))
    expect(page.locator("[id='field-model.max_context']")).to_be_focused()


def test_the_palette_can_be_asked_for_while_it_closes(page: Page) -> None:
    page.keyboard.press("Control+K")
    expect(page.locator("#palette")).to_be_focused()
    page.evaluate(
        """() => {
          for (const about of [{ key: "Escape" }, { key: "k", code: "KeyK", ctrlKey: true }]) {
            const event = new KeyboardEvent("keydown", { ...about, bubbles: true, cancelable: true });
            document.activeElement.dispatchEvent(event);
          }
        }"""
    )
    # What closes it would have done so by then.
    page.evaluate("() => new Promise((next) => requestAnimationFrame(() => setTimeout(next)))")
    expect(page.locator("#palette")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)


def test_the_sheet_of_the_keys_goes_with_the_view(page: Page) -> None:
    page.keyboard.press("Alt+4")
    expect(page.locator("#view h1")).to_have_text("Monitor")
    page.keyboard.press("?")
    expect(page.locator("dialog.keys")).to_be_visible()
    page.go_back()
    expect(page.locator("#prompt")).to_be_visible()
    expect(page.locator("dialog")).to_have_count(0)
