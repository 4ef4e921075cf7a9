"""Constraints whose rule is a literal: what may come after so many tokens, and what takes a token's place."""

import threading
from collections.abc import Callable, Collection

from ignis._core import Mask
from ignis.scheduler.constraint import ConstraintError
from tests.fakes.leaf import VOCAB_SIZE

Rule = Callable[[list[int]], Collection[int] | None]
"""Of the tokens so far, those that may come; None: any."""


def ends_in(digit: int) -> Rule:
    """Only tokens whose last digit is that."""
    return lambda tokens: range(digit, VOCAB_SIZE, 10)


class RuledConstraint:
    """Implements scheduler.constraint.Constraint."""

    surplus = 0

    def __init__(
        self,
        rule: Rule,
        *,
        is_slow: bool = False,
        fails_at: int | None = None,
        error: BaseException | None = None,
        vocab_size: int = VOCAB_SIZE,
    ) -> None:
        """`is_slow`: it is late after every token. `fails_at`: the work after so many tokens raises `error`."""
        self.tokens: list[int] = []
        self.workers: list[str] = []
        """The threads that worked."""
        self.gate = threading.Semaphore(1000)
        """One is taken for each work; a test may take all."""
        self._rule = rule
        self._is_slow = is_slow
        self._vocab_size = vocab_size
        self._fails_at = fails_at
        self._error = error or ConstraintError("the grammar is too large")
        self.is_late = False
        self.permitted = self._mask()

    def take(self, token: int) -> int:
        assert not self.is_late
        assert self.permitted is None or token in self.permitted
        self.tokens.append(token)
        if self._is_slow:
            self.is_late = True
        else:
            self.permitted = self._mask()
        return token

    def work(self) -> None:
        assert self.is_late
        self.gate.acquire()
        self.workers.append(threading.current_thread().name)
        if len(self.tokens) == self._fails_at:
            raise self._error
        self.permitted = self._mask()
        self.is_late = False

    def _mask(self) -> Mask | None:
        permitted = self._rule(self.tokens)
        if permitted is None:
            return None
        mask = Mask(self._vocab_size)
        for token in permitted:
            mask.permit(token)
        return mask


class Replacing:
    """Gives the answer another token at some of its places."""

    permitted = None
    is_late = False
    surplus = 0

    def __init__(self, tokens: dict[int, int]) -> None:
        self._tokens = tokens
        self._place = 0

    def take(self, token: int) -> int:
        self._place += 1
        return self._tokens.get(self._place - 1, token)

    def work(self) -> None:
        raise AssertionError("it is never late")


class Rewinding(Replacing):
    """Gives up what was drawn, at one place."""

    def __init__(self, place: int, surplus: int, token: int) -> None:
        super().__init__({place: token})
        self._at, self._wanted = place, surplus

    def take(self, token: int) -> int:
        self.surplus = self._wanted if self._place == self._at else 0
        return super().take(token)
