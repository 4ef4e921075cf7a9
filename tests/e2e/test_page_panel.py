"""What the panel beside a chat sets: presets, forms of the answer, tools, seldom fields; what is wrong is said."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.e2e.axe import findings
from tests.e2e.browser import comes_to
from tests.e2e.playground import CHROMIUM, NO_SOCKET, answered, ask, go_to, open_page
from tests.e2e.server import Server

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    context.add_init_script(NO_SOCKET)
    opened = open_page(context, story_server.port)
    expect(opened.locator("#set-temperature")).to_be_visible()
    return opened


def pick(page: Page, form: str) -> None:
    page.locator(f"[name=format][value={form}]").check(force=True)


def unanswered(page: Page) -> None:
    """The scripted model keeps to no form: what is asked from now on stays in the page."""
    page.route("**/v1/chat/completions", lambda route: route.abort())


def sent(page: Page, text: str) -> dict[str, object]:
    """The body with which that message goes out."""
    with page.expect_request("**/v1/chat/completions") as waiting:
        ask(page, text)
    return dict(json.loads(waiting.value.post_data or "{}"))


def test_a_panel_that_failed_in_one_chat_works_in_another(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    # As a page of before may have kept it.
    page.evaluate(
        """async () => { const { change } = await import(document.scripts[1].src + "/../state/chats.js");
        await change({ settings: { sampling: { logit_bias: 5 } } }); }"""
    )
    page.reload()
    failed = page.locator(".failed-part")
    expect(failed).to_contain_text("This part of the page failed")
    page.click("#new-chat")
    expect(page.locator("#set-temperature")).to_be_visible()
    expect(failed).to_have_count(0)
    page.click(".list li a")
    expect(failed).to_have_count(1)


def test_a_preset_is_saved_taken_changed_and_deleted(page: Page) -> None:
    expect(page.locator("#preset-save")).to_be_disabled()
    page.fill("#system", "Be brief.")
    page.fill("#set-temperature", "0.3")
    page.press("#set-temperature", "Tab")
    page.click("#preset-save")
    expect(page.locator("#preset-name")).to_be_focused()
    page.keyboard.type("Short")
    page.keyboard.press("Enter")
    expect(page.locator("#preset option:checked")).to_have_text("Short")
    expect(page.locator("#preset")).to_be_focused()
    page.fill("#system", "Be very brief.")
    expect(page.locator("#preset option:checked")).to_have_text("Short, changed")
    expect(page.locator("#preset-save")).to_have_text("Save changes")
    page.select_option("#preset", label="None")
    expect(page.locator("#system")).to_have_value("")
    page.reload()
    page.select_option("#preset", label="Short")
    expect(page.locator("#system")).to_have_value("Be brief.")
    expect(page.locator("#set-temperature")).to_have_value("0.3")
    body = sent(page, "Say exactly: One.")
    assert body["temperature"] == 0.3
    assert "preset" not in body
    answered(page)
    page.click("#preset-drop")
    expect(page.locator("#preset option")).to_have_count(1)
    page.click("#undo")
    expect(page.locator("#preset option:checked")).to_have_text("Short")


def test_a_form_that_cannot_be_sent_says_so_as_one_leaves_it(page: Page) -> None:
    pick(page, "schema")
    page.fill("#schema", '{"type": "objekt"}')
    expect(page.locator("#schema-problem")).to_have_count(0)
    page.press("#schema", "Tab")
    expect(page.locator("#schema-problem")).to_contain_text('has the type "objekt"')
    expect(page.locator("#schema")).to_have_value('{"type": "objekt"}')
    # Sending says it too, and loses nothing.
    ask(page, "Now")
    expect(page.locator(".composer [role=alert]")).to_contain_text('has the type "objekt"')
    expect(page.locator("#prompt")).to_have_value("Now")
    pick(page, "regex")
    page.fill("#schema", "a(?=b)")
    page.press("#schema", "Tab")
    expect(page.locator("#schema-problem")).to_contain_text("looks around")
    pick(page, "grammar")
    page.fill("#schema", "word: x")
    page.press("#schema", "Tab")
    expect(page.locator("#schema-problem")).to_contain_text("no beginning")


@pytest.mark.parametrize(
    ("form", "text", "field"),
    [
        ("schema", '{"type": "boolean"}', "response_format"),
        ("regex", "[a-z]+", "guided_regex"),
        ("grammar", 'root ::= "yes" | "no"', "guided_grammar"),
        ("choice", "yes\nno", "guided_choice"),
    ],
)
def test_each_form_is_sent_as_the_api_has_it(page: Page, form: str, text: str, field: str) -> None:
    unanswered(page)
    pick(page, form)
    page.fill("#schema", text)
    wanted: dict[str, object] = {
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "boolean"}}},
        "guided_choice": ["yes", "no"],
    }
    assert sent(page, "Well?")[field] == wanted.get(field, text)


def test_json_that_was_asked_for_is_shown_as_it_came(page: Page) -> None:
    words = json.dumps({"__init__": 'say "hi" *now*', "path": "C:\\new\\*.*", "list": ["[a](http://b.c)"] * 40})

    def formless(route: Route) -> None:
        # The scripted model keeps to no form.
        asked = route.request.post_data_json or {}
        route.continue_(post_data={name: value for name, value in asked.items() if name != "response_format"})

    page.route("**/v1/chat/completions", formless)
    pick(page, "json")
    ask(page, f"Say exactly: {words}")
    code = page.locator(".turn.answer .prose code")
    # From its first words on.
    expect(code).to_contain_text('{"__init__": "say')
    answered(page)
    expect(code).to_have_text(words)
    page.reload()
    expect(code).to_have_text(words)
    # All of its one line can be read.
    frame = page.locator(".turn.answer .prose pre")
    comes_to(lambda: frame.evaluate("(frame) => frame.scrollWidth - frame.clientWidth"), 0)


def test_a_number_outside_of_its_range_is_kept_and_said(page: Page, axe: str) -> None:
    page.fill("#set-top_p", "1.5")
    page.press("#set-top_p", "Tab")
    expect(page.locator("#set-top_p-problem")).to_have_text("From 0 to 1")
    expect(page.locator("#set-top_p")).to_have_value("1.5")
    assert "From 0 to 1" in str(page.locator(".parameter", has=page.locator("#set-top_p")).get_attribute("title"))
    assert findings(page, axe) == []
    page.fill("#set-top_p", "1")
    page.press("#set-top_p", "Tab")
    expect(page.locator("#set-top_p-problem")).to_have_count(0)


def test_each_number_has_the_range_of_the_api_document(page: Page) -> None:
    document = json.loads((ROOT / "spec" / "openapi.json").read_text())
    body = document["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    declared = document["components"]["schemas"][body["$ref"].rpartition("/")[2]]["properties"]
    boxes = page.locator(".panel input.number")
    expect(boxes).to_have_count(9)
    for box in boxes.all():
        name = str(box.get_attribute("id")).removeprefix("set-")
        number = next(one for one in declared[name]["anyOf"] if one["type"] != "null")
        least, most = number.get("minimum", number.get("exclusiveMinimum")), number.get("maximum")
        # The page reads the ranges from the server after the first paint.
        bounds = [None if bound is None else str(bound) for bound in (least, most)]
        comes_to(lambda box=box: [box.get_attribute("min"), box.get_attribute("max")], bounds)
        step = 1 if number["type"] == "integer" else 0.01
        wrong = [
            bound
            for bound in (least if least is None else least - step, most if most is None else most + step)
            if bound is not None
        ]
        for value in [*wrong, *([0] if "exclusiveMinimum" in number else [])]:
            box.fill(str(value))
            box.press("Tab")
            expect(page.locator(f"#set-{name}-problem")).to_be_visible()
        for value in (bound for bound in (number.get("minimum"), most) if bound is not None):
            box.fill(str(value))
            box.press("Tab")
            expect(page.locator(f"#set-{name}-problem")).to_have_count(0)


def test_the_seldom_fields_are_sent_where_they_are_set(page: Page) -> None:
    unanswered(page)
    page.click("#further summary")
    page.fill("#set-stop", "END\nSTOP")
    # What cannot be read is not sent, and nothing in its place.
    page.fill("#set-logit_bias", '{"42": -1, "7"')
    ask(page, "Say exactly: None.")
    expect(page.locator(".ending.bad")).to_contain_text("Logit bias: The list is no JSON")
    page.fill("#set-logit_bias", '{"42": -1.5}')
    page.select_option("#set-class", label="Agent")
    expect(page.locator("#further summary")).to_contain_text("3 set")
    body = sent(page, "Say exactly: One.")
    assert [body["stop"], body["logit_bias"], body["class"]] == [["END", "STOP"], {"42": -1.5}, "agent"]
    page.fill("#set-logit_bias", "{")
    page.press("#set-logit_bias", "Tab")
    expect(page.locator("#set-logit_bias-problem")).to_contain_text("no JSON")


def test_tools_are_offered_where_the_model_takes_them_also_while_it_sleeps(
    context: BrowserContext, agent_server: Server
) -> None:
    # Woken first: it may sleep already, and never have been looked at.
    assert agent_server.client.chat(messages=[{"role": "user", "content": "Hi"}], max_tokens=1).error is None
    agent_server.client.request("POST", "/v1/models/unload")
    agent_server.wait_metric("ignis_model_state", 1, state="unloaded")
    page = open_page(context, agent_server.port)
    expect(page.locator("#model")).to_contain_text("asleep")
    expect(page.locator(".context-bar")).to_be_visible()
    page.check("#set-tools-on", force=True)
    page.fill("#set-tools", '[{"name": "weather"')
    page.press("#set-tools", "Tab")
    expect(page.locator("#set-tools-problem")).to_contain_text("no JSON")
    weather = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    page.fill("#set-tools", json.dumps([weather]))
    assert sent(page, "Weather?")["tools"] == [{"type": "function", "function": weather}]
    expect(page.locator(".tool-card strong")).to_have_text("weather")


@pytest.mark.parametrize("width", [1440, 360])
def test_no_field_of_the_panel_moves_the_page(context: BrowserContext, story_server: Server, width: int) -> None:
    page = open_page(context, story_server.port)
    page.set_viewport_size({"width": width, "height": 700})
    if width < 720:
        page.click("#settings-toggle")
    page.click("#further summary")
    page.focus("#set-ignore_eos")
    page.locator("#set-logit_bias").evaluate("(field) => field.scrollIntoView({ block: 'center' })")
    root = "document.scrollingElement"
    assert page.evaluate(f"[{root}.scrollTop, {root}.scrollHeight - innerHeight]") == [0, 0]


def test_what_is_done_with_an_answer_fits_a_phone(context: BrowserContext, story_server: Server, axe: str) -> None:
    page = open_page(context, story_server.port)
    page.set_viewport_size({"width": 360, "height": 700})
    ask(page, "Say exactly: One.")
    answered(page)
    page.click(".turn.answer [aria-haspopup=menu]")
    assert page.evaluate("document.querySelector('.transcript').scrollWidth <= innerWidth")
    assert findings(page, axe) == []
    page.get_by_role("menuitem", name="Same again").click()
    expect(page.locator(".same-as")).to_have_text("Identical")
    page.click(".turn.answer [aria-haspopup=menu]")
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.locator("#undo")).to_be_visible()


def test_a_number_that_the_server_would_refuse_is_not_sent(page: Page) -> None:
    for name, value, said in (
        ("temperature", "9", "From 0 to 2"),
        ("repetition_penalty", "0", "More than 0, 10 at most"),
        ("max_completion_tokens", "1e21", "Too large a number"),
        ("seed", "1e21", "Too large a number"),
    ):
        box = page.locator(f"#set-{name}")
        box.fill(value)
        box.press("Tab")
        expect(page.locator(f"#set-{name}-problem")).to_have_text(said)
        ask(page, "Say exactly: One.")
        expect(page.locator(".composer .ending")).to_contain_text(said)
        expect(page.locator("#prompt")).to_have_value("Say exactly: One.")
        box.fill("")
        box.press("Tab")
    expect(page.locator(".turn")).to_have_count(0)
    page.press("#prompt", "Enter")
    assert answered(page) == ["One."]
    go_to(page, "agents")
    page.fill("#prompt", "Say exactly: Two.")
    page.fill("#limit-max_completion_tokens", "1e21")
    page.press("#limit-max_completion_tokens", "Tab")
    expect(page.locator("#run")).to_be_disabled()
    go_to(page, "compare")
    page.fill("#prompt", "Say exactly: Three.")
    page.click("#values")
    page.fill("#value-temperature", "9")
    page.click("dialog >> text=Done")
    expect(page.locator(".shared-prompt .problem")).to_have_text("Temperature: From 0 to 2")
    expect(page.locator("#run-all")).to_be_disabled()
