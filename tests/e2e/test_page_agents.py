"""Agents in a browser: tasks that run beside each other, and what they took."""

import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.axe import findings
from tests.e2e.browser import CHROMIUM, comes_to, opened_page, origin, wait_until
from tests.e2e.playground import held, paced
from tests.e2e.server import Server, parse_events

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

SYSTEM = "You answer in one short sentence. " + "The harbour office opens at eight and closes at six. " * 12
TASKS = ["When does the office open?", "When does it close?", "Who owns the crane?"]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    server.wait_ready()
    with opened_page(browser, origin(server), "/ui/#/agents") as opened:
        yield opened


@pytest.fixture
def paced_page(browser: Browser, paced_server: Server) -> Iterator[Page]:
    with opened_page(browser, origin(paced_server), "/ui/#/agents") as opened:
        yield opened


def cap(page: Page, tokens: int) -> None:
    page.fill("#limit-max_completion_tokens", str(tokens))
    page.press("#limit-max_completion_tokens", "Tab")


def run(page: Page, tasks: list[str]) -> None:
    page.fill("#prompt", "\n".join(tasks))
    page.click("#run")
    expect(page.locator(".task-table tbody tr")).to_have_count(len(tasks))


def row(page: Page, number: int) -> Locator:
    return page.locator(".task-table tbody tr").nth(number - 1)


def ended(page: Page) -> list[str]:
    """Waits until nothing runs; returns the answers."""
    expect(page.locator("#stop-all")).to_be_disabled()
    lanes = "import('/ui/state/agents.js').then(({ open }) => open.value.lanes.value.map((lane) => lane.toRecord()))"
    texts = [record["turn"] and record["turn"]["text"] for record in page.evaluate(lanes)]
    return [text for text in texts if text is not None]


def test_tasks_run_beside_each_other_as_agents_and_what_they_share_is_read_once(page: Page, server: Server) -> None:
    page.fill("#task-system", SYSTEM)
    cap(page, 12)
    run(page, TASKS)
    texts = ended(page)
    assert len(texts) == 3
    assert all(texts)
    for number in (1, 2, 3):
        # Seconds, prompt (cached), tokens, rate, seconds.
        figures = row(page, number).inner_text()
        assert re.search(r"(done|at limit).*\d\.\d\d s.*\d+ \(\d+\).*\d+.*\d\.\d\d s", figures, re.DOTALL), figures
    totals = page.locator(".totals").inner_text()
    assert "3 of 3 done" in totals
    cached, total = re.findall(r"(\d+) of (\d+) tokens from the cache", totals)[0]
    assert int(cached) > 0.5 * int(total)
    admitted = parse_events(server.log_text(), "ignis.request.admitted")
    assert [event["class"] for event in admitted[-3:]] == ["agent"] * 3


def test_the_open_task_is_shown_whole(paced_page: Page) -> None:
    page = paced_page
    page.fill("#task-system", "Be brief.")
    cap(page, 8)
    run(page, ["Say exactly: Hello", "Say exactly: Goodbye"])
    assert ended(page) == ["Hello", "Goodbye"]
    page.click(".task-table .name >> nth=1")
    detail = page.locator(".detail")
    expect(detail.locator(".said")).to_have_text("Say exactly: Goodbye")
    expect(detail.locator(".prose")).to_have_text("Goodbye")
    detail.locator("summary >> text=Raw").click()
    request = detail.locator("pre").first.inner_text()
    assert '"class": "agent"' in request
    assert '"tools"' not in request
    assert request.count('"role"') == 2
    page.keyboard.press("Escape")
    expect(detail).to_have_count(0)


def test_the_same_again_says_the_same_as_a_list_of_its_own(page: Page) -> None:
    cap(page, 16)
    run(page, TASKS[:2])
    texts = ended(page)
    first = page.url
    page.click("#run-again")
    expect(page).not_to_have_url(first)
    assert ended(page) == texts
    page.click("#earlier")
    expect(page.locator(".runs li")).to_have_count(2)


def test_the_answer_of_a_task_that_was_run_again_comes_back_by_undo(paced_page: Page) -> None:
    page = paced_page
    answer = """import("/ui/state/agents.js").then(({ open }) =>
      [open.value.lanes.value[0].turn.value.id, open.value.lanes.value[0].turn.value.record.state])"""
    run(page, ["Say exactly: Hello"])
    expect(row(page, 1)).to_contain_text("done")
    first = page.evaluate(answer)
    page.click("[aria-label='Run task 1']")
    comes_to(lambda: page.evaluate(answer)[0] != first[0], True)
    page.get_by_role("button", name="Undo").click()
    comes_to(lambda: page.evaluate(answer), first)
    expect(row(page, 1).locator(".preview")).to_have_text("Hello")


def test_more_tasks_than_eight_wait_in_line_and_each_can_be_stopped(paced_page: Page) -> None:
    page = paced_page
    run(page, [f"Task {number}" for number in range(1, 11)])
    expect(row(page, 9)).to_contain_text("in line")
    expect(row(page, 1)).to_contain_text("writing")
    page.click("[aria-label='Stop task 1']")
    expect(row(page, 1)).to_contain_text("stopped")
    # Its slot goes to the ninth, and the tenth waits on.
    expect(row(page, 9)).not_to_contain_text("in line")
    expect(row(page, 10)).to_contain_text("in line")
    page.click("[aria-label='Stop task 10']")
    expect(row(page, 10)).to_contain_text("not run yet")
    page.click("#stop-all")
    ended(page)
    expect(page.locator(".task-table tr[data-state=STOPPED]")).to_have_count(9)


def test_a_list_that_another_tab_runs_is_held_here_and_can_be_stopped(paced_page: Page, paced_server: Server) -> None:
    first = paced_page
    with held(paced_server):
        run(first, ["A story", "Another story", "Say exactly: three"])
        expect(row(first, 3)).to_contain_text("done")
        for number in (1, 2):
            expect(row(first, number).locator(".preview")).not_to_be_empty()
        first.click("[aria-label='Stop task 2']")
        expect(first.get_by_label("Resume task 2 exactly")).to_be_enabled()
        second = first.context.new_page()
        second.goto(first.url)
        expect(second.get_by_label("Stop task 1")).to_be_enabled()
        boxes = [f"#limit-{name}" for name in ("max_completion_tokens", "temperature")]
        labels = ["Resume task 2 exactly", "Run task 2", "Run task 3", "Remove task 2", "Remove task 3"]
        for label in labels:
            expect(second.get_by_label(label)).to_be_disabled()
            expect(second.get_by_label(label)).to_have_attribute("title", re.compile("Another tab is at it"))
        for box in ("#task-system", *boxes):
            expect(second.locator(box)).to_be_disabled()
        # What is typed is this tab's own, and runs once that is done.
        second.fill("#prompt", "Say exactly: four")
        expect(second.locator("#run")).to_be_disabled()
        expect(second.locator("#run")).to_have_attribute("title", "Another tab runs this list")
        second.press("#prompt", "Control+Enter")
        second.click("[aria-label='Stop task 1']")
        for tab in (first, second):
            expect(tab.get_by_label("Resume task 1 exactly")).to_be_enabled()
        for label in labels:
            expect(second.get_by_label(label)).to_be_enabled()
        for box in ("#task-system", *boxes, "#run"):
            expect(second.locator(box)).to_be_enabled()
        expect(second.locator(".task-table tbody tr")).to_have_count(3)
        expect(second.locator("#prompt")).to_have_value("Say exactly: four")
    second.context.close()


def test_a_task_that_is_refused_says_by_which_code_and_the_others_go_on(paced_page: Page) -> None:
    page = paced_page
    run(page, ["harbour " * 9000, "Say exactly: two"])
    expect(row(page, 1).locator(".tag.bad")).to_have_text("failed (context_length_exceeded)")
    expect(row(page, 2)).to_contain_text("done")
    assert ended(page) == ["", "two"]
    row(page, 1).locator("button.name").click()
    expect(page.locator(".detail")).to_contain_text("8192")


def test_a_full_server_is_waited_for_and_the_page_says_so(browser: Browser, start_server: Any) -> None:
    # The browser itself writes each refusal into the console, so this page may complain.
    page = browser.new_context().new_page()
    with start_server("--model-decode-lanes", "1", command=paced(40)) as server:
        page.goto(f"{origin(server)}/ui/#/agents")
        cap(page, 60)
        with held(server):
            run(page, ["One", "Two"])
            waits = page.locator(".task-table .wait:not(:empty)")
            expect(waits).to_have_text(re.compile(r"full, again in \d+ s|place \d"))
        assert all(ended(page))
        expect(page.locator(".totals")).to_contain_text("2 of 2 done")
        page.context.close()


def test_tasks_are_kept_with_what_came_when_the_page_died_and_go_on(paced_page: Page, paced_server: Server) -> None:
    page = paced_page
    cap(page, 120)
    with held(paced_server):
        run(page, ["One", "Two"])
        expect(row(page, 1)).to_contain_text("writing")
        wait_until(
            page,
            """async () => { const { open } = await import("/ui/state/agents.js");
            const { readPieces } = await import("/ui/store/turns.js");
            const kept = open.value.lanes.value.map((lane) => readPieces(lane.turn.value?.id ?? ""));
            const texts = (await Promise.all(kept)).map((pieces) => pieces.map(({ text }) => text).join(""));
            return texts.every((text) => text.length > 30); }""",
        )
        page.reload()
        expect(row(page, 1)).to_contain_text("cut off")
        before = ended(page)
    assert all(len(text) > 30 for text in before)
    page.click("[aria-label='Resume task 2 exactly']")
    expect(row(page, 2)).to_contain_text("at limit")
    expect(row(page, 1)).to_contain_text("cut off")
    page.click("#run")
    expect(row(page, 1)).to_contain_text("at limit")
    after = ended(page)
    assert all(text.startswith(known) and len(text) > len(known) for text, known in zip(after, before, strict=True))
    page.click("[aria-label='Run task 2']")
    expect(row(page, 2)).to_contain_text("writing")
    assert ended(page) == after


def test_tasks_in_line_when_the_server_dies_wait_until_it_is_back(browser: Browser, start_server: Any) -> None:
    first = start_server(command=paced(40))
    first.wait_ready()
    page = browser.new_context().new_page()
    page.goto(f"{origin(first)}/ui/#/agents")
    cap(page, 20)
    with held(first, 10):
        run(page, [f"Task {number}" for number in range(1, 12)])
        for number in range(1, 9):
            expect(row(page, number).locator("[data-label=Wrote]")).to_have_text(re.compile(r"\d"))
        first.stop(signal.SIGKILL)
    expect(page.locator(".task-table tr[data-state=CUT]")).to_have_count(8)
    for number in range(9, 12):
        expect(row(page, number)).to_contain_text("in line")
    wrote = page.locator("[data-label=Wrote]").all_inner_texts()
    expect(page.locator(".totals")).to_contain_text(f" {sum(int(count or 0) for count in wrote)} written")
    page.click("[aria-label='Stop task 11']")
    expect(row(page, 11)).to_contain_text("not run yet")
    with start_server(command=paced(40), port=first.port):
        for number in (9, 10):
            expect(row(page, number)).to_contain_text("at limit")
        expect(page.locator("#stop-all")).to_be_disabled()
        expect(row(page, 11)).to_contain_text("not run yet")
        page.context.close()


def test_what_is_typed_is_kept_and_an_empty_line_parts_longer_tasks(paced_page: Page) -> None:
    page = paced_page
    page.fill("#prompt", "First line\nof one task\n\nA second task")
    expect(page.locator("#run")).to_have_text("Run 2")
    wait_until(
        page,
        """async () => { const store = await import("/ui/store/drafts.js");
        return String(await store.read("agents")).endsWith("second task"); }""",
    )
    page.reload()
    expect(page.locator("#prompt")).to_have_value("First line\nof one task\n\nA second task")


def test_all_of_it_goes_by_keyboard(paced_page: Page) -> None:
    page = paced_page
    page.focus("#prompt")
    page.keyboard.type("Say exactly: one\nSay exactly: two")
    page.keyboard.press("Control+Enter")
    expect(row(page, 2)).to_contain_text("done")
    assert ended(page) == ["one", "two"]
    page.focus(".task-table .name")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".detail .said")).to_have_text("Say exactly: two")


def test_a_phone_shows_cards_and_opens_one_over_all(browser: Browser, paced_server: Server) -> None:
    with opened_page(browser, origin(paced_server), "/ui/#/agents", **PHONE) as page:
        run(page, ["Say exactly: one", "Say exactly: two"])
        expect(row(page, 2)).to_contain_text("done")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.click(".task-table .name >> nth=1")
        box = page.locator(".detail").bounding_box()
        assert box
        assert box["width"] == 360
        page.click(".detail [aria-label=Close]")
        expect(page.locator(".detail")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("shape", [{"viewport": {"width": 1440, "height": 900}}, PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing(
    browser: Browser, paced_server: Server, axe: str, scheme: str, shape: dict[str, Any]
) -> None:
    with opened_page(browser, origin(paced_server), "/ui/#/agents", color_scheme=scheme, **shape) as page:
        expect(page.locator("#model")).to_have_attribute("data-state", "serving")
        assert findings(page, axe) == []
        run(page, ["One", "Two"])
        expect(row(page, 2)).to_contain_text("writing")
        assert findings(page, axe) == []
        page.click("#stop-all")
        ended(page)
        page.click(".task-table .name >> nth=0")
        expect(page.locator(".detail .prose")).to_be_visible()
        assert findings(page, axe) == []


def test_a_task_is_not_run_with_a_limit_that_is_no_number(page: Page) -> None:
    cap(page, 4)
    run(page, TASKS[:1])
    ended(page)
    again = page.get_by_role("button", name="Run task 1")
    expect(again).to_be_enabled()
    page.fill("#limit-temperature", "warm")
    page.press("#limit-temperature", "Tab")
    expect(page.locator("#limit-temperature-problem")).to_have_text("Not a number")
    expect(again).to_be_disabled()
    expect(again).to_have_attribute("title", "Temperature: Not a number")
    expect(page.locator("#run-again")).to_be_disabled()


def test_what_was_typed_and_run_while_the_draft_was_read_does_not_come_back(page: Page) -> None:
    expect(page.locator("#run")).to_be_visible()
    prompt = page.evaluate(
        """async () => {
          const { shelf } = await import("/ui/state/agents.js");
          await shelf.type("A task");
          const read = shelf.start();
          await Promise.all([shelf.type(""), read]);
          return shelf.open.value.prompt.value;
        }"""
    )
    assert prompt == ""
