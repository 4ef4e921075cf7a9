"""What an older version of the page kept in the browser opens in this one, and stays as it was until it is touched.

`tests/data/page/store-N.json` is what version N of the store had in it, as the page of that time wrote it.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.browser import comes_to, origin
from tests.e2e.playground import CHROMIUM, listening, open_origin
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

FIRST = Path(__file__).resolve().parents[1] / "data" / "page" / "store-1.json"
# As the first version of the page laid its stores.
LAY_FIRST = """(stores) => new Promise((done, failed) => {
  const request = indexedDB.open("ignis", 1);
  request.onupgradeneeded = () => {
    const at = request.result;
    at.createObjectStore("conversations", { keyPath: "id" }).createIndex("updated", "updated");
    at.createObjectStore("turns", { keyPath: "id" }).createIndex("conversation", "conversation");
    at.createObjectStore("pieces", { keyPath: ["turn", "n"] });
    at.createObjectStore("drafts", { keyPath: "conversation" });
    for (const name of ["blobs", "presets", "runs"]) at.createObjectStore(name, { keyPath: "id" });
  };
  request.onsuccess = () => {
    const task = request.result.transaction(Object.keys(stores), "readwrite");
    for (const [name, records] of Object.entries(stores))
      for (const record of records) task.objectStore(name).put(record);
    task.oncomplete = () => (request.result.close(), done());
    task.onabort = () => failed(task.error);
  };
})"""
READ = """async (store) => {
  const { open, result } = await import("/ui/store/database.js");
  return result((await open()).transaction(store).objectStore(store).getAll());
}"""


@pytest.fixture
def stores() -> dict[str, list[dict[str, Any]]]:
    read: dict[str, list[dict[str, Any]]] = json.loads(FIRST.read_text(encoding="utf-8"))
    return read


def kept(page: Page, store: str) -> dict[str, Any]:
    return {record["id"]: record for record in page.evaluate(READ, store)}


def test_chats_of_the_first_version_open_with_branches_pieces_draft_and_preset(
    context: BrowserContext, story_server: Server, stores: dict[str, list[dict[str, Any]]]
) -> None:
    page = open_origin(context, story_server.port)
    page.evaluate(LAY_FIRST, stores)
    page.goto(f"{origin(story_server)}/ui/")
    listening(page)
    expect(page.locator(".list li .name")).to_have_text(["Does it rain?", "From before"])
    page.click(".list li a >> nth=0")
    said, answers = page.locator(".turn.user .said"), page.locator(".turn.answer")
    expect(said).to_have_text(["Does it rain?", "And in Rome, tomorrow?"])
    expect(answers.locator(".prose")).to_have_text(["No rain today.", "Clouds, then sun"])
    expect(answers.nth(0).locator(".thinking > button")).to_contain_text("Thought for 1.5 s")
    expect(answers.nth(0).locator(".tool-card strong")).to_have_text("weather")
    expect(answers.nth(0).locator(".tool-card .result pre")).to_have_text("dry")
    # It was under way when its page died.
    expect(answers.nth(1)).to_have_attribute("data-state", "CUT")
    expect(page.locator("#prompt")).to_have_value("And in Par")
    expect(page.locator("#system")).to_have_value("Be brief.")
    expect(page.locator("#set-temperature")).to_have_value("0.5")
    expect(page.locator("#preset option", has_text="Calm")).to_have_count(1)
    # The other branches: of the second question, then of the first answer.
    page.locator(".turn.user").nth(1).get_by_label("Earlier version").click()
    expect(said).to_have_text(["Does it rain?", "And in Rome?"])
    expect(answers.nth(1).locator(".prose")).to_have_text("Sun.")
    answers.nth(0).get_by_label("Earlier version").click()
    expect(answers.locator(".prose")).to_have_text(["It rains."])
    expect(answers.locator(".prose strong")).to_have_text("rains")


def test_an_upgrade_rewrites_nothing_and_what_is_new_of_it_works(
    context: BrowserContext, story_server: Server, stores: dict[str, list[dict[str, Any]]]
) -> None:
    page = open_origin(context, story_server.port)
    page.evaluate(LAY_FIRST, stores)
    page.goto(f"{origin(story_server)}/ui/")
    names = page.locator(".list li .name")
    expect(names).to_have_text(["Does it rain?", "From before"])
    for store in ("conversations", "turns", "presets"):
        assert kept(page, store) == {record["id"]: record for record in stores[store]}
    page.locator(".list li").nth(1).hover()
    page.click(".list li .pin >> nth=1")
    expect(names).to_have_text(["From before", "Does it rain?"])
    page.reload()
    expect(names).to_have_text(["From before", "Does it rain?"])
    # Of a chat that is opened, only what is touched is written.
    page.click(".list li a >> nth=1")
    expect(page.locator(".turn.answer").nth(1)).to_have_attribute("data-state", "CUT")
    old = {record["id"]: record for record in stores["turns"]}
    comes_to(lambda: kept(page, "turns")["more"]["text"], "Clouds, then sun")
    assert {id: turn for id, turn in kept(page, "turns").items() if id != "more"} == {
        id: turn for id, turn in old.items() if id != "more"
    }
