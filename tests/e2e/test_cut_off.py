"""The tests' own machine without a network: whoever wants to leave it fails, and that is seen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cut_off import CutOff
from tests.fakes.mirror import serving

CALLS = {
    "connect 192.0.2.1": "socket.socket().connect(('192.0.2.1', 80))",
    "connect 2001:db8::1": "socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80))",
    "sendto 192.0.2.1": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'?', ('192.0.2.1', 53))",
    "sendmsg 192.0.2.1": "socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'?'], (), 0, ('192.0.2.1', 53))",
    "getaddrinfo hub.example": "urllib.request.urlopen('http://hub.example/')",
}


@pytest.mark.parametrize("tried", CALLS)
def test_whoever_is_cut_off_reaches_nobody_and_is_seen(tmp_path: Path, tried: str) -> None:
    cut = CutOff.make(tmp_path)
    # In a child of the process that was started, as a server's own may be.
    code = f"import socket, urllib.request\n{CALLS[tried]}"
    child = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', {code!r}]).returncode)"
    went = subprocess.run(
        [sys.executable, "-c", child], env=cut.environment(os.environ), capture_output=True, text=True
    )
    assert went.returncode == 1
    assert "Network is unreachable" in went.stderr or "Temporary failure in name resolution" in went.stderr, went.stderr
    assert cut.attempts() == [tried]


def test_whoever_is_cut_off_reaches_this_machine(tmp_path: Path) -> None:
    cut = CutOff.make(tmp_path)
    with serving() as mirror:
        mirror.files["/here"] = b"yes"
        code = f"import urllib.request; print(urllib.request.urlopen('{mirror.url}/here').read())"
        went = subprocess.run([sys.executable, "-c", code], env=cut.environment(os.environ), capture_output=True)
    assert went.stdout == b"b'yes'\n", went.stderr
    assert cut.attempts() == []
