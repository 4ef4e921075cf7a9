"""The pages as a browser shows them, where this machine has Chromium."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.server import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def shown(url: str, profile: Path) -> str:
    """Returns the page's document once its scripts have come to rest."""
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", url]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_reference_shows_every_route_and_every_body(server: Server, tmp_path: Path) -> None:
    server.wait_ready()
    page = shown(f"{server.base_url}/docs/", tmp_path)
    _, _, content = server.client.request("GET", "/v1/openapi.json")
    declared = json.loads(content)
    operations = [operation["operationId"] for methods in declared["paths"].values() for operation in methods.values()]
    missing = [
        name for name in [*operations, *declared["components"]["schemas"]] if f'<article id="{name}">' not in page
    ]
    assert not missing
    assert "undefined" not in page


def test_the_playground_says_which_model_it_has(server: Server, tmp_path: Path) -> None:
    server.wait_ready()
    page = shown(f"http://127.0.0.1:{server.port}/ui/", tmp_path)
    _, _, content = server.client.request("GET", "/v1/models")
    assert f'<span id="model-name">{json.loads(content)["data"][0]["id"]}</span>' in page
