"""The configuration of the running server: changed under load, refused, rolled back, and cut off at every stage."""

import contextlib
import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Client
from tests.e2e.killed_at import STAGES
from tests.e2e.server import Server, parse_events
from tests.e2e.small_folder import write_small_folder

HI = [{"role": "user", "content": "Hi"}]
FILE = """\
# of the test
[model]
decode_share = 10  # per cent
default_max_tokens = 6
"""
LANES = {"model": {"decode_lanes": 2}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ignis.config.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def configured(start_server: Any, file: Path) -> Iterator[Server]:
    with start_server("--config", str(file)) as server:
        yield server


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is loaded at once."""
    folder = tmp_path_factory.mktemp("models") / "owner" / "small"
    write_small_folder(folder)
    return folder


def patch(server: Server, document: Any, wait_s: int = 60) -> tuple[int, Any]:
    """The answer to a change, which waits for the outcome."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)) as connection:
        headers = {"Content-Type": "application/json", "Prefer": f"wait={wait_s}"}
        connection.request("PATCH", "/v1/config", json.dumps(document), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def config_of(server: Server) -> Any:
    return server.client.json("GET", "/v1/config")


def test_live_fields_change_what_the_server_does_at_once(configured: Server, file: Path) -> None:
    server = configured
    assert server.client.chat(messages=HI, ignore_eos=True, max_tokens=6).usage["completion_tokens"] == 6
    status, answer = patch(
        server,
        {
            "model": {"default_max_tokens": 2},
            "switch": {"allow_implicit": False},
            "log": {"level": "debug"},
        },
    )
    assert (status, answer["applied"], answer["persisted"]) == (200, "live", "yes")
    assert answer["config"] == config_of(server)
    assert server.client.chat(messages=HI).usage["completion_tokens"] == 2
    assert server.client.request("POST", "/v1/chat/completions", {"messages": HI, "model": "other"})[0] == 404
    # A busy machine may take longer than that for anything.
    assert patch(server, {"server": {"request_timeout": 1}})[0] == 200
    status, _, content = server.client.request(
        "POST", "/v1/chat/completions", {"messages": HI, "max_tokens": 4000, "ignore_eos": True}
    )
    assert (status, json.loads(content)["error"]["code"]) == (504, "request_timeout")
    assert '"ignis.http.request"' in server.log_text()
    status, _ = patch(server, {"model": {"idle_unload": 1}})
    end = time.perf_counter() + 20
    while server.client.json("GET", "/v1/models")["status"] != "unloaded":
        assert time.perf_counter() < end
        time.sleep(0.05)
    assert file.read_text() == (
        FILE.replace("= 6", "= 2")
        + 'idle_unload = 1\n\n[switch]\nallow_implicit = false\n\n[log]\nlevel = "debug"\n\n'
        + "[server]\nrequest_timeout = 1\n"
    )


def test_a_reload_is_begun_and_told_or_waited_for(start_server: Any, file: Path, small: Path) -> None:
    with start_server("--config", str(file), model=small) as server:
        _reload_twice(server)


def _reload_twice(server: Server) -> None:
    name = server.client.json("GET", "/v1/models")["data"][0]["id"]
    status, _, content = server.client.request("PATCH", "/v1/config", LANES)
    assert (status, json.loads(content)) == (
        202,
        {"applied": "reload", "persisted": "after_reload", "switching": {"from": name, "to": name}},
    )
    # In its turn, after the other.
    status, answer = patch(server, {"model": {"decode_lanes": 3}})
    assert (status, answer["applied"], answer["persisted"]) == (200, "reload", "yes")
    assert server.client.json("GET", "/v1/models")["last_switch"]["outcome"] == "switched"
    assert config_of(server)["model"]["decode_lanes"] == 3


def test_a_reload_that_fails_says_why_and_leaves_all_as_it_was(configured: Server, file: Path) -> None:
    server = configured
    before = config_of(server)
    answered = server.client.chat(messages=HI, max_tokens=4, seed=1)
    status, answer = patch(server, {"vram": {"kv_pool_bytes": "64tok"}, "switch": {"max_wait": 1}})
    error = answer["error"]
    assert (status, error["code"], error["param"]) == (409, "reload_failed", "vram.kv_pool_bytes")
    assert "holds 64 tokens, less than one context" in error["message"]
    assert config_of(server) == before and file.read_text() == FILE
    assert server.client.chat(messages=HI, max_tokens=4, seed=1).text == answered.text


def test_a_context_that_suits_one_model_is_no_other_s_end(
    start_server: Any, file: Path, small: Path, tmp_path: Path
) -> None:
    large = tmp_path / "owner" / "large"
    write_small_folder(large)
    shape = json.loads((large / "config.json").read_text())
    (large / "config.json").write_text(json.dumps({**shape, "max_position_embeddings": 2048}))
    flags = ("--config", str(file), "--switch-known-models", f"large={large}")
    asked = {"model": {"max_context": 2000}}
    with start_server(*flags, model=small) as server:
        assert server.client.chat(model="large", messages=HI, max_tokens=1).finish == "length"
        assert patch(server, asked)[0] == 200
    # The next start, and a switch, are of models that have less, or have it.
    with start_server(*flags, model=small) as server:
        for name, held, in_force in (("small", 256, [256]), ("large", 2000, [])):
            assert server.client.chat(model=name, messages=HI, max_tokens=1).finish == "length"
            assert server.client.json("GET", "/v1/models")["data"][0]["max_model_len"] == held
            origins = server.client.json("GET", "/v1/config/origins")["data"]
            assert [row["in_force"] for row in origins if "in_force" in row] == in_force
        lowered = parse_events(server.log_text(), "ignis.runtime.context_lowered")
        assert [(line["max_context"], line["context_tokens"]) for line in lowered] == [(2000, 256)]
        assert config_of(server)["model"]["max_context"] == 2000


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("vram.kv_pool_bytes = '64tok'", "holds 64 tokens, less than one context"),
        ("model.reasoning_effort = 'low'", "the chat template of this model takes no effort"),
    ],
)
def test_what_a_client_may_have_written_ends_no_start_and_a_client_can_mend_it(
    start_server: Any, file: Path, small: Path, line: str, why: str
) -> None:
    file.write_text(line)
    key, value = line.split(" = ")
    group, name = key.split(".")
    with start_server("--config", str(file), model=small).at_once() as server:
        server.wait_metric("ignis_model_state", 1, state="failed")
        assert why in server.client.json("GET", "/v1/models")["reason"]
        assert patch(server, {group: {name: None}})[0] == 200
        assert server.client.chat(messages=HI, max_tokens=1).finish == "length"
    # What this very start was given is another matter, whatever else the file says.
    file.write_text("[model]\ndecode_lanes = 2\n")
    flag = f"--{key.translate(str.maketrans('._', '--'))}={value.strip(chr(39))}"
    ended = start_server("--config", str(file), flag, model=small)
    assert ended.process.wait(60) > 0 and why in ended.log_text()
    ended.stop()


@pytest.mark.parametrize(
    ("flag", "line"),
    [
        ("--reuse-kv-host-pool-bytes=900G", "kv_ram"),
        ("--vram-budget-bytes=700K", "workspace"),
    ],
)
def test_a_flag_whose_line_no_other_field_of_the_file_makes_room_for_ends_the_start(
    start_server: Any, file: Path, small: Path, flag: str, line: str
) -> None:
    file.write_text("[model]\ndecode_lanes = 2\n")
    ended = start_server("--config", str(file), flag, model=small)
    assert ended.process.wait(60) > 0 and f"the plan's line {line} needs" in ended.log_text()
    ended.stop()


def test_under_load_every_request_has_an_answer_or_a_typed_end(start_server: Any, file: Path) -> None:
    ends: Counter[str] = Counter()
    lost: list[Any] = []
    over = threading.Event()

    def ask(number: int, server: Server) -> None:
        client, index = Client("127.0.0.1", server.port), 0
        while not over.is_set():
            index += 1
            # One client's and some others' are longer than the drain waits, and so are cut.
            body = {"messages": HI, "max_tokens": 3 if number and index % 4 else 200, "ignore_eos": True}
            try:
                ends[_end(client, body, streams=bool((index + number) % 2))] += 1
            except Exception as error:
                lost.append(error)
                return

    def wait_answers() -> None:
        """Until each client has had an answer or two."""
        wanted, end = ends["length"] + 4, time.perf_counter() + 60
        while ends["length"] < wanted:
            assert not lost and time.perf_counter() < end, (lost, ends)
            time.sleep(0.05)

    with start_server("--config", str(file), "--switch-drain-timeout", "0.02") as server:
        threads = [threading.Thread(target=ask, args=(number, server)) for number in range(4)]
        for thread in threads:
            thread.start()
        outcomes = []
        for lanes in (4, 2, 8):
            wait_answers()
            outcomes.append(patch(server, {"model": {"decode_lanes": lanes}})[0])
        # One that fails, in the middle of it.
        outcomes.append(patch(server, {"vram": {"kv_pool_bytes": "64tok"}})[0])
        wait_answers()
        over.set()
        for thread in threads:
            thread.join()
        assert outcomes == [200, 200, 200, 409]
        assert not lost, lost
        assert ends["length"] > 10, ends
        assert set(ends) <= {"length", "engine_error", "model_switching", "engine_full"}, ends
        assert ends["engine_error"] > 0, ends
        assert "decode_lanes = 8" in file.read_text()


def _end(client: Client, body: dict[str, Any], *, streams: bool) -> str:
    """How a request ended: its finish reason, or the code of its error. Anything else raises."""
    if not streams:
        status, _, content = client.request("POST", "/v1/chat/completions", body)
        value = json.loads(content)
        return str(value["choices"][0]["finish_reason"] if status == 200 else value["error"]["code"])
    connection = http.client.HTTPConnection(client.host, client.port, timeout=120)
    with contextlib.closing(connection):
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps({**body, "stream": True}), headers)
        response = connection.getresponse()
        content = response.read().decode()
        if response.status != 200:
            return str(json.loads(content)["error"]["code"])
        events = [line.removeprefix("data: ") for line in content.splitlines() if line.startswith("data: ")]
        found = [json.loads(event) for event in events if event != "[DONE]"]
        if "error" in found[-1]:
            return str(found[-1]["error"]["code"])
        assert events[-1] == "[DONE]"
        return str(found[-1]["choices"][0]["finish_reason"])


@pytest.mark.parametrize("stage", STAGES)
def test_a_kill_at_any_stage_leaves_the_old_file_or_the_new_and_a_clean_start(
    start_server: Any, file: Path, small: Path, stage: str
) -> None:
    command = [sys.executable, "-m", "tests.e2e.killed_at", stage]
    with start_server("--config", str(file), command=command, model=small) as server:
        with pytest.raises((http.client.HTTPException, OSError)):
            patch(server, {**LANES, "switch": {"max_wait": 9}, "server": {"ui": False}})
        assert server.process.wait(20) == -signal.SIGKILL
        server.process.returncode = 0
    is_new = stage in ("renamed", "written")
    assert (file.read_text() == FILE) is not is_new
    with start_server("--config", str(file), model=small) as server:
        found = config_of(server)
        assert (found["model"]["decode_lanes"], found["switch"]["max_wait"], found["server"]["ui"]) == (
            (2, 9, False) if is_new else (8, 300, True)
        )
        assert os.listdir(file.parent) == [file.name]
        assert server.client.chat(messages=HI, max_tokens=1).finish == "length"
        assert patch(server, {"switch": {"max_wait": 10}})[1]["persisted"] == "yes"
        text = file.read_text()
        assert text.startswith("# of the test\n[model]\ndecode_share = 10  # per cent\n") and "max_wait = 10" in text


def test_secrets_are_never_told(start_server: Any, file: Path, small: Path) -> None:
    file.write_text(FILE + '[download]\ntoken = "hf-first"  # mine\n')
    with start_server("--config", str(file), "--server-api-key", "sk-hidden", model=small) as server:
        server.client.key = "sk-hidden"
        texts = []
        for path in ("/v1/config", "/v1/config?format=toml", "/v1/config/fields", "/v1/config/origins"):
            status, _, content = server.client.request("GET", path)
            assert status == 200
            texts.append(content.decode())
        status, _, content = server.client.request("PATCH", "/v1/config", {"download": {"token": "hf-second"}})
        assert status == 200
        texts += [content.decode(), server.log_text()]
        status, _, content = server.client.request("PATCH", "/v1/config", {"download": {"token": "hf second"}})
        assert status == 400
        texts.append(content.decode())
    assert not any(secret in text for text in texts for secret in ("hf-first", "hf-second", "hf second", "sk-hidden"))
    assert 'token = "hf-second"  # mine' in file.read_text()


def test_limits_hold_from_the_next_connection_on(configured: Server) -> None:
    server = configured
    assert patch(server, {"server": {"header_timeout": 0.2, "drain_timeout": 0}})[0] == 200
    with socket.create_connection(("127.0.0.1", server.port), timeout=8) as slow:
        slow.sendall(b"GET /health HT")
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
    # The drain that the server was started with would wait for 30 s.
    ends: list[str] = []
    body = {"messages": HI, "max_tokens": 8000, "ignore_eos": True}
    asking = threading.Thread(target=lambda: ends.append(_end(server.client, body, streams=True)))
    asking.start()
    server.wait_metric("ignis_lanes", 1, state="decode")
    assert server.stop(limit_s=20) == 0
    asking.join()
    assert ends == ["server_draining"]


def test_a_shutdown_ends_a_change_that_waits_for_its_reload(start_server: Any, file: Path) -> None:
    answers: list[tuple[int, Any]] = []
    with start_server("--config", str(file), "--server-drain-timeout", "0") as server:
        # What runs keeps the reload waiting.
        body = {"messages": HI, "max_tokens": 8000, "ignore_eos": True}
        asking = threading.Thread(target=lambda: _end(server.client, body, streams=True))
        asking.start()
        server.wait_metric("ignis_lanes", 1, state="decode")
        patching = threading.Thread(target=lambda: answers.append(patch(server, LANES)))
        patching.start()
        while server.client.json("GET", "/v1/models")["status"] != "switching":
            time.sleep(0.02)
    patching.join()
    asking.join()
    ((status, answer),) = answers
    assert (status, answer["error"]["code"]) == (503, "server_draining")
    assert file.read_text() == FILE
