"""The Codex agent from npm against the running server: it calls a tool, runs it, and reads the answer to its result."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agent_model import write_agent_model
from tests.e2e.npm import install, run
from tests.e2e.server import Server, parse_events

CODEX = "@openai/codex@0.171.0"
CALL = '<tool_call>\n{"name": "exec_command", "arguments": {"cmd": "echo foxes > told.txt"}}\n</tool_call>'
ANSWER = "The file is written."


@pytest.fixture(scope="module")
def codex(pytestconfig: pytest.Config) -> Path:
    return install(pytestconfig.cache.mkdir("npm-codex"), CODEX) / ".bin" / "codex"


@pytest.fixture(scope="module")
def codex_server(
    start_server: Any, codex: Path, real_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server whose model writes a file with Codex's own tool, then says so."""
    template = (Path(__file__).parents[1] / "data" / "chat" / "qwen3.jinja").read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("codex") / "codex.gguf"
    with start_server(model=write_agent_model(real_model, path, template, CALL, ANSWER)) as running:
        yield running


@pytest.mark.parametrize("has_socket", [False, True], ids=["http", "websocket"])
def test_codex_runs_its_tool_and_reads_the_answer(
    codex: Path, codex_server: Server, tmp_path: Path, has_socket: bool
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / "config.toml").write_text(
        f"""
model = "codex"
model_provider = "ignis"
[model_providers.ignis]
name = "ignis"
base_url = "{codex_server.base_url}"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = {str(has_socket).lower()}
request_max_retries = 0
stream_max_retries = 0
"""
    )
    sockets = codex_server.metric("ignis_http_requests_total", status="1xx")
    command = [str(codex), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Foxes!"]
    told = run(command, {**os.environ, "CODEX_HOME": str(home)}, work)
    assert (work / "told.txt").read_text() == "foxes\n"
    assert ANSWER in told
    assert codex_server.metric("ignis_http_requests_total", status="1xx") == sockets + has_socket
    # The second turn found the first in the cache, all but the result of the tool and what follows it.
    admitted = parse_events(codex_server.log_text(), "ignis.request.admitted")[-1]
    assert int(str(admitted["prompt_tokens"])) - int(str(admitted["cached_tokens"])) < 200
