"""What an empty chat offers to begin with is what its model can do."""

import base64
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, answered, changed, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_a_model_without_pictures_is_offered_text_code_and_json(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    kinds = page.locator("#suggestions .about")
    expect(kinds).to_have_text(["Text", "Code", "JSON", "Text"])
    page.get_by_role("button", name="in JSON").click()
    expect(page.locator(".turn.user .said")).to_contain_text("a list in JSON")
    page.click("#stop")
    answered(page)


def test_a_model_that_sees_is_offered_a_picture_which_is_chosen_first(
    context: BrowserContext, story_server: Server, tmp_path: Path, axe: str
) -> None:
    def see(body: Any) -> None:
        body["data"][0]["capabilities"]["vision"] = True

    context.route("**/v1/models", changed(see))
    page = open_page(context, story_server.port)
    expect(page.locator("#suggestions .about")).to_have_text(["Text", "Code", "JSON", "Picture"])
    assert findings(page, axe) == []
    path = tmp_path / "pixel.png"
    path.write_bytes(base64.b64decode(PIXEL))
    with page.expect_file_chooser() as waiting:
        page.get_by_role("button", name="What is in this picture?").click()
    waiting.value.set_files(path)
    expect(page.locator(".attached li")).to_contain_text("pixel.png")
    expect(page.locator("#prompt")).to_have_value("What is in this picture?")
    expect(page.locator("#send")).to_be_enabled()
    context.unroute_all(behavior="wait")
