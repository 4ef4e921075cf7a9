"""Prints what the HTTP server costs: requests a second, and the processor's share of eight event streams.

    python -m tests.bench.bench_http [seconds]

The server runs in a process of its own; the client is plain sockets and threads. Figures, no verdicts.
"""

import json
import multiprocessing
import os
import resource
import socket
import sys
import threading
import time
from multiprocessing.connection import Connection as Pipe

import trio

from ignis.exchange import Exchange
from ignis.log import LogFormat, open_log
from ignis.server.binding import Listen
from ignis.server.listener import Server
from tests.settings import server_limits

NUM_STREAMS = 8
EVENTS_S = 200
EVENT = json.dumps({"id": "chatcmpl-0123456789", "choices": [{"index": 0, "delta": {"content": " word"}}]}).encode()
ANSWER = json.dumps({"status": "ok", "engine": "serving"}).encode()


class BenchHandler:
    """Answers /health at once; on /events every stream is fed by the one tick, as an engine's step does."""

    def __init__(self) -> None:
        self._tick = trio.lowlevel.ParkingLot()

    async def __call__(self, exchange: Exchange) -> None:
        if exchange.path == "/health":
            await exchange.respond(200, ANSWER)
            return
        if exchange.method == "POST":
            await exchange.read_body(1 << 20)
        stream = await exchange.open_events()
        while True:
            await self._tick.park()
            await stream.send(EVENT)

    async def tick(self) -> None:
        next_at = trio.current_time()
        while True:
            next_at += 1 / EVENTS_S
            await trio.sleep_until(next_at)
            self._tick.unpark_all()


def _serve(pipe: Pipe) -> None:
    async def main() -> None:
        handler = BenchHandler()
        server = Server(server_limits(), open_log(sys.stderr, LogFormat.JSON, "error"))
        async with trio.open_nursery() as nursery:
            (bound,) = await nursery.start(server.serve, [Listen("127.0.0.1:0", handler)])
            nursery.start_soon(handler.tick)
            pipe.send(int(bound.address.rpartition(":")[2]))
            while True:
                await trio.to_thread.run_sync(pipe.recv, abandon_on_cancel=True)
                used = resource.getrusage(resource.RUSAGE_SELF)
                pipe.send(used.ru_utime + used.ru_stime)

    trio.run(main)


def _cpu_s(pipe: Pipe) -> float:
    pipe.send(None)
    used = pipe.recv()
    assert isinstance(used, float)
    return used


def _ask_repeatedly(port: int, until: float, counts: list[int]) -> None:
    request = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nuser-agent: bench\r\naccept: */*\r\n\r\n"
    num_answers = 0
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while time.perf_counter() < until:
            connection.sendall(request)
            answer = connection.recv(4096)
            assert answer.endswith(ANSWER)
            num_answers += 1
    counts.append(num_answers)


def _read_stream(port: int, until: float, counts: list[int]) -> None:
    num_events = 0
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        while time.perf_counter() < until:
            num_events += connection.recv(65536).count(b"data: ")
    counts.append(num_events)


def _measure(pipe: Pipe, port: int, num_threads: int, seconds: float, *, is_streaming: bool) -> tuple[float, float]:
    """Returns answers or events a second, and the server's share of one core."""
    counts: list[int] = []
    started_at, cpu_at_start_s = time.perf_counter(), _cpu_s(pipe)
    target = _read_stream if is_streaming else _ask_repeatedly
    threads = [threading.Thread(target=target, args=(port, started_at + seconds, counts)) for _ in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed_s = time.perf_counter() - started_at
    return sum(counts) / elapsed_s, (_cpu_s(pipe) - cpu_at_start_s) / elapsed_s


def main(seconds: float) -> None:
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    port = ours.recv()
    print(f"{os.cpu_count()} processors, {seconds:g} s each")
    for num_threads in (1, 8):
        rate, share = _measure(ours, port, num_threads, seconds, is_streaming=False)
        cost_us = share / rate * 1e6
        print(f"{num_threads} connections: {rate:,.0f} requests/s, {share:.0%} of a core, {cost_us:.0f} us a request")
    rate, share = _measure(ours, port, NUM_STREAMS, seconds, is_streaming=True)
    print(f"{NUM_STREAMS} streams: {rate:,.0f} events/s, {share:.1%} of a core, {share / rate * 1e6:.1f} us an event")
    process.terminate()
    process.join()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
