"""Requests that are held until a model serves: who waits for which, first come first. Loads nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import trio

from ignis.engine.lifecycle import LoadedModel
from ignis.errors import IgnisError
from ignis.models.local import LocalModel


class Held:
    """One request that waits. Its waiter reads `model` or `error` once `is_over` is set."""

    __slots__ = ("awaited", "error", "is_over", "model", "since_s", "target")

    def __init__(self, target: LocalModel | None, awaited: str | None, since_s: float) -> None:
        self.target = target
        """None: whatever serves, or what nobody knows the path of yet."""
        self.awaited = awaited
        """The name of such a one."""
        self.since_s = since_s
        """By trio's clock."""
        self.is_over = trio.Event()
        self.model: LoadedModel | None = None
        self.error: IgnisError | None = None

    @property
    def is_nameless(self) -> bool:
        """Whether it waits for whatever serves."""
        return self.target is None and self.awaited is None


class Wishes:
    """Belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._held: dict[Held, None] = {}

    def __len__(self) -> int:
        return len(self._held)

    def add(self, target: LocalModel | None, awaited: str | None = None) -> Held:
        held = Held(target, awaited, trio.current_time())
        self._held[held] = None
        return held

    def oldest_s(self) -> float:
        """How long that one has waited that has waited longest; 0 where nobody waits."""
        first = next(iter(self._held), None)
        return 0.0 if first is None else trio.current_time() - first.since_s

    def withdraw(self, held: Held) -> None:
        """Forgets one whose waiter has left. Does nothing where it is over."""
        self._held.pop(held, None)

    def targets(self, home: LocalModel | None) -> Iterator[LocalModel]:
        """The models that are waited for, whoever has waited longest first. `home` is what they mean who named none."""
        seen: set[Path] = set()
        for held in list(self._held):
            target = home if held.is_nameless else held.target
            if target is not None and target.path not in seen:
                seen.add(target.path)
                yield target

    def count(self, path: Path) -> int:
        """How many wait for this model by its name."""
        return sum(held.target is not None and held.target.path == path for held in self._held)

    def locate(self, model: LocalModel) -> None:
        """The model of that name is found: who waited for it by its name alone waits for that one."""
        for held in self._held:
            if held.awaited == model.name:
                held.target, held.awaited = model, None

    def refuse_awaited(self, error: Callable[[], IgnisError]) -> int:
        """Ends the wait of everybody who waits for a model that nobody has found."""
        return self._refuse(lambda held: held.awaited is not None, error)

    def grant(self, path: Path, model: LoadedModel) -> int:
        """Lets everybody in who waits for this model by its name; returns how many that are."""
        return self._grant(lambda held: held.target is not None and held.target.path == path, model)

    def grant_nameless(self, model: LoadedModel) -> int:
        """Lets everybody in who waits for whatever serves; returns how many that are."""
        return self._grant(lambda held: held.is_nameless, model)

    def refuse(self, path: Path, error: Callable[[], IgnisError]) -> int:
        """Ends the wait of everybody who waits for this model by its name; returns how many that are."""
        return self._refuse(lambda held: held.target is not None and held.target.path == path, error)

    def refuse_nameless(self, error: Callable[[], IgnisError]) -> int:
        """Ends the wait of everybody who waits for whatever serves: nothing will."""
        return self._refuse(lambda held: held.is_nameless, error)

    def refuse_all(self, error: Callable[[], IgnisError]) -> int:
        return self._refuse(lambda _: True, error)

    def _grant(self, is_meant: Callable[[Held], bool], model: LoadedModel) -> int:
        def let_in(held: Held) -> None:
            held.model = model

        return self._end(is_meant, let_in)

    def _refuse(self, is_meant: Callable[[Held], bool], error: Callable[[], IgnisError]) -> int:
        def refuse(held: Held) -> None:
            held.error = error()

        return self._end(is_meant, refuse)

    def _end(self, is_meant: Callable[[Held], bool], settle: Callable[[Held], None]) -> int:
        ended = [held for held in self._held if is_meant(held)]
        for held in ended:
            del self._held[held]
            settle(held)
            held.is_over.set()
        return len(ended)
