"""What SIGTERM and SIGINT do to a server, whenever they come."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from ignis.server.signals import ignore_signals, on_signals

ROOT = Path(__file__).resolve().parents[2]
SERVER = """
import os, signal, sys
from ignis.cli import main
from ignis.log import Log

def stop():
    os.kill(os.getpid(), signal.SIGTERM)

emit = Log.emit
def emitting(log, event, **fields):
    emit(log, event, **fields)
    if event == "ignis.process.listening":
        stop()
    if event == "ignis.process.stopped":
        WHEN == event and stop()
Log.emit = emitting

class Last:
    # In the last moments of the interpreter, whose own handlers are gone by then.
    def __del__(self, kill=os.kill, process_id=os.getpid(), number=signal.SIGTERM, is_meant=WHEN == "the end"):
        is_meant and kill(process_id, number)

sys.last = Last()
sys.exit(main(["--server-bind", "127.0.0.1:0", "--server-metrics", "false", "--download-enabled", "false"]))
"""


@pytest.fixture
def handlers_kept() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def test_the_first_signal_and_the_later_ones_are_told_apart(handlers_kept: None) -> None:
    calls: list[str] = []
    async with trio.open_nursery() as nursery:
        await nursery.start(
            on_signals, lambda name: calls.append(f"first {name}"), calls.append, lambda: calls.append("late")
        )
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)
            await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    os.kill(os.getpid(), signal.SIGINT)
    assert calls == ["first SIGTERM", "SIGINT", "SIGTERM", "late"]
    ignore_signals()
    os.kill(os.getpid(), signal.SIGTERM)
    assert len(calls) == 4


def test_signals_that_nobody_took_over_are_left_as_they_are(handlers_kept: None) -> None:
    before = signal.getsignal(signal.SIGINT)
    ignore_signals()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("when", "status"), [("ignis.process.stopped", 130), ("the end", 0), ("", 0)])
def test_a_second_signal_is_no_death_by_a_signal_however_late_it_comes(when: str, status: int, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(ROOT), "IGNIS_DEVICE": "cpu", "HOME": str(tmp_path)}
    code = f"WHEN = {when!r}\n{SERVER}"
    ran = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == status, ran.stderr
