"""The text of a custom tool, decoded as its JSON comes, however it is cut."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignis.api.custom_input import CustomInput


def played(arguments: str, cuts: list[int]) -> tuple[str, str, list[str]]:
    """The joined deltas, the whole text, and the deltas that came before the end."""
    places = sorted({0, len(arguments), *(cut % (len(arguments) + 1) for cut in cuts)})
    given = CustomInput()
    early = [given.push(arguments[start:stop]) for start, stop in itertools.pairwise(places)]
    rest, whole = given.finish()
    return "".join(early) + rest, whole, early


@given(st.text(), st.booleans(), st.lists(st.integers(0, 500)))
def test_the_deltas_are_the_text_however_the_json_is_cut(text: str, is_ascii: bool, cuts: list[int]) -> None:
    arguments = json.dumps({"input": text}, ensure_ascii=is_ascii)
    joined, whole, early = played(arguments, cuts)
    assert joined == whole == text
    # All of it has come before the end: nothing waits for the closing brace.
    assert "".join(early) == text


def test_text_comes_as_it_is_written() -> None:
    given = CustomInput()
    pieces = [given.push(piece) for piece in ('{"inp', 'ut": "a', "b\\", "nc\\ud8", '3e\\udd8a"', "}")]
    assert pieces == ["", "a", "b", "\nc", "\U0001f98a", ""]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("", ""),
        ('{"other": "a"}', '{"other": "a"}'),
        ('{"input": 3}', '{"input": 3}'),
        ('["a"]', '["a"]'),
        ('{"other": 1, "input": "a"}', "a"),
        ('{"input": "a", "other": 1}', "a"),
        ('{"input": "ab', "ab"),
        ('{"input": "ab\\', "ab"),
        ('{"input": "ab\\u00', "ab"),
        ('{"input": "a", "input": "b"}', "a"),
        ('{"input": "a\\q"}', "a"),
    ],
)
def test_other_forms_and_broken_ones_by_rule(arguments: str, text: str) -> None:
    for cuts in ([], list(range(len(arguments)))):
        joined, whole, _ = played(arguments, cuts)
        assert joined == whole == text
