"""Starts threads with a deep stack, for native code that goes down a level with each level of what a client sent."""

import threading
from collections.abc import Callable

_STACK_BYTES = 128 << 20
"""Reserved, not used: llguidance takes up to 16 kB for a level of a schema, and ignis/limits.py allows thousands."""
_starting = threading.Lock()


def start_deep(run: Callable[[], None], name: str) -> threading.Thread:
    """Starts a daemon thread. Another that starts at the same moment may get the same stack, which does no harm."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    with _starting:
        before = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
    return thread
