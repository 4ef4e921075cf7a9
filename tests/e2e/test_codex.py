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
CALLS = {
    "codex": '{"name": "exec_command", "arguments": {"cmd": "echo foxes > told.txt"}}',
    # For a model of this name Codex has a custom tool, with a grammar.
    "gpt-5.5": '{"name": "apply_patch", "arguments": '
    '{"input": "*** Begin Patch\\n*** Add File: told.txt\\n+foxes\\n*** End Patch\\n"}}',
}
ANSWER = "The file is written."


@pytest.fixture(scope="module")
def codex(pytestconfig: pytest.Config) -> Path:
    return install(pytestconfig.cache.mkdir("npm-codex"), CODEX) / ".bin" / "codex"


@pytest.fixture(scope="module", params=sorted(CALLS))
def codex_server(
    request: pytest.FixtureRequest,
    start_server: Any,
    codex: Path,
    real_model: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, Server]]:
    """A model, and a server where it writes a file with one of Codex's own tools, then says so."""
    name = request.param
    template = (Path(__file__).parents[1] / "data" / "chat" / "qwen3.jinja").read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("codex") / f"{name}.gguf"
    call = f"<tool_call>\n{CALLS[name]}\n</tool_call>"
    with start_server(model=write_agent_model(real_model, path, template, call, ANSWER)) as running:
        yield name, running


@pytest.mark.parametrize("has_socket", [False, True], ids=["http", "websocket"])
def test_codex_runs_its_tool_and_reads_the_answer(
    codex: Path, codex_server: tuple[str, Server], tmp_path: Path, has_socket: bool
) -> None:
    name, server = codex_server
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / "config.toml").write_text(
        f"""
model = "{name}"
model_reasoning_effort = "none"
model_provider = "ignis"
[model_providers.ignis]
name = "ignis"
base_url = "{server.base_url}"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = {str(has_socket).lower()}
request_max_retries = 0
stream_max_retries = 0
"""
    )
    sockets = server.metric("ignis_http_requests_total", status="1xx")
    command = [str(codex), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Foxes!"]
    told = run(command, {**os.environ, "CODEX_HOME": str(home)}, work)
    assert (work / "told.txt").read_text() == "foxes\n"
    assert ANSWER in told
    assert server.metric("ignis_http_requests_total", status="1xx") == sockets + has_socket
    # The second turn found the first in the cache, all but the result of the tool and what follows it.
    admitted = parse_events(server.log_text(), "ignis.request.admitted")[-1]
    assert int(str(admitted["prompt_tokens"])) - int(str(admitted["cached_tokens"])) < 200
