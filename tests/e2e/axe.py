"""What axe finds in a page. It comes in through the debugger, so that the page's own policy stays as it is."""

import json

import pytest
from playwright.sync_api import Page

from tests.e2e.npm import install

RUN = "axe.run(document, {resultTypes: ['violations']}).then((found) => JSON.stringify(found.violations))"


def fetch_axe(config: pytest.Config) -> str:
    folder = install(config.cache.mkdir("npm-axe"), "axe-core@4.14.1")
    return (folder / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def findings(page: Page, axe: str) -> list[str]:
    """One line each: the rule and the first element that breaks it."""
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": axe})
    question = {"expression": RUN, "awaitPromise": True, "returnByValue": True}
    found = json.loads(session.send("Runtime.evaluate", question)["result"]["value"])
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]
