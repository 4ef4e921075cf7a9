"""Clients from npm against the running server, up to a tool that they run because the model called it.

Not part of the default run, for they are large: python3 build.py test -m npm. Needs npm and a registry as it is
configured; what is installed lies in .build/npm and is kept.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.e2e.agent_model import write_agent_model
from tests.e2e.conftest import ANSWER, TEMPLATE
from tests.e2e.server import Server

pytestmark = pytest.mark.npm

DECLARED = Path(__file__).parent / "npm"
INSTALL_S, CLIENT_S = 300, 120


@pytest.fixture(scope="session")
def npm() -> Path:
    """A folder with the node_modules that tests/e2e/npm/package-lock.json says."""
    lock = (DECLARED / "package-lock.json").read_bytes()
    folder = ROOT / ".build" / "npm" / hashlib.sha256(lock).hexdigest()[:16]
    if not (folder / "installed").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(DECLARED / name, folder)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=folder, check=True, timeout=INSTALL_S)
        (folder / "installed").touch()
    return folder


def run(command: list[str], folder: Path, home: Path, **variables: str) -> str:
    """Runs a client with a home of its own; returns what it printed."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "HOME": str(home), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CLIENT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_anthropics_node_sdk_talks_streams_and_runs_tools(npm: Path, agent_server: Server, tmp_path: Path) -> None:
    shutil.copy(DECLARED / "anthropic.mjs", npm)
    base_url = agent_server.base_url.removesuffix("/v1")
    seen = json.loads(run(["node", "anthropic.mjs"], npm, tmp_path, ANTHROPIC_BASE_URL=base_url))
    assert seen["whole"] == seen["streamed"] == seen["ran"] == "".join(seen["texts"]) == ANSWER
    assert len(seen["texts"]) > 2 and len(seen["pieces"]) > 2
    wanted = {"city": "Köln", "days": 2}
    assert json.loads("".join(seen["pieces"])) == wanted
    assert seen["call"] == {"name": "weather", "input": wanted, "stop_reason": "tool_use"}
    assert seen["asked"] == [wanted]
    assert seen["count"] > 5
    assert seen["errors"] == [
        ["BadRequestError", 400, "invalid_request_error", True],
        ["NotFoundError", 404, "not_found_error", True],
    ]
    assert seen["left"] == "message_start"
    agent_server.wait_metric("ignis_scheduler_requests", 0, state="running")


def test_claude_code_runs_the_tool_that_the_model_calls(
    npm: Path, start_server: Callable[..., Server], real_model: Path, tmp_path: Path
) -> None:
    arguments = {"command": "echo written by a tool > proof.txt", "description": "Leave a proof"}
    call = f"<tool_call>\n{json.dumps({'name': 'Bash', 'arguments': arguments})}\n</tool_call>"
    model = write_agent_model(real_model, tmp_path / "claude.gguf", TEMPLATE.read_text(encoding="utf-8"), call, "Done.")
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir(), work.mkdir()
    claude = str(npm / "node_modules" / "@anthropic-ai" / "claude-code-linux-x64" / "claude")
    with start_server(model=model) as server:
        said = run(
            [claude, "-p", "Leave a proof", "--allowedTools", "Bash", "--output-format", "json"],
            work,
            home,
            ANTHROPIC_BASE_URL=server.base_url.removesuffix("/v1"),
            ANTHROPIC_API_KEY="unused",
            ANTHROPIC_MODEL="claude",
            ANTHROPIC_DEFAULT_HAIKU_MODEL="claude",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
        )
    result: Any = json.loads(said)
    assert (work / "proof.txt").read_text() == "written by a tool\n"
    assert (result["is_error"], result["result"], result["num_turns"]) == (False, "Done.", 2)
    # The second turn found the first one's prompt, tools and all.
    assert result["usage"]["cache_read_input_tokens"] > 5000
