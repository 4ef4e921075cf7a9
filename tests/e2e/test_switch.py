"""Models that come and go on the running server: switched by name, held, woken, and never another one's answer."""

import http.client
import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.client import Client
from tests.e2e.server import Server, parse_events
from tests.e2e.small_folder import write_small_folder

HI = [{"role": "user", "content": "Hi"}]
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def folder(real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real model under two names, a small one, and a file that is no model."""
    root = tmp_path_factory.mktemp("models")
    write_small_folder(root / "small" / "small")
    shutil.move(root / "small" / "small", root / "other")
    (root / "small").rmdir()
    for name in ("first", "second"):
        shutil.copy(real_model, root / f"{name}.gguf")
    (root / "broken.gguf").write_bytes(b"GGUF" + bytes(60))
    return root


@pytest.fixture(scope="module")
def switching(start_server: Any, folder: Path) -> Iterator[Server]:
    with start_server("--model-artifact", str(folder / "first.gguf"), "--download-path", str(folder)) as server:
        yield server


def listed(server: Server) -> Any:
    return server.client.json("GET", "/v1/models")


def wait_status(server: Server, status: str, limit_s: float = 60) -> Any:
    end = time.perf_counter() + limit_s
    while (found := listed(server))["status"] != status:
        assert time.perf_counter() < end, found
        time.sleep(0.02)
    return found


def test_every_model_is_listed_the_loaded_one_first(switching: Server) -> None:
    server = switching
    server.client.chat(model="first", messages=HI, max_tokens=1)
    found = listed(server)
    assert [entry["id"] for entry in found["data"]] == ["first", "broken", "second", "other"]
    assert [entry["loaded"] for entry in found["data"]] == [True, False, False, False]
    assert found["data"][2]["size_bytes"] > 90_000_000


def test_a_switch_is_answered_at_once_and_seen_to_its_end(switching: Server) -> None:
    server = switching
    server.client.chat(model="first", messages=HI, max_tokens=1)
    status, _, content = server.client.request("POST", "/v1/models/switch", {"model": "second"})
    assert (status, json.loads(content)) == (202, {"status": "switching", "from": "first", "to": "second"})
    status, _, content = server.client.request("POST", "/v1/models/switch", {"model": "second"})
    assert (status, json.loads(content)["error"]["code"]) == (409, "switch_in_progress")
    found = wait_status(server, "serving")
    last = found["last_switch"]
    assert (last["from"], last["to"], last["outcome"]) == ("first", "second", "switched")
    assert all(last[f"{phase}_ms"] >= 0 for phase in ("prepare", "drain", "teardown", "load", "warm_up"))
    assert server.client.request("POST", "/v1/models/switch", {"model": "second"})[0] == 200
    assert server.client.request("POST", "/v1/models/switch", {"model": "third"})[0] == 404


def test_what_a_load_took_is_one_number_to_everybody_who_is_told(start_server: Any, folder: Path) -> None:
    with start_server("--model-artifact", str(folder / "first.gguf"), "--download-path", str(folder)) as server:
        found = listed(server)
        took_s, change = found["data"][0]["load_seconds"], found["switches"][0]
        (loaded,) = parse_events(server.log_text(), "ignis.model.loaded")
        (ready,) = parse_events(server.log_text(), "ignis.process.ready")
        for told in (change, loaded, ready):
            assert told["load_ms"] + told["warm_up_ms"] == pytest.approx(took_s * 1e3, abs=1)
        assert server.metric("ignis_model_load_seconds") == pytest.approx(took_s, abs=0.001)
        assert f"loaded in {took_s:.1f} s" in server.log_text()


def test_a_bad_model_is_refused_and_the_old_one_serves_on(switching: Server) -> None:
    server = switching
    server.client.chat(model="first", messages=HI, max_tokens=1)
    status, _, content = server.client.request(
        "POST", "/v1/chat/completions", {"model": "broken", "messages": HI, "max_tokens": 1}
    )
    error = json.loads(content)["error"]
    assert (status, error["code"]) == (503, "model_load_failed") and "broken.gguf" in error["message"]
    assert listed(server)["last_switch"]["outcome"] == "refused"
    assert server.client.chat(messages=HI, max_tokens=1).finish == "length"


def test_a_hundred_requests_of_four_clients_to_two_models_are_all_answered_by_their_own(switching: Server) -> None:
    server = switching
    client = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0, timeout=120)
    names = ("first", "other")

    def text_of(name: str, number: int, *, stream: bool = False) -> tuple[str, str]:
        """Which model says it answered, and what it said."""
        body: dict[str, Any] = {
            "model": name,
            "messages": [{"role": "user", "content": f"Say {number}"}],
            "max_tokens": 3,
            "temperature": 0,
        }
        if not stream:
            answer = client.chat.completions.create(**body)
            return answer.model, str(answer.choices[0].message.content)
        chunks = list(client.chat.completions.create(**body, stream=True))
        assert chunks[-1].choices[0].finish_reason is not None
        return chunks[0].model, "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    # What each of them says to each question, while the other does not disturb it.
    right = {(name, number): text_of(name, number) for name in names for number in range(5)}
    assert all(right["first", number][1] != right["other", number][1] for number in range(5))
    text_of("first", 0)
    resident_bytes, num_files = server.resident_bytes(), server.open_files()
    answered: Counter[str] = Counter()
    faults: list[object] = []

    def ask(client_number: int) -> None:
        for index in range(25):
            name, number = names[(index + client_number) % 2], index % 5
            try:
                found = text_of(name, number, stream=index % 3 == 0)
                answered[name] += found == right[name, number]
                if found != right[name, number]:
                    faults.append((name, number, found))
            except Exception as error:
                faults.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults[:3]
    assert answered == {"first": 50, "other": 50}
    assert server.metric("ignis_model_ping_pongs_total") > 1
    # One a minute at most, of a server that has switched to and fro a hundred times.
    num_minutes = (time.perf_counter() - server.started) / 60
    assert 1 <= len(parse_events(server.log_text(), "ignis.model.ping_pong")) <= 1 + num_minutes
    text_of("first", 0)
    client.close()
    server.wait_metric("ignis_scheduler_requests", 0, state="running")
    assert server.open_files() <= num_files + 8
    assert server.resident_bytes() < resident_bytes + (60 << 20)


def test_a_held_client_that_leaves_withdraws_its_wish(switching: Server) -> None:
    server = switching
    server.client.chat(model="first", messages=HI, max_tokens=1)
    called_off = server.metric("ignis_model_switches_total", outcome="called_off")
    story = {"model": "first", "messages": HI, "max_tokens": 400, "ignore_eos": True}
    stream = server.client.events(story)
    next(stream)
    body = {"model": "second", "messages": HI, "max_tokens": 1}
    server.client.cut(body, 0, lambda: server.wait_metric("ignis_model_waiting_requests", 1))
    server.wait_metric("ignis_model_switches_total", called_off + 1, outcome="called_off")
    assert list(stream)[-1] == "[DONE]"
    assert listed(server)["data"][0]["id"] == "first"


def test_a_held_stream_is_kept_alive_by_comments(start_server: Any, folder: Path) -> None:
    flags = ("--model-artifact", str(folder / "first.gguf"), "--download-path", str(folder))
    with start_server(*flags, "--server-keepalive-interval", "0.2") as server:
        story = {"messages": HI, "max_tokens": 300, "ignore_eos": True}
        running = server.client.events(story)
        next(running)
        lines: list[str] = []
        thread = threading.Thread(target=lambda: lines.extend(raw_lines(server.client, "second")))
        thread.start()
        assert list(running)[-1] == "[DONE]"
        thread.join()
        assert ": keep-alive" in lines and lines.index(": keep-alive") < lines.index("data: [DONE]")
        assert any('"model":"second"' in line for line in lines)


def raw_lines(client: Client, model: str) -> list[str]:
    body = {"model": model, "messages": HI, "max_tokens": 2, "stream": True}
    status, _, content = client.request("POST", "/v1/chat/completions", body)
    assert status == 200
    return [line for line in content.decode().splitlines() if line]


def test_an_idle_model_gives_its_memory_back_and_the_next_request_wakes_it(start_server: Any, folder: Path) -> None:
    flags = ("--model-artifact", str(folder / "first.gguf"), "--download-path", str(folder))
    with start_server(*flags) as server:
        assert server.client.chat(messages=HI, max_tokens=8).finish is not None
        serving_bytes = server.resident_bytes()
        awake = listed(server)["data"][0]
        # Only now: on a busy machine it would be idle for as long before it was looked at.
        assert server.client.request("PATCH", "/v1/config", {"model": {"idle_unload": 1}})[0] == 200
        end = time.perf_counter() + 30
        while listed(server)["status"] != "unloaded":
            # Neither the list nor the metrics count as use.
            server.metric("ignis_kv_pool_pages")
            assert time.perf_counter() < end
            time.sleep(0.05)
        idle_bytes = server.resident_bytes()
        assert listed(server)["data"][0] == {**awake, "loaded": False}
        assert server.metric("ignis_kv_pool_pages") == 0
        assert server.client.request("GET", "/health")[0] == 200
        assert idle_bytes < serving_bytes - (80 << 20), (serving_bytes, idle_bytes)
        assert abs(server.metric("ignis_process_resident_bytes") - idle_bytes) < 20 << 20
        assert server.client.chat(messages=HI, max_tokens=1).finish == "length"
        (reason,) = {event["reason"] for event in parse_events(server.log_text(), "ignis.model.unloaded")}
        assert reason == "idle"


def test_a_hugging_face_folder_and_a_named_file_are_known_by_their_names(
    start_server: Any, folder: Path, tmp_path: Path
) -> None:
    write_small_folder(tmp_path / "models" / "owner" / "small")
    with start_server(
        "--model-artifact",
        str(folder / "first.gguf"),
        "--download-path",
        str(tmp_path / "models"),
        "--switch-known-models",
        f"named={folder / 'second.gguf'}",
    ) as server:
        assert [entry["id"] for entry in listed(server)["data"]] == ["first", "named", "small"]
        client = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)
        for name in ("small", "named", "small", "first"):
            answer = client.chat.completions.create(model=name, messages=HI, max_tokens=2)  # type: ignore[arg-type]
            assert answer.model == name
        client.close()
        kinds = {entry["id"]: entry["format"] for entry in listed(server)["data"]}
        # What was loaded once is known from then on.
        assert kinds == {"first": "GGUF Q4_1", "named": "GGUF Q4_1", "small": kinds["small"]}
        assert kinds["small"].startswith("safetensors ")


def test_a_default_that_one_model_takes_keeps_no_client_from_another(start_server: Any, tmp_path: Path) -> None:
    models = tmp_path / "models"
    write_small_folder(models / "plain")
    shutil.copytree(models / "plain", models / "levels")
    about = models / "levels" / "tokenizer_config.json"
    said = json.loads(about.read_text())
    said["chat_template"] += "{{ reasoning_effort if reasoning_effort is defined }}"
    about.write_text(json.dumps(said))
    with start_server("--download-path", str(models), model=models / "levels") as server:
        server.wait_ready()
        asked = {"messages": HI, "max_tokens": 1}
        assert server.client.request("PATCH", "/v1/config", {"model": {"reasoning_effort": "low"}})[0] == 200
        before = server.client.json("POST", CHAT, {"model": "levels", **asked})["usage"]["prompt_tokens"]
        after = server.client.json("POST", CHAT, {"model": "plain", **asked})["usage"]["prompt_tokens"]
        assert after == before - len("low")
        lines = [json.loads(line) for line in server.log_text().splitlines() if line.startswith("{")]
        warned = [line for line in lines if line["event"] == "ignis.runtime.default_left_out"]
        assert [line["field"] for line in warned] == ["model.reasoning_effort"]
        # What serves now could not honour it, asked anew.
        status, _, refused = server.client.request("PATCH", "/v1/config", {"model": {"reasoning_effort": "high"}})
        assert (status, json.loads(refused)["error"]["param"]) == (400, "model.reasoning_effort")


def test_a_file_that_is_cut_short_ends_no_server(start_server: Any, real_model: Path, tmp_path: Path) -> None:
    for name in ("whole", "short"):
        shutil.copy(real_model, tmp_path / f"{name}.gguf")
    flags = ("--model-artifact", str(tmp_path / "whole.gguf"), "--download-path", str(tmp_path), "--device", "cpu")
    with start_server(*flags) as server:
        before = server.client.chat(messages=HI, max_tokens=8, temperature=0, seed=1).text
        for name in ("whole", "short"):
            with (tmp_path / f"{name}.gguf").open("r+b") as file:
                file.truncate(30_000_000)
        assert server.client.chat(messages=HI, max_tokens=8, temperature=0, seed=1).text == before
        assert server.client.request("POST", "/v1/chat/completions", {"model": "short", "messages": HI})[0] == 503
        assert server.client.chat(messages=HI, max_tokens=8, temperature=0, seed=1).text == before


def test_events_tell_a_switch_as_it_goes(switching: Server) -> None:
    server = switching
    server.client.chat(model="first", messages=HI, max_tokens=1)
    seen: list[str] = []
    has_begun = threading.Event()

    def watch() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", "/v1/models/events")
        with connection.getresponse() as response:
            while line := response.readline():
                if line.startswith(b"data: "):
                    state = json.loads(line[6:])
                    seen.append(state["status"])
                    has_begun.set()
                    if state["status"] == "serving" and state["model"] == "second":
                        break
        connection.close()

    thread = threading.Thread(target=watch)
    thread.start()
    assert has_begun.wait(30)
    server.client.chat(model="second", messages=HI, max_tokens=1)
    thread.join(60)
    assert seen[0] == seen[-1] == "serving" and "switching" in seen
