"""What a person reads at the terminal: addresses that can be opened, and a command that can be pasted."""

import json
import shlex

from ignis.banner import banner
from ignis.units import Address


def test_the_curl_line_is_one_command_with_a_json_body() -> None:
    words = shlex.split(banner(Address("127.0.0.1", 8000), has_ui=True).splitlines()[-1].partition("Try it")[2])
    assert words[:3] == ["curl", "-N", "http://127.0.0.1:8000/v1/chat/completions"]
    assert json.loads(words[words.index("-d") + 1])["stream"] is True
    assert not any("Authorization" in word for word in words)


def test_a_key_is_part_of_the_command() -> None:
    line = banner(Address("127.0.0.1", 1), has_ui=False, bearer="$IGNIS_SERVER_API_KEY")
    assert '-H "Authorization: Bearer $IGNIS_SERVER_API_KEY"' in line
    assert "Playground" not in line


def test_a_wildcard_is_shown_as_an_address_that_can_be_opened() -> None:
    assert "http://127.0.0.1:9/ui/" in banner(Address("0.0.0.0", 9), has_ui=True)
    assert "http://[::1]:9/ui/" in banner(Address("::", 9), has_ui=True)
