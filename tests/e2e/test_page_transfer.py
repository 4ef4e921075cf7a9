"""Chats go to a file and come back from it; what is newer here stays, and a hostile file brings nothing."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, answered, ask, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def downloaded(page: Page, item: str, folder: Path) -> tuple[str, str]:
    """The name and the text of what a row of the menu writes."""
    page.click("#transfer")
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name=item).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path.name, path.read_text(encoding="utf-8")


def choose(page: Page, path: Path) -> None:
    page.click("#transfer")
    with page.expect_file_chooser() as waiting:
        page.get_by_role("menuitem", name="Import chats").click()
    waiting.value.set_files(path)


def test_chats_come_back_from_their_file(
    context: BrowserContext, story_server: Server, tmp_path: Path, axe: str
) -> None:
    page = open_page(context, story_server.port)
    ask(page, "Say exactly: The tide turns.")
    answered(page)
    name, text = downloaded(page, "Export this branch as Markdown", tmp_path)
    assert name == "Say-exactly-The-tide-turns.md"
    assert text.startswith('---\ntitle: "Say exactly: The tide turns."\n')
    assert text.endswith("## You\n\nSay exactly: The tide turns.\n\n## Answer\n\nThe tide turns.\n")
    name, text = downloaded(page, "Export all chats as JSON", tmp_path)
    file = json.loads(text)
    assert file["ignis_export"] == 1
    assert [len(file["conversations"]), len(file["turns"])] == [1, 2]
    page.click(".list [aria-label^=Delete]")
    expect(page.locator(".list li")).to_have_count(0)
    choose(page, tmp_path / name)
    expect(page.locator(".facts")).to_contain_text("2 new turns")
    expect(page.locator(".importing .runs li")).to_contain_text("Say exactly: The tide turns.")
    # Nothing is here before one says so.
    expect(page.locator(".list li")).to_have_count(0)
    assert findings(page, axe) == []
    page.click("#take-in")
    expect(page.locator("dialog")).to_have_count(0)
    page.click(".list li a")
    assert answered(page) == ["The tide turns."]
    # A second time there is nothing to bring; what was renamed since keeps its name.
    page.fill(".bar .title", "Renamed")
    page.press(".bar .title", "Tab")
    choose(page, tmp_path / name)
    expect(page.locator(".facts")).to_contain_text("stay as they are")
    page.click("#take-in")
    expect(page.locator(".list li .name")).to_have_text("Renamed")


def test_a_hostile_file_brings_nothing(context: BrowserContext, story_server: Server, tmp_path: Path) -> None:
    page = open_page(context, story_server.port)
    path = tmp_path / "<img src=x onerror=alert(1)>.json"
    conversation = {"id": "x", "title": "<script>", "head": "a", "settings": {}, "created": 1, "updated": 1}
    loop = {"conversation": "x", "role": "user", "text": "", "state": "DONE", "created": 1}
    turns = [{**loop, "id": "a", "parent": "b"}, {**loop, "id": "b", "parent": "a"}]
    path.write_text(json.dumps({"ignis_export": 1, "conversations": [conversation], "turns": turns}))
    choose(page, path)
    expect(page.locator("dialog [role=alert]")).to_contain_text("Nothing was imported. The turn a comes before itself.")
    expect(page.locator("dialog p.about")).to_have_text(path.name)
    expect(page.locator("#take-in")).to_have_count(0)
    page.locator("dialog").get_by_text("Close").click()
    expect(page.locator(".list li")).to_have_count(0)
    page.reload()
    expect(page.locator(".list .none")).to_be_visible()


# One chat of the many finds no room.
NO_ROOM = """const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (value) {
  if (value.title === "Chat 65") throw new DOMException("No room is left.", "QuotaExceededError");
  return put.call(this, value);
};"""


@pytest.mark.parametrize("script", ["", NO_ROOM])
def test_of_many_chats_the_newest_come_into_the_list(
    context: BrowserContext, story_server: Server, tmp_path: Path, script: str
) -> None:
    context.add_init_script(script)
    page, other = (open_page(context, story_server.port) for _ in range(2))
    path = tmp_path / "many.json"
    conversations = [
        {"id": f"c{n}", "title": f"Chat {n}", "head": f"t{n}", "settings": {}, "created": n, "updated": n}
        for n in range(1, 71)
    ]
    turn = {"parent": None, "role": "user", "text": "Words.", "state": "DONE", "created": 1}
    turns = [{**turn, "id": f"t{n}", "conversation": f"c{n}"} for n in range(1, 71)]
    path.write_text(json.dumps({"ignis_export": 1, "conversations": conversations, "turns": turns}))
    choose(page, path)
    page.click("#take-in")
    if script:
        expect(page.locator("dialog [role=alert]")).to_have_text("Not all of it could be kept: No room is left.")
        page.locator("dialog").get_by_text("Close").click()
    expect(page.locator("dialog")).to_have_count(0)
    for tab in (page, other):
        expect(tab.locator(".list li")).to_have_count(60)
        expect(tab.locator(".list li .name").first).to_have_text("Chat 64" if script else "Chat 70")
        tab.click(".more-chats")
        expect(tab.locator(".list li")).to_have_count(64 if script else 70)
