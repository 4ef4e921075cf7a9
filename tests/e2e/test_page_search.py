"""Words are found in the titles and the texts of all chats, also on branches that are not shown."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.axe import findings
from tests.e2e.browser import wait_until
from tests.e2e.playground import CHROMIUM, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# A chat with two answers, of which the newer is shown, and one of 1,300 turns: more than two steps of reading.
KEEP = """async () => {
  const turns = await import("/ui/store/turns.js");
  const times = { sent: 1, thought: null, first: 1, text: 1, last: 2 };
  const turn = (conversation, id, parent, role, text, created) => ({
    conversation, id, parent, role, text, created, reasoning: "", tools: [], state: "DONE", request: null,
    model: "m", seed: 1, finish: "stop", failure: null, usage: null, timings: null, times, isEdited: false, v: 1,
  });
  const chat = (id, title, head, updated) => (
    { id, title, head, settings: {}, created: 1, updated, preview: "", v: 1 });
  await turns.saveAll([
    turn("first", "q", null, "user", "Where?", 1),
    turn("first", "old", "q", "assistant", "In the harbour,\\n\\nbehind the <b>lantern</b>.", 2),
    turn("first", "new", "q", "assistant", "On the stairs.", 3),
  ], chat("first", "Places", "new", 9));
  const name = (at) => `t${String(at).padStart(4, "0")}`;
  const many = Array.from({ length: 1300 }, (_, at) => turn("second", name(at), null, "user", `word ${at}`, at));
  many[1299].text = "The lighthouse at the end";
  await turns.saveAll(many, chat("second", "Harbour dues", "t1299", 8));
}"""


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    opened = open_page(context, story_server.port)
    opened.evaluate(KEEP)
    opened.reload()
    expect(opened.locator(".list li")).to_have_count(2)
    return opened


def test_titles_and_texts_are_found_and_a_hit_opens_its_branch(page: Page) -> None:
    page.fill("#search-chats", "harbour")
    expect(page.locator(".list section h2")).to_have_text(["Titles", "Texts"])
    expect(page.locator(".list section").first).to_contain_text("Harbour dues")
    expect(page.locator(".hits mark")).to_have_text("harbour")
    page.fill("#search-chats", "BEHIND the <b>LANTERN")
    hit = page.locator(".hits li")
    expect(hit).to_contain_text("In the harbour, behind the <b>lantern</b>.")
    expect(page.locator(".hits b")).to_have_count(0)
    hit.locator("a").click()
    expect(page.locator(".branches")).to_contain_text("1 / 2")
    expect(page.locator(".turn.answer[data-keyed]")).to_be_focused()
    expect(page.locator(".turn.answer .prose")).to_contain_text("In the harbour")
    page.wait_for_function("() => [...(CSS.highlights.get('found') ?? [])].join() === 'behind the <b>lantern'")


def test_all_turns_are_read_in_steps(page: Page) -> None:
    page.evaluate(
        """async () => { const { searched } = await import("/ui/state/search.js");
        window.steps = []; searched.subscribe(({ numRead }) => window.steps.push(numRead)); }"""
    )
    page.fill("#search-chats", "lighthouse")
    expect(page.locator(".hits mark")).to_have_text("lighthouse")
    page.wait_for_function("() => window.steps.includes(1303)")
    assert page.evaluate("[...new Set(window.steps)]") == [0, 500, 1000, 1303]
    page.fill("#search-chats", "nowhere at all")
    expect(page.locator(".list .none")).to_have_text("No chat has that in its title or text.")
    page.fill("#search-chats", "")
    expect(page.locator(".list li")).to_have_count(2)


def test_tab_stops_at_one_hit_and_arrows_reach_the_others(page: Page) -> None:
    # That one, and those from 1200 to 1209.
    page.fill("#search-chats", "word 120")
    hits = page.locator(".hits a")
    expect(page.locator(".list .none")).to_have_text("")
    expect(hits).to_have_count(11)
    expect(page.locator(".hits a[tabindex='0']")).to_have_count(1)
    hits.first.focus()
    page.keyboard.press("ArrowDown")
    expect(hits.nth(1)).to_be_focused()
    expect(hits.nth(1)).to_have_attribute("tabindex", "0")
    page.keyboard.press("Tab")
    expect(page.locator(".hits :focus")).to_have_count(0)
    page.keyboard.press("Shift+Tab")
    expect(hits.nth(1)).to_be_focused()


def test_older_chats_come_into_the_list_when_asked_for(page: Page) -> None:
    page.evaluate(
        """async () => { const { save } = await import("/ui/store/conversations.js");
        for (let at = 0; at < 68; at += 1) {
          const kept = { id: `c${at}`, title: `Old ${at}`, head: null, settings: {}, created: 1, updated: 2 };
          await save({ ...kept, preview: "", v: 1 });
        } }"""
    )
    page.reload()
    expect(page.locator(".list li")).to_have_count(60)
    # One that is not in the list is found, opened and renamed all the same.
    page.fill("#search-chats", "old 0")
    page.click(".list section li a")
    expect(page.locator(".bar .title")).to_have_value("Old 0")
    page.fill("#search-chats", "")
    page.fill(".bar .title", "Renamed")
    page.press(".bar .title", "Tab")
    wait_until(
        page, """async () => (await (await import("/ui/store/conversations.js")).read("c0")).title === "Renamed" """
    )
    page.fill("#search-chats", "renamed")
    expect(page.locator(".list section li .name")).to_have_text("Renamed")
    page.fill("#search-chats", "")
    page.click(".more-chats")
    expect(page.locator(".list li")).to_have_count(70)
    expect(page.locator(".more-chats")).to_have_count(0)


def test_a_chat_that_is_dated_ahead_is_below_those_of_today_and_says_so(page: Page) -> None:
    page.evaluate(
        """async () => { const { save } = await import("/ui/store/conversations.js");
        const kept = { head: null, settings: {}, created: 1, preview: "", v: 1 };
        await save({ ...kept, id: "ahead", title: "Ahead", updated: Date.now() + 3 * 86_400_000 });
        await save({ ...kept, id: "now", title: "Now", updated: Date.now() }); }"""
    )
    page.reload()
    rows = page.locator(".list section", has=page.get_by_role("heading", name="Dated ahead"))
    expect(rows.locator(".name")).to_have_text("Ahead")
    expect(rows.locator("time")).not_to_contain_text(":")
    expect(page.locator(".list section h2").first).to_have_text("Today")
    expect(page.locator(".list section h2").nth(1)).to_have_text("Dated ahead")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_axe_finds_nothing_in_what_a_search_finds(page: Page, axe: str, scheme: Any, width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    if width < 720:
        page.click("[aria-label=Chats]")
    for words, count in (("harbour", 1), ("nowhere at all", 0)):
        page.fill("#search-chats", words)
        expect(page.locator(".hits li")).to_have_count(count)
        expect(page.locator(".list .none")).to_have_text("" if count else "No chat has that in its title or text.")
        assert findings(page, axe) == []
    # Out of the field, then out of the drawer.
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(".veil")).to_have_count(0)
    if width < 720:
        page.click("#settings-toggle")
    page.fill("#system", "Be brief.")
    page.click("#preset-save")
    expect(page.locator("#preset-name")).to_be_focused()
    assert findings(page, axe) == []
    page.keyboard.type("Short")
    page.keyboard.press("Enter")
    expect(page.locator("#preset option:checked")).to_have_text("Short")
    page.focus("#preset")
    # The browser's own list, over the page while it is open.
    page.keyboard.press("Space")
    assert findings(page, axe) == []


def test_a_hit_that_was_gone_to_is_gone_to_again_and_all_chats_are_known_by_name(page: Page) -> None:
    page.evaluate(
        """async () => {
          const { save } = await import("/ui/store/conversations.js");
          for (let at = 0; at < 70; at += 1) {
            await save({ id: `more${at}`, title: `Filler ${at}`, head: null, settings: {}, created: 1,
              updated: 100 + at, preview: "", v: 1 });
          }
        }"""
    )
    page.reload()
    expect(page.locator(".list li")).to_have_count(60)
    page.fill("#search-chats", "behind the")
    hit = page.locator(".hits li a")
    expect(hit).to_contain_text("Places")
    hit.click()
    expect(page.locator(".branches")).to_contain_text("1 / 2")
    page.click("[aria-label='Later version']")
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    hit.click()
    expect(page.locator(".branches")).to_contain_text("1 / 2")
    expect(page.locator(".turn.answer[data-keyed]")).to_be_focused()
    page.keyboard.press("Control+k")
    page.fill("#palette", "Harbour dues")
    expect(page.locator(".choices-list .row")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Title of this chat")).to_have_value("Harbour dues")
