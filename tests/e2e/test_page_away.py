"""The page while its server is away: what it has not got yet comes once the server is back."""

import signal

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.e2e.playground import CHROMIUM, Start, again, answered, ask, open_own, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def test_a_view_that_is_first_opened_without_a_server_comes_once_it_is_back(
    context: BrowserContext, start_server: Start
) -> None:
    first, page = open_own(context, start_server)
    page.wait_for_function("() => performance.getEntriesByName('whole').length")
    first.stop(signal.SIGKILL)
    page.click(".rail a[href='#/compare']")
    expect(page.locator("#view")).to_have_text("Compare comes as soon as the server is back.")
    page.click(".rail a[href='#/server']")
    expect(page.locator("#view")).to_have_text("Server comes as soon as the server is back.")
    page.click(".rail a[href='#/compare']")
    with again(first, start_server, context):
        expect(page.locator("#view h1")).to_have_text("Compare")
        expect(page.locator(".lane")).to_have_count(2)
        page.click(".rail a[href='#/server']")
        expect(page.locator("#view h1")).to_have_text("Server")


def test_an_answer_is_copied_as_plain_text_without_a_server(context: BrowserContext, start_server: Start) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    first, page = open_own(context, start_server)
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    ask(page, "Say exactly: A **bold** word.")
    answered(page)
    page.wait_for_function("() => performance.getEntriesByName('whole').length")
    first.stop(signal.SIGKILL)
    page.click("[aria-label='More of this answer']")
    page.get_by_role("menuitem", name="Copy as plain text").click()
    expect(page.locator(".said-copied")).to_have_text("Copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == "A bold word.\n"
    assert failures == []


def test_colours_and_formulas_that_did_not_come_are_asked_for_again(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port)
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    late = ("**/vendor/katex/katex.js", "**/vendor/highlight/core.js")
    for address in late:
        context.route(address, lambda route: route.abort())
    ask(page, "Say exactly: $$x^2$$\n\n```python\nx = 1\n```")
    expect(page.locator(".turn.answer:not(.running) .formula code")).to_have_text("$$x^2$$")
    for address in late:
        context.unroute(address)
    expect(page.locator(".turn.answer .katex")).to_be_visible()
    expect(page.locator(".turn.answer .code-number")).to_have_text("1")
    assert failures == []


def test_a_person_has_the_server_looked_for_at_once(context: BrowserContext, start_server: Start) -> None:
    first, page = open_own(context, start_server)
    page.wait_for_function("() => performance.getEntriesByName('whole').length")
    page.evaluate("import('/ui/state/server.js').then(({ watch }) => { window.look = watch; })")
    first.stop(signal.SIGKILL)
    page.evaluate("void window.look()")
    expect(page.locator(".banner")).to_contain_text("No server at")
    # No pause ends any more: of those that began before, the last one did with this request.
    with page.expect_event("requestfailed"):
        page.evaluate("window.setTimeout = () => 0")
    with again(first, start_server, context):
        expect(page.locator(".banner")).to_contain_text("trying")
        page.click(".banner button >> text=Now")
        expect(page.locator(".banner")).to_have_count(0)


@pytest.mark.parametrize("event", ["online", "focus"])
def test_who_comes_back_to_the_page_has_the_server_looked_for_at_once(
    context: BrowserContext, story_server: Server, event: str
) -> None:
    page = open_page(context, story_server.port)
    page.wait_for_function("() => performance.getEntriesByName('whole').length")
    page.route("**/v1/**", lambda route: route.abort())
    page.evaluate("import('/ui/state/server.js').then((server) => { window.server = server; void server.watch(); })")
    expect(page.locator(".banner")).to_contain_text("No server at")
    # No pause ends any more but the one that is under way, and after that the page asks no more by itself.
    page.evaluate("window.setTimeout = () => 0")
    page.wait_for_function("() => server.nextTryAt.value < Date.now() - 1000")
    page.unroute_all(behavior="wait")
    expect(page.locator(".banner")).to_contain_text("trying")
    page.evaluate("(event) => void dispatchEvent(new Event(event))", event)
    expect(page.locator(".banner")).to_have_count(0)


def test_no_model_is_said_to_serve_without_a_server(context: BrowserContext, start_server: Start) -> None:
    first, page = open_own(context, start_server)
    page.wait_for_function("() => performance.getEntriesByName('whole').length")
    page.click(".rail a[href='#/server']")
    row = page.locator(".models tbody tr").first
    expect(row.locator(".tag")).to_have_text("serving")
    first.stop(signal.SIGKILL)
    expect(page.locator(".banner")).to_contain_text("No server at")
    expect(row.locator(".tag")).to_have_text("no server")
    page.click("#model")
    expect(page.locator(".chip .menu .row").first).to_be_visible()
    expect(page.locator(".chip .menu .tag")).to_have_count(0)
    with again(first, start_server, context):
        expect(row.locator(".tag")).to_have_text("serving")
