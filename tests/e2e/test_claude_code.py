"""Claude Code from npm against the running server: it calls a tool, runs it, and reads the answer to its result."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agent_model import write_agent_model
from tests.e2e.conftest import TEMPLATE
from tests.e2e.npm import install, run

CLAUDE_CODE = "@anthropic-ai/claude-code@2.1.197"
ARGUMENTS = {"command": "echo foxes > told.txt", "description": "Tell of foxes"}
CALL = f"<tool_call>\n{json.dumps({'name': 'Bash', 'arguments': ARGUMENTS})}\n</tool_call>"
ANSWER = "The file is written."


@pytest.fixture(scope="module")
def claude(pytestconfig: pytest.Config) -> Path:
    modules = install(pytestconfig.cache.mkdir("npm-claude-code"), CLAUDE_CODE)
    return modules / "@anthropic-ai" / "claude-code-linux-x64" / "claude"


def test_claude_code_runs_its_tool_and_reads_the_answer(
    claude: Path, start_server: Any, real_model: Path, tmp_path: Path
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    template = TEMPLATE.read_text(encoding="utf-8")
    model = write_agent_model(real_model, tmp_path / "claude.gguf", template, CALL, ANSWER)
    # None of what the machine's own user has set for it.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "CLAUDE"))}
    with start_server(model=model) as server:
        environment = {
            **kept,
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": server.base_url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "unused",
            "ANTHROPIC_MODEL": "claude",
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": "claude",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        command = [str(claude), "-p", "Foxes!", "--allowedTools", "Bash", "--output-format", "json"]
        result = json.loads(run(command, environment, work))
    assert (work / "told.txt").read_text() == "foxes\n"
    assert (result["is_error"], result["result"], result["num_turns"]) == (False, ANSWER, 2)
    # The second turn found the first in the cache, all but the result of the tool and what follows it.
    assert result["usage"]["cache_read_input_tokens"] > 5000
    assert result["usage"]["input_tokens"] - result["usage"]["cache_read_input_tokens"] < 200
