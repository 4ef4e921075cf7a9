"""Finds tags in text that comes in pieces."""

from collections.abc import Sequence


def find_tag(text: str, tags: Sequence[str]) -> tuple[int, str]:
    """Returns where the first tag begins, and it; "" where there is none.

    Then the place is that of the longest end of the text that can still become a tag, which has to be held back.
    """
    found, tag = len(text), ""
    for candidate in tags:
        at = text.find(candidate)
        if 0 <= at < found:
            found, tag = at, candidate
    if tag:
        return found, tag
    longest = max((held_length(text, candidate) for candidate in tags), default=0)
    return len(text) - longest, ""


def held_length(text: str, tag: str) -> int:
    """The length of the longest end of the text that begins the tag and is not all of it."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:length]):
            return length
    return 0
