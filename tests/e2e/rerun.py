"""A test of the page that failed runs twice more at the most, and the summary counts it as a rerun: a browser, its
driver and servers share two cores, and one look that came too early in hundreds is no fault of the page. A fault fails
each time.

Each run of it has a browser and servers of its own: what the one before left is no fault of the page either.
"""

from collections.abc import Generator

import pytest

NUM_RERUNS = 2
HAS_FAILED = pytest.StashKey[bool]()


def is_of_page(item: pytest.Item) -> bool:
    return "browser" in getattr(item, "fixturenames", ())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in filter(is_of_page, items):
        item.add_marker(pytest.mark.flaky(reruns=NUM_RERUNS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and is_of_page(item):
        item.stash[HAS_FAILED] = True
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    if item.stash.get(HAS_FAILED, False):
        del item.stash[HAS_FAILED]
        # All fixtures come to their end, of the module and the session too.
        item.session._setupstate.teardown_exact(None)
    return (yield)
