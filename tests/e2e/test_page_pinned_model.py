"""A chat that is pinned to a model asks that one, whatever serves; what is only counted switches nothing."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, NO_SOCKET, Start, answered, ask, ended, go_to, grown, held, open_page, paced
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@pytest.fixture(params=[()])
def pair(start_server: Start, real_model: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """Two models of one file, of which alpha serves. Its parameter: further flags."""
    for name in ("alpha", "beta"):
        os.link(real_model, tmp_path / f"{name}.gguf")
    flags = ("--download-path", str(tmp_path), *request.param)
    with start_server(*flags, command=paced(60), model=tmp_path / "alpha.gguf") as server:
        yield server


def serving(server: Server) -> list[str]:
    body = server.client.json("GET", "/v1/models")
    return [model["id"] for model in body["data"] if model["loaded"]]


def asked(page: Page, text: str) -> Any:
    """Asks that; returns what was sent for it."""
    with page.expect_request("**/v1/chat/completions") as waiting:
        ask(page, text)
    return waiting.value.post_data_json


def pin(page: Page, name: str) -> None:
    page.click("#model")
    page.get_by_role("button", name=f"Pin {name} to this chat").click()
    expect(page.locator(".chip .menu .pinned")).to_contain_text(f"This chat asks {name}")


def test_a_pinned_model_is_named_and_said_to_be_switched_to(context: BrowserContext, pair: Server, axe: str) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, pair.port)
    expect(page.locator("#model-name")).to_have_text("alpha")
    pin(page, "beta")
    expect(page.locator(".chip .menu .pinned")).to_contain_text("your next message loads it")
    expect(page.get_by_role("button", name="Pin beta to this chat")).to_be_focused()
    assert findings(page, axe) == []
    page.keyboard.press("Escape")
    expect(page.locator("#model-name")).to_have_text("beta")
    expect(page.locator("#model")).to_contain_text("not loaded")
    # Neither to look at it nor to count what is typed is a reason to switch.
    with page.expect_response("**/v1/tokenize"):
        page.fill("#prompt", "What is counted here")
    assert serving(pair) == ["alpha"]
    with held(pair):
        assert asked(page, "Say exactly: Beta.")["model"] == "beta"
        expect(page.locator(".turn .waiting")).to_contain_text("Switching to beta")
        expect(page.locator("#model")).to_contain_text("switching to beta")
    assert answered(page) == ["Beta."]
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    assert serving(pair) == ["beta"]
    # The next chat is pinned to nothing, and its requests name nothing.
    page.click("#new-chat")
    expect(page.locator("#suggestions")).to_be_visible()
    assert "model" not in asked(page, "Say exactly: Any.")
    assert answered(page) == ["Any."]
    page.click("#model")
    expect(page.locator(".chip .menu .pinned")).to_have_count(0)


def test_what_another_model_counted_is_about_that(context: BrowserContext, pair: Server) -> None:
    # How much a model takes is known of those that have been loaded.
    for name in ("beta", "alpha"):
        pair.client.chat(model=name, messages=[{"role": "user", "content": "Say exactly: Here."}])
    counted: list[Any] = []
    page = open_page(context, pair.port)
    page.on(
        "request",
        lambda request: counted.append(request.post_data_json) if request.url.endswith("/v1/tokenize") else None,
    )
    pin(page, "beta")
    page.keyboard.press("Escape")
    expect(page.locator("#model-name")).to_have_text("beta")
    page.fill("#prompt", "harbour " * 9000)
    warning = page.locator(".composer .warn")
    expect(warning).to_contain_text("This makes about ")
    assert [list(request) for request in counted] == [["prompt"]]
    # Of what serves the count is exact.
    page.click("#model")
    page.click("#unpin-model")
    expect(warning).to_contain_text(re.compile(r"This makes \d"))
    assert "messages" in counted[-1]


def test_a_pin_is_kept_and_taken_off_in_other_tabs_too(context: BrowserContext, pair: Server) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, pair.port)
    ask(page, "Say exactly: One.")
    answered(page)
    pin(page, "beta")
    page.keyboard.press("Escape")
    page.reload()
    expect(page.locator("#model-name")).to_have_text("beta")
    second = open_page(context, pair.port, page.url.partition("/ui/")[2])
    expect(second.locator("#model")).to_contain_text("not loaded")
    page.click("#model")
    page.click("#unpin-model")
    for each in (page, second):
        expect(each.locator("#model-name")).to_have_text("alpha")
    assert "model" not in asked(page, "Say exactly: Two.")
    assert answered(page, 2) == ["One.", "Two."]


def test_a_pin_to_a_model_that_is_not_here_is_told_and_loses_nothing(context: BrowserContext, pair: Server) -> None:
    page = open_page(context, pair.port)
    ask(page, "Say exactly: One.")
    answered(page)
    page.evaluate("async () => (await import('/ui/state/respondent.js')).pinModel('gone')")
    expect(page.locator("#model-name")).to_have_text("gone")
    page.click("#model")
    expect(page.locator(".chip .menu .pinned")).to_contain_text("which is not on this disk")
    page.keyboard.press("Escape")
    ask(page, "Say exactly: Two.")
    expect(page.locator(".ending")).to_contain_text("gone")
    page.keyboard.press("Control+K")
    expect(page.locator("#palette")).to_be_focused()
    page.fill("#palette", "Unpin the model")
    page.keyboard.press("Enter")
    expect(page.locator("#model-name")).to_have_text("alpha")
    page.get_by_role("button", name="Retry").click()
    assert answered(page, 2)[-1] == "Two."


@pytest.mark.parametrize("pair", [("--switch-allow-implicit", "false")], indirect=True)
def test_where_no_message_chooses_its_model_a_pinned_one_is_loaded_first(
    context: BrowserContext, pair: Server, axe: str
) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, pair.port)
    expect(page.locator("#model-name")).to_have_text("alpha")
    pin(page, "beta")
    expect(page.locator(".chip .menu .pinned")).to_contain_text("must be loaded first")
    expect(page.locator("#load-pinned")).to_be_visible()
    assert findings(page, axe) == []
    page.keyboard.press("Escape")
    notice = page.locator(".composer .ending")
    expect(notice).to_contain_text("beta must be loaded first")
    # What is written stays, and nothing is asked that would be refused.
    page.locator("#suggestions button").first.click()
    expect(page.locator("#prompt")).to_have_value(re.compile("photosynthesis"))
    expect(page.locator("#suggestions")).to_be_visible()
    ask(page, "Say exactly: Beta.")
    expect(page.locator("#prompt")).to_have_value("Say exactly: Beta.")
    expect(page.locator("#send")).to_have_attribute("aria-disabled", "true")
    assert findings(page, axe) == []
    with held(pair):
        page.click("#load-first")
        expect(page.locator("#model")).to_contain_text("switching to beta")
        # What comes is waited for, as anywhere.
        expect(notice).to_have_count(0)
        expect(page.locator("#prompt")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".turn .waiting")).to_contain_text("Switching to beta")
    assert answered(page) == ["Beta."]
    assert serving(pair) == ["beta"]
    # By the menu too, and a chat that is pinned to nothing asks what serves.
    page.click("#model")
    page.get_by_role("button", name="Pin alpha to this chat").click()
    page.click("#load-pinned")
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    expect(page.locator("#model-name")).to_have_text("alpha")
    expect(page.locator("#model")).not_to_contain_text("not loaded")
    ask(page, "Say exactly: Alpha.")
    assert answered(page, 2)[-1] == "Alpha."
    # Nor are there lanes of models that would each be refused.
    page.click(".rail a[href='#/compare']")
    page.click("#vary")
    expect(page.get_by_role("radio", name="Seeds")).to_be_visible()
    expect(page.get_by_role("radio", name="Models")).to_have_count(0)


@pytest.mark.parametrize("pair", [("--switch-allow-implicit", "false")], indirect=True)
def test_nothing_is_asked_in_any_other_way_of_a_model_that_must_be_loaded_first(
    context: BrowserContext, pair: Server
) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, pair.port)
    sent: list[tuple[str, str]] = []

    def note(request: Request) -> None:
        if request.url.endswith("/v1/chat/completions"):
            body: Any = request.post_data_json
            sent.append((body.get("model", ""), body["messages"][-1]["content"]))

    page.on("request", note)
    notice = page.locator(".composer .ending")
    ask(page, "Say exactly: One.")
    answered(page)
    pin(page, "beta")
    page.keyboard.press("Escape")
    expect(notice).to_contain_text("beta must be loaded first")
    page.click(".turn.answer .again")
    page.click(".turn.user .edit")
    page.fill(".turn.user textarea", "Say exactly: Other.")
    page.click(".turn.user .main")
    expect(page.locator(".turn.user .ending")).to_contain_text("beta must be loaded first")
    page.get_by_role("button", name="Cancel").click()
    page.click("#load-first")
    expect(notice).to_have_count(0)
    page.click(".turn.answer .again")
    expect(page.locator(".turn.answer .branches")).to_contain_text("2 / 2")
    assert answered(page) == ["One."]
    # The answer that was there stood all the while, and another one was asked for once.
    assert sent == [("", "Say exactly: One."), ("beta", "Say exactly: One.")]
    # The same request once more asks the model that it asked, whatever the chat is pinned to by now.
    pin(page, "alpha")
    page.click("#load-pinned")
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    expect(page.locator("#model")).not_to_contain_text("not loaded")
    page.click(".turn.answer .same")
    expect(notice).to_contain_text("beta must be loaded first")
    with held(pair):
        ask(page, "A story")
        grown(page)
        expect(notice).to_have_count(0)
        ask(page, "Say exactly: Queued.")
        expect(page.locator(".queue li")).to_have_count(1)
        pin(page, "beta")
        page.keyboard.press("Escape")
    with ended(pair):
        expect(page.locator(".queue")).to_contain_text("Sent when beta is loaded")
        expect(page.locator("#send-waiting")).to_have_count(0)
    # It goes by itself then.
    page.click("#load-first")
    assert answered(page, 3)[-1] == "Queued."
    assert sent[2:] == [("alpha", "A story"), ("beta", "Say exactly: Queued.")]


def test_the_same_again_goes_to_the_model_that_answered(context: BrowserContext, pair: Server) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, pair.port)
    assert "model" not in asked(page, "Say exactly: One.")
    answered(page)
    pair.client.chat(model="beta", messages=[{"role": "user", "content": "Say exactly: Here."}])
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#model-name")).to_have_text("beta")
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    with page.expect_request("**/v1/chat/completions") as waiting:
        page.click(".turn.answer .same")
    assert waiting.value.post_data_json["model"] == "alpha"
    expect(page.locator(".same-as")).to_have_text("Identical")
    expect(page.locator("#model-name")).to_have_text("alpha")
    assert serving(pair) == ["alpha"]
    # Of one that is not here any more nothing is asked.
    page.evaluate(
        """async () => { const { record } = (await import("/ui/state/tree.js")).path.value.at(-1);
        delete record.request.model;
        record.model = "gamma"; }"""
    )
    page.click(".turn.answer .same")
    expect(page.locator(".composer .ending")).to_contain_text("gamma, which gave this answer, is not here any more")
    expect(page.locator(".branches")).to_contain_text("2 / 2")


ANSWERED_BY = """(model) => import("/ui/state/compare.js").then(({ open }) => {
  open.value.lanes.value[0].turn.value.record.model = model; })"""


def test_the_rest_of_a_cut_lane_is_asked_of_the_model_that_answered(context: BrowserContext, pair: Server) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, pair.port, "#/compare")
    page.fill("#prompt", "A story")
    page.click("#run-all")
    first = page.locator("#lane-A")
    expect(first.locator(".prose")).to_have_text(re.compile(r".{40}", re.DOTALL))
    page.click("#stop-all")
    expect(first).to_have_attribute("data-state", "STOPPED")
    pair.client.chat(model="beta", messages=[{"role": "user", "content": "Say exactly: Here."}])
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#model-name")).to_have_text("beta")
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    # Of one that is not here any more nothing is asked, and that is said.
    page.evaluate(ANSWERED_BY, "gamma")
    first.locator(".resume").click()
    expect(first.locator(".ending")).to_contain_text("gamma, which gave this answer, is not here any more")
    page.evaluate(ANSWERED_BY, "alpha")
    with page.expect_request("**/v1/chat/completions") as waiting:
        first.locator(".resume").click()
    assert waiting.value.post_data_json["model"] == "alpha"
    expect(first).to_have_attribute("data-state", "DONE", timeout=60_000)


@pytest.mark.parametrize("pair", [("--switch-allow-implicit", "false")], indirect=True)
def test_a_lane_that_was_cut_goes_on_only_once_the_model_is_loaded_that_gave_its_answer(
    context: BrowserContext, pair: Server
) -> None:
    page = open_page(context, pair.port, "#/compare")
    expect(page.locator("#model-name")).to_have_text("alpha")
    with held(pair):
        page.fill("#prompt", "A story")
        page.click("#run-all")
        expect(page.locator("#lane-A .prose")).to_have_text(re.compile(r".{40}", re.DOTALL))
        page.click("#stop-all")
        expect(page.locator("#run-all")).to_be_visible()
        go_to(page, "agents")
        page.fill("#prompt", "A story")
        page.click("#run")
        expect(page.locator(".preview")).to_have_text(re.compile(r".{40}", re.DOTALL))
        page.click("#stop-all")
        expect(page.locator("#stop-all")).to_be_disabled()
    resume = page.get_by_role("button", name="Resume task 1 exactly")
    expect(resume).to_be_enabled()
    expect(page.locator("#run")).to_be_enabled()
    pair.client.request("POST", "/v1/models/switch", {"model": "beta"})
    expect(page.locator("#model-name")).to_have_text("beta")
    expect(resume).to_be_disabled()
    expect(resume).to_have_attribute("title", "alpha must be loaded first")
    expect(page.locator("#run")).to_be_disabled()
    page.click(".rail a[href='#/compare']")
    expect(page.locator("#lane-A .resume")).to_be_disabled()
    expect(page.locator("#lane-A .resume")).to_have_attribute("title", "alpha must be loaded first")
