"""Eight clients that leave at random, for as long as asked: prints what leaked. Asserts nothing; tests/e2e does.

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

from tests.e2e.conftest import free_port
from tests.e2e.server import Server

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


def soak(server: Server, seconds: float, seed: int = 1) -> dict[str, Any]:
    """Runs the load and returns what the server holds before and after, once it is idle again."""
    server.client.chat(messages=[{"role": "user", "content": "warm up"}], max_tokens=5)
    before = state(server)
    counts = Counts()
    until = time.monotonic() + seconds
    middle: list[int] = []
    threads = [threading.Thread(target=client_loop, args=(server, seed + index, until, counts)) for index in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(5.0, seconds / 4))
        middle.append(server.resident_bytes())
    server.wait_metric("ignis_scheduler_requests", 0, state="running")
    time.sleep(0.5)
    return {"counts": counts.__dict__, "before": before, "after": state(server), "resident_bytes": middle}


def state(server: Server) -> dict[str, float]:
    return {
        "open_files": server.open_files(),
        "threads": len(list(Path(f"/proc/{server.process.pid}/task").iterdir())),
        "running": server.metric("ignis_scheduler_requests", state="running"),
        "waiting": server.metric("ignis_scheduler_requests", state="waiting"),
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
