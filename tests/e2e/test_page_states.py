"""What the page says of a server that is asleep, loading, full, locked, failed or replaced; and of its own failures."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.axe import findings
from tests.e2e.playground import (
    CHROMIUM,
    LIMIT_MS,
    NO_SOCKET,
    Start,
    answered,
    ask,
    changed,
    grown,
    held,
    open_page,
    paced,
)
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# Keeps a run of one lane whose answer was cut.
CUT_LANE = """async (kind) => {
  const { recordOf } = await import("/ui/state/turn.js");
  const { save } = await import("/ui/store/runs.js");
  const request = { messages: [{ role: "user", content: "Say exactly: One two three." }], seed: 1 };
  const turn = { ...recordOf("assistant", "", null, "One two", "CUT"), request, seed: 1 };
  const lanes = [{ id: "lane", prompt: "Say exactly: One two three.", values: {}, turn }];
  const about = { title: "Kept", prompt: "Say exactly: One two three.", history: [], values: {} };
  await save({ id: "kept", kind, ...about, lanes, created: 0, updated: 0, v: 1 });
}"""


@pytest.fixture(scope="module")
def sleepy(start_server: Start, real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two models of one file; one lane."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("alpha", "beta"):
        os.link(real_model, folder / f"{name}.gguf")
    flags = ["--download-path", str(folder), "--model-decode-lanes", "1"]
    with start_server(*flags, command=paced(60), model=folder / "alpha.gguf") as server:
        yield server


def test_a_sleeping_model_is_woken_by_a_message_which_says_so(context: BrowserContext, sleepy: Server) -> None:
    page = open_page(context, sleepy.port)
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    sleepy.client.request("POST", "/v1/models/unload", {})
    sleepy.wait_metric("ignis_model_state", 1, state="unloaded")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#model")).to_contain_text("asleep", timeout=LIMIT_MS)
    page.click("#model")
    expect(page.locator(".chip .menu")).to_contain_text("wakes with your next message")
    page.keyboard.press("Escape")
    with held(sleepy):
        ask(page, "Say exactly: Awake.")
        expect(page.locator(".turn .waiting")).to_contain_text("Loading the model")
        expect(page.locator("#model")).to_contain_text("loading")
    assert answered(page) == ["Awake."]


def test_a_switch_is_said_where_the_message_is_held(context: BrowserContext, sleepy: Server) -> None:
    page = open_page(context, sleepy.port)
    expect(page.locator("#model-name")).to_be_visible()
    other = "beta" if page.locator("#model-name").inner_text() == "alpha" else "alpha"
    page.click("#model")
    with held(sleepy):
        page.click(f".chip .menu .row:has-text('{other}')")
        ask(page, "Say exactly: Other.")
        expect(page.locator(".turn .waiting")).to_contain_text(f"Switching to {other}")
        expect(page.locator(".turn .waiting .about")).to_have_text(re.compile(r"^\d+ s$"))
        expect(page.locator("#model")).to_contain_text(re.compile(rf"switching to {other}( \d+ %)?, \d+ s"))
    assert answered(page) == ["Other."]
    expect(page.locator("#model-name")).to_have_text(other)


def test_a_full_server_is_asked_again_until_it_has_a_lane(context: BrowserContext, sleepy: Server) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, sleepy.port)
    ask(page, "A story")
    grown(page)
    page.click("#new-chat")
    expect(page.locator("#suggestions")).to_be_visible()
    ask(page, "Say exactly: My turn.")
    expect(page.locator(".turn .waiting")).to_contain_text("Waits for a lane, asked for again in")
    # Each chat has an answer and a stop: the one that was left stays on the screen until the other was read.
    page.click(".list li:not(.open) a")
    expect(page.locator(".turn.user .said")).to_have_text("A story")
    page.click("#stop")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    page.click(".list li:not(.open) a")
    expect(page.locator(".turn.user .said")).to_have_text("Say exactly: My turn.")
    assert answered(page) == ["My turn."]


def test_a_wait_for_a_lane_can_be_stopped(context: BrowserContext, sleepy: Server) -> None:
    page = open_page(context, sleepy.port)
    ask(page, "A story")
    grown(page)
    page.click("#new-chat")
    expect(page.locator("#suggestions")).to_be_visible()
    ask(page, "Never")
    expect(page.locator(".turn .waiting")).to_contain_text("Waits for a lane")
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")


def test_the_key_is_asked_for_over_the_page_and_the_draft_stays(context: BrowserContext, start_server: Start) -> None:
    with start_server("--server-api-key", "sk-right", command=paced(60)) as server:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{server.port}/ui/")
        expect(page.locator("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)
        page.fill("#prompt", "Say exactly: Let in.")
        page.press("#prompt", "Enter")
        expect(page.locator("dialog")).to_be_visible()
        page.fill("#key-input", "sk-wrong")
        page.keyboard.press("Enter")
        expect(page.locator("dialog")).to_contain_text("does not accept")
        page.fill("#key-input", "sk-right")
        page.keyboard.press("Enter")
        expect(page.locator("dialog")).to_have_count(0)
        expect(page.locator("#model")).to_have_attribute("data-state", "serving")
        page.click(".retry")
        assert answered(page) == ["Let in."]
        page.reload()
        expect(page.locator("#model")).to_have_attribute("data-state", "serving")
        # It is kept for this tab alone: a person who comes anew is asked.
        assert "sk-right" in page.evaluate("JSON.stringify(sessionStorage)")
        kept = page.evaluate(
            """async () => { const database = await (await import("/ui/store/database.js")).open();
            const all = [...database.objectStoreNames].map((name) => new Promise((resolve) => {
              const rows = database.transaction(name).objectStore(name).getAll();
              rows.onsuccess = () => resolve(rows.result); }));
            return JSON.stringify([localStorage, document.cookie, location.href, await Promise.all(all)]); }"""
        )
        assert "Let in." in kept
        assert "sk-right" not in kept
        tab = context.new_page()
        tab.goto(page.url)
        expect(tab.locator("dialog")).to_be_visible()
        anew = context.browser.new_context() if context.browser else context
        other = anew.new_page()
        other.goto(page.url)
        expect(other.locator("dialog")).to_be_visible()
        assert "sk-" not in other.evaluate("JSON.stringify([sessionStorage, localStorage, document.cookie])")
        anew.close()
        context.close()


def test_another_version_of_the_server_is_said_once(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    page.route("**/v1/models", changed(lambda body: body.update(build="newer")))
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator(".banner")).to_contain_text("replaced by another version")
    page.click(".banner button >> text=Not now")
    with page.expect_response("**/v1/models"):
        page.evaluate("dispatchEvent(new Event('online'))")
    with page.expect_response("**/v1/models"):
        page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator(".banner")).to_have_count(0)
    page.unroute_all(behavior="wait")


def test_a_part_that_another_version_has_not_asks_for_a_reload(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    page.fill("#prompt", "half a thought")
    page.route("**/v1/models", changed(lambda body: body.update(build="newer")))
    page.route("**/agents/view.js", lambda route: route.fulfill(status=404, body="{}"))
    page.evaluate("dispatchEvent(new Event('online'))")
    # Whoever goes on with the page as it is meets what it lacks later.
    page.click(".banner button >> text=Not now")
    page.click(".rail a[href='#/agents']")
    part = page.locator(".failed-part")
    expect(part).to_contain_text("replaced by another version")
    expect(page.locator(".banner")).to_have_count(0)
    page.unroute_all(behavior="wait")
    part.get_by_role("button", name="Reload the page").click()
    expect(page.get_by_role("heading", name="Agents", exact=True)).to_be_visible()
    expect(part).to_have_count(0)
    page.click(".rail a[href='#/chat']")
    expect(page.locator("#prompt")).to_have_value("half a thought")


def test_a_model_that_failed_says_why_and_is_tried_again(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)

    def fail(body: Any) -> None:
        body.update(status="failed", reason="it does not fit by 3 GB")
        body["data"][0]["loaded"] = False

    page.route("**/v1/models", changed(fail))
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#model")).to_have_attribute("data-state", "failed")
    page.click("#model")
    expect(page.locator(".chip .menu")).to_contain_text("does not fit by 3 GB")
    page.unroute_all(behavior="wait")
    page.click("#model-retry")
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")


@pytest.mark.parametrize(("view", "button"), [("compare", "#run-all"), ("agents", "#run")])
def test_a_view_without_a_model_asks_nothing_and_leads_to_one(
    context: BrowserContext, story_server: Server, axe: str, view: str, button: str
) -> None:
    page = open_page(context, story_server.port)
    page.route("**/v1/models", changed(lambda body: body.update(status="unloaded", data=[])))
    page.reload()
    expect(page.locator("#model")).to_contain_text("no model yet")
    page.click(f".rail a[href='#/{view}']")
    page.fill("#prompt", "Say hello")
    expect(page.locator(button)).to_be_disabled()
    expect(page.locator(".no-model")).to_be_visible()
    assert findings(page, axe) == []
    page.click(".no-model >> text=Server")
    expect(page.locator("#view h1")).to_have_text("Server")
    page.go_back()
    expect(page.locator("#prompt")).to_have_value("Say hello")
    page.click(".no-model >> text=Chat")
    expect(page.locator(".first-model")).to_be_visible()
    page.unroute_all(behavior="wait")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    page.click(f".rail a[href='#/{view}']")
    expect(page.locator("#prompt")).to_have_value("Say hello")
    expect(page.locator(button)).to_be_enabled()
    expect(page.locator(".no-model")).to_have_count(0)


@pytest.mark.parametrize("view", ["compare", "agents"])
def test_a_lane_that_was_cut_is_held_until_there_is_a_model(
    context: BrowserContext, story_server: Server, view: str
) -> None:
    page = open_page(context, story_server.port)
    page.evaluate(CUT_LANE, view)
    page.route("**/v1/models", changed(lambda body: body.update(status="unloaded", data=[])))
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/#/{view}/kept")
    page.reload()
    expect(page.locator("#model")).to_contain_text("no model yet")
    resume = page.get_by_role("button", name=re.compile("^Resume.* exactly")).first
    expect(resume).to_be_disabled()
    expect(resume).to_have_attribute("title", "No model is here yet")
    expect(page.locator(".no-model")).to_be_visible()
    page.unroute_all(behavior="wait")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    resume.click()
    expect(page.locator("[data-state=DONE]").first).to_be_visible()


def test_a_model_that_failed_after_it_served_is_said_to_have_failed_everywhere(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port, "#/chat")
    page.route("**/v1/models", changed(lambda body: body.update(status="failed", reason="the step loop broke")))
    page.evaluate("dispatchEvent(new Event('online'))")
    page.click("#model")
    expect(page.locator(".chip .menu .row .tag")).to_have_text("failed")
    page.click(".chip .menu a.row")
    expect(page.locator(".models tbody tr .tag").first).to_have_text("failed")
    page.unroute_all(behavior="wait")


def test_why_a_model_is_not_switched_to_is_said_where_it_was_chosen(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port)
    page.route("**/v1/models", changed(lambda body: body["data"].append({"id": "gone", "loaded": False})))
    page.evaluate("dispatchEvent(new Event('online'))")
    page.click("#model")
    page.locator(".chip .menu .row", has_text="gone").press("Enter")
    expect(page.locator(".chip .menu [role=alert]")).to_contain_text("the model gone is not known here")
    expect(page.locator("#model")).to_be_focused()
    page.unroute_all(behavior="wait")


def test_without_a_store_the_page_works_and_says_that_it_keeps_nothing(
    context: BrowserContext, story_server: Server
) -> None:
    context.add_init_script(
        "IDBFactory.prototype.open = () => { throw new DOMException('switched off', 'SecurityError'); }"
    )
    page = open_page(context, story_server.port)
    ask(page, "Say exactly: Still here.")
    assert answered(page) == ["Still here."]
    expect(page.locator(".banner")).to_contain_text("not kept in this browser")


def test_a_full_store_is_said_and_the_answer_goes_on(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    ask(page, "Say exactly: One.")
    answered(page)
    page.evaluate(
        "() => { IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }; }"
    )
    ask(page, "Say exactly: Two.")
    assert answered(page, 2) == ["One.", "Two."]
    expect(page.locator(".banner")).to_contain_text("no room left")
    # What is on the screen goes into a file at least.
    with page.expect_download() as waiting:
        page.click(".banner button")
    turns = json.loads(Path(waiting.value.path()).read_text(encoding="utf-8"))["turns"]
    assert {turn["text"] for turn in turns} >= {"One.", "Two."}


def test_a_part_that_throws_says_so_and_the_rest_lives(context: BrowserContext, story_server: Server) -> None:
    page: Page = open_page(context, story_server.port)
    ask(page, "Say exactly: One.")
    answered(page)
    page.evaluate(
        """async () => { const { path } = await import("/ui/state/tree.js");
        const answer = path.value[1];
        window.kept = answer.record;
        answer.record = null;
        answer.isCatchingUp.value = true; }"""
    )
    expect(page.locator(".failed-part")).to_contain_text("This part of the page failed")
    expect(page.locator(".turn.user")).to_be_visible()
    page.evaluate(
        """async () => { const { path } = await import("/ui/state/tree.js");
        path.value[1].record = window.kept;
        path.value[1].isCatchingUp.value = false; }"""
    )
    page.click(".failed-part button >> text=Copy report")
    expect(page.locator(".failed-part button").first).to_have_text(re.compile("Copied|No access"))
    page.click(".failed-part button >> text=Reload it")
    assert answered(page) == ["One."]


def test_a_view_that_throws_leaves_the_others(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    bad = "export function MonitorView() { throw new Error('a bad day'); }"
    page.route("**/monitor/view.js", lambda route: route.fulfill(body=bad, content_type="text/javascript"))
    page.click(".rail a[href='#/monitor']")
    expect(page.locator(".failed-part")).to_contain_text("a bad day")
    page.click(".rail a.place[href='#/chat']")
    expect(page.locator(".failed-part")).to_have_count(0)
    ask(page, "Say exactly: One.")
    assert answered(page) == ["One."]


def test_what_was_asked_by_a_page_that_is_closed_is_told_to_no_other_test(
    browser: Browser, story_server: Server
) -> None:
    """Of these tests themselves: what they change of an answer takes a moment, in which a page may go."""
    context = browser.new_context()
    context.add_init_script(NO_SOCKET)
    page = open_page(context, story_server.port)
    page.route("**/v1/chat/completions", changed(lambda _body: None))
    with held(story_server):
        with page.expect_request("**/v1/chat/completions"):
            ask(page, "A story")
        # That it was asked is told while the page is.
        page.evaluate("1")
        context.close()
    with browser.new_context() as other:
        open_page(other, story_server.port)
