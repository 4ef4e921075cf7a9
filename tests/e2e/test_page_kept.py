"""A browser that keeps nothing, or not as it should: the page goes on, and says once and in words what is not kept."""

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.e2e.browser import opened_page, origin
from tests.e2e.playground import CHROMIUM, answered, ask, open_origin, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")
BLOCKED = """for (const name of NAMES) Object.defineProperty(window, name, {
  get() { throw new DOMException("Access is denied for this document.", "SecurityError"); } });"""
# As a browser does it that blocks the data of sites.
DENIED = """IDBFactory.prototype.open = () => {
  throw new DOMException("The user denied permission to access the database.", "UnknownError"); };"""
NEVER = "indexedDB.open = () => new EventTarget();"
NONE = "Object.defineProperty(window, 'indexedDB', { value: undefined });"


@pytest.mark.parametrize(
    "script",
    [
        BLOCKED.replace("NAMES", "['localStorage', 'sessionStorage', 'indexedDB']"),
        BLOCKED.replace("NAMES", "['localStorage', 'sessionStorage']") + DENIED,
    ],
)
def test_where_site_data_is_blocked_all_works_and_one_banner_says_so(
    browser: Browser, story_server: Server, script: str
) -> None:
    with opened_page(browser, origin(story_server), script=script) as page:
        expect(page.locator(".banner")).to_have_text(
            "Chats are not kept in this browser: it lets no site keep anything. All that is here goes with this tab."
        )
        ask(page, "Say exactly: One.")
        assert answered(page) == ["One."]
        page.get_by_role("button", name="Theme: Auto").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "light")
        for name in ("Compare", "Agents", "Monitor", "Server"):
            page.locator(".rail").get_by_role("link", name=name).click()
            expect(page.locator("#view h1")).to_have_text(name)
        page.locator(".rail").get_by_role("link", name="Chat", exact=True).click()
        assert answered(page) == ["One."]
        expect(page.locator(".banner")).to_have_count(1)
        # A chat that was left is there as long as the page is.
        page.click("#new-chat")
        expect(page.locator(".turn")).to_have_count(0)
        page.click(".list li a")
        assert answered(page) == ["One."]
        page.click(".list li .drop")
        expect(page.locator(".list li")).to_have_count(0)
        expect(page.locator(".turn")).to_have_count(0)


def test_the_banner_says_it_in_words(browser: Browser, story_server: Server) -> None:
    with opened_page(browser, origin(story_server), script=NONE) as page:
        expect(page.locator(".banner")).to_have_text(
            "Chats are not kept in this browser: it keeps no database for this page."
        )
    with browser.new_context() as context:
        page = open_origin(context, story_server.port)
        page.evaluate(
            """new Promise((done) => {
              indexedDB.open("ignis", 99).onsuccess = (event) => done(event.target.result.close());
            })"""
        )
        page.goto(f"{origin(story_server)}/ui/")
        expect(page.locator(".banner")).to_have_text(
            "Chats are not kept: a newer page was here before this one. Reload to get it."
        )


def test_a_database_that_never_opens_is_not_waited_for(browser: Browser, story_server: Server) -> None:
    with opened_page(browser, origin(story_server), script=NEVER) as page:
        expect(page.locator(".banner")).to_have_text(
            "Chats are not kept in this browser: it does not open its database."
        )
        ask(page, "Say exactly: One.")
        assert answered(page) == ["One."]


def test_the_open_chat_outlives_that_the_browser_clears_its_data(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    for number, word in enumerate(("One.", "Two."), start=1):
        page.click("#new-chat")
        ask(page, f"Say exactly: {word}")
        assert answered(page) == [word]
        expect(page.locator(".list li")).to_have_count(number)
    other = open_origin(context, story_server.port)
    other.evaluate(
        "new Promise((done) => { indexedDB.deleteDatabase('ignis').onsuccess = () => done(); })",
    )
    ask(page, "Say exactly: Three.")
    assert answered(page, 2) == ["Two.", "Three."]
    expect(page.locator(".list li")).to_have_count(1)
    expect(page.locator(".banner")).to_have_count(0)
    page.reload()
    assert answered(page, 2) == ["Two.", "Three."]


@pytest.mark.parametrize("is_full_before", [True, False])
def test_a_chat_that_is_deleted_and_finds_no_room_any_more_is_back_all_the_same(
    context: BrowserContext, story_server: Server, is_full_before: bool
) -> None:
    page = open_page(context, story_server.port)
    fill = "IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }"
    if is_full_before:
        page.evaluate(f"() => {{ {fill}; }}")
    ask(page, "Say exactly: One.")
    assert answered(page) == ["One."]
    page.locator(".list li").hover()
    page.click(".list li .drop")
    expect(page.locator(".turn")).to_have_count(0)
    page.evaluate(f"() => {{ {fill}; }}")
    page.click("#undo")
    page.click(".list li a")
    assert answered(page) == ["One."]
    expect(page.locator(".banner")).to_contain_text("no room left")
    # What is said next goes on from it.
    ask(page, "Say exactly: Two.")
    assert answered(page, 2) == ["One.", "Two."]
    # It is there as long as the page is.
    page.click("#new-chat")
    expect(page.locator(".turn")).to_have_count(0)
    page.click(".list li a")
    assert answered(page, 2) == ["One.", "Two."]


def test_what_found_no_room_is_kept_once_chats_were_deleted_as_the_banner_says(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port)
    ask(page, "Say exactly: One.")
    assert answered(page) == ["One."]
    page.evaluate(
        """() => { window.put = IDBObjectStore.prototype.put;
        IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }; }"""
    )
    for number, word in enumerate(("Two.", "Three."), start=2):
        page.click("#new-chat")
        expect(page.locator(".turn")).to_have_count(0)
        ask(page, f"Say exactly: {word}")
        assert answered(page) == [word]
        expect(page.locator(".list li")).to_have_count(number)
    expect(page.locator(".banner")).to_contain_text("no room left")
    page.evaluate("() => { IDBObjectStore.prototype.put = window.put; }")
    page.locator(".list li").last.hover()
    page.click("[aria-label='Delete Say exactly: One.']")
    expect(page.locator(".banner")).to_have_count(0)
    page.reload()
    assert answered(page) == ["Three."]
    expect(page.locator(".list li")).to_have_count(2)
    page.click(".list li a >> text=Two.")
    expect(page.locator(".turn.user .said")).to_have_text("Say exactly: Two.")
    assert answered(page) == ["Two."]
