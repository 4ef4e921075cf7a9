"""The frozen executable in an empty environment: everything that it needs is inside it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.server import Server, parse_events
from tests.ports import free_port
from tests.unit.test_catalog_file import JSON, TOML, YAML


@pytest.fixture(scope="module")
def frozen(executable: Path, real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("frozen")
    environment = {"IGNIS_CACHE": str(folder / "cache")}
    command = [str(executable), "--model-artifact", str(real_model)]
    with Server(command, free_port(), free_port(), folder / "log", environment) as running:
        yield running


def test_the_executable_streams_the_capital_of_france(frozen: Server) -> None:
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    answer = frozen.client.stream(messages=messages, temperature=0)
    assert "Paris" in answer.text
    assert (answer.finish, answer.is_done) == ("stop", True)


def test_the_executable_holds_an_answer_to_a_form(frozen: Server) -> None:
    messages = [{"role": "user", "content": "Is it raining?"}]
    answer = frozen.client.stream(messages=messages, guided_choice=["perhaps"])
    assert (answer.text, answer.finish) == ("perhaps", "stop")


@pytest.mark.parametrize("path", ["/ui/", "/ui/main.js", "/v1/docs/", "/v1/docs/docs.js", "/v1/openapi.json"])
def test_the_executable_has_its_pages_inside(frozen: Server, path: str) -> None:
    status, _, content = frozen.client.request("GET", path)
    assert status == 200 and content


def test_the_executable_listens_before_its_model_is_loaded(frozen: Server) -> None:
    log = frozen.log_text()
    (listening, *_), (ready,) = (parse_events(log, f"ignis.process.{name}") for name in ("listening", "ready"))
    assert float(str(listening["started_ms"])) < float(str(ready["started_ms"])), json.dumps([listening, ready])


@pytest.mark.parametrize(("name", "text"), [("c.toml", TOML), ("c.yaml", YAML), ("c.json", JSON)])
def test_the_executable_reads_a_catalog_in_every_form(executable: Path, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    words = ["model", "list", "--json", "--download-catalog", name]
    environment = {"IGNIS_CACHE": str(tmp_path / "cache")}
    ran = subprocess.run([executable, *words], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "tiny" in [model["id"] for model in json.loads(ran.stdout)]
