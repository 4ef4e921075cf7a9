"""Kept responses: by use, by age, by bytes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ignis.api.response_store import ResponseStore, StoredResponse, json_bytes


class Hand:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def stored(name: str, size: int = 10, earlier: StoredResponse | None = None) -> StoredResponse:
    items: list[Any] = [] if earlier is None else list(earlier.items)
    own: Any = {"id": f"msg_{name}"}
    return StoredResponse(name, b"x" * size, (*items, own), len(items), len(items) + 1, 0)


def test_over_the_bound_the_least_recently_used_one_goes() -> None:
    store = ResponseStore(30, None, Hand())
    for name in "abc":
        store.put(stored(name))
    assert store.get("a") is not None
    store.put(stored("d"))
    assert [name for name in "abcd" if store.get(name)] == ["a", "c", "d"]
    assert store.size_bytes == 30


def test_one_that_is_over_the_bound_alone_is_not_kept_and_takes_nobodys_place() -> None:
    store = ResponseStore(30, None, Hand())
    store.put(stored("a"))
    store.put(stored("b", 31))
    assert store.get("a") is not None and store.get("b") is None


def test_one_that_is_too_old_is_forgotten_however_often_it_is_used() -> None:
    clock = Hand()
    store = ResponseStore(100, 60, clock)
    store.put(stored("a"))
    clock.now_s += 59
    store.put(stored("b"))
    assert store.get("a") is not None
    clock.now_s += 1
    assert store.get("a") is None and store.item("msg_a") is None
    assert store.get("b") is not None
    assert store.size_bytes == 10


def test_kept_again_it_lives_its_whole_time() -> None:
    clock = Hand()
    store = ResponseStore(100, 60, clock)
    store.put(stored("a"))
    clock.now_s += 59
    store.put(stored("a", 20))
    clock.now_s += 59
    assert store.get("a") is not None
    assert store.size_bytes == 20


def test_items_are_found_while_the_response_that_they_came_with_is_kept() -> None:
    store = ResponseStore(100, None, Hand())
    first = stored("a")
    store.put(first)
    store.put(stored("b", earlier=first))
    assert store.item("msg_a") == {"id": "msg_a"}
    # Forgetting what went on from it takes none of its items.
    assert store.remove("b")
    assert store.item("msg_b") is None and store.item("msg_a") is not None
    assert store.remove("a") and not store.remove("a")
    assert store.item("msg_a") is None
    assert (len(store), store.size_bytes) == (0, 0)


def test_with_no_bytes_nothing_is_kept() -> None:
    store = ResponseStore(0, None, Hand())
    store.put(stored("a"))
    assert not store.keeps and store.get("a") is None


def test_bytes_of_items_are_those_of_their_json() -> None:
    assert json_bytes([{"id": "\u00e9"}, {}]) == len('{"id":"\u00e9"}'.encode()) + 2


@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "get", "item", "remove", "wait"]), st.integers(0, 5), st.integers(1, 40))
    )
)
def test_the_bound_and_the_time_hold_whatever_is_done(steps: list[tuple[str, int, int]]) -> None:
    clock = Hand()
    store = ResponseStore(60, 50, clock)
    kept: dict[str, tuple[float, int]] = {}
    for step, number, size in steps:
        name = f"r{number}"
        if step == "put":
            store.put(stored(name, size))
            kept[name] = (clock.now_s, size)
        elif step == "get":
            found = store.get(name)
            assert found is None or len(found.body) == kept[name][1]
        elif step == "item":
            assert store.item(f"msg_{name}") in (None, {"id": f"msg_{name}"})
        elif step == "remove":
            store.remove(name)
        else:
            clock.now_s += size
        alive = [entry for key in kept if (entry := store.get(key)) is not None]
        assert all(clock.now_s - kept[entry.id][0] < 50 for entry in alive)
        assert store.size_bytes == sum(entry.size_bytes for entry in alive) <= 60
        assert len(store) == len(alive)
