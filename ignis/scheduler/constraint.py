"""What one answer may draw: the seam for grammars, forced calls and the end of reasoning.

A request's constraint is given away with its Submission: from then on it belongs to the engine's thread, and while it
is late to the one that works on it. It says what the next draw may be, and is told what was drawn.

    permitted          what the next draw may give; None: any token. Good while the constraint is not late
    take(token)        the engine's thread, between two steps: a token was drawn. Microseconds, for every lane waits
    is_late            what may come next is known only after work()
    surplus            how much of the answer's end may be forgotten: a loop
    work()             any thread, once after a take that left it late, beside the device's work

A late lane is left out of rounds until its work is done. Rows are invariant (ADR 3), so that which rounds it joins
changes none of its tokens; the other lanes do not wait.
"""

from typing import Protocol

from ignis._core import Mask

__all__ = ["Constraint", "ConstraintError", "Mask"]


class ConstraintError(Exception):
    """A constraint has reached its bounds, and cannot say what may come next. The text is for the client."""


class Constraint(Protocol):
    @property
    def permitted(self) -> Mask | None:
        """What the next draw may give; at least one token, or None for any. It is not changed while a step runs. Read
        while the constraint is not late."""
        ...

    @property
    def is_late(self) -> bool:
        """Work is to be done before `permitted` is read. Never so in a new one."""
        ...

    def take(self, token: int) -> int:
        """A token was drawn; returns the one that the answer gets in its place, nearly always the same.

        Comes before the token ends the answer or is counted, and so for a stop token too.
        """
        ...

    @property
    def surplus(self) -> int:
        """After a take: so many of the tokens before the taken one may leave the context; 0 but where reasoning went in
        circles."""
        ...

    def work(self) -> None:
        """Brings `permitted` up to date. While it runs nothing else of the constraint is touched.

        Raises:
            ConstraintError: the answer ends with BLOCKED.
        """
        ...
