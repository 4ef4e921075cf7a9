"""Eight clients that leave at random: nothing may stay behind. tests/bench/soak.py runs it for as long as asked."""

from typing import Any

from tests.bench.soak import soak

_POOL = ("--model-max-context", "2048", "--vram-kv-pool-bytes", "3072tok")
"""Less than the clients ask for at once, so that requests wait for pages too and the prefix cache has to give way."""
_NUM_PROMPT_WORKERS = 2
_GROWTH_BYTES = 16 << 20


def test_clients_that_leave_at_random_leave_nothing_behind(start_server: Any) -> None:
    with start_server(*_POOL) as server:
        result = soak(server, seconds=15)
    before, after = result["before"], result["after"]
    assert result["counts"]["wrong"] == 0 and result["counts"]["finished"] > 0 and result["counts"]["cut"] > 0
    assert result["filled"] == {"stop": 0, "length": 16}
    assert after["open_files"] <= before["open_files"]
    assert after["threads"] <= before["threads"] + _NUM_PROMPT_WORKERS
    assert after["running"] == after["waiting"] == after["unaccounted"] == 0
    assert after["resident_bytes"] <= before["resident_bytes"] + _GROWTH_BYTES, result["resident_bytes"]
