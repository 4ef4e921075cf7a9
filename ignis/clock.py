"""The clocks that the engine and the API are given. They take a Clock, so that a test can turn its hands."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds that only grow; only differences mean anything."""


def monotonic_s() -> float:
    """Returns the machine's monotonic clock."""
    return time.monotonic()


def unix_s() -> int:
    """Returns the seconds since 1970, for what is shown to people."""
    return int(time.time())
