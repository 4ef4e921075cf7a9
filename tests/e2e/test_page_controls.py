"""Beside the message: how much the model thinks about it, and what it may call. The panel says the same."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect

from tests.e2e.axe import findings
from tests.e2e.browser import SHIFTED, SHIFTS, comes_to
from tests.e2e.playground import CHROMIUM, NO_SOCKET, answered, ask, changed, grown, held, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
# By how much the line under the message is wider than its place, and what of it is not all there.
OVER = """(under) => [under.scrollWidth - under.clientWidth, ...[...under.children].filter((each) => {
  const { left, right } = each.getBoundingClientRect();
  return left < 0 || right > innerWidth;
}).map((each) => each.outerHTML)]"""


def prepared(context: BrowserContext, server: Server, **capabilities: Any) -> Page:
    """A page whose model has those."""
    context.add_init_script(NO_SOCKET)
    context.route("**/v1/models", changed(lambda body: body["data"][0]["capabilities"].update(capabilities)))
    return open_page(context, server.port)


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return prepared(context, story_server, thinking=True, thinking_efforts=["low", "high"], tools=True)


def asked(page: Page, text: str) -> Any:
    """Asks that; returns what was sent for it."""
    with page.expect_request("**/v1/chat/completions") as waiting:
        ask(page, text)
    return waiting.value.post_data_json


def test_how_much_is_thought_is_chosen_beside_the_message_and_is_the_panels(page: Page, axe: str) -> None:
    control = page.locator("#composer-thinking")
    expect(control).to_have_accessible_name("Thinking: Model\u2019s")
    control.focus()
    page.keyboard.press("Enter")
    menu = page.locator("#composer-thinking-menu")
    expect(menu.get_by_role("menuitemradio")).to_have_text(["Model\u2019s✓", "Off", "Low", "High"])
    expect(menu.get_by_role("menuitemradio", checked=True)).to_be_focused()
    assert findings(page, axe) == []
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(control).to_be_focused()
    expect(control).to_have_text("High")
    expect(page.get_by_role("radio", name="High")).to_be_checked()
    # Escape closes the menu, and nothing else.
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(control).to_be_focused()
    # One that is pressed before the menu has the focus too.
    focused = """(button) => {
      button.click();
      button.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
      return document.activeElement === button;
    }"""
    assert control.evaluate(focused)
    expect(menu.get_by_role("menuitemradio", checked=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(control).to_be_focused()
    assert asked(page, "Say exactly: One.")["reasoning_effort"] == "high"
    page.get_by_role("radio", name="Off").check()
    expect(control).to_have_text("Off")
    expect(control).to_have_accessible_name("Thinking: Off")
    assert asked(page, "Say exactly: Two.")["reasoning_effort"] == "none"
    page.click("#composer-thinking")
    page.get_by_role("menuitemradio", name="Model\u2019s").click()
    assert "reasoning_effort" not in asked(page, "Say exactly: Three.")


def test_tools_are_turned_on_and_off_beside_the_message_and_are_the_panels(page: Page, axe: str) -> None:
    control, switch = page.locator("#composer-tools"), page.locator("#set-tools-on")
    expect(control).to_have_text("Tools off")
    control.click()
    own = page.get_by_role("menuitemcheckbox", name="Agents, ask, date and time")
    expect(own).to_be_focused()
    assert findings(page, axe) == []
    own.click()
    expect(control).to_have_text("Tools on")
    expect(switch).to_be_checked()
    expect(page.locator("#set-own-tools")).to_be_checked()
    names = [tool["function"]["name"] for tool in asked(page, "Say exactly: One.")["tools"]]
    assert names == ["agents", "ask", "date_and_time"]
    # The list that a person writes is in the panel.
    page.click("#settings-toggle")
    expect(switch).to_have_count(0)
    control.click()
    page.get_by_role("menuitem", name="Your list… none yet").click()
    expect(switch).to_be_focused()
    page.fill("#set-tools", '[{"name": "weather"}]')
    control.click()
    expect(page.get_by_role("menuitem", name="Your list… 1")).to_be_visible()
    own.click()
    expect(page.locator("#set-own-tools")).not_to_be_checked()
    assert [tool["function"]["name"] for tool in asked(page, "Say exactly: Two.")["tools"]] == ["weather"]
    control.click()
    page.get_by_role("menuitem", name="Off forgets your list").click()
    expect(control).to_have_text("Tools off")
    expect(switch).not_to_be_checked()
    assert "tools" not in asked(page, "Say exactly: Three.")


def test_a_model_that_neither_thinks_nor_calls_has_no_controls(context: BrowserContext, story_server: Server) -> None:
    page = prepared(context, story_server, thinking=False, tools=False)
    expect(page.locator(".meter .track")).to_be_visible()
    with page.expect_response("**/v1/tokenize"):
        page.fill("#prompt", "What is counted here")
    expect(page.locator(".composer .attach")).to_be_visible()
    expect(page.locator(".composer .control")).to_have_count(0)


@pytest.mark.parametrize("capabilities", [{"thinking": False}, {"thinking": True, "thinking_efforts": ["low"]}])
def test_what_was_chosen_for_another_model_is_shown_and_taken_back(
    context: BrowserContext, story_server: Server, capabilities: dict[str, Any]
) -> None:
    page = prepared(context, story_server, tools=False, **capabilities)
    page.evaluate("async () => (await import('/ui/state/settings.js')).set({ effort: 'high' })")
    control, section = page.locator("#composer-thinking"), page.locator("section", has_text="Thinking")
    expect(control).to_have_text("High")
    expect(page.get_by_role("radio", name="High")).to_be_checked()
    expect(section.get_by_text("This model does not think.")).to_have_count(0 if capabilities["thinking"] else 1)
    control.click()
    page.get_by_role("menuitemradio", name="Model\u2019s").click()
    expect(page.get_by_role("radio", name="High")).to_have_count(0)
    # A control that is gone with that leaves the focus at the message.
    expect(control if capabilities["thinking"] else page.locator("#prompt")).to_be_focused()
    assert "reasoning_effort" not in asked(page, "Say exactly: One.")


def test_where_tools_are_off_no_request_has_any(context: BrowserContext, story_server: Server) -> None:
    page = prepared(context, story_server, tools=True)
    page.evaluate("async () => (await import('/ui/state/settings.js')).set({ ownTools: true })")
    expect(page.locator("#composer-tools")).to_have_text("Tools off")
    assert "tools" not in asked(page, "Say exactly: One.")
    answered(page)


@pytest.mark.parametrize("left", ["{", "null"])
def test_settings_that_cannot_be_read_are_no_reason_not_to_start(
    context: BrowserContext, story_server: Server, left: str
) -> None:
    page = open_page(context, story_server.port)
    page.evaluate("(left) => sessionStorage.setItem('ignis.blank.settings', left)", left)
    page.evaluate("(left) => localStorage.setItem('ignis.waiting', left)", left)
    errors: list[Error] = []
    page.on("pageerror", lambda error: errors.append(error))
    page.reload()
    ask(page, "Say exactly: Here.")
    assert answered(page) == ["Here."]
    assert errors == []


@pytest.mark.parametrize("text", [100, 130])
def test_the_line_under_the_message_fits_a_phone(browser: Browser, story_server: Server, text: int) -> None:
    context = browser.new_context(**PHONE)
    page = prepared(context, story_server, thinking=True, thinking_efforts=["low", "high"], tools=True)
    page.evaluate("async (text) => (await import('/ui/state/session.js')).setLook({ textSize: text })", text)
    with held(story_server):
        page.fill("#prompt", "A story")
        page.click("#send")
        grown(page, 40)
        page.fill("#prompt", "And then?")
        expect(page.locator("#queue")).to_be_visible()
        expect(page.locator("#stop")).to_be_visible()
        for name in ("#composer-thinking", "#composer-tools"):
            expect(page.locator(name)).to_be_visible()
        comes_to(lambda: page.locator(".composer .under").evaluate(OVER), [0])
        page.click("#composer-tools")
        expect(page.locator("#composer-tools-menu")).to_be_in_viewport(ratio=1)
        page.keyboard.press("Escape")
        page.click("#stop")
    context.close()


def test_nothing_moves_as_the_controls_come_and_as_an_answer_is_counted(
    context: BrowserContext, story_server: Server
) -> None:
    context.add_init_script(f"({SHIFTS})()")
    page = prepared(context, story_server, thinking=True, thinking_efforts=["low", "high"], tools=True)
    expect(page.locator("#composer-tools")).to_be_visible()
    expect(page.locator(".meter .track")).to_be_visible()
    ask(page, "A story")
    grown(page, 1500)
    expect(page.locator(".meter .rate")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    # But a number whose ≈ goes, the words after one that has a figure more, and what is as wide as the model's name,
    # which a busy server tells after the first paint.
    known = re.compile(r'[\d,]+|<div class="chip">.*', re.DOTALL)
    shifts = page.evaluate(SHIFTED)
    assert [nodes for _, nodes in shifts if not all(known.fullmatch(node or "") for node in nodes)] == []
