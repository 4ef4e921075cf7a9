"""Eight clients that leave at random: nothing may stay behind. tests/bench/soak.py runs it for as long as asked."""

from typing import Any

from tests.bench.soak import soak


def test_clients_that_leave_at_random_leave_nothing_behind(start_server: Any) -> None:
    with start_server() as server:
        result = soak(server, seconds=15)
    assert result["counts"]["wrong"] == 0 and result["counts"]["finished"] > 0 and result["counts"]["cut"] > 0
    before, after = result["before"], result["after"]
    # Worker threads of the pool may have been made meanwhile; nothing else may grow.
    assert after["open_files"] <= before["open_files"]
    assert after["running"] == after["waiting"] == 0
