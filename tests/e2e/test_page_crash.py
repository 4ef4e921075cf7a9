"""The browser is killed as a whole while an answer comes: what came and what was typed is there in the next one."""

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, expect

from tests.e2e.browser import wait_until
from tests.e2e.playground import CHROMIUM, answered, ask, ended, grown, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@contextmanager
def profile(browser: Browser, folder: Path) -> Iterator[BrowserContext]:
    """A browser of its own, which keeps what it has in that folder."""
    kept = browser.browser_type.launch_persistent_context(folder, executable_path=CHROMIUM, args=["--no-sandbox"])
    yield kept
    with contextlib.suppress(Error):
        kept.close()


def kill(folder: Path) -> None:
    """Ends every process of the browser that has this folder, at once."""
    num_killed = 0
    for process in Path("/proc").glob("[0-9]*"):
        # Of those that are gone by the time that they are read.
        with contextlib.suppress(OSError):
            if f"--user-data-dir={folder}".encode() in (process / "cmdline").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)
                num_killed += 1
    assert num_killed > 0


def test_a_killed_browser_loses_nothing_that_was_shown_or_typed(
    browser: Browser, story_server: Server, tmp_path: Path
) -> None:
    with profile(browser, tmp_path) as first:
        page = open_page(first, story_server.port)
        ask(page, "Write a long story about a lighthouse.")
        shown = grown(page)
        page.type("#prompt", "typed meanwhile")
        wait_until(
            page,
            """async () => { const store = await import("/ui/store/database.js");
            const draft = await store.get("drafts", location.hash.split("/")[2]);
            return draft?.text === "typed meanwhile"; }""",
        )
        # By then it was shown for longer than what comes waits to be kept.
        grown(page, len(shown) + 80)
        address = page.evaluate("location.hash")
        kill(tmp_path)
    with profile(browser, tmp_path) as second:
        page = open_page(second, story_server.port, address)
        expect(page.locator(".ending")).to_contain_text("Cut off")
        (kept,) = answered(page)
        assert kept.startswith(shown)
        expect(page.locator("#prompt")).to_have_value("typed meanwhile")
        with ended(story_server):
            page.click(".resume")
            expect(page.locator(".ending")).to_have_count(0)
            (whole,) = answered(page)
        assert whole.startswith(kept)
