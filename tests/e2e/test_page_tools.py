"""A call of a tool: its result is given on its card, both are history, and the model goes on from there."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.axe import findings
from tests.e2e.browser import CHROMIUM, opened_page
from tests.e2e.conftest import ANSWER
from tests.e2e.playground import answered, ask
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

STREAM = {"Content-Type": "text/event-stream"}
DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
WEATHER = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}


@pytest.fixture
def page(browser: Browser, agent_server: Server) -> Iterator[Page]:
    agent_server.wait_ready()
    with opened_page(browser, f"http://127.0.0.1:{agent_server.port}") as opened:
        opened.click("#set-tools-on")
        opened.fill("#set-tools", json.dumps([WEATHER]))
        yield opened


def test_a_result_that_is_given_is_history_and_the_model_goes_on(page: Page, axe: str) -> None:
    ask(page, "The weather in Cologne?")
    card = page.locator(".tool-card")
    expect(card.locator("strong")).to_have_text("weather")
    box = card.get_by_label("Result of weather")
    box.fill("Ra")
    page.reload()
    expect(box).to_have_value("Ra")
    assert findings(page, axe) == []
    box.fill("Rain")
    box.press("Control+Enter")
    expect(card.locator(".tag")).to_have_text("answered")
    expect(page.locator(".turn.answer")).to_have_count(2)
    assert answered(page, 2)[1] == ANSWER
    ask(page, "And tomorrow?")
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(3)
    page.click("#tab-raw")
    page.click("#raw-text")
    request = json.loads(page.locator("#panel-body pre").first.inner_text())
    _, said, result, answer, question = request["messages"]
    (call,) = said["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"city": "Köln", "days": 2}
    assert (said["role"], result["role"], result["tool_call_id"]) == ("assistant", "tool", call["id"])
    assert (result["content"], answer["content"], question["content"]) == ("Rain", ANSWER, "And tomorrow?")


def test_a_model_that_did_not_go_on_can_be_told_to(page: Page) -> None:
    ask(page, "The weather in Cologne?")
    page.get_by_label("Result of weather").fill("Rain")
    page.get_by_text("Give the result").click()
    assert answered(page, 2)[1] == ANSWER
    page.reload()
    assert answered(page, 2)[1] == ANSWER
    page.click(".turn.answer [aria-haspopup=menu] >> nth=1")
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.locator(".turn.answer")).to_have_count(1)
    page.click(".carry-on")
    assert answered(page, 2)[1] == ANSWER
    expect(page.locator(".carry-on")).to_have_count(0)


def streamed(*deltas: dict[str, Any], reason: str = "stop") -> str:
    """A completion as a server streams it."""
    chunks = [*({"delta": delta} for delta in deltas), {"delta": {}, "finish_reason": reason}]
    return (
        "".join(f"data: {json.dumps({'model': 'm', 'choices': [chunk]})}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    )


def answering(page: Page, *bodies: str) -> list[Any]:
    """From now on the chat of that page is answered so, time after time. Returns its requests."""
    asked: list[Any] = []

    def answer(route: Route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(body=bodies[len(asked) - 1], headers=STREAM)

    page.route("**/v1/chat/completions", answer)
    return asked


def calling(*calls: dict[str, Any]) -> str:
    """An answer that calls tools."""
    deltas = [{"index": at, "function": call} for at, call in enumerate(calls)]
    return streamed({"tool_calls": deltas}, reason="tool_calls")


def agents_call(*tasks: str) -> dict[str, str]:
    return {"name": "agents", "arguments": json.dumps({"tasks": tasks})}


SO = streamed({"content": "It is so."})


def test_the_pages_own_tools_are_done_as_they_are_called(page: Page) -> None:
    why = {"name": "ask", "arguments": json.dumps({"question": "Why?"})}
    calls = calling({"name": "date_and_time", "arguments": "{}"}, agents_call("One", "Two"), why)
    asked = answering(page, calls, SO)
    page.click("#set-own-tools")
    ask(page, "What now?")
    cards = page.locator(".tool-card")
    expect(cards).to_have_count(3)
    # What asks the person waits for the person.
    expect(cards.locator(".tag")).to_have_text(["answered", "answered", "called"])
    page.get_by_label("Result of ask").fill("Because")
    page.get_by_text("Give the result").click()
    expect(page.locator(".turn.answer .prose").last).to_have_text("It is so.")
    assert [tool["function"]["name"] for tool in asked[0]["tools"]] == ["agents", "ask", "date_and_time", "weather"]
    now, agents, reason = (message["content"] for message in asked[1]["messages"] if message["role"] == "tool")
    assert now.split()[3] == str(datetime.now().astimezone().year)
    assert agents == f"Task 1: One\n{ANSWER}\n\nTask 2: Two\n{ANSWER}"
    assert reason == "Because"
    page.evaluate("location.hash = '#/agents'")
    expect(page.locator(".task-table tbody tr")).to_have_count(2)


def test_a_list_of_tasks_that_is_stopped_leaves_the_call_to_the_person(page: Page) -> None:
    answering(page, calling(agents_call("One")))
    # An agent that never answers.
    page.evaluate(
        "import('/ui/api/socket.js').then(({ socket }) => { socket.respond = async function* (_, signal) {"
        " await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))); }; })"
    )
    page.click("#set-own-tools")
    ask(page, "What now?")
    expect(page.locator(".tool-card")).to_contain_text("0 of 1 tasks done")
    page.locator(".tool-card").get_by_text("Stop").click()
    expect(page.locator(".tool-card .do")).to_have_text("Go on")
    expect(page.locator(".tool-card .tasks")).to_contain_text("0 of 1 tasks done, 1 can go on")
    expect(page.locator(".tool-card .tag")).to_have_text("called")
    expect(page.locator(".turn.answer")).to_have_count(1)


def test_a_result_that_comes_after_another_message_leaves_that_where_it_is(page: Page) -> None:
    ask(page, "The weather in Cologne?")
    box = page.get_by_label("Result of weather")
    expect(box).to_be_visible()
    ask(page, "Never mind")
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(2)
    box.first.fill("Rain")
    box.first.press("Control+Enter")
    expect(page.locator(".tool-card .tag").first).to_have_text("answered")
    expect(page.locator(".turn.user .said")).to_have_text(["The weather in Cologne?", "Never mind"])
    expect(page.locator(".turn.answer")).to_have_count(2)


@pytest.mark.parametrize("how", ["hand", "error"])
def test_a_malformed_call_says_what_is_wrong_and_can_be_answered(page: Page, how: str) -> None:
    asked = answering(page, calling({"name": "agents", "arguments": '{"tasks": ["One"'}), SO)
    page.click("#set-own-tools")
    ask(page, "What now?")
    card = page.locator(".tool-card")
    expect(card.locator(".tag")).to_have_text("malformed")
    expect(card.locator(".problem")).to_contain_text("The arguments are no JSON: ")
    flaw = card.locator(".problem").inner_text()
    if how == "hand":
        page.get_by_label("Result of agents").fill("One is done.")
        page.get_by_text("Give the result").click()
    else:
        page.get_by_text("Send the error").click()
    expect(page.locator(".turn.answer .prose").last).to_have_text("It is so.")
    expect(card.locator(".tag")).to_have_text("answered")
    (said,) = (message for message in asked[1]["messages"] if "tool_calls" in message)
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"malformed": '{"tasks": ["One"'}
    assert results(asked[1]) == ["One is done." if how == "hand" else flaw]


@pytest.mark.parametrize("how", ["hand", "error"])
def test_a_call_that_names_no_tool_can_be_answered(page: Page, how: str) -> None:
    asked = answering(page, calling({"arguments": '{"city": "Bonn"}'}), SO)
    ask(page, "What now?")
    card = page.locator(".tool-card")
    expect(card.locator(".problem")).to_have_text("The call names no tool.")
    if how == "hand":
        page.get_by_label("Result of tool").fill("Rain.")
        page.get_by_text("Give the result").click()
    else:
        page.get_by_text("Send the error").click()
    expect(page.locator(".turn.answer .prose").last).to_have_text("It is so.")
    (said,) = (message for message in asked[1]["messages"] if "tool_calls" in message)
    named = {"name": "tool", "arguments": json.dumps({"malformed": '{"city": "Bonn"}'}, separators=(",", ":"))}
    assert said["tool_calls"][0]["function"] == named
    assert results(asked[1]) == ["Rain." if how == "hand" else "The call names no tool."]


def test_an_empty_result_is_given_only_where_it_is_meant(page: Page) -> None:
    ask(page, "The weather in Cologne?")
    box = page.get_by_label("Result of weather")
    expect(page.get_by_role("button", name="Give the result")).to_be_disabled()
    box.press("Control+Enter")
    box.fill(" ")
    expect(page.get_by_role("button", name="Give the result")).to_be_disabled()
    box.fill("Rain")
    expect(page.get_by_text("Give nothing")).to_have_count(0)
    box.fill("")
    expect(page.locator(".tool-card .tag")).to_have_text("called")
    page.get_by_text("Give nothing").click()
    expect(page.locator(".tool-card .tag")).to_have_text("answered")
    assert answered(page, 2)[1] == ANSWER


# Agents whose answers a test ends by hand: the last message of each, and how it is let go.
HELD = """import('/ui/api/socket.js').then(({ socket }) => {
  window.held = new Map();
  window.stopped = [];
  socket.respond = async function* (request, signal) {
    const task = request.input.at(-1).content;
    const loss = await new Promise((resolve, reject) => {
      held.set(task, resolve);
      signal.addEventListener('abort', () => { stopped.push(task); reject(signal.reason); });
    });
    yield { type: 'response.in_progress', response: { model: 'agent' } };
    if (loss) {
      yield { type: 'response.output_text.delta', delta: `${task} is` };
      throw loss;
    }
    yield { type: 'response.output_text.delta', delta: `${task} is done.` };
    yield { type: 'response.completed', response: { usage: { input_tokens: 1, output_tokens: 3, total_tokens: 4 } } };
  };
})"""


def agents_called(page: Page, tasks: list[str], *answers: str) -> list[Any]:
    """Asks what calls agents; the further answers of the chat are given. Returns the requests of the chat."""
    asked = answering(page, calling(agents_call(*tasks)), *(streamed({"content": text}) for text in answers))
    page.evaluate(HELD)
    page.click("#set-own-tools")
    ask(page, "What now?")
    expect(page.locator(".tool-card .tasks")).to_contain_text(f"0 of {len(tasks)} tasks done")
    page.wait_for_function("(count) => held.size === count", arg=len(tasks))
    return asked


def let_go(page: Page) -> None:
    page.evaluate("for (const end of held.values()) end()")


def results(request: Any) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def test_a_call_ends_with_the_branch_that_it_is_on(page: Page) -> None:
    asked = agents_called(page, ["One", "Two"], "Another answer.", "It is so.")
    page.locator(".turn.answer").hover()
    page.get_by_role("button", name="Regenerate").click()
    expect(page.locator(".turn.answer .prose").last).to_have_text("Another answer.")
    page.wait_for_function("() => stopped.length === 2")
    assert len(asked) == 2
    expect(page.locator("#stop")).to_have_count(0)


def test_tasks_that_end_on_a_branch_that_is_not_shown_change_no_view(page: Page) -> None:
    asked = agents_called(page, ["One"], "Another answer.", "It is so.")
    # Another version of the answer, which leaves the call going.
    page.evaluate(
        """async () => { const { path } = await import('/ui/state/tree.js');
        await (await import('/ui/state/talk.js')).correct(path.value.at(-1), 'My words.'); }"""
    )
    expect(page.locator(".turn.answer .prose")).to_have_text("My words.")
    let_go(page)
    expect(page.locator("#stop")).to_have_count(0)
    expect(page.locator(".turn.answer .prose")).to_have_text("My words.")
    assert len(asked) == 1
    page.click("[aria-label='Earlier version']")
    expect(page.locator(".tool-card .tag")).to_have_text("answered")
    page.click(".carry-on")
    expect(page.locator(".turn.answer .prose").last).to_have_text("Another answer.")
    assert results(asked[1]) == ["Task 1: One\nOne is done."]


@pytest.mark.parametrize("how", ["button", "Escape", "question", "chat"])
def test_tasks_of_a_call_stop_as_an_answer_does(page: Page, how: str) -> None:
    asked = agents_called(page, ["One", "Two"])
    if how == "button":
        page.click("#stop")
    elif how == "Escape":
        page.focus("#prompt")
        page.keyboard.press("Escape")
    elif how == "question":
        page.locator(".turn.user").hover()
        page.click(".turn.user .drop")
    else:
        page.locator(".list li").hover()
        page.click(".list li .drop")
    page.wait_for_function("() => stopped.length === 2")
    expect(page.locator("#stop")).to_have_count(0)
    if how in ("button", "Escape"):
        expect(page.locator(".tool-card .do")).to_have_text("Go on")
    else:
        page.click("#undo")
        if how == "chat":
            page.click(".list li a")
        expect(page.locator(".tool-card .do")).to_have_text("Go on")
    assert len(asked) == 1


def test_a_call_whose_tasks_another_tab_has_tells_no_half_answers(page: Page) -> None:
    asked = agents_called(page, ["One", "Two"], "It is so.")
    # That tab was busy, and began them earlier.
    page.evaluate(
        """async () => {
        const { running } = await import('/ui/state/running.js');
        const { series } = [...running.value.values()].find(({ series }) => series);
        const turnOf = ({ turn }) => ({ ...structuredClone(turn.value.record), state: "WRITING", text: "Half" });
        const told = (lane) => ({ ...lane.toRecord(), turn: turnOf(lane), isInLine: false, numPieces: 1 });
        const lanes = series.lanes.value.map(told);
        series.follow({ ...series.toRecord(), lanes, isRunning: true, since: 1 });
        }"""
    )
    page.wait_for_function("() => stopped.length === 2")
    expect(page.locator("#stop")).to_have_count(0)
    expect(page.locator(".tool-card .tag")).not_to_have_text("answered")
    assert len(asked) == 1


def test_a_task_that_was_removed_is_told_as_removed(page: Page) -> None:
    asked = agents_called(page, ["One", "Two", "Three"], "It is so.")
    # What opens the list and what stops it are words of one line.
    tops = page.locator(".tool-card .tasks .link").evaluate_all(
        """(links) => links.map((link) => {
          const words = document.createRange();
          words.selectNodeContents(link);
          return Math.round(words.getBoundingClientRect().top);
        })"""
    )
    assert tops[0] == tops[1]
    page.click(".tool-card .tasks a")
    page.click("[aria-label='Stop task 1']")
    page.click("[aria-label='Remove task 1']")
    page.go_back()
    expect(page.locator(".tool-card .tasks")).to_contain_text("0 of 2 tasks done")
    let_go(page)
    expect(page.locator(".turn.answer .prose").last).to_have_text("It is so.")
    assert results(asked[1]) == [
        "Task 1: One\nThe person removed this task.\n\nTask 2: Two\nTwo is done.\n\nTask 3: Three\nThree is done."
    ]


def test_a_result_that_is_given_twice_is_given_once(page: Page) -> None:
    asked = answering(page, calling({"name": "ask", "arguments": json.dumps({"question": "Why?"})}), SO, SO)
    page.click("#set-own-tools")
    ask(page, "What now?")
    page.get_by_label("Result of ask").fill("Because")
    page.get_by_text("Give the result").dblclick()
    expect(page.locator(".turn.answer .prose").last).to_have_text("It is so.")
    expect(page.locator(".turn.answer:not(.running)")).to_have_count(2)
    expect(page.locator(".branches")).to_have_count(0)
    assert len(asked) == 2


DONE_OF_BOTH = ["Task 1: One\nOne is done.\n\nTask 2: Two\nTwo is done."]
LISTS = "import('/ui/store/runs.js').then(async ({ readAll }) => (await readAll('agents')).length)"


def beside(page: Page) -> Page:
    """A second tab at the same chat."""
    other = page.context.new_page()
    other.goto(page.url)
    return other


def test_a_list_that_was_under_way_at_a_reload_goes_on_and_is_not_made_anew(page: Page) -> None:
    asked = agents_called(page, ["One", "Two"], "It is so.")
    page.evaluate("held.get('One')()")
    tasks = page.locator(".tool-card .tasks")
    expect(tasks).to_contain_text("1 of 2 tasks done")
    page.reload()
    expect(tasks).to_contain_text("1 of 2 tasks done, 1 can go on")
    expect(page.locator(".tool-card .do")).to_have_text("Go on")
    expect(tasks.get_by_text("Stop")).to_have_count(0)
    page.evaluate(HELD)
    page.click(".tool-card .do")
    page.wait_for_function("() => held.size === 1 && held.has('Two')")
    expect(page.locator(".tool-card .do")).to_have_count(0)
    let_go(page)
    expect(page.locator(".turn.answer .prose").last).to_have_text("It is so.")
    assert results(asked[1]) == DONE_OF_BOTH
    assert page.evaluate(LISTS) == 1


@pytest.mark.parametrize("how", ["lost", "given up", "stopped"])
def test_a_list_that_is_cut_or_stopped_tells_no_half_answers_and_what_waits_comes_after_it(
    page: Page, how: str
) -> None:
    asked = agents_called(page, ["One", "Two"], "It is so.", "And so on.")
    ask(page, "What then?")
    page.evaluate("held.get('One')()")
    tasks = page.locator(".tool-card .tasks")
    expect(tasks).to_contain_text("1 of 2 tasks done")
    if how != "stopped":
        status = 0 if how == "lost" else 200
        error = f"new ApiError('The server went away', {{ status: {status} }})"
        page.evaluate(f"import('/ui/api/errors.js').then(({{ ApiError }}) => held.get('Two')({error}))")
    else:
        tasks.get_by_text("Stop").click()
    expect(tasks).to_contain_text("1 of 2 tasks done, 1 can go on")
    expect(page.locator(".queue")).to_contain_text("Not sent yet")
    expect(page.locator(".tool-card .tag")).to_have_text("called")
    page.evaluate(HELD)
    page.click(".tool-card .do")
    page.wait_for_function("() => held.has('Two')")
    let_go(page)
    expect(page.locator(".turn.answer .prose").last).to_have_text("And so on.")
    assert results(asked[1]) == DONE_OF_BOTH
    assert asked[1]["messages"][-1]["role"] == "tool"
    assert asked[2]["messages"][-1]["content"] == "What then?"


def test_another_tab_follows_a_list_and_does_not_do_it_too(page: Page) -> None:
    asked = agents_called(page, ["One", "Two"], "It is so.")
    other = beside(page)
    tasks = other.locator(".tool-card .tasks")
    expect(tasks).to_contain_text("0 of 2 tasks done")
    expect(other.locator("#stop")).to_be_visible()
    expect(other.locator(".give")).to_have_count(0)
    page.evaluate("held.get('One')()")
    expect(tasks).to_contain_text("1 of 2 tasks done")
    tasks.get_by_text("Open").click()
    expect(other.locator(".task-table tbody tr .preview")).to_have_text(["One is done.", ""])
    expect(other.locator("#stop-all")).to_be_enabled()
    other.fill("#prompt", "Three")
    expect(other.locator("#run")).to_be_disabled()
    let_go(page)
    expect(other.locator(".task-table tbody tr .preview")).to_have_text(["One is done.", "Two is done."])
    other.go_back()
    expect(other.locator(".turn.answer .prose").last).to_have_text("It is so.")
    assert results(asked[1]) == DONE_OF_BOTH
    assert len(asked) == 2
    assert other.evaluate(LISTS) == 1


def test_between_an_answer_and_its_list_no_tab_offers_to_do_it(page: Page) -> None:
    asked: list[Route] = []
    making: list[Route] = []
    page.evaluate(HELD)
    page.route("**/v1/chat/completions", lambda route: asked.append(route))
    page.route("**/state/own-tools.js", lambda route: making.append(route))
    page.click("#set-own-tools")
    with page.expect_request("**/v1/chat/completions"):
        ask(page, "What now?")
    other = beside(page)
    expect(other.locator("#stop")).to_be_visible()
    with page.expect_request("**/state/own-tools.js"):
        asked[0].fulfill(body=calling(agents_call("One", "Two")), headers=STREAM)
    for tab in (page, other):
        expect(tab.locator(".tool-card .tag")).to_have_text(re.compile("called|being written"))
    # What that tab was told before it has come by then.
    page.fill(".bar .title", "Renamed")
    page.press(".bar .title", "Tab")
    expect(other.locator(".bar .title")).to_have_value("Renamed")
    for tab in (page, other):
        expect(tab.locator(".tool-card .do")).to_have_count(0)
        expect(tab.locator("#stop")).to_be_visible()
    making[0].continue_()
    for tab in (page, other):
        expect(tab.locator(".tool-card .tasks")).to_contain_text("0 of 2 tasks done")
        expect(tab.locator(".tool-card .do")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(other.locator(".tool-card .do")).to_have_text("Go on")


def test_a_tab_that_is_opened_between_an_answer_and_its_list_does_not_offer_to_do_it(page: Page) -> None:
    making: list[Route] = []
    page.evaluate(HELD)
    answering(page, calling(agents_call("One", "Two")))
    page.route("**/state/own-tools.js", lambda route: making.append(route))
    page.click("#set-own-tools")
    with page.expect_request("**/state/own-tools.js"):
        ask(page, "What now?")
    other = beside(page)
    expect(other.locator(".tool-card .tag")).to_have_text("called")
    # It has asked, and been told.
    expect(other.locator("#stop")).to_be_visible()
    expect(other.locator(".tool-card .give")).to_have_count(0)
    making[0].continue_()
    for tab in (page, other):
        expect(tab.locator(".tool-card .tasks")).to_contain_text("0 of 2 tasks done")
        expect(tab.locator(".tool-card .do")).to_have_count(0)
    # Where nobody has it any more, it can be done here.
    page.close()
    expect(other.locator(".tool-card .do")).to_have_text("Go on")
    expect(other.locator(".tool-card .do")).to_be_visible()


def test_another_tab_stops_the_list_that_it_follows(page: Page) -> None:
    asked = agents_called(page, ["One", "Two"])
    other = beside(page)
    other.locator(".tool-card .tasks").get_by_text("Stop").click()
    page.wait_for_function("() => stopped.length === 2")
    for tab in (page, other):
        expect(tab.locator(".tool-card .tasks")).to_contain_text("0 of 2 tasks done, 2 can go on")
        expect(tab.locator(".tool-card .do")).to_have_text("Go on")
    assert len(asked) == 1


def test_a_list_whose_tab_is_closed_can_go_on_in_another(page: Page) -> None:
    agents_called(page, ["One", "Two"])
    other = beside(page)
    asked = answering(other, SO)
    other.evaluate(HELD)
    page.evaluate("held.get('Two')()")
    tasks = other.locator(".tool-card .tasks")
    expect(tasks).to_contain_text("1 of 2 tasks done")
    expect(other.locator(".tool-card .do")).to_have_count(0)
    page.close()
    expect(tasks).to_contain_text("1 of 2 tasks done, 1 can go on")
    other.click(".tool-card .do")
    other.wait_for_function("() => held.size === 1 && held.has('One')")
    let_go(other)
    expect(other.locator(".turn.answer .prose").last).to_have_text("It is so.")
    assert results(asked[0]) == DONE_OF_BOTH


def test_answers_after_a_call_are_compared_with_it_and_go_on_as_a_chat_with_it(page: Page) -> None:
    first, second = (streamed({"content": text}) for text in ("It rains.", "Rain, as it seems."))
    calls = calling({"name": "weather", "arguments": '{"city": "Bonn"}'})
    asked = answering(page, calls, first, calls, first, second, SO, SO)
    for at, question in enumerate(("The weather in Bonn?", "And now?")):
        ask(page, question)
        box = page.get_by_label("Result of weather")
        box.fill(f"Rain {at}")
        box.press("Control+Enter")
        expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(2 * at + 2)
    page.locator(".turn.answer .again").last.click()
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    expect(page.locator(".turn.answer .prose").last).to_have_text("Rain, as it seems.")
    page.click(".turn.answer .compare-these")
    expect(page.locator("#prompt")).to_have_value("And now?")
    expect(page.locator(".lane .prose")).to_have_text(["It rains.", "Rain, as it seems."])
    expect(page.locator(".shared-prompt .before")).to_have_count(2)
    expect(page.locator(".lane").first).not_to_contain_text("changed since")
    page.click("#run-all")
    expect(page.locator(".lane .prose")).to_have_text(["It is so.", "It is so."])
    said = asked[4]["messages"]
    first_question, second_question = (["user", "assistant", "tool"] for _ in range(2))
    assert [message["role"] for message in said] == [*first_question, "assistant", *second_question]
    assert all(request["messages"] == said for request in asked[5:])
    expect(page.locator("#run-all")).to_be_visible()
    page.click("#lane-menu-B")
    page.click("#lane-menu-B-menu >> text=Open as chat")
    expect(page.locator(".turn.user .said")).to_have_text(["The weather in Bonn?", "And now?"])
    expect(page.locator(".tool-card .tag")).to_have_text(["answered", "answered"])
    expect(page.locator(".tool-card .result")).to_contain_text(["Rain 0", "Rain 1"])


def test_answers_to_a_picture_are_compared_with_it_and_a_lanes_calls_are_kept(page: Page) -> None:
    first, second = (streamed({"content": text}) for text in ("A dot.", "A point."))
    calls = (calling({"name": "weather", "arguments": json.dumps({"city": city})}) for city in ("Bonn", "Rome"))
    asked = answering(page, first, second, *calls)
    # The model of this server takes no pictures.
    page.route("**/v1/tokenize", lambda route: route.fulfill(json={"count": 9}))
    page.evaluate(
        """async (url) => (await import("/ui/state/talk.js")).ask("What is it?", null, [
          { name: "dot.png", type: "image/png", size: 70, url },
          { name: "a.txt", type: "text/plain", size: 1, text: "A" },
        ])""",
        DOT,
    )
    answered(page)
    page.click(".turn.answer .again")
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    expect(page.locator(".turn.answer .prose")).to_have_text("A point.")
    page.click(".turn.answer .compare-these")
    expect(page.locator("#prompt")).to_have_value(re.compile("What is it.*a.txt", re.DOTALL))
    expect(page.locator(".shared-prompt img")).to_have_js_property("naturalWidth", 1)
    expect(page.locator(".lane .prose")).to_have_text(["A dot.", "A point."])
    expect(page.locator(".lane").first).not_to_contain_text("changed since")
    page.click("#run-all")
    expect(page.locator(".lane .call")).to_have_text([re.compile("weather .*Bonn"), re.compile("weather .*Rome")])
    assert asked[0]["messages"] == asked[2]["messages"] == asked[3]["messages"]
    # Two that call otherwise are not equal.
    expect(page.locator("#lane-B footer")).to_contain_text("done")
    expect(page.locator("#lane-B .same")).to_have_count(0)
    page.reload()
    expect(page.locator(".shared-prompt img")).to_have_js_property("naturalWidth", 1)
    expect(page.locator("#lane-B .call")).to_contain_text("Rome")
    page.click("#lane-menu-B")
    page.click("#lane-menu-B-menu >> text=Open as chat")
    expect(page.locator(".turn.user .attached img")).to_have_js_property("naturalWidth", 1)
    expect(page.locator(".turn.user .said")).to_contain_text("What is it?")
    expect(page.locator(".tool-card")).to_contain_text("Rome")
