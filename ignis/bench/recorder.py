"""Keeps what turns of the step loop took, as the engine shows them."""

from ignis.engine.turn import Delivery, TurnTimes
from ignis.scheduler.plan import DecodeRound, PrefillSpan


class Recorder:
    """The spans and the rounds since the last `clear`."""

    def __init__(self) -> None:
        self._spans: list[TurnTimes] = []
        self._rounds: list[tuple[int, float, TurnTimes]] = []
        """Lanes, the time since the round of as many lanes right before, and where the turn went."""
        self._before: Delivery | None = None

    def clear(self) -> None:
        self._spans.clear()
        self._rounds.clear()
        self._before = None

    def take(self, delivery: Delivery) -> None:
        """Notes one turn."""
        before, self._before = self._before, delivery
        if delivery.times is None:
            return
        if isinstance(delivery.step, PrefillSpan):
            self._spans.append(delivery.times)
        elif isinstance(delivery.step, DecodeRound) and before is not None and before.step is delivery.step:
            # The same object: nobody joined, nobody left, and nothing ran in between.
            period_s = delivery.ended_at_s - before.ended_at_s
            self._rounds.append((len(delivery.step.lives), period_s, delivery.times))

    def prefill_device_s(self) -> float:
        """The device's work on all spans."""
        return sum(times.leaf.device_s for times in self._spans)

    def rounds(self, lanes: int) -> list[tuple[float, TurnTimes]]:
        """Of so many lanes, one right behind the other: seconds from end to end, and where the turn went."""
        return [(period_s, times) for width, period_s, times in self._rounds if width == lanes]
