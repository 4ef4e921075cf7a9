"""What an older version of the page kept in the browser opens in this one, and stays as it was until it is touched.

`tests/data/page/store-N.json` is what version N of the store had in it, as the page of that time wrote it;
the bytes of a file are a `data:` address there.
"""

import copy
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
  const blobOf = (address) => {
    const [type, bytes] = address.slice("data:".length).split(";base64,");
    return new Blob([Uint8Array.from(atob(bytes), (byte) => byte.charCodeAt(0))], { type });
  };
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
      for (const record of records)
        task.objectStore(name).put(record.blob ? { ...record, blob: blobOf(record.blob) } : record);
    task.oncomplete = () => (request.result.close(), done());
    task.onabort = () => failed(task.error);
  };
})"""
READ = """async (store) => {
  const { open, result } = await import("/ui/store/database.js");
  return result((await open()).transaction(store).objectStore(store).getAll());
}"""
OPEN_RUN = "(kind) => import(`/ui/state/${kind}.js`).then(({ open }) => open.value.toRecord())"
# What a run has since then.
NEWER: dict[str, list[Any]] = {"pictures": [], "after": []}
ATTACHED = "import('/ui/state/attachments.js').then(({ attached, read }) => read(attached.value))"


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


def test_comparisons_and_lists_of_the_first_version_open_with_every_lane_and_its_text(
    context: BrowserContext, story_server: Server, stores: dict[str, list[dict[str, Any]]]
) -> None:
    page = open_origin(context, story_server.port)
    page.evaluate(LAY_FIRST, stores)
    snow, boats = copy.deepcopy(stores["runs"])
    # They were under way when their page died.
    snow["lanes"][1]["turn"].update(state="CUT", text="Snow falls")
    boats["lanes"][1]["turn"].update(state="CUT", reasoning="An iron one: tall.")
    page.goto(f"{origin(story_server)}/ui/#/compare")
    page.click("#earlier")
    page.click(".runs a >> text=Does it snow?")
    lanes = page.locator(".lane")
    expect(lanes).to_have_count(5)
    for at, state in enumerate(("DONE", "CUT", "STOPPED", "FAILED", "NEW")):
        expect(lanes.nth(at)).to_have_attribute("data-state", state)
    expect(lanes.locator(".prose")).to_have_text(["It snows on the hills.", "Snow falls", "Perhaps", ""])
    expect(lanes.nth(0).locator(".prose strong")).to_have_text("hills")
    expect(lanes.nth(3).locator(".ending")).to_contain_text("The server is going down")
    expect(lanes.nth(1).locator(".tags")).to_contain_text("temperature 0")
    expect(page.locator("#prompt")).to_have_value("Does it hail?")
    comes_to(lambda: page.evaluate(OPEN_RUN, "compare"), snow | NEWER)
    page.goto(f"{origin(story_server)}/ui/#/agents/boats")
    rows = page.locator(".task-table tbody tr")
    for at, (name, word) in enumerate(
        (("Name a boat", "done"), ("Name a crane", "cut off"), ("Name a quay", "not run"))
    ):
        expect(rows.nth(at).locator(".words")).to_have_text(name)
        expect(rows.nth(at)).to_contain_text(word)
    expect(rows.nth(0).locator(".preview")).to_have_text("Gull")
    expect(page.locator("#task-system")).to_have_value("Be brief.")
    comes_to(lambda: page.evaluate(OPEN_RUN, "agents"), boats | NEWER)
    assert kept(page, "runs") == {run["id"]: run for run in stores["runs"]}


def test_files_of_the_first_version_are_beside_their_messages(
    context: BrowserContext, story_server: Server, stores: dict[str, list[dict[str, Any]]]
) -> None:
    page = open_origin(context, story_server.port)
    page.evaluate(LAY_FIRST, stores)
    page.goto(f"{origin(story_server)}/ui/")
    page.click(".list li a >> text=From before")
    picture, note = stores["blobs"]
    expect(page.locator("#prompt")).to_have_value("What is this?")
    expect(page.locator(".composer .attached li .name")).to_have_text([picture["name"], note["name"]])
    expect(page.locator(".composer .attached img")).to_have_js_property("naturalWidth", 4)
    found = page.evaluate(ATTACHED)
    assert [found[0]["url"], found[1]["text"]] == [picture["blob"], "Low tide at six.\n"]
    page.click(".list li a >> text=Does it rain?")
    sent = page.locator(".turn.user .attached.sent")
    expect(sent.locator("img")).to_have_attribute("src", stores["turns"][0]["attachments"][0]["url"])
    expect(sent.locator("img")).to_have_js_property("naturalWidth", 4)
    sent.locator("summary", has_text="wind.txt").click()
    expect(sent.locator("pre")).to_have_text("From west")
