"""Stop strings in text that comes in pieces."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ignis.stream.stop import StopMatcher


def _push_all(stops: list[str], pieces: list[str]) -> tuple[list[str], bool]:
    """The texts that come out, piece by piece, with the end's; and whether a stop string was met."""
    matcher = StopMatcher(stops)
    emitted = []
    for piece in pieces:
        text, stopped = matcher.push(piece)
        emitted.append(text)
        if stopped:
            return emitted, True
    return [*emitted, matcher.finish()], False


def test_nothing_of_a_stop_string_comes_out_before_it_is_complete() -> None:
    assert _push_all(["DEFGHIJ"], ["DEF", "G", "HI", "J"]) == (["", "", "", ""], True)


def test_overlapping_prefixes_hold_back_no_more_than_they_must() -> None:
    assert _push_all(["aab"], ["a", "a", "a", "b", "x"]) == (["", "", "a", ""], True)


def test_text_that_cannot_begin_a_stop_string_goes_at_once() -> None:
    assert _push_all(["ZZZZZZZZZZ"], ["Hello", " world"]) == (["Hello", " world", ""], False)


def test_a_stop_string_is_found_across_any_pieces() -> None:
    stop = "\nObservation: the"
    emitted, stopped = _push_all([stop], ["thought", *stop, "rest"])
    assert ("".join(emitted), stopped) == ("thought", True)


def test_what_was_held_back_comes_out_at_the_end() -> None:
    assert _push_all(["STOP"], ["a", "ST"]) == (["a", "", "ST"], False)


def test_the_stop_string_that_is_complete_first_wins() -> None:
    assert _push_all(["bcd", "c"], ["abcd"]) == (["ab"], True)


def test_of_two_that_end_together_the_longer_one_is_cut_off() -> None:
    assert _push_all(["c", "abc"], ["xabc"]) == (["x"], True)


def test_after_a_match_nothing_comes_out() -> None:
    matcher = StopMatcher(["x"])
    matcher.push("ax")
    assert (matcher.push("more"), matcher.finish(), matcher.found) == (("", True), "", "x")


def test_a_long_stop_string_of_one_letter_costs_little() -> None:
    matcher = StopMatcher(["a" * 5000 + "b"])
    assert matcher.push("a" * 20_000) == ("a" * 15_000, False)


@given(
    text=st.text("ab", max_size=40),
    stops=st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 40), max_size=8),
)
def test_the_result_is_that_of_a_search_in_the_whole_text(text: str, stops: list[str], cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:stop] for start, stop in itertools.pairwise(bounds)]
    ends = [(text.find(stop) + len(stop), -len(stop)) for stop in stops if stop in text]
    expected = text
    if ends:
        end, length = min(ends)
        expected = text[: end + length]
    emitted, stopped = _push_all(stops, pieces)
    assert ("".join(emitted), stopped) == (expected, bool(ends))


@given(text=st.text("ab", max_size=30), stops=st.lists(st.text("ab", min_size=2, max_size=6), min_size=1, max_size=4))
def test_exactly_the_longest_possible_beginning_is_held_back(text: str, stops: list[str]) -> None:
    matcher = StopMatcher(stops)
    emitted, stopped = matcher.push(text)
    if stopped:
        return
    held = text[len(emitted) :]
    beginnings = {stop[:length] for stop in stops for length in range(1, len(stop))}
    assert emitted + held == text
    assert held == max((start for start in beginnings if text.endswith(start)), key=len, default="")
