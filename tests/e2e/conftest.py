"""The running server, on the real model."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.e2e.agent_model import write_agent_model
from tests.e2e.axe import fetch_axe
from tests.e2e.browser import started_browser
from tests.e2e.playground import paced
from tests.e2e.rerun import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests.e2e.rerun import pytest_runtest_makereport as pytest_runtest_makereport
from tests.e2e.rerun import pytest_runtest_teardown as pytest_runtest_teardown
from tests.e2e.server import RUNNING, Server
from tests.ports import free_port


@pytest.fixture(scope="session")
def start_server(real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Server]:
    """Starts a server with further flags; use it as a context manager."""
    root = Path(__file__).resolve().parents[2]

    def start(
        *flags: str,
        command: list[str] | None = None,
        env: dict[str, str] | None = None,
        model: Path = real_model,
        also_bind: Sequence[str] = (),
        port: int | None = None,
    ) -> Server:
        log = tmp_path_factory.mktemp("server") / "log"
        environment = {**os.environ, "PYTHONPATH": str(root), "IGNIS_LOG_FORMAT": "json", **(env or {})}
        arguments = [*(command or [sys.executable, "-m", "ignis"]), "--model-artifact", str(model), *flags]
        return Server(arguments, port or free_port(), free_port(), log, environment, also_bind=also_bind)

    return start


@pytest.fixture(autouse=True)
def none_left() -> Iterator[None]:
    """A server that a failed test left is ended: else it keeps the machine busy, and the next test is told of it."""
    before = set(RUNNING)
    yield
    for server in RUNNING - before:
        server.kill()


@pytest.fixture(scope="session")
def server(start_server: Any) -> Iterator[Server]:
    """One server for the whole session."""
    with start_server() as running:
        yield running


CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Köln", "days": 2}}\n</tool_call>'
TEMPLATE = Path(__file__).parents[1] / "data" / "chat" / "qwen3.jinja"
ANSWER = "It rains in Köln, for two days."


@pytest.fixture(scope="session")
def agent_server(start_server: Any, real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose model calls the tool `weather` where there are tools, and answers once it has a result."""
    path = tmp_path_factory.mktemp("agent") / "agent.gguf"
    model = write_agent_model(real_model, path, TEMPLATE.read_text(encoding="utf-8"), CALL, ANSWER)
    with start_server(model=model) as running:
        yield running


@pytest.fixture(scope="session")
def story_server(start_server: Any) -> Iterator[Server]:
    """A server that tells stories, sixty tokens a second, and says what it is told to say."""
    with start_server(command=paced(60)) as running:
        yield running


@pytest.fixture(scope="session")
def paced_server(start_server: Any) -> Iterator[Server]:
    """A server that tells stories, forty tokens a second in each lane."""
    with start_server(command=paced(40)) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A person who was never here before."""
    opened = browser.new_context()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def axe(pytestconfig: pytest.Config) -> str:
    """The script of axe."""
    return fetch_axe(pytestconfig)
