"""A chat on paper: all of it, dark on light, without what is there to be pressed."""

import re

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.e2e.playground import CHROMIUM, answered, ask, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def test_a_chat_is_printed_whole(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    ask(page, "Say exactly: " + "one two three four " * 60)
    answered(page)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    # Question and answer have some 15 lines each, of which no page of this size holds 20.
    size = {"width": "160mm", "height": "70mm"}
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(**size))) >= 3  # type: ignore[arg-type]
    page.emulate_media(media="print")
    for name in ("nav.rail", ".list", ".panel", ".composer", ".chip", ".turn.answer footer .icon-button"):
        expect(page.locator(name).first).to_be_hidden()
    expect(page.locator(".turn.answer .prose")).to_have_css("color", "rgb(30, 27, 24)")
    assert page.evaluate("document.querySelector('.transcript').scrollHeight <= document.documentElement.scrollHeight")
