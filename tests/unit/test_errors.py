"""The generated errors: one family each, and what a raiser leaves out comes from the declaration."""

import re

import pytest

from ignis import error_body, errors
from ignis.errors import BusyError, Fault, IgnisError, RequestError

FAMILIES = (RequestError, BusyError, Fault)
LEAVES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, IgnisError) and value not in (IgnisError, *FAMILIES)
]


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_leaf_has_one_family_and_a_status_that_fits_it(leaf: type[IgnisError]) -> None:
    assert sum(issubclass(leaf, family) for family in FAMILIES) == 1
    # 501 and 505 are the protocol's words for what a caller asked for and may not.
    assert (400 <= leaf.status < 500 or leaf.status in (501, 505)) == issubclass(leaf, RequestError)
    assert re.fullmatch(r"[a-z_]+", leaf.code)
    assert re.fullmatch(r"[a-z_]+", leaf.type)


@pytest.mark.parametrize("leaf", [leaf for leaf in LEAVES if leaf.status in (429, 503)])
def test_who_is_told_to_wait_is_told_how_long(leaf: type[IgnisError]) -> None:
    assert ("Retry-After", str(leaf("no").retry_after_s)) in error_body.headers(leaf("no"))
    assert ("Retry-After", "9") in error_body.headers(leaf("no", retry_after_s=9))  # type: ignore[call-arg]


@pytest.mark.parametrize("leaf", [leaf for leaf in LEAVES if issubclass(leaf, Fault)])
def test_a_fault_has_words_for_clients(leaf: type[IgnisError]) -> None:
    assert leaf.public
    assert error_body.detail(leaf("/home/somebody/secret")).message == leaf.public


def test_what_is_not_said_comes_from_the_declaration() -> None:
    assert errors.TemplateError("no").param == "messages"
    assert errors.TemplateError("no", "tools").param == "tools"
    assert errors.ServerNotReadyError("no").retry_after_s == 1
    assert errors.EngineFullError("no", retry_after_s=7).retry_after_s == 7
    assert str(errors.InvalidRequestError("no", "x")) == "no"


def test_headers_follow_the_error() -> None:
    assert error_body.headers(errors.EngineFullError("no", retry_after_s=7)) == [("Retry-After", "7")]
    assert error_body.headers(errors.InvalidApiKeyError("no")) == [("WWW-Authenticate", "Bearer")]
    assert error_body.headers(errors.InvalidRequestError("no")) == []


def test_folders_are_cut_off_and_routes_and_addresses_are_not() -> None:
    assert error_body.without_folders("/home/somebody/my models/a-b.gguf: cut") == "my models/a-b.gguf: cut"
    assert error_body.without_folders("cannot open '/tmp/x/y.so'") == "cannot open 'y.so'"
    assert error_body.without_folders("see https://example.com/a/b and w/o") == "see https://example.com/a/b and w/o"
