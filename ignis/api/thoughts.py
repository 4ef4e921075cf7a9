"""Sees whether answers are reasoning and nothing else: they are served as they are, and the log says why."""

from ignis.api.generation import Delta
from ignis.log import Log
from ignis.scheduler.request import FinishReason
from ignis.stream.parts import Reasoning

_CAUSES = {FinishReason.STOP: "the model ended its turn", FinishReason.LENGTH: "output limit"}
_LEFT = "client cancelled"


class Thoughts:
    """The answers of one exchange."""

    def __init__(self, trace: str, log: Log) -> None:
        self._trace = trace
        self._log = log
        self._is_only: dict[int, bool] = {}
        """Of each answer under way that has said something: it has reasoned only."""

    def note(self, delta: Delta) -> None:
        """Looks at a delta on its way."""
        if delta.parts:
            is_reasoning = all(isinstance(part, Reasoning) for part in delta.parts)
            self._is_only[delta.answer] = self._is_only.get(delta.answer, True) and is_reasoning
        if delta.finish is not None and self._is_only.pop(delta.answer, False):
            self._report(_CAUSES[delta.finish])

    def leave(self) -> None:
        """The client is gone before the end."""
        for is_only in self._is_only.values():
            if is_only:
                self._report(_LEFT)

    def _report(self, cause: str) -> None:
        self._log.emit("ignis.request.only_reasoning", request_id=self._trace, cause=cause)
