"""Compare in a browser: one prompt in up to eight lanes, and where each differs from the first."""

import json
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.axe import findings
from tests.e2e.browser import BUSY, CHROMIUM, SHIFTS, comes_to, opened_page, origin, wait_until
from tests.e2e.playground import changed, held
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

PROMPT = "Tell me about the sea, " + "the harbour and the boats in it, " * 12 + "in a few words."
PHONE_WIDTH = 360
PHONE = {"viewport": {"width": PHONE_WIDTH, "height": 740}, "has_touch": True, "is_mobile": True}
# Texts of what is marked under that name.
MARKED = "(name) => [...(CSS.highlights.get(name) ?? [])].map((range) => range.toString())"
# The text of each, block by block; what is skipped in drawing has no inner text.
WORDS = """(all) => all.map((prose) => {
  const blocks = [...prose.querySelectorAll("p, h1, h2, h3, h4, pre, li:not(:has(p))")];
  return blocks.map((block) => block.textContent.trim()).join("\\n");
})"""
# Keeps a comparison with those answers, as an earlier page would have; returns its id.
KEEP = """async (texts) => {
  const { save } = await import("/ui/store/runs.js");
  const times = { sent: 0, thought: null, first: 1, text: 1, last: 2 };
  const turn = (text, at) => ({
    id: `turn${at}`, conversation: "", parent: null, role: "assistant", text, reasoning: "", tools: [], state: "DONE",
    request: null, model: "m", seed: at, finish: "stop", failure: null, usage: null, timings: null, times,
    isEdited: false, created: 0, v: 1,
  });
  const lanes = texts.map((text, at) => ({ id: `lane${at}`, prompt: "", values: { seed: at }, turn: turn(text, at) }));
  const about = { kind: "compare", title: "Kept", prompt: "Say it", history: [], values: {} };
  await save({ id: "kept", ...about, lanes, created: 0, updated: 0, v: 1 });
  return "kept";
}"""


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    server.wait_ready()
    with opened_page(browser, origin(server), "/ui/#/compare") as opened:
        yield opened


@pytest.fixture
def paced_page(browser: Browser, paced_server: Server) -> Iterator[Page]:
    with opened_page(browser, origin(paced_server), "/ui/#/compare") as opened:
        yield opened


def lane(page: Page, letter: str) -> Any:
    return page.locator(f"#lane-{letter}")


def choose(page: Page, letter: str, item: str) -> None:
    """An item of that lane's menu."""
    page.click(f"#lane-menu-{letter}")
    page.click(f"#lane-menu-{letter}-menu >> text={item}")


def cap(page: Page, tokens: int) -> None:
    page.click("#values")
    page.fill("#value-max_completion_tokens", str(tokens))
    page.click("dialog >> text=Done")


def vary_seeds(page: Page, count: int) -> None:
    page.click("#vary")
    page.fill("#vary-count", str(count))
    page.click("#vary-make")
    expect(page.locator(".lane")).to_have_count(count)


def vary_field(page: Page, name: str) -> None:
    """Opens Vary at that field of the panel."""
    assert page.viewport_size
    if page.viewport_size["width"] > PHONE_WIDTH:
        page.click("#vary")
    else:
        page.click("#compare-more")
        page.click("#compare-more-menu >> text=Vary")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.check("[name=vary-kind][value=field]", force=True)
    page.select_option("#vary-name", name)


def done(page: Page) -> None:
    page.click("dialog >> text=Done")
    expect(page.get_by_role("dialog")).to_have_count(0)


def listened(page: Page) -> list[Any]:
    """The bodies of what the lanes ask from now on: of the socket, and of HTTP."""
    bodies: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: bodies.append(json.loads(data))))
    page.on(
        "request",
        lambda asked: bodies.append(asked.post_data_json) if asked.url.endswith("/v1/chat/completions") else None,
    )
    return bodies


def run(page: Page, prompt: str = PROMPT) -> None:
    page.fill("#prompt", prompt)
    page.click("#run-all")


def ended(page: Page) -> list[str]:
    """Waits until nothing runs; returns the texts of the lanes."""
    expect(page.locator("#run-all")).to_be_visible(timeout=60_000)
    return texts_of(page)


def texts_of(page: Page) -> list[str]:
    texts: list[str] = page.locator(".lane .prose").evaluate_all(WORDS)
    return texts


def drawn(page: Page) -> list[str]:
    """Waits until all that came is drawn, which is a moment after the state that it ended in; returns the texts."""
    came = page.evaluate(
        # By the place of the page's own files: the server may be gone.
        """async () => { const { open } = await import(document.scripts[1].src + "/../state/compare.js");
        return open.value.lanes.value.map((lane) => lane.turn.value.record.text); }"""
    )
    comes_to(lambda: [text.split() for text in texts_of(page)], [text.split() for text in came])
    return texts_of(page)


def found_again(page: Page, texts: list[str]) -> None:
    """Waits for a comparison that was kept: it comes a moment after the view."""
    expect(page.locator("#run-all")).to_be_visible()
    comes_to(lambda: texts_of(page), texts)


def first_difference(one: str, other: str) -> int:
    pairs = zip([*one.split(), None], [*other.split(), None], strict=False)
    return next(at for at, (left, right) in enumerate(pairs) if left != right)


def test_lanes_that_ask_the_same_answer_the_same_and_others_are_marked_where_they_differ(paced_page: Page) -> None:
    # Of words alone: what a model writes by some seed may have marks that are not drawn.
    page = paced_page
    cap(page, 24)
    choose(page, "A", "Another like it")
    expect(lane(page, "B").locator(".tags")).to_contain_text("same as A")
    run(page)
    one, same, other = ended(page)
    assert one == same != other
    expect(lane(page, "B").locator("footer")).to_contain_text("equal to A")
    word = first_difference(one, other)
    expect(lane(page, "C").locator("footer")).to_contain_text(f"from word {word + 1}")
    expect(lane(page, "C").locator("footer")).not_to_contain_text("equal")
    page.wait_for_function("() => CSS.highlights.get('differs')?.size === 1")
    (marked,) = page.evaluate(MARKED, "differs")
    assert other.split()[word:][: len(marked.split())] == marked.split()


def test_a_model_that_the_lanes_wake_is_shown_to_serve(page: Page, server: Server) -> None:
    server.client.request("POST", "/v1/models/unload")
    server.wait_metric("ignis_model_state", 1, state="unloaded")
    # At once, not with the next look at a calm server, which never comes.
    page.add_init_script(
        """const { setTimeout } = window;
        window.setTimeout = (work, ms, ...words) => (ms === 15_000 ? 0 : setTimeout(work, ms, ...words));"""
    )
    page.reload()
    expect(page.locator("#model")).to_contain_text("asleep")
    cap(page, 4)
    run(page)
    ended(page)
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")


def test_the_mark_is_at_the_first_word_that_differs_and_diff_colours_the_rest(page: Page) -> None:
    texts = [
        "The sea is **calm** today.\n\nNothing moves on it.",
        "The sea is **calm** today.\n\nNothing moves on it.",
        "The sea is **rough** today.\n\nNothing moves near it.",
    ]
    page.goto(f"{page.url.split('#')[0]}#/compare/{page.evaluate(KEEP, texts)}")
    expect(lane(page, "C").locator("footer")).to_contain_text("from word 4")
    expect(lane(page, "B").locator("footer")).to_contain_text("equal to A")
    comes_to(lambda: page.evaluate(MARKED, "differs"), ["rough"])
    assert page.evaluate(MARKED, "differs-too") == []
    choose(page, "C", "Diff")
    page.wait_for_function("() => [...CSS.highlights.get('differs-too')].join() === 'near'")
    assert page.evaluate(MARKED, "differs") == ["rough"]


def test_eight_lanes_run_and_their_prompt_is_read_once(page: Page) -> None:
    cap(page, 8)
    vary_seeds(page, 8)
    expect(page.locator("#add-lane")).to_be_disabled()
    run(page)
    texts = ended(page)
    assert len(texts) == 8
    assert len(set(texts)) > 1
    expect(page.locator(".lane[data-state=DONE]")).to_have_count(8)
    counts = re.search(r"([\d,]+) of ([\d,]+) from the cache", page.locator("#prompt-counts").inner_text())
    assert counts
    cached, total = (int(count.replace(",", "")) for count in counts.groups())
    # Seven of eight prompts, but for the part of a page at their end.
    assert cached > 0.75 * total
    page.click("#lane-A .figures")
    facts = page.locator("#lane-A dl").inner_text()
    assert all(
        name in facts for name in ("Waited at the server", "To the first token", "Rate", "from the cache", "Seed")
    )


def test_a_lane_stops_alone_and_all_stop_together(paced_page: Page, paced_server: Server) -> None:
    page = paced_page
    # What the page of another test left is counted before.
    paced_server.wait_metric("ignis_scheduler_requests", 0, state="running")
    cancelled = paced_server.metric("ignis_requests_cancelled_total")
    vary_seeds(page, 4)
    run(page)
    expect(lane(page, "C").locator(".prose")).to_have_text(re.compile(r"\w+ \w+"))
    choose(page, "C", "Stop")
    expect(lane(page, "C")).to_have_attribute("data-state", "STOPPED")
    expect(lane(page, "B")).to_have_attribute("data-state", "WRITING")
    page.focus("#prompt")
    page.keyboard.press("Escape")
    texts = ended(page)
    expect(page.locator(".lane[data-state=STOPPED]")).to_have_count(4)
    assert all(texts)
    page.reload()
    found_again(page, texts)
    paced_server.wait_metric("ignis_requests_cancelled_total", cancelled + 4)


def test_what_came_before_the_page_died_is_kept_and_the_rest_comes_again(
    paced_page: Page, paced_server: Server
) -> None:
    page = paced_page
    cap(page, 60)
    text = lane(page, "A").locator(".prose")
    with held(paced_server):
        run(page)
        expect(text).to_have_text(re.compile(r".{60}", re.DOTALL))
        before = text.inner_text()
        page.reload()
        expect(lane(page, "A")).to_have_attribute("data-state", "CUT")
        # The state is there before the text is drawn.
        expect(text).not_to_be_empty()
        kept = "".join(text.evaluate_all(WORDS)[0].split())
    assert kept.startswith("".join(before[:40].split()))
    choose(page, "A", "Run again")
    expect(lane(page, "A")).to_have_attribute("data-state", "DONE")
    # Where a paragraph ends is for each way of reading it to say.
    comes_to(lambda: "".join(text.inner_text().split()).startswith(kept), True)
    # Nothing stays of what was cut, either.
    pieces = """import("/ui/store/database.js").then(async ({ open, result }) =>
      (await result((await open()).transaction("pieces").objectStore("pieces").getAll())).map(({ turn }) => turn))"""
    choose(page, "B", "Run again")
    expect(lane(page, "B")).to_have_attribute("data-state", "DONE")
    comes_to(lambda: page.evaluate(pieces), [])


def test_a_page_that_dies_twice_keeps_what_came_and_has_nothing_of_it_twice(paced_page: Page) -> None:
    page, first = paced_page, lane(paced_page, "A")
    said = """import("/ui/state/compare.js").then(({ open }) => open.value.lanes.value[0].turn.value.record.text)"""
    run(page, "A story")
    expect(page).to_have_url(re.compile("#/compare/."))
    kept = ""
    # Less comes before it dies again, so that there are fewer pieces of it.
    for num_new in (600, 80):
        expect(first).to_have_attribute("data-state", "WRITING")
        wait_until(page, f"async () => (await {said}).length > {len(kept) + num_new}")
        page.reload()
        expect(first).to_have_attribute("data-state", "CUT")
        before, kept = kept, page.evaluate(said)
        assert kept.startswith(before)
        assert len(kept) > len(before) + 20
        first.locator(".resume").click()
    expect(first).to_have_attribute("data-state", "WRITING")
    wait_until(page, f"async () => (await {said}).length > {len(kept) + 100}")
    assert page.evaluate(said).startswith(kept)
    page.click("#stop-all")


def test_a_comparison_is_kept_and_the_next_run_is_another_one(page: Page) -> None:
    cap(page, 6)
    run(page, "Say hello")
    texts = ended(page)
    # The address follows a moment after the first answer.
    expect(page).to_have_url(re.compile("#/compare/."))
    first = page.url
    page.reload()
    found_again(page, texts)
    run(page, "Say goodbye")
    expect(page).not_to_have_url(first)
    others = ended(page)
    page.click("#new")
    expect(page.locator("#prompt")).to_have_value("")
    page.click("#earlier")
    expect(page.locator(".runs li")).to_have_count(2)
    page.click(".runs a >> text=Say hello")
    expect(page).to_have_url(first)
    expect(page.locator("#prompt")).to_have_value("Say hello")
    found_again(page, texts)
    assert texts != others
    page.click("#earlier")
    page.click("[aria-label='Delete Say goodbye']")
    expect(page.locator(".runs li")).to_have_count(1)


def test_a_lane_goes_on_as_a_chat(paced_page: Page) -> None:
    page = paced_page
    cap(page, 8)
    run(page, "Say hello")
    texts = ended(page)
    assert texts[0] != texts[1]
    choose(page, "B", "Open as chat")
    expect(page.locator(".turn.user .said")).to_have_text("Say hello")
    expect(page.locator(".turn.answer .prose")).to_have_text(texts[1])
    expect(page.locator(".list li.open .name")).to_have_text("Say hello")


def test_answers_of_a_chat_can_be_compared(paced_page: Page) -> None:
    page = paced_page
    page.goto(f"{page.url.split('#')[0]}#/chat")
    page.fill("#set-max_completion_tokens", "24")
    page.press("#set-max_completion_tokens", "Tab")
    page.fill("#prompt", "Tell me a story about a boat")
    page.press("#prompt", "Enter")
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(1, timeout=60_000)
    page.click(".turn.answer .again")
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(1, timeout=60_000)
    page.click(".turn.answer .compare-these")
    expect(page.locator("#prompt")).to_have_value("Tell me a story about a boat")
    one, other = ended(page)
    expect(lane(page, "B").locator("footer")).to_contain_text(f"from word {first_difference(one, other) + 1}")


def test_answers_to_a_file_are_compared_with_it(page: Page) -> None:
    page.goto(page.url.split("#")[0] + "#/chat")
    page.set_input_files(".attach input", {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Three marks"})
    page.fill("#set-max_completion_tokens", "8")
    page.press("#set-max_completion_tokens", "Tab")
    page.fill("#prompt", "What does it say?")
    page.press("#prompt", "Enter")
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(1, timeout=60_000)
    page.click(".turn.answer .again")
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(1, timeout=60_000)
    page.click(".turn.answer .compare-these")
    expect(page.locator("#prompt")).to_have_value(re.compile("What does it say.*Three marks", re.DOTALL))
    ended(page)
    expect(page.locator(".lane").first).not_to_contain_text("changed since")


def test_a_lane_says_in_words_what_it_asks_otherwise(page: Page) -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}
    tools = [{"type": "function", "function": {"name": name}} for name in ("weather", "time")]
    values = [{"response_format": schema}, {"tools": tools}, {"logit_bias": {"7": 1}}, {"guided_choice": ["yes", "no"]}]
    page.evaluate(KEEP, ["One", "Two", "Three", "Four"])
    page.evaluate(
        """async (values) => {
          const { read, save } = await import("/ui/store/runs.js");
          const run = await read("kept");
          await save({ ...run, lanes: run.lanes.map((lane, at) => ({ ...lane, values: values[at] })) });
        }""",
        values,
    )
    page.goto(f"{page.url.split('#')[0]}#/compare/kept")
    expect(page.locator(".lane")).to_have_count(4)
    for letter, words in zip("ABCD", ('{"type":"object"}', "weather, time", '{"7":1}', "yes | no"), strict=True):
        expect(lane(page, letter).locator(".tags")).to_contain_text(words)


def test_a_number_is_varied_from_one_value_to_another(page: Page) -> None:
    page.click("#vary")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.check("[name=vary-kind][value=field]", force=True)
    page.fill("#vary-from", "0")
    page.fill("#vary-to", "3")
    expect(page.locator("#vary-says")).to_have_text("Temperature: From 0 to 2")
    expect(page.locator("#vary-make")).to_be_disabled()
    page.fill("#vary-to", "1.5")
    page.click("#vary-make")
    tags = ["temperature 0", "temperature 0.5", "temperature 1", "temperature 1.5"]
    expect(page.locator(".lane .tags")).to_have_text(tags)


def test_a_budget_of_thinking_is_varied_where_there_is_thinking(page: Page) -> None:
    def think(body: Any) -> None:
        body["data"][0]["capabilities"].update(thinking=True, thinking_efforts=["low", "high"])

    page.route("**/v1/models", changed(think))
    page.reload()
    page.click("#vary")
    expect(page.locator("[name=vary-kind][value=thinking]")).to_have_count(1)
    page.check("[name=vary-kind][value=field]", force=True)
    page.select_option("#vary-name", "thinking_budget")
    page.fill("#vary-count", "2")
    page.click("#vary-make")
    expect(page.locator(".lane .tags")).to_have_text(["thinking budget 64", "thinking budget 512"])


def test_a_choice_of_the_panel_is_varied_as_a_number_is(page: Page) -> None:
    page.click("#vary")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.check("[name=vary-kind][value=field]", force=True)
    page.select_option("#vary-name", "ignore_eos")
    expect(page.locator("#vary-says")).to_have_text("yes, no.")
    page.get_by_label("Yes", exact=True).uncheck()
    page.get_by_label("No", exact=True).uncheck()
    expect(page.locator("#vary-says")).to_have_text("Choose at least one")
    expect(page.locator("#vary-make")).to_be_disabled()
    page.get_by_label("Yes", exact=True).check()
    page.get_by_label("No", exact=True).check()
    page.click("#vary-make")
    expect(page.locator(".lane .tags")).to_have_text(["ignore the end yes", "ignore the end no"])
    cap(page, 16)
    run(page, "Say hello")
    ended(page)
    expect(page.locator(".lane[data-state=DONE]")).to_have_count(2)


def test_texts_of_the_system_prompt_are_varied_by_keyboard_a_lane_each(page: Page) -> None:
    bodies = listened(page)
    vary_field(page, "system")
    expect(page.locator("#vary-says")).to_have_text("Write texts that differ")
    expect(page.locator("#vary-make")).to_be_disabled()
    page.focus("#vary-text-1")
    page.keyboard.type("Be brief")
    expect(page.locator("#vary-says")).to_have_text("none; Be brief.")
    page.keyboard.press("Tab")
    for text in ("Be slow", "Too much"):
        expect(page.locator("#vary-add")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("textarea:focus")).to_have_value("")
        page.keyboard.type(text)
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile("Remove [CD]"))
        page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#vary-text-0")).to_be_focused()
    expect(page.locator("#vary-says")).to_have_text("none; Be brief; Be slow.")
    page.click("#vary-make")
    tags = ["system none", "system Be brief", "system Be slow"]
    expect(page.locator(".lane .tags")).to_have_text(tags)
    cap(page, 4)
    run(page, "Say hello")
    ended(page)
    systems = [[said["content"] for said in body["input"] if said["role"] == "system"] for body in bodies]
    assert sorted(systems) == [[], ["Be brief"], ["Be slow"]]
    page.reload()
    expect(page.locator(".lane .tags")).to_have_text(tags)
    choose(page, "B", "Values…")
    expect(page.locator("#value-system")).to_have_value("Be brief")
    page.get_by_role("button", name="System prompt: as all").press("Enter")
    expect(page.locator("#value-system")).to_be_focused()
    expect(page.locator("#value-system")).to_have_value("")
    done(page)
    expect(lane(page, "B").locator(".tags")).to_have_text(re.compile("system none *same as A"))


def test_forms_of_the_answer_are_varied_and_hold_it(page: Page) -> None:
    bodies = listened(page)
    vary_field(page, "response_format")
    expect(page.locator("#vary-says")).to_have_text("text; JSON.")
    page.get_by_label("Text", exact=True).uncheck()
    expect(page.locator("#vary-says")).to_have_text("JSON. One lane: choose more to compare.")
    expect(page.locator("#vary-make")).to_have_text("Make one lane")
    page.get_by_label("Text", exact=True).check()
    page.get_by_label("Regex", exact=True).check()
    expect(page.locator("#vary-says")).to_have_text("Regex: The expression is empty.")
    page.get_by_label("Regex", exact=True).uncheck()
    for form, text in (("Schema", '{"type": "boolean"'), ("Choice", "yes\nno")):
        page.get_by_label(form, exact=True).check()
        page.fill(f"#vary-{form.lower()}", text)
    expect(page.locator("#vary-schema-problem")).to_contain_text("The schema is no JSON")
    expect(page.locator("#vary-make")).to_be_disabled()
    page.fill("#vary-schema", '{"type": "boolean"}')
    expect(page.locator("#vary-says")).to_have_text('text; JSON; schema {"type":"boolean"}; choice yes | no.')
    page.click("#vary-make")
    tags = ["output text", "output JSON", 'schema {"type":"boolean"}', "choice yes | no"]
    expect(page.locator(".lane .tags")).to_have_text(tags)
    cap(page, 8)
    run(page, "Is the sea wet?")
    ended(page)
    assert lane(page, "C").locator(".prose code").inner_text() in ("true", "false")
    assert lane(page, "D").locator(".prose").inner_text() in ("yes", "no")
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "boolean"}}}
    held_to = [{name: body[name] for name in ("response_format", "guided_choice") if name in body} for body in bodies]
    expected: list[Any] = [{}, {"response_format": {"type": "json_object"}}, {"response_format": schema}]
    assert sorted(map(str, held_to)) == sorted(map(str, [*expected, {"guided_choice": ["yes", "no"]}]))
    page.reload()
    expect(page.locator(".lane .tags")).to_have_text(tags)
    choose(page, "D", "Values…")
    expect(page.locator("#value-output")).to_have_value("choice")
    expect(page.locator("#value-form")).to_have_value("yes\nno")
    page.select_option("#value-output", "")
    expect(page.locator("#value-form")).to_have_count(0)
    done(page)
    expect(lane(page, "D").locator(".tags")).to_have_text(re.compile("output text *same as A"))


def test_a_form_of_one_lane_takes_the_place_of_the_one_of_all(page: Page) -> None:
    bodies = listened(page)
    page.click("#values")
    page.select_option("#value-output", "choice")
    page.fill("#value-form", "yes\nno")
    done(page)
    choose(page, "B", "Values…")
    expect(page.locator("#value-output")).to_have_value("")
    page.select_option("#value-output", "json")
    done(page)
    expect(page.locator(".lane .tags")).to_have_text([re.compile(r"choice yes \| no"), re.compile("output JSON")])
    cap(page, 8)
    run(page, "Is the sea wet?")
    ended(page)
    json_only = {"type": "json_object"}
    held_to = [(body.get("response_format"), body.get("guided_choice")) for body in bodies]
    assert sorted(held_to, key=str) == sorted([(None, ["yes", "no"]), (json_only, None)], key=str)


def test_what_is_written_wrong_in_a_lane_is_kept_said_and_not_sent(page: Page) -> None:
    page.fill("#prompt", "Say hello")
    choose(page, "B", "Values…")
    page.select_option("#value-output", "schema")
    page.fill("#value-form", '{"type": ')
    page.select_option("#value-tools", "list")
    page.fill("#value-functions", "[]")
    page.press("#value-functions", "Tab")
    expect(page.locator("#value-form-problem")).to_contain_text("The schema is no JSON")
    done(page)
    expect(page.locator(".shared-prompt .problem")).to_contain_text("The schema is no JSON")
    expect(page.locator("#run-all")).to_be_disabled()
    choose(page, "B", "Values…")
    expect(page.locator("#value-form")).to_have_value('{"type": ')
    page.fill("#value-form", '{"type": "null"}')
    page.fill("#value-functions", '{"name": "weather"}')
    done(page)
    expect(page.locator(".shared-prompt .problem")).to_contain_text("The tools are no list")
    choose(page, "B", "Values…")
    page.select_option("#value-tools", "none")
    page.click("dialog .further summary")
    page.fill("#value-logit_bias", '{"7": 1, "8"')
    page.press("#value-logit_bias", "Tab")
    expect(page.locator("#value-logit_bias-problem")).to_contain_text("no JSON")
    done(page)
    expect(page.locator(".shared-prompt .problem")).to_contain_text("Logit bias: The list is no JSON")
    expect(page.locator("#run-all")).to_be_disabled()
    choose(page, "B", "Values…")
    expect(page.locator("#value-logit_bias")).to_have_value('{"7": 1, "8"')
    page.fill("#value-logit_bias", '{"7": 1}')
    page.get_by_role("button", name="Logit bias: as all").click()
    expect(page.locator("#value-logit_bias")).to_have_value("")
    done(page)
    expect(page.locator("#run-all")).to_be_enabled()


def test_a_list_of_tools_that_has_none_is_not_sent(page: Page) -> None:
    bodies = listened(page)
    cap(page, 4)
    page.click("#values")
    page.select_option("#value-tools", "list")
    page.fill("#value-functions", " [] ")
    expect(page.locator("#value-functions")).to_have_value(" [] ")
    done(page)
    run(page, "Say hello")
    expect(page.locator(".lane[data-state=DONE]")).to_have_count(2)
    asked = [body for body in bodies if "seed" in body]
    assert asked and not any("tools" in body for body in asked)


def test_what_an_answer_stops_at_is_varied(page: Page) -> None:
    bodies = listened(page)
    vary_field(page, "stop")
    # An end of line says nothing, and a blank is one of what it stops at.
    page.fill("#vary-text-0", "END")
    page.fill("#vary-text-1", "\nEND\n\n")
    expect(page.locator("#vary-says")).to_have_text("Write texts that differ")
    # As many as the server takes, by its own description.
    page.fill("#vary-text-1", "\n".join(f"END {at}" for at in range(17)))
    expect(page.locator("#vary-says")).to_have_text("B: 16 at most, not 17")
    expect(page.locator("#vary-make")).to_be_disabled()
    page.fill("#vary-text-1", " END")
    expect(page.locator("#vary-make")).to_be_enabled()
    page.fill("#vary-text-0", "")
    page.fill("#vary-text-1", "END\n###\n")
    expect(page.locator("#vary-says")).to_have_text("nothing; END, ###.")
    page.click("#vary-make")
    tags = ["stop at nothing", "stop at END, ###"]
    expect(page.locator(".lane .tags")).to_have_text(tags)
    # What a lane stops at is its own, and so is that it stops at nothing.
    page.click("#values")
    page.click("summary")
    page.fill("#value-stop", "all")
    done(page)
    expect(page.locator(".lane .tags")).to_have_text(tags)
    cap(page, 4)
    run(page, "Say hello")
    ended(page)
    assert sorted(body.get("stop", []) for body in bodies) == [[], ["END", "###"]]
    page.reload()
    expect(page.locator(".lane .tags")).to_have_text(tags)
    for letter, typed in (("B", "END\n###"), ("A", "")):
        choose(page, letter, "Values…")
        expect(page.locator("#value-stop")).to_have_value(typed)
        page.get_by_role("button", name="Stop at: as all").click()
        expect(page.locator("#value-stop")).to_have_attribute("placeholder", "all")
        expect(page.get_by_role("button", name="Stop at: as all")).to_have_count(0)
        done(page)
    expect(lane(page, "B").locator(".tags")).to_have_text("same as A")


def test_lanes_are_made_with_tools_and_without(page: Page) -> None:
    bodies = listened(page)
    vary_field(page, "tools")
    expect(page.locator("#vary-says")).to_have_text("Write what one of them has")
    page.fill("#vary-list", '[{"name": "weather"}]')
    expect(page.locator("#vary-says")).to_have_text("weather; none.")
    page.click("#vary-make")
    tags = ["tools weather", "tools none"]
    expect(page.locator(".lane .tags")).to_have_text(tags)
    # To have none is the lane's own, whatever all others have.
    page.click("#values")
    page.select_option("#value-tools", "list")
    page.fill("#value-functions", '[{"name": "clock"}]')
    page.select_option("#value-tool_choice", label="Auto")
    done(page)
    cap(page, 4)
    run(page, "Say hello")
    ended(page)
    weather = {"type": "function", "function": {"name": "weather"}}
    offered = [(body.get("tools"), body.get("tool_choice")) for body in bodies]
    assert sorted(offered, key=str) == sorted([([weather], "auto"), (None, None)], key=str)
    page.reload()
    expect(page.locator(".lane .tags")).to_have_text(tags)
    choose(page, "A", "Values…")
    expect(page.locator("#value-tools")).to_have_value("list")
    expect(page.locator("#value-functions")).to_have_value(re.compile("weather"))
    page.select_option("#value-tools", "")
    expect(page.locator("#value-functions")).to_have_count(0)
    done(page)
    expect(page.locator(".lane .tags")).to_have_text(["tools clock", "tools none"])


def test_values_of_a_lane_are_all_that_it_asks_and_each_is_taken_back(page: Page) -> None:
    values = {"thinking_budget": 64, "class": "agent", "parallel_tool_calls": False, "preserve_thinking": True}
    values |= {"ignore_eos": True, "logit_bias": {"7": 1}, "reasoning_effort": "low", "model": "gone", "logprobs": True}
    page.evaluate(KEEP, ["One", "Two"])
    page.evaluate(
        """async (values) => {
          const { read, save } = await import("/ui/store/runs.js");
          const run = await read("kept");
          await save({ ...run, lanes: run.lanes.map((lane, at) => ({ ...lane, values: at ? values : {} })) });
        }""",
        values,
    )
    page.goto(f"{page.url.split('#')[0]}#/compare/kept")
    tags = lane(page, "B").locator(".tags")
    for words in ("thinking budget 64", "class agent", "parallel calls no", "keep reasoning yes", "ignore the end yes"):
        expect(tags).to_contain_text(words)
    choose(page, "B", "Values…")
    expect(page.locator("#value-logit_bias")).to_have_value('{"7":1}')
    page.get_by_role("button", name="Logit bias: as all").click()
    expect(page.locator("#value-thinking_budget")).to_have_value("64")
    page.fill("#value-thinking_budget", "")
    page.press("#value-thinking_budget", "Tab")
    chosen = {"class": "agent", "parallel_tool_calls": False, "preserve_thinking": True, "ignore_eos": True}
    for name, value in chosen.items():
        expect(page.locator(f"#value-{name}")).to_have_value(json.dumps(value))
        page.select_option(f"#value-{name}", "")
    expect(page.locator("#value-model")).to_have_value("gone")
    page.select_option("#value-model", "")
    expect(page.locator("[name=value-effort][value=low]")).to_be_checked()
    # This model does not think, so that with the last value all of it goes.
    page.locator("[name=value-effort][value='']").click(force=True)
    expect(page.locator("[name=value-effort]")).to_have_count(0)
    page.get_by_role("button", name="logprobs: as all").click()
    expect(page.locator(".other")).to_have_count(0)
    done(page)
    expect(tags).to_have_text("same as A")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("shape", [{"viewport": {"width": 1440, "height": 900}}, PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing_in_what_is_varied_and_all_of_it_has_room(
    browser: Browser, paced_server: Server, axe: str, scheme: str, shape: dict[str, Any]
) -> None:
    room = """[document.documentElement, ...document.querySelectorAll("dialog")]
      .map((each) => each.scrollWidth - each.clientWidth)"""
    with opened_page(browser, origin(paced_server), "/ui/#/compare", color_scheme=scheme, **shape) as page:
        expect(page.locator("#model")).to_have_attribute("data-state", "serving")
        for name in ("system", "stop", "tools", "response_format"):
            vary_field(page, name)
            if name == "system":
                page.click("#vary-add")
                expect(page.locator("#vary-text-2")).to_be_focused()
            if name == "response_format":
                for form in ("Schema", "Regex", "Grammar", "Choice"):
                    page.get_by_label(form, exact=True).check()
                    page.fill(f"#vary-{form.lower()}", '"' + "long" * 40)
                page.press("#vary-choice", "Tab")
                expect(page.locator("#vary-schema-problem")).to_be_visible()
            assert findings(page, axe) == []
            assert page.evaluate(room) == [0, 0]
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_have_count(0)
        vary_field(page, "system")
        page.fill("#vary-text-0", "word " * 40)
        page.click("#vary-make")
        expect(lane(page, "A").locator(".tags")).to_contain_text("system word")
        assert page.evaluate(room) == [0]
        choose(page, "A", "Values…")
        page.click("summary")
        page.select_option("#value-output", "schema")
        page.select_option("#value-tools", "list")
        expect(page.locator("#value-functions")).to_be_visible()
        assert findings(page, axe) == []
        assert page.evaluate(room) == [0, 0]


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("to", "1,5", "Decimals have a point: 1.5"),
        ("from", "-1", "From 0 to 2"),
        ("count", "abc", "Not a number"),
        ("count", "9", "From 1 to 8"),
        ("count", "2.5", "A whole number"),
    ],
)
def test_what_cannot_be_varied_is_kept_as_it_was_typed_and_said_at_its_field(
    page: Page, field: str, typed: str, words: str
) -> None:
    page.click("#vary")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.check("[name=vary-kind][value=field]", force=True)
    page.fill(f"#vary-{field}", typed)
    page.press(f"#vary-{field}", "Enter")
    expect(page.locator(f"#vary-{field}-problem")).to_have_text(words)
    expect(page.locator(f"#vary-{field}")).to_have_value(typed)
    expect(page.locator("#vary-make")).to_be_disabled()
    page.fill(f"#vary-{field}", "2")
    expect(page.locator("#vary-make")).to_be_enabled()
    page.fill(f"#vary-{field}", "")
    expect(page.locator("#vary-says")).to_contain_text("Not set")


def test_a_lane_that_asks_what_is_no_number_is_not_run_alone(page: Page) -> None:
    page.fill("#prompt", "Say hello")
    choose(page, "B", "Values…")
    page.fill("#value-temperature", "1,5")
    page.press("#value-temperature", "Tab")
    expect(page.locator("#value-temperature-problem")).to_have_text("Decimals have a point: 1.5")
    page.click("dialog >> text=Done")
    page.click("#lane-menu-B")
    item = page.get_by_role("menuitem", name="Run this lane")
    expect(item).to_be_disabled()
    expect(item).to_contain_text("Temperature: Decimals have a point: 1.5")
    page.keyboard.press("Escape")
    page.click("#lane-menu-A")
    expect(page.get_by_role("menuitem", name="Run this lane")).to_be_enabled()


def test_lanes_of_other_models_run_a_model_at_a_time(
    browser: Browser, start_server: Any, real_model: Path, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        shutil.copy(real_model, tmp_path / f"{name}.gguf")
    flags = ["--model-artifact", str(tmp_path / "first.gguf"), "--download-path", str(tmp_path)]
    with start_server(*flags) as server, opened_page(browser, origin(server), "/ui/#/compare") as page:
        expect(page.locator("#model-name")).to_have_text("first")
        cap(page, 8)
        choose(page, "B", "Another like it")
        choose(page, "B", "Another like it")
        for letter, model in zip("ABCD", ("first", "second") * 2, strict=True):
            choose(page, letter, "Values…")
            page.select_option("#value-model", model)
            page.fill("#value-seed", "5")
            page.click("dialog >> text=Done")
        run(page, "Say hello")
        texts = ended(page)
        # The same file under two names, so all four say the same; and the server has switched once.
        assert len(set(texts)) == 1
        assert len(texts) == 4
        switches = server.client.json("GET", "/v1/models")["switches"]
        assert [(one["from"], one["to"]) for one in switches if one["outcome"] == "switched"] == [("first", "second")]


def test_all_of_it_goes_by_keyboard(paced_page: Page) -> None:
    page = paced_page
    page.focus("#prompt")
    page.keyboard.type("Say exactly: one two three")
    page.keyboard.press("Enter")
    assert ended(page) == ["one two three"] * 2
    page.focus("#lane-menu-B")
    page.keyboard.press("Enter")
    expect(page.locator("#lane-menu-B-menu")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.locator("#lane-menu-B-menu")).to_be_hidden()
    expect(page.locator("#lane-menu-B")).to_be_focused()
    page.focus("#vary")
    page.keyboard.press("Enter")
    expect(page.locator("dialog[open]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    expect(page.locator("#vary")).to_be_focused()


def test_a_phone_turns_pages_and_never_scrolls_sideways(browser: Browser, paced_server: Server) -> None:
    with opened_page(browser, origin(paced_server), "/ui/#/compare", **PHONE) as page:
        page.click("#compare-more")
        page.click("#compare-more-menu >> text=Another lane")
        run(page, "Tell me")
        expect(page.locator(".strip .where").nth(2)).to_have_text(re.compile(r"word \d+"))
        page.click("#stop-all")
        ended(page)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.click(".strip button >> nth=2")
        expect(page.locator(".strip button").nth(2)).to_have_attribute("aria-current", "true")
        expect(lane(page, "C").locator("footer")).to_be_in_viewport(ratio=0.9)
        expect(lane(page, "A").locator("footer")).not_to_be_in_viewport()


def test_a_number_half_typed_stays_when_the_page_draws_anew(paced_page: Page) -> None:
    page = paced_page
    page.click("#values")
    expect(page.locator("#value-top_k")).to_be_visible()
    page.focus("#value-top_k")
    page.keyboard.type("12")
    page.evaluate("import('/ui/state/server.js').then(({ models }) => (models.value = structuredClone(models.value)))")
    page.keyboard.type("3")
    page.keyboard.press("Tab")
    expect(page.locator("#value-top_k")).to_have_value("123")
    values = page.evaluate("import('/ui/state/compare.js').then(({ open }) => open.value.values.value)")
    assert values["top_k"] == 123


def test_nothing_shifts_while_lanes_are_written(paced_page: Page) -> None:
    page = paced_page
    cap(page, 40)
    page.evaluate(SHIFTS)
    page.evaluate("window.shifts.length = 0")
    run(page)
    ended(page)
    # Only figures that have become longer, at the right end of their lines.
    others = """window.shifts.flatMap(({ nodes }) => nodes)
      .filter((node) => {
        const place = node instanceof Element ? node : node?.parentElement;
        return !place?.closest("footer .figures, #prompt-counts");
      })
      .map((node) => node?.outerHTML ?? node?.data ?? null)"""
    assert page.evaluate(others) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("shape", [{"viewport": {"width": 1440, "height": 900}}, PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing(
    browser: Browser, paced_server: Server, axe: str, scheme: str, shape: dict[str, Any]
) -> None:
    with opened_page(browser, origin(paced_server), "/ui/#/compare", color_scheme=scheme, **shape) as page:
        expect(page.locator("#model")).to_have_attribute("data-state", "serving")
        assert findings(page, axe) == []
        run(page, "Tell me")
        expect(lane(page, "A").locator(".prose")).to_have_text(re.compile(r".{40}", re.DOTALL))
        assert findings(page, axe) == []
        page.click("#stop-all")
        ended(page)
        page.click("#lane-menu-A")
        assert findings(page, axe) == []
        page.keyboard.press("Escape")
        choose(page, "A", "Values…")
        assert findings(page, axe) == []
        page.keyboard.press("Escape")
        page.click("#earlier")
        expect(page.locator(".runs li")).to_have_count(1)
        assert findings(page, axe) == []


# Whether anything was asked as a chat completion: over HTTP.
USED_HTTP = "() => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/v1/chat/completions'))"


def test_eight_lanes_are_written_at_once_and_leave_the_page_its_connections(paced_page: Page) -> None:
    page = paced_page
    vary_seeds(page, 8)
    run(page, "Tell me")
    expect(page.locator(".lane[data-state=WRITING]")).to_have_count(8)
    page.goto(f"{page.url.split('#')[0]}#/monitor")
    expect(page.locator("#view h1")).to_have_text("Monitor")
    page.goto(f"{page.url.split('#')[0]}#/compare")
    expect(page.locator(".lane[data-state=WRITING]")).to_have_count(8)
    page.click("#stop-all")
    ended(page)
    assert not page.evaluate(USED_HTTP)


def test_both_transports_give_the_same_text_and_counts(page: Page) -> None:
    one, other = page.evaluate(
        """async () => {
          const { generate } = await import("/ui/api/generate.js");
          const { generateBeside } = await import("/ui/api/beside.js");
          const said = { role: "system", content: "Be brief" };
          const messages = [said, { role: "user", content: "Tell me a story" }];
          const request = { messages, seed: 11, max_completion_tokens: 24, temperature: 0.9 };
          return Promise.all([generate, generateBeside].map(async (way) => {
            const found = { text: "" };
            for await (const event of way(request, new AbortController().signal)) {
              if (event.kind === "text") found.text += event.text;
              else if (event.kind === "done") found.reason = event.reason;
              else if (event.kind === "usage") found.counts = [event.usage.prompt_tokens, event.usage.total_tokens];
            }
            return found;
          }));
        }""",
    )
    assert one == other
    assert one["text"]
    assert one["reason"] == "length"


@pytest.mark.parametrize("key", ["sekret", "no/sub=protocol"])
def test_lanes_run_with_a_key_over_http_where_no_socket_can_carry_it(
    browser: Browser, start_server: Any, key: str
) -> None:
    command = [sys.executable, "-m", "tests.e2e.paced", "40"]
    page = browser.new_context().new_page()
    with start_server("--server-api-key", key, command=command) as server:
        page.goto(f"{origin(server)}/ui/#/compare")
        page.fill("#key-input", key)
        page.press("#key-input", "Enter")
        expect(page.locator("#model")).to_have_attribute("data-state", "serving")
        run(page, "Say exactly: one two")
        assert ended(page) == ["one two"] * 2
        assert page.evaluate(USED_HTTP) == ("/" in key)
        page.context.close()


def test_lanes_cut_by_the_death_of_the_server_are_kept_and_go_on_with_the_same_text(
    browser: Browser, start_server: Any
) -> None:
    command = [sys.executable, "-m", "tests.e2e.paced", "40"]
    first = start_server(command=command)
    first.wait_ready()
    page = browser.new_context().new_page()
    page.goto(f"{origin(first)}/ui/#/compare")
    cap(page, 60)
    with held(first):
        run(page, "Tell me")
        for letter in "AB":
            expect(lane(page, letter).locator(".prose")).to_have_text(re.compile(r".{40}", re.DOTALL))
        first.stop(signal.SIGKILL)
    expect(lane(page, "A").locator(".ending")).to_contain_text("Cut off after")
    expect(lane(page, "B")).to_have_attribute("data-state", "CUT")
    kept = drawn(page)
    with start_server(command=command, port=first.port):
        expect(page.locator(".banner")).to_have_count(0)
        page.reload()
        expect(lane(page, "A")).to_have_attribute("data-state", "CUT")
        comes_to(lambda: texts_of(page), kept)
        # Of the other one the server says something else by now: what was received stays.
        page.evaluate(
            """import("/ui/state/compare.js").then(({ open }) => {
            open.value.lanes.value[1].turn.value.record.request.seed += 1; })"""
        )
        lane(page, "B").locator(".resume").click()
        expect(lane(page, "B").locator(".ending")).to_contain_text("It comes out differently from word 2 on")
        lane(page, "A").locator(".resume").click()
        expect(lane(page, "A")).to_have_attribute("data-state", "DONE")
        whole, other = drawn(page)
        assert whole.startswith(kept[0])
        assert len(whole) > len(kept[0])
        assert other == kept[1]
        page.reload()
        comes_to(lambda: texts_of(page), [whole, kept[1]])
        choose(page, "A", "Run again")
        expect(lane(page, "A").locator("footer")).to_contain_text("tok/s")
        assert ended(page)[0] == whole
        page.context.close()


def test_another_tab_follows_a_comparison_and_stops_it(paced_page: Page) -> None:
    run(paced_page)
    expect(lane(paced_page, "B").locator(".prose")).to_have_text(re.compile(r".{40}", re.DOTALL))
    expect(paced_page).to_have_url(re.compile("#/compare/."))
    other = paced_page.context.new_page()
    other.goto(paced_page.url)
    expect(other.locator("#stop-all")).to_be_visible()
    expect(lane(other, "B").locator(".prose")).to_have_text(re.compile(r".{200}", re.DOTALL))
    other.click("#stop-all")
    for tab in (paced_page, other):
        expect(lane(tab, "B").locator(".ending")).to_contain_text("Stopped by you")
    # A tab that is not looked at draws no frames.
    records = """import("/ui/state/compare.js")
      .then(({ open }) => open.value.lanes.value.map((lane) => lane.turn.value.record))"""
    assert other.evaluate(records) == paced_page.evaluate(records)
    # What is asked anew there is asked otherwise here too.
    choose(paced_page, "B", "Values…")
    paced_page.fill("#value-system", "Be brief")
    done(paced_page)
    choose(paced_page, "B", "Run again")
    expect(lane(other, "B").locator(".tags")).to_contain_text("system Be brief")
    expect(other.locator("#stop-all")).to_be_visible()
    expect(lane(other, "B").locator("footer")).not_to_contain_text("changed since")
    # The other lane goes on once that is done, and says so.
    held_up = lane(other, "A").locator(".resume")
    expect(held_up).to_be_disabled()
    expect(held_up).to_have_attribute("title", re.compile("Another tab is at it"))
    other.click("#lane-menu-A")
    menu = other.locator("#lane-menu-A-menu")
    for name in ("Run again", "Values…", "Another like it", "Remove"):
        expect(menu.get_by_role("menuitem", name=name)).to_be_disabled()
    other.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    other.click("#stop-all")
    for tab in (paced_page, other):
        expect(tab.locator("#run-all")).to_be_visible()
    expect(held_up).to_be_enabled()
    # What is set here while nothing runs is there too, and what is set there is beside it.
    choose(paced_page, "A", "Values…")
    paced_page.fill("#value-system", "Be long")
    done(paced_page)
    expect(lane(other, "A").locator(".tags")).to_contain_text("system Be long")
    choose(other, "B", "Values…")
    other.fill("#value-system", "Be a pirate")
    done(other)
    for letter, text in (("A", "Be long"), ("B", "Be a pirate")):
        expect(lane(paced_page, letter).locator(".tags")).to_contain_text(f"system {text}")


def test_a_prompt_typed_over_answers_is_kept_and_they_are_marked_as_older(paced_page: Page) -> None:
    page = paced_page
    run(page, "Say exactly: one")
    ended(page)
    page.fill("#prompt", "Say exactly: two")
    expect(lane(page, "A").locator("footer")).to_contain_text("changed since")
    wait_until(
        page,
        """async () => { const drafts = await import("/ui/store/database.js");
        return (await drafts.get("drafts", location.hash.split("/")[2]))?.text === "Say exactly: two"; }""",
    )
    page.reload()
    expect(page.locator("#prompt")).to_have_value("Say exactly: two")
    before = page.url
    page.click("#run-all")
    expect(page).not_to_have_url(before)
    assert ended(page) == ["two"] * 2
    page.go_back()
    expect(page.locator("#prompt")).to_have_value("Say exactly: one")
    found_again(page, ["one"] * 2)


ELSEWHERE = 'import("/ui/state/compare.js").then(({ open }) => open.value.isElsewhere.value)'


def test_a_lane_that_is_run_again_answers_the_new_prompt_and_the_others_go_on_with_theirs(paced_page: Page) -> None:
    first = paced_page
    run(first, "Say exactly: one")
    ended(first)
    expect(first).to_have_url(re.compile("#/compare/."))
    second = first.context.new_page()
    second.goto(first.url)
    expect(second.locator("#prompt")).to_have_value("Say exactly: one")
    first.fill("#prompt", "Say exactly: two")
    choose(first, "B", "Run again")
    for tab in (first, second):
        expect(lane(tab, "B").locator(".prose")).to_have_text("two")
        expect(lane(tab, "A").locator("footer")).to_contain_text("changed since")
        expect(lane(tab, "B").locator("footer")).not_to_contain_text("changed since")
    expect(second.locator("#prompt")).to_have_value("Say exactly: two")
    for letter, said in (("B", "two"), ("A", "one")):
        second.goto(first.url)
        choose(second, letter, "Open as chat")
        expect(second.locator(".turn.user .said")).to_have_text(f"Say exactly: {said}")
        expect(second.locator(".turn.answer .prose")).to_have_text(said)


@pytest.mark.parametrize("is_under_way", [True, False], ids=["under way", "cut by the page's death"])
def test_a_comparison_that_was_deleted_comes_back_with_all_its_text_and_is_gone_in_all_tabs(
    paced_page: Page, is_under_way: bool
) -> None:
    page, text = paced_page, lane(paced_page, "A").locator(".prose")
    said = (
        """import("/ui/state/compare.js").then(({ open }) => open.value.lanes.value[0].turn.value?.record.text ?? "")"""
    )
    run(page, "A story")
    expect(text).to_have_text(re.compile(r".{60}", re.DOTALL))
    expect(page).to_have_url(re.compile("#/compare/."))
    if not is_under_way:
        page.reload()
        expect(lane(page, "A")).to_have_attribute("data-state", "CUT")
    other = page.context.new_page()
    other.goto(page.url)
    expect(lane(other, "A").locator(".prose")).to_have_text(re.compile(r".{40}", re.DOTALL))
    page.bring_to_front()
    page.click("#earlier")
    before = page.evaluate(said)
    page.click("[aria-label='Delete A story']")
    expect(page).to_have_url(re.compile("#/compare$"))
    expect(page.locator("#prompt")).to_have_value("")
    other.bring_to_front()
    expect(other.locator("#prompt")).to_have_value("")
    expect(other.locator("#run-all")).to_be_visible()
    page.bring_to_front()
    # In the list, which covers the page.
    page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    page.click(".runs a >> text=A story")
    expect(lane(page, "A").locator(".ending")).to_be_visible()
    kept = page.evaluate(said)
    assert len(before) > 40
    assert kept.startswith(before)
    page.reload()
    expect(lane(page, "A").locator(".ending")).to_be_visible()
    comes_to(lambda: page.evaluate(said), kept)


def test_of_two_tabs_that_have_one_comparison_one_gives_it_up_and_nothing_is_lost(paced_page: Page) -> None:
    first = paced_page
    run(first, "A story")
    expect(lane(first, "B").locator(".prose")).to_have_text(re.compile(r".{40}", re.DOTALL))
    expect(first).to_have_url(re.compile("#/compare/."))
    second = first.context.new_page()
    second.goto(first.url)
    expect(second.locator("#stop-all")).to_be_visible()
    # Its main thread is busy for so long that the other tab takes the lanes for cut, and asks for one anew.
    busy: list[Route] = []
    first.route("**/busy", lambda route: busy.append(route))
    first.evaluate(BUSY)
    lane(second, "A").locator(".resume").click()
    expect(second.locator("#stop-all")).to_be_visible()
    busy[0].fulfill(body="")
    # A tab that is not looked at draws no frames: what it has is asked for.
    said = """import("/ui/state/compare.js").then(({ open }) =>
      open.value.lanes.value.map((lane) => lane.turn.value.record.text))"""
    comes_to(lambda: [first.evaluate(ELSEWHERE), second.evaluate(ELSEWHERE)], [False, True])
    came = first.evaluate(said)
    second.click("#stop-all")
    for tab in (first, second):
        expect(lane(tab, "B").locator(".ending")).to_contain_text("Stopped by you")
    comes_to(lambda: second.evaluate(said) == first.evaluate(said), True)
    kept = first.evaluate(said)
    assert all(text.startswith(before) for text, before in zip(kept, came, strict=True))
    second.reload()
    expect(lane(second, "B").locator(".ending")).to_contain_text("Stopped by you")
    assert second.evaluate(said) == kept
