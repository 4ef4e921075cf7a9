"""Anthropic's SDK of Node against the running server: what anthropic.mjs does must end well."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import ANSWER
from tests.e2e.npm import install, run
from tests.e2e.server import Server

PACKAGES = ("@anthropic-ai/sdk@1.14.0",)
INPUT = {"city": "Köln", "days": 2}


@pytest.fixture(scope="module")
def folder(pytestconfig: pytest.Config) -> Path:
    return install(pytestconfig.cache.mkdir("npm-anthropic"), *PACKAGES).parent


def test_node_talks_streams_runs_tools_counts_fails_and_leaves(folder: Path, agent_server: Server) -> None:
    # Modules are looked for beside the script.
    script = shutil.copy(Path(__file__).parent / "anthropic.mjs", folder)
    told = run(["node", str(script), agent_server.base_url.removesuffix("/v1")], dict(os.environ), folder)
    seen = json.loads(told.strip().splitlines()[-1])
    assert seen["whole"] == seen["streamed"] == seen["ran"] == "".join(seen["texts"]) == ANSWER
    assert len(seen["texts"]) > 2 and len(seen["pieces"]) > 2
    assert json.loads("".join(seen["pieces"])) == INPUT
    assert seen["call"] == {"name": "weather", "input": INPUT, "stop_reason": "tool_use"}
    assert seen["asked"] == [INPUT]
    assert seen["count"] > 5
    assert seen["errors"] == [
        ["BadRequestError", 400, "invalid_request_error", True],
        ["NotFoundError", 404, "not_found_error", True],
    ]
    assert seen["left"] == "message_start"
    agent_server.wait_metric("ignis_scheduler_requests", 0, state="running")
