"""Clients of Node over Responses against the running server: OpenAI's SDK, and two frameworks that agents stand on."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ANSWER
from tests.e2e.npm import install, run
from tests.e2e.server import Server

SDK = ("openai@6.49.0", "ws@8.18.3")
FRAMEWORKS = ("ai@6.0.326", "@ai-sdk/openai@3.0.141", "@openai/agents@0.20.0", "openai@6.49.0", "zod@4.6.7")
INPUT = {"city": "Köln", "days": 2}


def printed(script: str, folder: Path, server: Server) -> Any:
    """What a script printed at its end. It runs in the folder, for modules are looked for beside it."""
    copied = shutil.copy(Path(__file__).parent / script, folder)
    return json.loads(run(["node", str(copied), server.base_url], dict(os.environ), folder).strip().splitlines()[-1])


def test_the_sdk_streams_a_call_goes_on_and_opens_a_socket(pytestconfig: pytest.Config, agent_server: Server) -> None:
    folder = install(pytestconfig.cache.mkdir("npm-openai"), *SDK).parent
    assert printed("responses.mjs", folder, agent_server) == {
        "arguments": INPUT,
        "answer": ANSWER,
        "items": ["message", "function_call", "function_call_output"],
        "overSocket": ANSWER,
    }
    agent_server.wait_metric("ignis_scheduler_requests", 0, state="running")


def test_frameworks_run_their_tool_loops(pytestconfig: pytest.Config, agent_server: Server) -> None:
    folder = install(pytestconfig.cache.mkdir("npm-frameworks"), *FRAMEWORKS).parent
    assert printed("frameworks.mjs", folder, agent_server) == {"answers": [ANSWER] * 4, "asked": [INPUT] * 4}
