"""The OpenAI SDK of Node over Responses against the running server: what responses.mjs does must end well."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import ANSWER
from tests.e2e.npm import install, run
from tests.e2e.server import Server

PACKAGES = ("openai@6.49.0", "ws@8.18.3")


@pytest.fixture(scope="module")
def folder(pytestconfig: pytest.Config) -> Path:
    return install(pytestconfig.cache.mkdir("npm-openai"), *PACKAGES).parent


def test_node_streams_a_call_goes_on_and_opens_a_socket(folder: Path, agent_server: Server) -> None:
    # Modules are looked for beside the script.
    script = shutil.copy(Path(__file__).parent / "responses.mjs", folder)
    told = run(["node", str(script), agent_server.base_url], dict(os.environ), folder)
    assert json.loads(told.strip().splitlines()[-1]) == {
        "arguments": {"city": "Köln", "days": 2},
        "answer": ANSWER,
        "items": ["message", "function_call", "function_call_output"],
        "overSocket": ANSWER,
    }
    agent_server.wait_metric("ignis_scheduler_requests", 0, state="running")
