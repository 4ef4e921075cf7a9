"""A server whose card another process has: it tells so, goes on, and serves again once the memory is free.

Alone on the card: what is taken here is taken from every other test, too.
"""

import time
from collections.abc import Callable

import pytest

from tests.attack.calls import ask
from tests.attack.card import hog
from tests.cuda import test_served
from tests.e2e.server import Server

pytestmark = test_served.pytestmark
start = test_served.start


@pytest.mark.parametrize("oversubscribed", ["true", "false"])
def test_a_server_goes_on_after_a_load_that_failed(start: Callable[..., Server], oversubscribed: str) -> None:
    """true: the driver refuses what was planned. false: the plan is refused before that."""
    flags = ("--vram-allow-oversubscription", oversubscribed, "--model-idle-unload", "0")
    wanted = test_served.body("greedy", "[full] ")
    with start(*flags) as server:
        first = test_served.digest(server.client.chat(**wanted))
        for _ in range(3):
            ask(server.port, "/v1/models/unload", {})
            server.wait_metric("ignis_model_state", 1, 30, state="unloaded")
            with hog(700):
                refusal = ask(server.port, "/v1/chat/completions", wanted, 60)
                assert refusal.code == "server_not_ready", vars(refusal)
                assert "bytes" in refusal.message, vars(refusal)
                # What loads nothing is answered.
                assert ask(server.port, "/v1/models").answer is not None
            outcome = ask(server.port, "/v1/chat/completions", wanted, 60)
            end = time.monotonic() + 40
            while outcome.code and time.monotonic() < end:
                time.sleep(min(2.0, float(outcome.retry_after or 1)))
                outcome = ask(server.port, "/v1/chat/completions", wanted, 60)
            assert outcome.answer is not None, vars(outcome)
            assert test_served.digest(server.client.chat(**wanted)) == first
        assert server.process.poll() is None
        assert "Traceback" not in server.log_text()
