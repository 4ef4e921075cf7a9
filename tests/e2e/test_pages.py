"""The pages as a browser shows them, where this machine has Chromium."""

import json
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.e2e.server import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom")
BUDGETS_MS = (10_000, 30_000, 90_000)
"""Virtual time that a page's scripts are given. A busy machine's first may end before their fetches do."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def shown(url: str, profile: Path, wanted: Collection[str]) -> str:
    """Returns the page's document once its scripts have come to rest, and what is wanted is in it or time is over."""
    page = ""
    for budget_ms in BUDGETS_MS:
        command = [str(CHROMIUM), *FLAGS, f"--virtual-time-budget={budget_ms}", f"--user-data-dir={profile}", url]
        browser = subprocess.run(command, capture_output=True, text=True, timeout=180)
        page = browser.stdout if browser.returncode == 0 else f"{browser.returncode}: {browser.stderr}"
        if all(text in page for text in wanted):
            break
    return page


def test_the_reference_shows_every_route_and_every_body(server: Server, tmp_path: Path) -> None:
    server.wait_ready()
    _, _, content = server.client.request("GET", "/v1/openapi.json")
    declared = json.loads(content)
    operations = [operation["operationId"] for methods in declared["paths"].values() for operation in methods.values()]
    wanted = [f'<article id="{name}">' for name in [*operations, *declared["components"]["schemas"]]]
    page = shown(f"{server.base_url}/docs/", tmp_path, wanted)
    assert not [article for article in wanted if article not in page], page[-4000:]
    assert "undefined" not in page
    # This server has none.
    assert "$IGNIS_KEY" not in page


def test_the_playground_says_which_model_it_has(server: Server, tmp_path: Path) -> None:
    server.wait_ready()
    _, _, content = server.client.request("GET", "/v1/models")
    wanted = f'id="model-name">{json.loads(content)["data"][0]["id"]}</span>'
    assert wanted in shown(f"http://127.0.0.1:{server.port}/ui/", tmp_path, [wanted])
