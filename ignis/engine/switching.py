"""A switch, under way and done: its phases, what it cost, and whether it only goes to and fro. Nothing here waits.

A load where nothing was loaded, and an unload that nothing follows, are put on record in the same form.
"""

import enum
from dataclasses import dataclass, field

from ignis.clock import Clock, unix_s

_PING_PONG_S = 60.0
_WARN_EVERY_S = 60.0


class SwitchPhase(enum.Enum):
    PREPARE = "prepare"
    """The new model's files and tokenizer; the old one serves."""
    DRAIN = "drain"
    """What runs may end."""
    TEARDOWN = "teardown"
    LOAD = "load"
    WARM_UP = "warm_up"


class SwitchOutcome(enum.Enum):
    SWITCHED = "switched"
    REFUSED = "refused"
    """Found to be bad before the old model was touched."""
    RETURNED = "returned"
    """The load failed, and the old model serves again."""
    FAILED = "failed"
    """Neither could be loaded."""
    CALLED_OFF = "called_off"
    """Whoever wanted it left in time."""
    LOADED = "loaded"
    """Nothing was loaded before; FAILED where it could not be."""
    UNLOADED = "unloaded"
    """Nothing is loaded now."""


@dataclass(frozen=True, slots=True)
class Switch:
    """One that is over."""

    before: str | None
    """None: nothing was loaded."""
    to: str | None
    """None: nothing is loaded now."""
    at_unix_s: int
    outcome: SwitchOutcome
    seconds: dict[SwitchPhase, float]
    waited: int
    """Requests that were held for it when it ended."""
    reason: str = ""

    def ms(self, phase: SwitchPhase) -> float | None:
        """Milliseconds of a phase; None where it did not come to that."""
        seconds = self.seconds.get(phase)
        return None if seconds is None else round(seconds * 1e3, 1)


@dataclass(slots=True)
class SwitchWatch:
    """One under way."""

    before: str | None
    to: str | None
    clock: Clock
    seconds: dict[SwitchPhase, float] = field(default_factory=dict)
    started_at_s: float = 0.0
    _marked_at_s: float = 0.0

    def __post_init__(self) -> None:
        self.started_at_s = self._marked_at_s = self.clock()

    def mark(self, phase: SwitchPhase) -> None:
        """The phase is over."""
        now = self.clock()
        self.seconds[phase] = now - self._marked_at_s
        self._marked_at_s = now

    def mark_load(self, weights_s: float, warm_up_s: float) -> None:
        """The load is over, and took as long as it says itself: that is one number wherever it is told."""
        self.seconds |= {SwitchPhase.LOAD: weights_s, SwitchPhase.WARM_UP: warm_up_s}
        self._marked_at_s = self.clock()

    @property
    def age_s(self) -> float:
        return self.clock() - self.started_at_s

    def over(self, outcome: SwitchOutcome, waited: int = 0, reason: str = "") -> Switch:
        return Switch(self.before, self.to, unix_s(), outcome, dict(self.seconds), waited, reason)


class PingPong:
    """Notices switches back to a model that has only just left: clients name different models in turn."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left_at_s: dict[str, float] = {}
        self._warned_at_s = float("-inf")
        self.num_returns = 0

    def is_return(self, switch: Switch) -> bool:
        """Takes a switch from one model to another; whether it came back to one that had only just left.

        A reload, of one model to itself, is nobody's going to and fro.
        """
        assert switch.before is not None and switch.to is not None
        if switch.before == switch.to:
            return False
        now = self._clock()
        is_back = now - self._left_at_s.get(switch.to, float("-inf")) < _PING_PONG_S
        self._left_at_s = {name: at for name, at in self._left_at_s.items() if now - at < _PING_PONG_S}
        self._left_at_s[switch.before] = now
        self.num_returns += is_back
        return is_back

    def is_news(self) -> bool:
        """Whether it is time to say so: once a minute at most."""
        now = self._clock()
        if now - self._warned_at_s < _WARN_EVERY_S:
            return False
        self._warned_at_s = now
        return True
