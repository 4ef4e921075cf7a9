"""The page at widths between a phone and a desk, with larger text, and while its width changes."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import comes_to
from tests.e2e.playground import CHROMIUM, answered, ask, changed, go_to, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# What of those cannot be reached, as it is cut off by the window.
CUT = """(all) => all.filter((each) => each.getClientRects().length).filter((each) => {
  const { left, right, top, bottom } = each.getBoundingClientRect();
  return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight;
}).map((each) => each.textContent)"""


@pytest.fixture
def page(browser: Browser, story_server: Server) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield open_page(context, story_server.port)
    context.close()


def size(page: Page, width: int, height: int = 900) -> None:
    page.set_viewport_size({"width": width, "height": height})


@pytest.mark.parametrize("text", [100, 130])
def test_all_buttons_of_a_bar_can_be_reached_at_each_width(page: Page, text: int) -> None:
    expect(page.locator("#model-name")).to_be_visible()
    page.evaluate("async (text) => (await import('/ui/state/session.js')).setLook({ textSize: text })", text)
    for view in ("compare", "agents", "monitor", "server"):
        go_to(page, view)
        for width in (1280, 1024, 900, 820, 768, 721):
            size(page, width)
            buttons = page.locator("#view .bar button")
            comes_to(lambda where=(view, width), all=buttons: (where, all.evaluate_all(CUT)), ((view, width), []))
    size(page, 768)
    go_to(page, "compare")
    page.fill("#prompt", "Say exactly: Here.")
    page.click("#compare-more")
    expect(page.locator("#compare-more-menu")).to_contain_text("Another lane")
    page.keyboard.press("Escape")
    page.click("#run-all")
    expect(page.locator(".lane .prose").first).to_have_text("Here.")


@pytest.mark.parametrize("text", [100, 130])
def test_the_models_name_has_room_in_each_bar_and_is_whole_where_it_is_pointed_at(page: Page, text: int) -> None:
    name = page.locator("#model-name")
    expect(name).to_be_visible()
    page.evaluate("async (text) => (await import('/ui/state/session.js')).setLook({ textSize: text })", text)
    for view in ("compare", "agents", "server"):
        go_to(page, view)
        if view == "agents":
            page.fill("#prompt", "Say exactly: A list with a name that is long enough for every bar.")
            page.click("#run")
            expect(page.locator("#view h1")).to_have_text(re.compile("A list"))
        for width in (820, 721, 360):
            size(page, width)
            assert name.evaluate("(name) => name.clientWidth") > 44, f"{view} at {width}"
        size(page, 721)
        assert page.locator("#view h1").evaluate("(title) => title.clientWidth") > 40, view
        expect(page.locator("#model")).to_have_attribute("title", name.inner_text())


def test_a_long_name_of_the_model_leaves_the_chat_its_title_and_of_the_device_one_line(page: Page) -> None:
    expect(page.locator("#model-name")).to_be_visible()
    ask(page, "Say exactly: Here.")
    answered(page)
    page.evaluate(
        """async (name) => {
          const { models } = await import("/ui/state/server.js");
          const device = "A device (with-all-that-it-can-do)";
          models.value = [{ ...models.value[0], id: name, display_name: name, device }];
        }""",
        "A-name-" * 20,
    )
    expect(page.locator("#model-name")).to_contain_text("A-name-A-name-")
    assert page.locator(".bar h1").evaluate("(title) => title.clientWidth") > 200
    right = "(place) => place.getBoundingClientRect().right"
    assert page.locator("#model").evaluate(right) + 60 > page.locator("#settings-toggle").evaluate(right)
    go_to(page, "server")
    for width in (1440, 768, 721):
        size(page, width)
        assert page.locator(".bar .device").evaluate("(device) => device.clientHeight") < 24, width
    # A bar of two lines begins below the window's edge.
    go_to(page, "monitor")
    assert page.locator("#model").evaluate("(chip) => chip.getBoundingClientRect().top") > 4


def test_an_answer_begins_right_under_its_message_and_what_it_took_is_one_line_among_versions_too(page: Page) -> None:
    ask(page, "Say exactly: " + "A sentence of some length. " * 20)
    answered(page)
    page.get_by_role("button", name="Regenerate").click()
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    answered(page)
    edge = "(place, edge) => place.getBoundingClientRect()[edge]"
    said, prose = page.locator(".turn.user .said"), page.locator(".turn.answer .prose")
    assert prose.evaluate(edge, "top") - said.evaluate(edge, "bottom") <= 20
    expect(page.locator(".readout")).to_contain_text(re.compile(r"tok/s.*tokens.*cached.*seed \d{9,}"))
    assert page.locator(".turn.answer footer").evaluate(edge, "height") < 40
    # What can be done with a message is beside it.
    said.hover()
    drop = page.locator(".turn.user .drop")
    expect(drop).to_have_css("opacity", "1")
    assert drop.evaluate(edge, "right") <= said.evaluate(edge, "left")
    assert drop.evaluate(edge, "bottom") <= said.evaluate(edge, "bottom")
    page.click(".turn.user .edit")
    page.fill(".turn.user textarea", "Say exactly: Short.")
    page.press(".turn.user textarea", "Control+Enter")
    expect(said).to_have_text("Say exactly: Short.")
    answered(page)
    # Its versions are counted next to it, and the way to them is seen without a pointer.
    page.mouse.move(700, 700)
    earlier = page.locator(".turn.user").get_by_label("Earlier version")
    expect(earlier).to_have_css("opacity", "1")
    assert said.evaluate(edge, "left") - page.locator(".turn.user .branches").evaluate(edge, "right") < 20


@pytest.mark.parametrize("has_touch", [False, True])
def test_what_an_answer_took_is_one_line_on_a_narrow_window_and_a_tablet_among_versions_too(
    browser: Browser, story_server: Server, has_touch: bool
) -> None:
    context = browser.new_context(viewport={"width": 1024, "height": 900}, has_touch=has_touch, is_mobile=has_touch)
    page = open_page(context, story_server.port)
    page.fill("#prompt", "Say exactly: " + "A sentence of some length. " * 5)
    page.click("#send")
    answered(page)
    page.get_by_role("button", name="Regenerate").click()
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    answered(page)
    readout = page.locator(".readout")
    expect(readout).to_contain_text(re.compile(r"tok/s.*tokens.*cached.*seed \d{9,}"))
    # A busy server makes it wait now and then, which is said too.
    readout.evaluate("(all) => [...all.children].find((each) => each.textContent.startsWith('waited'))?.remove()")
    for width in (1024, 820) if has_touch else (820, 740):
        size(page, width)
        page.wait_for_function("() => document.querySelector('.turn.answer footer').clientHeight < 50")
        expect(readout.locator(".figure").last).to_be_visible()
    context.close()


@pytest.mark.parametrize("view", ["chat", "monitor"])
def test_what_stands_in_a_row_of_the_models_menu_is_on_one_line(page: Page, view: str) -> None:
    page.evaluate("(view) => { location.hash = `#/${view}`; }", view)
    expect(page.locator(f".{view} #model-name")).to_be_visible()
    page.click("#model")
    row = page.locator(".chip .menu button.row").first
    assert row.locator(".name").evaluate("(name) => name.scrollWidth <= name.clientWidth")
    lines = row.evaluate(
        """(row) => [...row.children].map((each) => {
          const words = document.createRange();
          words.selectNodeContents(each);
          const { top, height } = words.getBoundingClientRect();
          const pen = document.createElement("canvas").getContext("2d");
          pen.font = getComputedStyle(each).font;
          const { fontBoundingBoxAscent: over, fontBoundingBoxDescent: under } = pen.measureText("x");
          return top + (height * over) / (over + under);
        })"""
    )
    assert len(lines) == 3 and max(lines) - min(lines) < 1.5, lines


@pytest.mark.parametrize("width", [1280, 768])
def test_every_line_of_a_chart_is_named_beside_its_title(page: Page, width: int) -> None:
    size(page, width)
    go_to(page, "monitor")
    names = page.locator(".charts .legend > *")
    expect(names.filter(has_text="prefill ÷ 10")).to_be_visible()
    outside = """(all) => all.filter((each) => {
      const { bottom, right } = each.parentElement.getBoundingClientRect();
      const own = each.getBoundingClientRect();
      return own.bottom > bottom + 2 || own.right > right + 2;
    }).map((each) => each.textContent)"""
    assert names.evaluate_all(outside) == []


@pytest.mark.parametrize("width", [1440, 1152, 1024, 768, 721, 390])
def test_each_row_of_charts_is_as_wide_as_the_board(page: Page, width: int) -> None:
    size(page, width)
    page.evaluate("location.hash = '#/monitor'")
    expect(page.locator(".charts > *")).to_have_count(10)
    # Of each list of charts where its rows end.
    ends = page.locator(".charts").evaluate_all(
        """(lists) => lists.map((list) => {
          const rows = new Map();
          for (const card of list.children) {
            const { top, right } = card.getBoundingClientRect();
            rows.set(Math.round(top), Math.max(rows.get(Math.round(top)) ?? 0, right));
          }
          return [...rows.values()].map((end) => Math.round(list.getBoundingClientRect().right - end));
        })"""
    )
    assert [set(list_ends) for list_ends in ends] == [{0}] * 3


def test_no_name_of_a_series_and_no_time_of_a_load_is_broken_on_a_tablet(page: Page) -> None:
    size(page, 768)
    page.evaluate("location.hash = '#/monitor'")
    expect(page.locator(".switches [data-label=When]").first).to_be_visible()
    page.locator(".others").scroll_into_view_if_needed()
    expect(page.locator(".others tbody tr").first).to_be_visible()
    broken = page.locator(".others tbody td:first-child, .switches td:not(:nth-child(2), :nth-child(3))").evaluate_all(
        """(cells) => cells.filter((cell) => {
          const words = document.createRange();
          words.selectNodeContents(cell);
          return new Set([...words.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
        }).map((cell) => cell.textContent)"""
    )
    assert broken == []
    # What is said over the numbers stands over them.
    ends = page.locator(".others tr:first-child .number").evaluate_all(
        "(cells) => cells.map((cell) => Math.round(cell.getBoundingClientRect().right))"
    )
    assert ends[:2] == ends[2:]


@pytest.mark.parametrize(("width", "height"), [(640, 400), (427, 267)])
def test_at_two_and_three_hundred_per_cent_cards_go_to_the_bar(page: Page, width: int, height: int) -> None:
    size(page, width, height)
    go_to(page, "server")
    cards = page.locator(".server .left")
    expect(cards).to_be_visible()
    end = cards.evaluate("(cards) => cards.getBoundingClientRect().bottom")
    assert end == pytest.approx(page.locator(".rail").evaluate("(rail) => rail.getBoundingClientRect().top"), abs=1)


# A phone that lies, and a page at 400 %: how much of a field is seen at once.
@pytest.mark.parametrize(("width", "height", "part"), [(740, 360, 1), (320, 256, 0.6)])
def test_a_field_of_the_configuration_can_be_seen_and_set_in_a_low_window(
    page: Page, width: int, height: int, part: float
) -> None:
    size(page, width, height)
    page.evaluate("location.hash = '#/server/config'")
    row = page.locator(".field-row", has=page.locator("[id='field-model.prefill_chunk']"))
    expect(row).to_be_visible()
    row.scroll_into_view_if_needed()
    expect(row).to_be_in_viewport(ratio=part)
    row.locator("input").click()
    page.keyboard.type("512")
    page.keyboard.press("Tab")
    for place in ("#find-field", "#config-file", "#discard"):
        # No other thing lies over it, or takes the press.
        page.click(place)
    expect(page.locator(".config .foot")).to_contain_text("No changes")


def test_at_two_hundred_per_cent_the_whole_rail_can_be_reached(page: Page) -> None:
    size(page, 720, 450)
    last = page.locator(".rail button.minor").last
    last.scroll_into_view_if_needed()
    comes_to(lambda: last.evaluate_all(CUT), [])
    last.click()
    expect(last).to_have_text("Light")


def test_what_stood_beside_the_chat_does_not_lie_over_it_once_the_window_is_narrow(page: Page) -> None:
    expect(page.locator(".list")).to_be_visible()
    expect(page.locator(".panel")).to_be_visible()
    for width in (768, 360):
        size(page, width)
        expect(page.locator(".list, .panel, .veil")).to_have_count(0)
    page.click("[aria-label=Chats]")
    expect(page.locator(".list, .veil")).to_have_count(2)
    size(page, 1440)
    expect(page.locator(".list, .panel")).to_have_count(2)
    expect(page.locator(".veil")).to_have_count(0)


def test_what_runs_tasks_stands_at_the_right_with_what_is_said_of_it(page: Page) -> None:
    expect(page.locator("#model-name")).to_be_visible()

    def think(body: Any) -> None:
        body["data"][0]["capabilities"].update(thinking=True, thinking_efforts=["low", "high"])

    # With each look at the server, and not till the next one.
    page.route("**/v1/models", changed(think))
    page.evaluate("dispatchEvent(new Event('online'))")
    go_to(page, "agents")
    expect(page.locator("#limit-thinking_budget")).to_be_visible()
    page.fill("#prompt", "\n".join(["A task"] * 12))
    right = "(place) => place.getBoundingClientRect().right"
    for width in (1440, 1100):
        size(page, width)
        run, under = page.locator("#run"), page.locator(".task-form .under")
        assert run.evaluate(right) == pytest.approx(under.evaluate(right), abs=1)
        assert run.bounding_box()["y"] < page.locator(".at-once").bounding_box()["y"] + 20  # type: ignore[index]
    page.unroute_all(behavior="wait")


def test_no_card_of_the_server_lies_over_another_on_a_phone_with_large_text(page: Page) -> None:
    size(page, 360, 740)
    page.evaluate("async () => (await import('/ui/state/session.js')).setLook({ textSize: 130 })")
    go_to(page, "server")
    expect(page.locator(".models tbody tr").first).to_be_visible()
    ends = "(all) => all.map((each) => [each.getBoundingClientRect().top, each.getBoundingClientRect().bottom])"
    now, models = page.locator(".server .now, .server .models").evaluate_all(ends)
    assert now[1] <= models[0]
    inner = page.locator(".now dl").evaluate_all(ends)[0]
    assert inner[1] <= now[1]
    # The model and its state are in the bar of every view.
    expect(page.locator(".server .chip #model-name")).to_be_visible()
    page.click(".pages >> text=Log")
    log = page.locator(".server .log")
    expect(log).to_be_visible()
    top, end = log.evaluate_all(ends)[0]
    assert end - top > 300


def test_tasks_can_be_told_apart_on_a_tablet(page: Page) -> None:
    size(page, 768)
    go_to(page, "agents")
    tasks = ["Say exactly: what the shopkeeper thinks", "Say exactly: what the bus driver thinks"]
    page.fill("#prompt", "\n".join(tasks))
    page.click("#run")
    expect(page.locator("tbody tr[data-state=DONE]")).to_have_count(2)
    for row in page.locator("tbody .words").all():
        assert row.evaluate(
            "(words) => words.scrollWidth <= words.clientWidth && words.scrollHeight <= words.clientHeight"
        )
    assert page.locator(".table-scroll").evaluate("(place) => place.scrollWidth <= place.clientWidth")


def test_a_task_on_a_narrow_page_has_its_state_and_its_buttons_on_one_line_and_one_edge_at_the_left(page: Page) -> None:
    page.click(".rail a[href='#/agents']")
    page.fill("#prompt", "Say exactly: One.")
    page.click("#run")
    size(page, 390)
    expect(page.locator(".task-table .tag")).to_have_text("done")
    boxes = [
        page.locator(f".task-table {part}").first.bounding_box() for part in (".tag", ".row-actions button", ".number")
    ]
    tag, button, number = (box for box in boxes if box is not None)
    assert tag["y"] + tag["height"] / 2 == pytest.approx(button["y"] + button["height"] / 2, abs=1)
    assert number["x"] == pytest.approx(tag["x"], abs=1)


def test_the_sheet_of_keys_can_be_closed_by_a_press_without_scrolling(page: Page) -> None:
    page.locator("#prompt").blur()
    page.keyboard.press("?")
    close = page.locator("dialog.keys .actions button")
    expect(close).to_be_visible()
    for width in (1440, 768, 390):
        size(page, width, 800)
        expect(close).to_be_in_viewport(ratio=1)


def test_the_server_has_all_of_a_large_window_and_four_models_in_a_usual_one(page: Page) -> None:
    go_to(page, "server")
    expect(page.locator(".models tbody tr").first).to_be_visible()
    for width, height in ((2560, 1440), (1440, 900)):
        size(page, width, height)
        bottom = page.locator(".server .board").evaluate("(board) => board.getBoundingClientRect().bottom")
        assert bottom == height

    def multiply(body: Any) -> None:
        body["data"] = [{**body["data"][0], "id": id, "loaded": id == "a"} for id in "abcd"]

    page.route("**/v1/models", changed(multiply))
    page.evaluate("dispatchEvent(new Event('online'))")
    fourth = page.locator(".models tbody tr").nth(3)
    expect(fourth).to_have_text(re.compile("^d"))
    bottom = "(place) => place.getBoundingClientRect().bottom"
    assert fourth.evaluate(bottom) <= page.locator(".models .scroll").evaluate(bottom)
    page.unroute_all(behavior="wait")


def test_there_is_no_way_to_the_end_where_all_is_in_view(page: Page) -> None:
    ask(page, "Say exactly: " + "Line.\n\n" * 8)
    answered(page)
    size(page, 1440, 400)
    page.hover(".transcript")
    page.mouse.wheel(0, -400)
    expect(page.locator(".to-end")).to_be_visible()
    size(page, 1440, 1440)
    expect(page.locator(".to-end")).to_have_count(0)
