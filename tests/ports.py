"""Ports for the servers under test."""

import itertools
import random
import socket

_PORTS = range(20_000, 32_768)
"""Below those that systems give to connections that go out, which could be taken between the probe and the use."""

_steps = itertools.count(random.SystemRandom().randrange(len(_PORTS)))


def free_port() -> int:
    """A TCP port that nobody listens on. Each call of this process gives another one."""
    for _ in _PORTS:
        port = _PORTS[next(_steps) % len(_PORTS)]
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        return port
    raise AssertionError(f"no port of {_PORTS} is free")
