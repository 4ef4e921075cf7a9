"""The page in forced colours, where what a fill or a line alone tells is still told, and with more contrast."""

from base64 import b64encode
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.e2e.playground import CHROMIUM, answered, ask, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# The colours of a picture, each with how many of its points have it.
COLOURS = """async (address) => {
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.width, picture.height];
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const found = {};
  for (let at = 0; at < data.length; at += 4) {
    const colour = data.slice(at, at + 3).join();
    found[colour] = (found[colour] ?? 0) + 1;
  }
  return found;
}"""


@pytest.fixture(params=["light", "dark"])
def page(browser: Browser, story_server: Server, request: pytest.FixtureRequest) -> Iterator[Page]:
    size = {"width": 1440, "height": 900}
    context = browser.new_context(forced_colors="active", color_scheme=request.param, viewport=size)
    yield open_page(context, story_server.port)
    context.close()


def colours(place: Locator) -> dict[str, int]:
    """Of what is drawn there, those that are no mere edge of a letter."""
    address = f"data:image/png;base64,{b64encode(place.screenshot()).decode()}"
    found: dict[str, int] = place.page.evaluate(COLOURS, address)
    return {colour: count for colour, count in found.items() if count * 100 > sum(found.values())}


def test_what_fills_and_lines_tell_is_told_in_forced_colours(page: Page) -> None:
    ask(page, "Say exactly: " + "one two three " * 40)
    answered(page)
    canvas = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).join()")
    # A track, and the part of it that is filled, are no part of the ground.
    page.evaluate("document.querySelector('.meter .track span').style.width = '50%'")
    page.fill("#set-temperature", "1")
    page.press("#set-temperature", "Tab")
    for mark in (".meter .track", ".parameter .range >> nth=0", ".context-bar"):
        assert len(set(colours(page.locator(mark))) - {canvas}) >= 2, mark
    # What was chosen is told from what was not.
    for chosen, other in (
        (".tabs [aria-selected=true]", ".tabs [aria-selected=false] >> nth=0"),
        (".segments label:has(:checked) >> nth=0", ".segments label:not(:has(:checked)) >> nth=0"),
        (".rail a[aria-current]", ".rail a.place:not([aria-current]) >> nth=0"),
    ):
        assert set(colours(page.locator(chosen))) != set(colours(page.locator(other))), chosen
    page.click("#tab-turn")
    expect(page.locator(".time-bar")).to_be_visible()
    assert len(set(colours(page.locator(".time-bar"))) - {canvas}) >= 2
    for mark in (".panel .swatch.read", ".chip .dot"):
        assert set(colours(page.locator(mark).first)) - {canvas}, mark


def test_charts_and_their_legends_keep_apart_what_they_show_in_forced_colours(page: Page) -> None:
    page.click(".rail a[href='#/monitor']")
    swatches = page.locator(".chart-card .swatch:not([data-dashed=true])")
    expect(swatches.first).to_be_visible()
    drawn = {max(found, key=lambda each: found[each]) for found in map(colours, swatches.all())}
    assert len(drawn) >= 2
    lines = page.evaluate(
        """async () => { const { colourOf } = await import("/ui/monitor/colours.js");
        return [1, 2, 3].map((number) => colourOf(document.querySelector(".plot"), `--series-${number}`)); }"""
    )
    assert len(set(lines)) == 3


def test_the_letter_of_a_lane_is_read_in_forced_colours(page: Page) -> None:
    page.evaluate("location.hash = '#/compare'")
    assert len(colours(page.locator(".lane .letter").first)) >= 2


def test_whoever_wants_more_contrast_has_no_faint_word_and_no_faint_line(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port)
    names = ["--faint", "--quiet", "--line", "--control"]
    read = "(names) => names.map((name) => getComputedStyle(document.documentElement).getPropertyValue(name))"
    faint, quiet, line, control = page.evaluate(read, names)
    assert faint != quiet and line != control
    page.emulate_media(contrast="more")
    assert page.evaluate(read, names) == [quiet, quiet, control, control]
