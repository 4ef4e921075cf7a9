"""Disconnects, full lanes, health, drain and keys on the running server."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.e2e.client import Answer, Client
from tests.e2e.server import Server, parse_events

LONG = {"messages": [{"role": "user", "content": "Write a very long story."}], "max_tokens": 4000, "ignore_eos": True}


def test_a_cut_stream_frees_its_lane_and_its_pages(server: Server) -> None:
    completed = server.metric("ignis_requests_cancelled_total")
    for after in (1, 600, 3000):
        server.client.cut({**LONG, "stream": True}, after)
    server.wait_metric("ignis_scheduler_requests", 0, state="running")
    server.wait_metric("ignis_requests_cancelled_total", completed + 3)


def test_a_cut_before_a_plain_answer_cancels_too(server: Server) -> None:
    cancelled = server.metric("ignis_requests_cancelled_total")
    server.client.cut(LONG, 0, lambda: server.wait_metric("ignis_scheduler_requests", 1, state="running"))
    server.wait_metric("ignis_requests_cancelled_total", cancelled + 1)
    server.wait_metric("ignis_scheduler_requests", 0, state="running")


def test_a_cut_while_the_prompt_prefills_stops_the_prefill(server: Server) -> None:
    words = "harbour lantern anchor meadow copper signal winter summer planet ladder " * 600
    body = {"messages": [{"role": "user", "content": words}], "max_tokens": 5, "stream": True}
    asked = server.client.json("POST", "/v1/tokenize", {"messages": body["messages"]})["count"]
    before = server.metric("ignis_prefilled_tokens_total")
    server.client.cut(body, 0, lambda: server.wait_metric("ignis_scheduler_requests", 1, state="running"))
    server.wait_metric("ignis_scheduler_requests", 0, state="running")
    assert server.metric("ignis_prefilled_tokens_total") < before + asked
    assert server.client.chat(messages=[{"role": "user", "content": "Hi"}], max_tokens=1).finish is not None


def test_the_ninth_request_is_told_when_to_come_back(server: Server) -> None:
    starts = threading.Barrier(9)
    release = threading.Event()

    def hold() -> None:
        for number, _ in enumerate(server.client.events(LONG)):
            if number == 3:
                starts.wait(30)
            if release.is_set():
                return

    threads = [threading.Thread(target=hold) for _ in range(8)]
    for thread in threads:
        thread.start()
    starts.wait(30)
    status, headers, content = server.client.request(
        "POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}
    )
    release.set()
    for thread in threads:
        thread.join()
    assert status == 503 and int(headers["retry-after"]) >= 1
    assert json.loads(content)["error"]["code"] == "engine_full"
    server.wait_metric("ignis_scheduler_requests", 0, state="running")


def test_a_load_that_the_device_refuses_leaves_a_server_that_says_so(start_server: Any) -> None:
    server: Server = start_server(
        "--vram-budget-bytes",
        "900G",
        "--vram-allow-oversubscription",
        "--vram-kv-pool-bytes",
        "800G",
        "--device",
        "cpu",
    )
    while not parse_events(server.log_text(), "ignis.model.load_failed"):
        assert server.process.poll() is None, server.log_text()
        time.sleep(0.02)
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    status, _, content = server.client.request("POST", "/v1/chat/completions", body)
    error = json.loads(content)["error"]
    assert (status, error["code"]) == (503, "server_not_ready")
    assert "of KV pages" in error["message"] and "/" not in error["message"]
    listed = json.loads(server.client.request("GET", "/v1/models")[2])
    assert listed["status"] == "failed" and not any(entry["loaded"] for entry in listed["data"])
    assert server.stop() == 0


def test_sigterm_ends_a_load_under_way(start_server: Any) -> None:
    server: Server = start_server("--device", "cpu")
    while not parse_events(server.log_text(), "ignis.runtime.vram_plan"):
        assert server.process.poll() is None, server.log_text()
        time.sleep(0.01)
    assert server.stop(limit_s=20) == 0
    assert "Traceback" not in server.log_text() and "load_failed" not in server.log_text()


def test_a_plan_that_cannot_be_ends_the_start_by_line_and_field(start_server: Any) -> None:
    server: Server = start_server("--vram-budget-bytes", "100M", "--device", "cpu")
    server.process.wait(30)
    assert server.stop() == 1
    assert "the plan's line " in server.log_text()
    assert "vram.budget_bytes" in server.log_text()


def test_a_server_without_standard_streams_serves(start_server: Any) -> None:
    """Its supervisor closed them; what it opens then does not get their numbers, and so its log."""
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-m", "ignis"]
    with start_server(command=command) as server:
        assert server.client.chat(messages=[{"role": "user", "content": "Hi"}], max_tokens=1).finish is not None
        for number in range(3):
            assert os.readlink(f"/proc/{server.process.pid}/fd/{number}") == os.devnull


def test_health_tells_the_model(server: Server) -> None:
    status, _, content = server.client.request("GET", "/health")
    assert status == 200 and json.loads(content)["status"] == "ok"


def test_sigterm_lets_a_stream_end(start_server: Any) -> None:
    with start_server() as server:
        answers: list[Answer] = []
        body = {"messages": [{"role": "user", "content": "Count to twenty."}], "max_tokens": 60, "ignore_eos": True}
        thread = threading.Thread(target=lambda: answers.append(server.client.stream(**body)))
        thread.start()
        server.wait_metric("ignis_scheduler_requests", 1, state="running")
        server.process.send_signal(signal.SIGTERM)
        thread.join()
        server.process.wait(20)
    assert answers[0].is_done and answers[0].finish == "length"


def test_a_drain_without_patience_ends_streams_with_an_error_event(start_server: Any) -> None:
    with start_server("--server-drain-timeout", "0") as server:
        texts: list[str] = []
        body = {"messages": [{"role": "user", "content": "Count"}], "ignore_eos": True, "max_tokens": 4000}
        for event in server.client.events(body):
            assert isinstance(event, dict), "an answer that was given up is not [DONE]"
            if "error" in event:
                assert event["error"]["code"] == "server_draining"
                break
            texts.append(event["choices"][0]["delta"].get("content") or "")
            if len(texts) == 5:
                server.process.send_signal(signal.SIGTERM)
        else:
            raise AssertionError("the stream ended without a word")
        assert server.process.wait(20) == 0


def test_a_second_signal_quits_at_once(start_server: Any) -> None:
    server = start_server()
    server.wait_ready()
    stream = server.client.events(LONG)
    next(stream)
    server.process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert server.process.poll() is None
    server.process.send_signal(signal.SIGINT)
    # A drain would wait for 30 s.
    server.process.wait(20)
    stream.close()
    assert server.stop() != 0


def test_a_key_guards_the_api_and_not_the_pages(start_server: Any) -> None:
    with start_server(env={"IGNIS_SERVER_API_KEY": "sk-test"}) as server:
        keyed = Client("127.0.0.1", server.port, "sk-test")
        assert server.client.request("GET", "/v1/models")[0] == 401
        assert keyed.request("GET", "/v1/models")[0] == 200
        assert server.client.request("GET", "/ui/")[0] == 200
        assert server.client.request("GET", "/health")[0] == 200
    assert "sk-test" not in server.log_text()


def test_tokenize_counts_what_chat_counts_and_detokenize_gives_it_back(server: Server) -> None:
    messages = [{"role": "user", "content": "Grüße 👩‍👩‍👧 <|im_end|> 数える"}]
    counted = server.client.json("POST", "/v1/tokenize", {"messages": messages, "return_token_ids": True})
    answer = server.client.chat(messages=messages, max_tokens=1)
    assert answer.usage is not None and counted["count"] == answer.usage["prompt_tokens"] == len(counted["token_ids"])
    raw = server.client.json("POST", "/v1/tokenize", {"prompt": "Grüße 👩‍👩‍👧", "return_token_ids": True})
    assert server.client.json("POST", "/v1/detokenize", {"token_ids": raw["token_ids"]})["text"] == "Grüße 👩‍👩‍👧"


def test_a_model_that_cannot_be_loaded_leaves_a_server_that_says_why(start_server: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(60))
    server: Server = start_server("--model-artifact", str(broken))
    while not (events := parse_events(server.log_text(), "ignis.model.load_failed")):
        assert server.process.poll() is None, server.log_text()
        time.sleep(0.02)
    assert events[0]["id"] == "broken" and "broken.gguf" in str(events[0]["error"])
    status, _, content = server.client.request("GET", "/health")
    assert status == 503 and "broken.gguf" in json.loads(content)["error"]["message"]
    assert server.client.request("GET", "/ui/")[0] == 200
    assert server.stop() == 0
    assert "Traceback" not in server.log_text()
