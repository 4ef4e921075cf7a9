"""What a person reads at the terminal: addresses that can be opened, and a command that can be pasted."""

import json
import shlex
from pathlib import Path

from ignis.banner import banner
from ignis.units import Address, UnixPath


def test_the_curl_line_is_one_command_with_a_json_body() -> None:
    words = shlex.split(banner([Address("127.0.0.1", 8000)]).splitlines()[-1].partition("Try it")[2])
    assert words[:3] == ["curl", "-N", "http://127.0.0.1:8000/v1/chat/completions"]
    assert json.loads(words[words.index("-d") + 1])["stream"] is True
    assert not any("Authorization" in word for word in words)


def test_a_key_is_part_of_the_command() -> None:
    line = banner([Address("127.0.0.1", 1)], has_ui=False, bearer="$IGNIS_SERVER_API_KEY")
    assert '-H "Authorization: Bearer $IGNIS_SERVER_API_KEY"' in line
    assert "Playground" not in line


def test_a_wildcard_is_shown_as_an_address_that_can_be_opened() -> None:
    assert "http://127.0.0.1:9/ui/" in banner([Address("0.0.0.0", 9)])
    assert "http://[::1]:9/ui/" in banner([Address("::", 9)])


def test_every_bind_is_named_with_the_scheme_that_it_speaks() -> None:
    binds = [UnixPath(Path("/run/ignis one.sock")), Address("127.0.0.1", 8443), Address("::1", 8443)]
    lines = banner(binds, has_tls=True, metrics=Address("127.0.0.1", 9464)).splitlines()
    assert [line.strip() for line in lines[:5]] == [
        "ignis is listening on unix:/run/ignis one.sock",
        "and https://127.0.0.1:8443/v1",
        "and https://[::1]:8443/v1",
        "Playground  https://127.0.0.1:8443/ui/",
        "Metrics     http://127.0.0.1:9464/metrics",
    ]
    assert "curl -N https://127.0.0.1:8443/v1/" in lines[5]


def test_a_socket_alone_is_asked_through_its_file() -> None:
    lines = banner([UnixPath(Path("/run/ignis one.sock"))]).splitlines()
    words = shlex.split(lines[-1].partition("Try it")[2])
    assert words[:5] == ["curl", "-N", "--unix-socket", "/run/ignis one.sock", "http://localhost/v1/chat/completions"]
    assert not any("Playground" in line for line in lines)
