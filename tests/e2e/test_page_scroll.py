"""Where the reader's eye is: nothing moves that they did not move, and no layout shifts over a whole session."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.browser import SETTLED, SHIFTED, SHIFTS, comes_to
from tests.e2e.playground import CHROMIUM, answered, ask, cap, grown, held, open_page, paced
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")
NEAR_PX = 2
CHIP = '<div class="chip">'
RICH = "# Head\n\n- one\n- two\n\n```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def top(page: Page, selector: str) -> float:
    return float(page.locator(selector).evaluate("(element) => element.getBoundingClientRect().top"))


def left(page: Page) -> float:
    """What is below the view. Between what came and the frame that shows it there is a line of that more."""
    rest = "(view) => view.scrollHeight - view.scrollTop - view.clientHeight"
    return float(page.locator(".transcript").evaluate(rest))


def share(page: Page, selector: str) -> float:
    """Where it stands in the transcript: 0 at its top, 1 at its bottom."""
    return float(
        page.locator(selector).evaluate(
            """(element) => { const view = document.querySelector(".transcript").getBoundingClientRect();
            return (element.getBoundingClientRect().top - view.top) / view.height; }"""
        )
    )


def test_a_question_goes_to_the_top_third_and_stays_until_its_answer_fills_the_view(
    page: Page, story_server: Server
) -> None:
    cap(page, 400)
    ask(page, "Say exactly: " + "A line to fill the view with.\n\n" * 25)
    answered(page)
    question = ".turn.user >> nth=1"
    # It fills the view once it has been looked at, and not before.
    with held(story_server, 80):
        ask(page, "A story")
        expect(page.locator(question)).to_be_visible()
        page.wait_for_function("() => document.querySelectorAll('.turn.answer.running').length")
        comes_to(lambda: share(page, question) == pytest.approx(1 / 3, abs=0.02), True)
        before = top(page, question)
        grown(page, 200)
        assert top(page, question) == pytest.approx(before, abs=NEAR_PX)
    # Once the view is full it follows.
    grown(page, 1500)
    comes_to(lambda: left(page) < NEAR_PX, True)
    assert top(page, question) < before - 50


def test_who_reads_above_is_not_dragged_down_and_is_told_what_came(page: Page) -> None:
    ask(page, "A story")
    grown(page, 1500)
    page.mouse.move(500, 300)
    page.mouse.wheel(0, -400)
    expect(page.locator(".to-end")).to_be_visible()
    page.evaluate(SETTLED)
    paragraph = ".turn.answer .prose p >> nth=3"
    before = top(page, paragraph)
    grown(page, len(page.locator(".turn.answer .prose").inner_text()) + 400)
    assert top(page, paragraph) == pytest.approx(before, abs=NEAR_PX)
    expect(page.locator(".to-end")).to_contain_text("new line")
    page.click(".to-end")
    expect(page.locator(".to-end")).to_have_count(0)
    # The end of an answer moves nothing.
    page.mouse.wheel(0, -300)
    expect(page.locator(".to-end")).to_be_visible()
    page.evaluate(SETTLED)
    before = top(page, paragraph)
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    assert top(page, paragraph) == pytest.approx(before, abs=NEAR_PX)


def test_nothing_shifts_over_a_whole_session(context: BrowserContext, story_server: Server) -> None:
    context.add_init_script(f"({SHIFTS})()")
    page = open_page(context, story_server.port)
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    page.wait_for_function("() => performance.getEntriesByName('whole').length")
    page.evaluate("(text) => import('/ui/state/outbox.js').then(({ send }) => send(text))", f"Say exactly: {RICH}")
    answered(page)
    ask(page, "A story")
    grown(page, 600)
    ask(page, "Say exactly: Last.")
    expect(page.locator(".queue li")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    page.click("#send-waiting")
    answered(page, 3)
    page.click("#new-chat")
    page.click(".list li a")
    answered(page, 3)
    for tab in ("turn", "raw", "settings"):
        page.click(f"#tab-{tab}")
    # What is as wide as the model's name has its width when the server tells that, which a busy one does later.
    shifts = [shift for shift in page.evaluate(SHIFTED) if {str(node)[: len(CHIP)] for node in shift[1]} != {CHIP}]
    # A count grows by a digit, and a table's columns as its rows come: by how much, the fonts decide.
    assert sum(value for value, _ in shifts) < 0.002, shifts


def test_nothing_shifts_while_an_answer_of_two_sheets_streams_and_the_view_follows(
    context: BrowserContext, start_server: Any
) -> None:
    # So long that it has two sheets, and it still runs when it is looked at.
    with start_server(command=paced(800)) as server, held(server, 2400):
        page = open_page(context, server.port)
        cap(page, 4000)
        ask(page, "A story")
        grown(page, 400)
        page.evaluate(SHIFTS.replace(", buffered: true", ""))
        # Of the second sheet so much that nobody sees the first any more.
        grown(page, 9000)
        shifts = page.evaluate(SHIFTED)
        assert sum(value for value, _ in shifts) < 0.001, shifts
        comes_to(lambda: left(page) < NEAR_PX, True)
        # What is far above is skipped by the browser all the same, and keeps its height.
        heights = """(sheets) => sheets.map((sheet) => {
          const { height } = sheet.getBoundingClientRect();
          const kept = parseFloat(sheet.style.containIntrinsicBlockSize.slice(5));
          return sheet.classList.contains("closed") ? height - kept : null;
        })"""
        first, last = page.locator(".running .sheet").evaluate_all(heights)
        assert first == pytest.approx(0, abs=0.5)
        assert last is None


@pytest.mark.parametrize(("motion", "is_still"), [("no-preference", False), ("reduce", True)])
def test_whoever_wants_less_motion_sees_none(
    context: BrowserContext, story_server: Server, motion: Any, is_still: bool
) -> None:
    page = context.new_page()
    page.emulate_media(reduced_motion=motion)
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/#/chat")
    ask(page, "A story")
    grown(page)
    page.locator("#model").hover()
    # An end that never comes is the caret's: all others are of times that the theme sets.
    ends: list[float | None] = page.evaluate(
        """() => document.getAnimations().filter(({ playState }) => playState === "running")
          .map((one) => one.effect.getComputedTiming().endTime).map((end) => (Number.isFinite(end) ? end : null))"""
    )
    assert (ends == []) is is_still, ends
    # What turns from one state into another does so at once.
    slow = page.locator("body *").evaluate_all(
        """(all) => all
          .filter((each) => getComputedStyle(each).transitionDuration.split(", ").some((time) => time !== "0s"))
          .map((each) => each.outerHTML.slice(0, 90))"""
    )
    assert (slow == []) is is_still, slow
    page.keyboard.press("Escape")
