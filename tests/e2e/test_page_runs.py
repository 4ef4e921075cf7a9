"""What of comparisons and lists of tasks is kept in the browser, in one tab or several, and what is not."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import CHROMIUM, comes_to, opened_page, origin
from tests.e2e.playground import held
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# All that a store has.
READ = """async (store) => {
  const { open, result } = await import("/ui/store/database.js");
  return result((await open()).transaction(store).objectStore(store).getAll());
}"""


@pytest.fixture
def page(browser: Browser, paced_server: Server) -> Iterator[Page]:
    with opened_page(browser, origin(paced_server), "/ui/#/compare") as opened:
        yield opened


def run(page: Page, prompt: str) -> None:
    page.fill("#prompt", prompt)
    page.click("#run-all")
    expect(page).to_have_url(re.compile("#/compare/."))


def beside(page: Page) -> Page:
    """A second tab at the same place."""
    other: Page = page.context.new_page()
    other.goto(page.url)
    return other


def delete(page: Page) -> None:
    page.click("#earlier")
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Delete ")).click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def kept(page: Page, store: str) -> list[Any]:
    records: list[Any] = page.evaluate(READ, store)
    return records


def test_a_comparison_that_is_deleted_is_gone_in_the_other_tab_too_and_comes_back(page: Page) -> None:
    run(page, "Say exactly: one")
    expect(page.locator(".lane[data-state=DONE]")).to_have_count(2)
    other = beside(page)
    expect(other.locator(".lane[data-state=DONE]")).to_have_count(2)
    delete(page)
    for tab in (page, other):
        expect(tab.locator("h1")).to_have_text("Compare")
        expect(tab.locator(".lane[data-state=NEW]")).to_have_count(2)
    other.click("#values")
    other.fill("#value-system", "Be brief")
    other.click("dialog >> text=Done")
    expect(other.get_by_role("dialog")).to_have_count(0)
    assert kept(other, "runs") == []
    page.get_by_role("button", name="Undo").click()
    other.click("#earlier")
    expect(other.locator(".runs .name")).to_have_text(["Say exactly: one"])
    other.click(".runs a")
    expect(other.locator(".lane .prose")).to_have_text(["one", "one"])


def test_a_comparison_that_another_tab_runs_ends_there_when_it_is_deleted(page: Page, paced_server: Server) -> None:
    with held(paced_server):
        run(page, "A story")
        expect(page.locator(".lane .prose").last).to_have_text(re.compile(r".{40}", re.DOTALL))
        other = beside(page)
        expect(other.locator("#stop-all")).to_be_visible()
        expect(other.locator(".lane .prose").last).to_have_text(re.compile(r".{40}", re.DOTALL))
        delete(other)
        for tab in (page, other):
            expect(tab.locator(".lane[data-state=NEW]")).to_have_count(2)
            expect(tab.locator("#run-all")).to_be_visible()
        comes_to(lambda: [kept(page, store) for store in ("runs", "pieces")], [[], []])
    # Its answers would go on for far longer.
    paced_server.wait_metric("ignis_scheduler_requests", 0, limit_s=10, state="running")
    assert [kept(page, store) for store in ("runs", "pieces")] == [[], []]
    # What came of it until then comes back.
    other.get_by_role("button", name="Undo").click()
    other.click("#earlier")
    other.click(".runs a")
    expect(other.locator(".lane[data-state=CUT]")).to_have_count(2)
    expect(other.locator(".lane .prose").last).to_have_text(re.compile(r".{40}", re.DOTALL))


TURN = """import("/ui/state/compare.js").then(({ open }) => open.value.lanes.value[0].turn.value.record)"""


def test_an_answer_that_goes_on_here_is_kept_as_one_that_comes(page: Page, paced_server: Server) -> None:
    run(page, "A story")
    text = page.locator(".lane .prose").first
    expect(text).to_have_text(re.compile(r".{40}", re.DOTALL))
    page.click("#stop-all")
    expect(page.locator(".lane[data-state=STOPPED]")).to_have_count(2)
    before = page.evaluate(TURN)
    kept_as = """(id) => import("/ui/store/runs.js").then(({ read }) => read(id))"""
    comes_to(lambda: page.evaluate(kept_as, page.url.split("/")[-1])["lanes"][0]["turn"]["text"], before["text"])
    page.locator(".lane .resume").first.click()
    pieces = "(id) => import('/ui/store/turns.js').then(({ readPieces }) => readPieces(id))"
    comes_to(
        lambda: len("".join(each["text"] for each in page.evaluate(pieces, before["id"]))) > len(before["text"]), True
    )
    page.reload()
    expect(page.locator(".lane[data-state=CUT]")).to_have_count(1)
    after = page.evaluate(TURN)
    assert after["id"] == before["id"]
    assert after["text"].startswith(before["text"])
    assert len(after["text"]) > len(before["text"])
    paced_server.wait_metric("ignis_scheduler_requests", 0, state="running")


def again(page: Page, letter: str) -> None:
    page.click(f"#lane-menu-{letter}")
    page.locator(f"#lane-menu-{letter}-menu").get_by_role("menuitem", name="Run again").click()


def test_an_answer_that_was_run_again_comes_back_by_undo(page: Page, paced_server: Server) -> None:
    run(page, "Say exactly: one")
    said = page.locator(".lane .prose")
    expect(said).to_have_text(["one", "one"])
    page.fill("#prompt", "Say exactly: two")
    again(page, "B")
    expect(said).to_have_text(["one", "two"])
    page.get_by_role("button", name="Undo").click()
    expect(said).to_have_text(["one", "one"])
    other = beside(page)
    expect(other.locator(".lane .prose")).to_have_text(["one", "one"])
    # Also while the new one is written.
    with held(paced_server):
        page.fill("#prompt", "A story")
        again(page, "B")
        expect(said.last).to_have_text(re.compile(r".{40}", re.DOTALL))
        page.get_by_role("button", name="Undo").click()
        expect(said).to_have_text(["one", "one"])
        expect(other.locator(".lane .prose")).to_have_text(["one", "one"])
    expect(page.locator("#run-all")).to_be_visible()
    comes_to(lambda: kept(page, "pieces"), [])
    page.reload()
    expect(said).to_have_text(["one", "one"])
    paced_server.wait_metric("ignis_scheduler_requests", 0, limit_s=10, state="running")


def test_of_an_answer_that_was_cut_no_piece_stays_once_it_is_run_again_or_removed(
    page: Page, paced_server: Server
) -> None:
    names = """import("/ui/state/compare.js")
      .then(({ open }) => open.value.lanes.value.map((lane) => lane.turn.value?.id))"""
    page.click("#add-lane")
    with held(paced_server):
        run(page, "A story")
        comes_to(lambda: len({piece["turn"] for piece in kept(page, "pieces")}), 3)
        page.reload()
        expect(page.locator(".lane[data-state=CUT]")).to_have_count(3)
    cut = page.evaluate(names)
    page.fill("#prompt", "Say exactly: one")
    again(page, "A")
    expect(page.locator(".lane .prose").first).to_have_text("one")
    comes_to(lambda: {piece["turn"] for piece in kept(page, "pieces")}, set(cut[1:]))
    page.click("#lane-menu-B")
    page.locator("#lane-menu-B-menu").get_by_role("menuitem", name="Remove").click()
    comes_to(lambda: {piece["turn"] for piece in kept(page, "pieces")}, set(cut[2:]))
    # What is brought back has its text all the same.
    text = """import("/ui/state/compare.js").then(({ open }) => open.value.lanes.value[1].turn.value.record.text)"""
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".lane[data-state=CUT]")).to_have_count(2)
    before = page.evaluate(text)
    assert before
    comes_to(lambda: [lane["turn"]["id"] for lane in kept(page, "runs")[0]["lanes"]][1:], cut[1:])
    page.reload()
    expect(page.locator(".lane[data-state=CUT]")).to_have_count(2)
    assert page.evaluate(text) == before
    delete(page)
    comes_to(lambda: [kept(page, store) for store in ("runs", "pieces")], [[], []])
