"""Measures what the Python above a step costs: plan and commit of a round, and the way of its tokens to their readers.

    python -m tests.bench.bench_scheduler [--lanes N] [--rounds N]

The leaf is not called: draws are made before the clock starts. The two figures are the middle one and the 99th of 100.
"""

import argparse
import statistics
import time

from ignis._core import Draw
from ignis.scheduler.plan import DecodeRound
from ignis.scheduler.request import SamplingParams, Submission
from ignis.scheduler.scheduler import Scheduler, SchedulerSettings


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--lanes", type=int, default=8)
    options.add_argument("--rounds", type=int, default=4000)
    chosen = options.parse_args()
    print(f"{chosen.lanes} lanes, {chosen.rounds} rounds, microseconds a round")
    print_times("plan + commit", time_rounds(chosen.lanes, chosen.rounds, None))
    print_times("  with log probabilities", time_rounds(chosen.lanes, chosen.rounds, 5))
    print("prefill of a prompt, microseconds for each 256-token chunk")
    print_times("plan + commit", time_spans(256))


def settings(num_pages: int, num_lanes: int, chunk: int) -> SchedulerSettings:
    return SchedulerSettings(
        num_pages=num_pages,
        num_lanes=num_lanes,
        prefill_chunk=chunk,
        decode_share=0.25,
        has_prefix_cache=True,
        phases_agree=True,
    )


def time_rounds(num_lanes: int, num_rounds: int, top_logprobs: int | None) -> list[float]:
    """Plays requests that all decode; returns seconds for each round."""
    scheduler = Scheduler(settings(num_lanes * (num_rounds // 64 + 3), num_lanes, 256))
    for i in range(num_lanes):
        prompt = (i + 1,) * 20
        scheduler.submit(
            i, Submission(prompt, num_rounds + 60, SamplingParams(top_logprobs=top_logprobs), frozenset({0, 2})), 0.0
        )
    times: list[float] = []
    now = 0.0
    while len(times) < num_rounds:
        now += 1.0
        top = ((5, -1.0),) * (top_logprobs or 0)
        draws = [Draw(lane + len(times) % 1000 + 10, -1.0, top) for lane in range(num_lanes)]
        started = time.perf_counter()
        step = scheduler.plan(now)
        draws = draws if isinstance(step, DecodeRound) else draws[:1]
        scheduler.commit(step, draws[: len(step.rows)] if isinstance(step, DecodeRound) else draws, now)
        took = time.perf_counter() - started
        if isinstance(step, DecodeRound) and len(step.rows) == num_lanes:
            times.append(took)
    return times


def time_spans(chunk: int) -> list[float]:
    """Plays one long prompt; returns seconds for each span."""
    scheduler = Scheduler(settings(4096, 8, chunk))
    prompt = tuple(range(chunk * 500))
    scheduler.submit(1, Submission(prompt, 1, SamplingParams(), frozenset()), 0.0)
    times: list[float] = []
    draws = (Draw(5),)
    for _ in range(500):
        started = time.perf_counter()
        step = scheduler.plan(0.0)
        scheduler.commit(step, draws, 0.0)
        times.append(time.perf_counter() - started)
    return times


def print_times(name: str, times: list[float]) -> None:
    ordered = sorted(seconds * 1e6 for seconds in times)
    print(f"{name:<28} {statistics.median(ordered):8.1f} {ordered[len(ordered) * 99 // 100]:8.1f}")


if __name__ == "__main__":
    main()
