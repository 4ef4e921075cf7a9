"""From a machine without a model to a streamed answer, by two clicks; a mirror on this machine is all the network."""

import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.playground import CHROMIUM, answered, ask, open_page
from tests.e2e.server import Server
from tests.fakes.mirror import Handler, Mirror, reply, serving
from tests.ports import free_port

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")
ROOT = Path(__file__).resolve().parents[2]
PATH = "/owner/small/resolve/v1/small.gguf"
ABOUT = {"parameters": 134515008, "context_tokens": 8192, "licence": "Apache-2.0-or-any-later"}


@pytest.fixture
def mirror(real_model: Path, tmp_path: Path) -> Iterator[Mirror]:
    """Has the real model as `small`, and a larger one that nobody asks for."""
    content = real_model.read_bytes()
    pin = {"name": "small.gguf", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    large = {"name": "large.gguf", "bytes": len(content) * 50, "sha256": "0" * 64}
    entries = [
        {"id": id, "repo": f"owner/{id}", "revision": "v1", "title": id.title(), "files": [file], **ABOUT}
        for id, file in (("large", large), ("small", pin))
    ]
    with serving() as mirror:
        mirror.files = {PATH: content}
        (tmp_path / "catalog.json").write_text(json.dumps({"model": entries}))
        yield mirror


def serve(mirror: Mirror, folder: Path) -> Server:
    """What costs nothing draws the tokens; all that is fetched, checked and loaded is real."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "no_proxy": "127.0.0.1",
        "IGNIS_LOG_FORMAT": "json",
        "IGNIS_DOWNLOAD_ENDPOINT": mirror.url,
        "IGNIS_DOWNLOAD_CATALOG": str(folder / "catalog.json"),
        "IGNIS_DOWNLOAD_PATH": str(folder / "models"),
        "IGNIS_MODEL_ID": "small",
    }
    command = [sys.executable, "-m", "tests.e2e.paced", "60"]
    return Server(command, free_port(), free_port(), folder / "log", environment)


def opened(context: BrowserContext, server: Server) -> Page:
    """The page as soon as the server answers, which is before it has a model."""
    end: Any = None
    while end is None:
        try:
            end = server.client.json("GET", "/v1/models")
        except OSError:
            assert server.process.poll() is None, server.log_text()
    return open_page(context, server.port)


def test_two_clicks_lead_from_an_empty_machine_to_a_streamed_answer(
    context: BrowserContext, mirror: Mirror, tmp_path: Path
) -> None:
    # The first start cannot reach the mirror, so that nothing comes without the person.
    mirror.answer = lambda handler: reply(handler, 404, b"no")
    server = serve(mirror, tmp_path)
    try:
        page = opened(context, server)
        expect(page.locator("#download")).to_be_enabled()
        expect(page.locator(".first-model")).to_contain_text("Small")
        expect(page.locator("#model")).to_contain_text("no model yet")
        # No word of what it is is broken where a phone has no room for all.
        page.set_viewport_size({"width": 360, "height": 740})
        about = page.locator(".first-model .offer .about > span")
        expect(about).to_have_text(["135 M parameters ·", "8,192 tokens ·", "Apache-2.0-or-any-later"])
        heights = about.evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().height)")
        assert max(heights) < 24, heights
        page.set_viewport_size({"width": 1280, "height": 720})
        mirror.answer = None
        page.click("#download")
        page.click("#suggestions button >> nth=0", timeout=60_000)
        expect(page.locator(".turn.answer .prose")).to_contain_text("The ")
        page.keyboard.press("Escape")
        assert answered(page)[0].strip()
    finally:
        server.stop()


def test_a_download_shows_its_progress_and_a_message_may_wait_for_it(
    context: BrowserContext, mirror: Mirror, tmp_path: Path
) -> None:
    body = mirror.files[PATH]

    def half(handler: Handler) -> None:
        """Breaks off in the middle; the next request goes on there."""
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: len(body) // 2])
        handler.wfile.flush()
        release.wait(60)
        handler.close_connection = True

    release = threading.Event()
    mirror.answers = [half]
    server = serve(mirror, tmp_path)
    try:
        page = opened(context, server)
        expect(page.locator(".first-model progress")).to_be_visible()
        expect(page.locator(".first-model")).to_contain_text("49 MB of 98 MB")
        for view in ("compare", "chat"):
            page.click(f".rail a[href='#/{view}']")
            expect(page.locator(f".{view} #model")).to_contain_text(re.compile(r"downloading (49|50) %"))
        ask(page, "Say exactly: At last.")
        release.set()
        assert answered(page) == ["At last."]
    finally:
        release.set()
        server.stop()
