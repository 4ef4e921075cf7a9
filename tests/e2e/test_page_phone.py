"""The page on a phone: a chat has its title there, Enter is a new line, a keyboard takes no room from what is read."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, answered, ask, open_page
from tests.e2e.server import Server
from tests.e2e.test_page_turns import KEEP

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

SIZE = {"width": 360, "height": 740}


@pytest.fixture
def page(browser: Browser, story_server: Server) -> Iterator[Page]:
    context = browser.new_context(viewport=SIZE, has_touch=True, is_mobile=True)
    yield open_page(context, story_server.port)
    context.close()


def test_the_title_stands_over_the_model_and_can_be_changed(page: Page, axe: str) -> None:
    expect(page.locator("h1")).to_have_text("New chat")
    before = page.locator(".chat .bar").bounding_box()
    ask(page, "Say exactly: One.")
    page.tap("#send")
    answered(page)
    title = page.get_by_label("Title of this chat")
    expect(title).to_have_value("Say exactly: One.")
    upper, lower = title.bounding_box(), page.locator(".bar .chip").bounding_box()
    assert upper is not None and lower is not None
    assert upper["width"] > 200 and upper["y"] >= 6 and upper["y"] + upper["height"] <= lower["y"] + 1
    assert page.locator(".chat .bar").bounding_box() == before
    title.fill("A name")
    title.press("Enter")
    title.blur()
    page.tap("[aria-label=Chats]")
    expect(page.locator(".list li .name")).to_have_text("A name")
    assert findings(page, axe) == []


def test_the_bar_gives_its_room_to_a_keyboard_and_comes_back(page: Page) -> None:
    rail = page.locator(".rail")
    expect(rail).to_be_visible()
    page.tap("#prompt")
    expect(rail).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 420})
    expect(rail).to_be_hidden()
    end = page.locator(".composer").evaluate("(place) => innerHeight - place.getBoundingClientRect().bottom")
    assert end < 5
    page.set_viewport_size(SIZE)
    expect(rail).to_be_visible()


def test_enter_is_a_new_line_and_the_button_sends(page: Page) -> None:
    ask(page, "Say exactly: One.")
    page.type("#prompt", "And more.")
    expect(page.locator("#prompt")).to_have_value("Say exactly: One.\nAnd more.")
    expect(page.locator(".turn")).to_have_count(0)
    page.tap("#send")
    answered(page)
    expect(page.locator(".turn.user .said")).to_have_text("Say exactly: One.\nAnd more.")
    # So its keyboard has gone.
    expect(page.locator("#prompt")).not_to_be_focused()


def test_a_finger_meets_what_looks_small(page: Page) -> None:
    ask(page, "Say exactly: One.")
    page.tap("#send")
    answered(page)
    readout = page.locator(".readout")
    readout.scroll_into_view_if_needed()
    box = readout.bounding_box()
    assert box is not None and box["height"] < 30
    x, middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for y in (middle - 20, middle + 20):
        assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).className", [x, y]) == "readout"


def test_what_a_stopped_answer_took_and_what_to_do_with_it_is_one_line(page: Page) -> None:
    long = {"usage": {"prompt_tokens": 99, "completion_tokens": 1315, "isCounted": 1}, "state": "STOPPED"}
    page.evaluate(KEEP, {**long, "text": "Rain.", "request": {"messages": [], "seed": 1}})
    figures, buttons = page.locator(".turn.answer .readout"), page.locator(".turn.answer .turn-actions")
    expect(figures).to_contain_text("≈ 1,315")
    box, beside = figures.bounding_box(), buttons.bounding_box()
    assert box is not None and beside is not None
    assert beside["y"] < box["y"] + box["height"] and box["x"] + box["width"] <= beside["x"]
    # The way on is in a line of its own, and begins where the words above it do.
    way, words = page.locator(".ending .resume").bounding_box(), page.locator(".ending").bounding_box()
    assert way is not None and words is not None
    assert way["y"] > words["y"] + 10 and abs(way["x"] - words["x"]) < 1


def test_what_is_typed_into_is_so_large_that_no_phone_goes_nearer(page: Page) -> None:
    small = """(fields) => fields.filter((each) => parseFloat(getComputedStyle(each).fontSize) < 16)
      .map((each) => each.outerHTML.slice(0, 90))"""
    expect(page.locator("#model-name")).to_be_visible()
    places = {"chat": "#system", "compare": "#prompt", "agents": "#prompt", "server/config": "[data-key] input"}
    # The least size of text that a person can choose.
    page.evaluate("import('/ui/state/session.js').then(({ setLook }) => setLook({ textSize: 90 }))")
    for view, place in places.items():
        page.evaluate("(view) => { location.hash = `#/${view}`; }", view)
        if view == "chat":
            page.tap("#settings-toggle")
        expect(page.locator(place).first).to_be_visible()
        fields = page.locator("input:not([type=checkbox], [type=radio], [type=range], [type=file]), textarea, select")
        assert fields.evaluate_all(small) == [], view
        if view == "chat":
            page.tap(".panel .close")


def test_the_model_in_the_bar_is_as_high_as_a_finger_in_each_view(page: Page) -> None:
    expect(page.locator("#model-name")).to_be_visible()
    for view in ("chat", "compare", "agents", "monitor", "server"):
        page.evaluate("(view) => { location.hash = `#/${view}`; }", view)
        expect(page.locator("#view h1")).to_have_text("New chat" if view == "chat" else view.capitalize())
        box = page.locator("#model").bounding_box()
        assert box is not None and box["height"] >= 44, view


def test_what_the_bar_has_no_place_for_is_written_as_large_as_any_menu(page: Page) -> None:
    page.tap(".rail .more")
    menu = page.locator("#more-menu")
    expect(menu.get_by_role("menuitem").first).to_have_text("Agents")
    size = "(each) => getComputedStyle(each).fontSize"
    assert menu.get_by_role("menuitem").first.evaluate(size) == menu.evaluate(size) == "13px"


@pytest.mark.parametrize("width", [740, 1024])
def test_a_wide_page_for_fingers_does_not_say_that_enter_sends(
    browser: Browser, story_server: Server, width: int
) -> None:
    with browser.new_context(viewport={"width": width, "height": 740}, has_touch=True, is_mobile=True) as context:
        page = open_page(context, story_server.port)
        expect(page.locator(".composer .hint")).to_be_hidden()
        ask(page, "One")
        expect(page.locator("#prompt")).to_have_value("One\n")
