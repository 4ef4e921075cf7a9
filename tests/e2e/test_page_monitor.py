"""The Monitor in a browser: what it shows is what the server's metrics say, over one clock."""

import concurrent.futures
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.axe import findings
from tests.e2e.browser import CHROMIUM, SHIFTED, SHIFTS, comes_to, opened_page
from tests.e2e.playground import ended, go_to, open_page, paced
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

MONITOR = "/ui/#/monitor"
MORE = """async (more) => { const { ring } = await import('/ui/state/samples.js'); const first = ring.count;
    while (ring.count < first + more) await new Promise((again) => setTimeout(again, 50)); }"""
KNOWN = """async (key) => { const { ring } = await import('/ui/state/samples.js');
    return Number.isNaN(ring.at(key, ring.last)) ? null : ring.at(key, ring.last); }"""
# Of a chart's two axes, some frames after they came into view.
HEIGHTS = """async (card) => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  card.scrollIntoView();
  while (card.querySelectorAll(".u-axis").length < 2) await frame();
  for (let count = 0; count < 4; count += 1) await frame();
  return [...card.querySelectorAll(".u-axis")].map((axis) => axis.clientHeight);
}"""
NONE = "\N{EN DASH}"
Start = Callable[..., Server]


@pytest.fixture(scope="module")
def story(start_server: Start) -> Iterator[Server]:
    """Draws forty tokens a second in each lane."""
    with start_server(command=paced(40)) as running:
        yield running


@pytest.fixture
def page(browser: Browser, story: Server) -> Iterator[Page]:
    with opened_page(browser, f"http://127.0.0.1:{story.port}", MONITOR) as page:
        expect(page.locator(".uplot").first).to_be_visible()
        yield page


@contextmanager
def answering(server: Server, count: int) -> Iterator[None]:
    """So many answers are under way meanwhile, however long it takes; at the end they are whole."""
    body = {"messages": [{"role": "user", "content": "Tell me."}], "max_tokens": 4000}
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        answers = [pool.submit(server.client.chat, **body) for _ in range(count)]
        try:
            server.wait_metric("ignis_scheduler_requests", count, state="running")
            yield
        finally:
            with ended(server):
                concurrent.futures.wait(answers)
    assert [answer.result().finish for answer in answers] == ["stop"] * count


def wait_samples(page: Page, more: int = 1) -> None:
    page.evaluate(MORE, more)


def figure(page: Page, title: str) -> Any:
    return page.locator(".figure-card", has=page.get_by_role("heading", name=title, exact=True))


def test_the_figures_say_what_the_server_does(page: Page, story: Server) -> None:
    expect(figure(page, "Lanes")).to_contain_text("0 of 8")
    with answering(story, 3):
        expect(figure(page, "Lanes")).to_contain_text("3 of 8")
        expect(page.locator(".slot.decode")).to_have_count(3)
        expect(figure(page, "Decode").locator("b")).to_have_text(re.compile(r"[1-9]\d+"))
        expect(figure(page, "Decode")).to_contain_text("each lane")
    expect(figure(page, "Lanes")).to_contain_text("0 of 8")
    for title in ("First token", "Between tokens"):
        expect(figure(page, title)).to_contain_text(re.compile(r"≈ ?[\d.]+ m?s.*p95 ≈ [\d.]+ m?s", re.DOTALL))
    # Three times the same prompt: two of them find its first page with the first, once it is there.
    expect(page.get_by_label("First token, spread", exact=True)).to_contain_text("3 requests")
    assert story.metric("ignis_requests_completed_total") == 3


def test_what_is_said_under_a_figure_takes_one_line_however_wide_its_letters_are(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 800})
    expect(page.locator(".figure-card .quiet")).to_have_count(5)
    height = """(text) => {
      const copies = [...document.querySelectorAll(".figure-card .quiet")].map((place) => {
        const copy = place.cloneNode();
        copy.textContent = text;
        place.style.display = "none";
        place.after(copy);
        return [place, copy];
      });
      const { offsetHeight } = document.querySelector(".figures");
      for (const [place, copy] of copies) {
        copy.remove();
        place.style.display = "";
      }
      return offsetHeight;
    }"""
    assert page.evaluate(height, "no request in the last minute " * 3) == page.evaluate(height, NONE)


def test_memory_is_drawn_as_the_plan_has_it(page: Page, story: Server) -> None:
    names = re.findall(r'line="(\w+)"', story.client.request("GET", "/ui/metrics")[2].decode())
    sizes = {name: story.metric("ignis_vram_reserved_bytes", line=name) for name in names}
    wait_samples(page)
    page.get_by_label("Memory as a table", exact=True).click()
    expect(page.locator(".memory tbody tr").first).to_be_visible()
    rows = [row.split("\t") for row in page.locator(".memory tbody tr").all_inner_texts()]
    shown = {row[0]: float(row[1].replace(",", "")) for row in rows}
    assert {name: shown[name] for name in shown if name in sizes} == {
        name: size for name, size in sizes.items() if size
    }
    assert shown["budget"] == story.metric("ignis_vram_budget_bytes")
    pages = story.metric("ignis_kv_pool_pages")
    expect(page.locator(".tier").first).to_contain_text(f"of {pages:,.0f}")
    # No driver has been asked where there is no card.
    expect(page.locator(".memory header")).to_contain_text("planned")
    expect(page.locator(".memory header")).not_to_contain_text("driver")


def test_a_pause_freezes_the_pictures_and_collecting_goes_on(page: Page, story: Server) -> None:
    wait_samples(page)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".shown")).to_contain_text("paused at")
    with answering(story, 2):
        wait_samples(page, 2)
        assert story.metric("ignis_scheduler_requests", state="running") == 2
        expect(figure(page, "Lanes")).to_contain_text("0 of 8")
        page.get_by_role("button", name="Go on").click()
        expect(figure(page, "Lanes")).to_contain_text("2 of 8")


def test_it_shows_what_was_before_it_was_opened(browser: Browser, story: Server) -> None:
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{story.port}/ui/#/chat")
    expect(page.locator("#prompt")).to_be_visible()
    page.wait_for_function("() => performance.getEntriesByName('whole').length > 0")
    with answering(story, 2):
        wait_samples(page, 2)
    page.evaluate("location.hash = '#/monitor'")
    page.get_by_label("Requests as a table").click()
    rows = page.get_by_role("region", name="Requests, numbers").locator("tbody tr")
    expect(rows.filter(has=page.locator("td", has_text=re.compile("^2$")))).not_to_have_count(0)
    page.close()


def test_one_cursor_goes_over_all_charts(page: Page) -> None:
    wait_samples(page, 3)
    plots = page.locator(".plot[role=img]")
    plots.first.focus()
    page.keyboard.press("ArrowLeft")
    for chart in ("Tokens each second", "Requests"):
        expect(page.get_by_label(chart, exact=True).locator("output").first).to_have_text(" 0")
    expect(page.locator("[aria-live=polite]")).to_contain_text(re.compile(r"\d\d:\d\d:\d\d: decode 0"))
    box = plots.first.bounding_box()
    assert box
    requests = page.get_by_label("Requests", exact=True).locator("output").first
    page.mouse.move(box["x"] + 100, box["y"] + 60)
    expect(requests).to_be_empty()
    page.mouse.move(box["x"] + box["width"] - 16, box["y"] + 60)
    expect(requests).to_have_text(" 0")


def test_a_chart_is_stopped_and_a_chosen_time_left_by_keys(page: Page) -> None:
    wait_samples(page, 3)
    plot = page.locator(".plot[role=img]").first
    plot.focus()
    page.keyboard.press("Space")
    expect(page.locator(".shown")).to_contain_text("paused at")
    page.keyboard.press("Space")
    expect(page.locator(".shown")).to_have_text("every 2 s")
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(page.locator(".shown")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d to \d\d:\d\d:\d\d$"))
    plot.focus()
    page.keyboard.press("Escape")
    expect(page.locator(".shown")).to_have_text("every 2 s")


def test_a_drag_chooses_a_time_for_all_charts_and_a_double_click_leaves_it(page: Page) -> None:
    page.get_by_label("5 min", exact=True).check()
    wait_samples(page, 2)
    box = page.locator(".plot[role=img]").first.bounding_box()
    assert box
    y = box["y"] + 60
    page.mouse.move(box["x"] + box["width"] * 0.5, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, y, steps=4)
    page.mouse.up()
    expect(page.locator(".shown")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d to \d\d:\d\d:\d\d$"))
    page.mouse.dblclick(box["x"] + box["width"] * 0.5, y)
    expect(page.locator(".shown")).to_have_text("every 2 s")


def test_a_scrape_that_fails_is_a_gap_and_is_said(browser: Browser, story: Server) -> None:
    page = browser.new_context().new_page()
    page.goto(f"http://127.0.0.1:{story.port}{MONITOR}")
    key = 'ignis_scheduler_requests{state="running"}'
    expect(figure(page, "Waiting").locator("b")).to_have_text("0")
    page.route("**/ui/metrics", lambda route: route.fulfill(status=500, body="{}"))
    expect(page.locator(".shown")).to_have_text("the last sample did not come: HTTP 500")
    assert page.evaluate(KNOWN, key) is None
    expect(figure(page, "Waiting").locator("b")).to_have_text(NONE)
    page.unroute("**/ui/metrics")
    expect(page.locator(".shown")).to_have_text("every 2 s")
    page.get_by_label("Requests as a table").click()
    rows = page.get_by_role("region", name="Requests, numbers").locator("tbody tr")
    expect(rows.filter(has_text=NONE)).not_to_have_count(0)
    page.context.close()


# What is written on canvases.
WRITTEN = """window.written = new Set();
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.written.add(text.trim());
    return fillText.call(this, text, ...place);
  };"""


def test_a_restart_of_the_server_is_marked(browser: Browser, start_server: Start) -> None:
    page = browser.new_context().new_page()
    page.add_init_script(WRITTEN)
    spread = page.get_by_label("First token, spread", exact=True)
    with start_server(command=paced(100)) as first:
        page.goto(f"http://127.0.0.1:{first.port}{MONITOR}")
        expect(figure(page, "Lanes")).to_contain_text("0 of 8")
        first.client.chat(messages=[{"role": "user", "content": "Tell me."}], max_tokens=4)
        expect(spread).to_contain_text("1 request")
    expect(page.locator(".banner")).to_contain_text("No server at")
    assert not page.evaluate("window.written.has('restart')")
    with start_server(command=paced(100), port=first.port):
        comes_to(lambda: page.evaluate("window.written.has('restart')"), True)
        page.get_by_label("Requests as a table").click()
        rows = page.get_by_role("region", name="Requests, numbers").locator("tbody tr")
        expect(rows.filter(has_text="restart")).to_have_count(1, timeout=30_000)
        # What was counted before the restart is still in the time that is shown.
        expect(spread).to_contain_text("1 request")
        page.context.close()


def test_every_series_is_found_by_its_name_and_labels(page: Page, story: Server) -> None:
    page.locator(".others").scroll_into_view_if_needed()
    page.get_by_label("Find a series").fill("rejected unknown_model")
    row = page.locator(".others tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("ignis_requests_rejected_total")
    before = story.metric("ignis_requests_rejected_total", reason="unknown_model")
    story.client.request(
        "POST", "/v1/chat/completions", {"model": "nope", "messages": [{"role": "user", "content": "a"}]}
    )
    expect(row.locator("td").nth(2)).to_have_text(f"{before + 1:.0f}")
    row.get_by_role("button").click()
    expect(row.locator("svg path")).to_have_attribute("d", re.compile(r"^M"))


def test_without_metrics_it_says_which_field_turns_them_on(browser: Browser, start_server: Start) -> None:
    with start_server("--server-metrics", "false", command=paced(100)) as server:
        page = browser.new_context().new_page()
        page.goto(f"http://127.0.0.1:{server.port}{MONITOR}")
        expect(page.locator(".off")).to_contain_text("server.metrics turns them on")
        page.get_by_role("link", name="server.metrics").click()
        expect(page.locator("[data-key='server.metrics']")).to_be_in_viewport()
        page.context.close()


def test_the_key_is_asked_for_once(browser: Browser, start_server: Start) -> None:
    with start_server("--server-api-key", "sk-open-sesame", command=paced(100)) as server:
        page = browser.new_context().new_page()
        page.clock.install()
        page.goto(f"http://127.0.0.1:{server.port}{MONITOR}")
        expect(page.get_by_role("dialog")).to_be_visible()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "metrics" in request.url else None)
        page.get_by_role("button", name="Cancel").click()
        page.clock.run_for(10_000)
        assert asked == []
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.evaluate("async () => (await import('/ui/state/session.js')).isKeyWanted.value = true")
        page.fill("#key-input", "sk-open-sesame")
        page.keyboard.press("Enter")
        expect(figure(page, "Lanes")).to_contain_text("0 of 8")
        page.context.close()


def test_on_a_phone_units_stand_at_their_numbers_and_figures_in_rows(browser: Browser, story: Server) -> None:
    page = browser.new_context(viewport={"width": 360, "height": 800}).new_page()
    # What another view brings, its style, is none of this one's.
    page.goto(f"http://127.0.0.1:{story.port}/ui/#/compare")
    expect(page.locator(".compare .lane").first).to_be_visible()
    page.evaluate("location.hash = '#/monitor'")
    expect(figure(page, "Lanes")).to_contain_text("0 of 8")
    slots = page.locator("[role=img][aria-label$=free] > span")
    assert len({slot.evaluate("(slot) => slot.getBoundingClientRect().top") for slot in slots.all()}) == 1
    with answering(story, 1):
        expect(figure(page, "First token")).to_contain_text("p95")
        expect(figure(page, "Between tokens")).to_contain_text("p95")
        figures = page.locator(".big:has(span:last-child:not(:empty))")
        # A rate is there with the second sample of what it is one of.
        expect(figures).to_have_count(5)
        gaps: list[float] = figures.evaluate_all(
            """(figures) => figures.map((figure) => {
              const number = document.createRange();
              number.selectNodeContents(figure.querySelector("b"));
              return figure.lastElementChild.getBoundingClientRect().left - number.getBoundingClientRect().right;
            })"""
        )
        assert max(gaps) < 8
    tops = page.locator(".big").evaluate_all("(figures) => figures.map((one) => one.getBoundingClientRect().top)")
    assert tops[::2] == tops[1::2]
    # No name of a model is set letter under letter.
    expect(page.locator(".switches header")).to_contain_text("switches since start")
    # Before the first load there was none that could have slept.
    expect(page.locator(".switches td[data-label=From]").last).to_have_text("none loaded")
    name = page.locator(".switches td[data-label=To]").first
    assert name.evaluate("(cell) => cell.getBoundingClientRect().height") < 50
    # No line at the left of the first.
    assert page.locator(".spans label").first.evaluate("(label) => getComputedStyle(label).borderLeftWidth") == "0px"
    page.context.close()


def test_a_chart_that_comes_into_view_has_its_axes_at_once(browser: Browser, story: Server) -> None:
    with opened_page(
        browser, f"http://127.0.0.1:{story.port}", MONITOR, viewport={"width": 360, "height": 740}
    ) as page:
        expect(page.locator(".uplot").first).to_be_visible()
        wait_samples(page)
        for title in ("First token", "Requests"):
            assert page.get_by_role("region", name=title, exact=True).evaluate(HEIGHTS) == [26, 130]


def test_on_a_phone_held_sideways_each_chart_has_the_whole_width(page: Page) -> None:
    page.set_viewport_size({"width": 740, "height": 360})
    widths = """() => new Set([...document.querySelectorAll(".figures, .chart-card")]
      .map((card) => card.getBoundingClientRect().width)).size"""
    expect(page.locator(".chart-card")).to_have_count(10)
    comes_to(lambda: page.evaluate(widths), 1)


@pytest.mark.parametrize("width", [740, 844, 932])
def test_on_a_phone_held_sideways_the_bar_is_one_row(browser: Browser, story: Server, width: int) -> None:
    size = {"width": width, "height": 360}
    with browser.new_context(viewport=size, has_touch=True, is_mobile=True) as context:
        page = open_page(context, story.port)
        go_to(page, "monitor")
        expect(page.locator("#model-name")).to_be_visible()
        expect(page.locator(".bar .shown")).to_have_text("every 2 s")
        places = page.locator(".monitor .bar > :is(h1, .chip, .shown, .spans, .pause)")
        middles = (
            """(all) => all.map((each) => each.getBoundingClientRect()).map(({ top, bottom }) => (top + bottom) / 2)"""
        )

        def spread_px() -> float:
            found: list[float] = places.evaluate_all(middles)
            return max(found) - min(found)

        comes_to(lambda: spread_px() < 2, True)
        # Nothing of it is cut, but for a long name.
        for place in (page.locator(".monitor .bar"), page.locator(".bar .shown"), page.locator(".bar h1")):
            assert place.evaluate("(place) => place.scrollWidth <= place.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_axe_finds_nothing_and_nothing_moves(
    browser: Browser, story: Server, axe: str, scheme: Any, width: int
) -> None:
    context: BrowserContext = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{story.port}{MONITOR}")
    expect(figure(page, "Lanes")).to_contain_text("0 of 8")
    page.evaluate(SHIFTS)
    assert findings(page, axe) == []
    with answering(story, 2):
        wait_samples(page, 2)
    page.locator(".others").scroll_into_view_if_needed()
    expect(page.locator(".others tbody tr").first).to_be_visible()
    assert findings(page, axe) == []
    for button in page.locator(".card > header button").all():
        button.click()
    assert findings(page, axe) == []
    wait_samples(page, 2)
    assert page.evaluate(SHIFTED) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    context.close()


def test_charts_take_the_colours_of_the_theme_at_once(browser: Browser, story: Server) -> None:
    page = browser.new_context(color_scheme="light").new_page()
    page.goto(f"http://127.0.0.1:{story.port}{MONITOR}")
    wait_samples(page, 2)
    page.click(".pause")
    # Which colour most of its points have: the lines of the grid.
    grid = """async () => {
      await new Promise(requestAnimationFrame);
      await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
      const canvas = document.querySelector(".plot canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const found = {};
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] < 255) continue;
        const colour = data.slice(at, at + 3).join();
        found[colour] = (found[colour] ?? 0) + 1;
      }
      return Object.keys(found).sort((one, other) => found[other] - found[one])[0];
    }"""
    light = page.evaluate(grid)
    page.emulate_media(color_scheme="dark")
    comes_to(lambda: page.evaluate(grid) != light, True)
    dark = page.evaluate(grid)
    page.click("button[aria-label^=Theme]")
    comes_to(lambda: page.evaluate(grid), light)
    page.click("button[aria-label^=Theme]")
    comes_to(lambda: page.evaluate(grid), dark)
    page.context.close()
