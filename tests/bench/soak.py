"""Eight clients that leave at random, for as long as asked: prints what the server held before and after.

It fails where pages are missing from the pool; the rest is for the reader, and for tests/e2e, to judge.

python3 -m tests.bench.soak --seconds 600 -- python3 -m ignis --model-artifact models/SmolLM2-135M-Instruct.Q4_1.gguf
"""

import argparse
import json
import os
import random
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.client import Answer
from tests.e2e.server import Server
from tests.ports import free_port

NUM_CLIENTS = 8
PAGE_TOKENS = 64
WORDS = [
    "river",
    "stone",
    "garden",
    "window",
    "market",
    "paper",
    "silver",
    "morning",
    "bridge",
    "cotton",
    "engine",
    "harbor",
    "letter",
    "candle",
    "forest",
]


@dataclass
class Counts:
    """Answers by how they ended; refused: 503 engine_full."""

    finished: int = 0
    cut: int = 0
    refused: int = 0
    wrong: int = 0


def client_loop(server: Server, seed: int, until: float, counts: Counts) -> None:
    """Streams, plain answers and cuts at random points; one client."""
    choose = random.Random(seed)
    while time.monotonic() < until:
        words = " ".join(choose.choices(WORDS, k=choose.choice((5, 40, 300, 900))))
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": words}],
            "max_tokens": choose.choice((5, 40, 200)),
            "temperature": choose.choice((0, 0.8)),
            "ignore_eos": choose.random() < 0.3,
        }
        kind = choose.random()
        try:
            if kind < 0.4:
                server.client.cut({**body, "stream": choose.random() < 0.7}, choose.choice((0, 1, 300, 2000)))
                counts.cut += 1
            elif kind < 0.8:
                answer = server.client.stream(**body)
                counts.finished += answer.is_done
                counts.wrong += not answer.is_done
            else:
                status, _, content = server.client.request("POST", "/v1/chat/completions", body)
                if status == 503 and json.loads(content)["error"]["code"] == "engine_full":
                    counts.refused += 1
                    time.sleep(0.2)
                else:
                    counts.finished += status == 200
                    counts.wrong += status != 200
        except AssertionError as error:
            if "engine_full" in str(error):
                counts.refused += 1
                time.sleep(0.2)
            else:
                counts.wrong += 1
                print("wrong:", str(error)[:300])


def fill(server: Server) -> list[Answer]:
    """Runs eight requests at once whose bounds together are the whole pool, and returns their answers.

    A page that nobody gave back is missing to the eighth, which would wait for another one's end: so this fails unless
    all eight run at once on every page of the pool. Each sequence is small enough to share none.
    """
    pool_tokens = PAGE_TOKENS * int(server.metric("ignis_kv_pool_pages"))
    bound_tokens = pool_tokens // NUM_CLIENTS
    answers: list[Answer] = []

    def run(index: int) -> None:
        messages = [{"role": "user", "content": f"Tell a long story about a {WORDS[index]}."}]
        counted = server.client.json("POST", "/v1/tokenize", {"messages": messages})["count"]
        assert counted < PAGE_TOKENS, "a prompt with a full page could share it"
        body = {"messages": messages, "max_tokens": bound_tokens - counted, "temperature": 0.8, "seed": index}
        answers.append(server.client.stream(**body, ignore_eos=True))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(NUM_CLIENTS)]
    for thread in threads:
        thread.start()
    server.wait_metric("ignis_scheduler_requests", NUM_CLIENTS, state="running")
    assert answers == []
    for thread in threads:
        thread.join()
    server.wait_metric("ignis_scheduler_requests", 0, state="running")
    assert server.metric("ignis_kv_pool_used_pages") <= pool_tokens // PAGE_TOKENS
    return answers


def soak(server: Server, seconds: float, seed: int = 1) -> dict[str, Any]:
    """Runs the load and returns what the server holds before and after, once it is idle again.

    The pool is filled before, so that all of its memory counts from the start, and after.
    """
    filled = fill(server)
    before = state(server)
    counts = Counts()
    until = time.monotonic() + seconds
    middle: list[int] = []
    threads = [
        threading.Thread(target=client_loop, args=(server, seed + index, until, counts)) for index in range(NUM_CLIENTS)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(5.0, seconds / 4))
        middle.append(server.resident_bytes())
    server.wait_metric("ignis_scheduler_requests", 0, state="running")
    # The answer to the scrape that asks is the one connection left.
    server.wait_metric("ignis_http_connections", 1)
    filled += fill(server)
    server.wait_metric("ignis_http_connections", 1)
    return {
        "counts": counts.__dict__,
        "filled": {finish: sum(answer.finish == finish for answer in filled) for finish in ("stop", "length")},
        "before": before,
        "after": state(server),
        "resident_bytes": middle,
    }


def settled_files(server: Server) -> int:
    """Open files of an idle server: the least of a second's readings, for the last scrape's connection closes
    a moment after its answer."""
    readings = []
    for _ in range(20):
        readings.append(server.open_files())
        time.sleep(0.05)
    return min(readings)


def state(server: Server) -> dict[str, float]:
    return {
        "open_files": settled_files(server),
        "threads": len(list(Path(f"/proc/{server.process.pid}/task").iterdir())),
        "running": server.metric("ignis_scheduler_requests", state="running"),
        "waiting": server.metric("ignis_scheduler_requests", state="waiting"),
        "unaccounted": server.metric("ignis_requests_accepted_total")
        - server.metric("ignis_requests_completed_total")
        - server.metric("ignis_requests_cancelled_total"),
        "resident_bytes": server.resident_bytes(),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    log = Path(tempfile.mkdtemp()) / "log"

    with Server(arguments.command, free_port(), free_port(), log, {**os.environ, "IGNIS_LOG_FORMAT": "json"}) as server:
        print(json.dumps(soak(server, arguments.seconds), indent=1))


if __name__ == "__main__":
    main()
