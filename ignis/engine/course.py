"""What the server's one model is, and where it goes: what serves, what is coming, what was asked for. Does nothing.

The keeper and those who do its work write it, the gate and the API read it, all in the event loop's thread.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import trio

from ignis.clock import Clock
from ignis.engine.engine import Engine
from ignis.engine.lifecycle import STATUS, EngineState, LoadedModel, ModelFacts, ModelStatus
from ignis.engine.limits import not_serving
from ignis.engine.opening import Opened
from ignis.engine.settings import LoadSettings
from ignis.engine.switching import Switch, SwitchPhase, SwitchWatch
from ignis.errors import BusyError, ServerNotReadyError
from ignis.models.local import LocalModel

_USUAL_BYTES_S = 1e9
_USUAL_LOAD_S = 2.0
_CHANGES_KEPT = 20
_MOST_RETRY_S = 600
UNKNOWN_RETRY_S = 30
"""Where a person has to do something first, or nobody can tell."""
_FIRST_REST_S, _LONGEST_REST_S = 5.0, 60.0


def retry_after_s(seconds: float) -> int:
    """What a client is told that is to come back after so long, as far as one can tell; infinite: nobody can."""
    if seconds == math.inf:
        return UNKNOWN_RETRY_S
    return math.ceil(min(_MOST_RETRY_S, max(1.0, seconds)))


@dataclass(slots=True, eq=False)
class Reload:
    """A load by other settings, for whoever waits to hear how it went."""

    settings: LoadSettings
    """What this load and the later ones go by, if it goes well."""
    over: trio.Event = field(default_factory=trio.Event)
    error: BaseException | None = None
    """Once it is over: why the settings are the old ones again."""

    def settle(self, error: BaseException | None = None) -> None:
        self.error = error
        self.over.set()


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asked for beside the requests."""

    target: LocalModel | None
    """None: nothing is to be loaded, or with a reload what serves then."""
    reload: Reload | None = None
    """None: it is loaded by the settings of the last load."""

    @property
    def told(self) -> str:
        """For clients."""
        if self.reload is not None:
            return "the model is to be loaded by other settings"
        return "the model is to be unloaded" if self.target is None else f"the model {self.target.name} is to be loaded"


@dataclass(frozen=True, slots=True)
class Expected:
    """The server's first model, while it is looked for or fetched: nobody knows its path."""

    name: str
    """The id that clients will use."""
    seconds_left: Callable[[], float] | None = None
    """Of its download, as far as one can tell. None: it is looked for on the disk."""

    @property
    def told(self) -> str:
        """What is done for it, for clients."""
        return f"the model {self.name} is being {'looked for' if self.seconds_left is None else 'fetched'}"

    def not_here(self) -> ServerNotReadyError:
        """For whoever asks and does not wait."""
        seconds = 1.0 if self.seconds_left is None else self.seconds_left()
        return ServerNotReadyError(self.told, retry_after_s=retry_after_s(seconds))


@dataclass(frozen=True, slots=True)
class Missing:
    """The server's first model, which could not be had, or is not to be."""

    name: str
    state: EngineState
    reason: str


@dataclass(frozen=True, slots=True)
class LastLoad:
    """Of a model."""

    facts: ModelFacts
    seconds: float
    """From its files being open until it served, the warm-up included."""
    changed_ns: int
    size_bytes: int
    """Of its files then: others may lie there since."""


class Course:
    """Also tells whoever waits that something of it has changed."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.clock = clock
        self.model: LoadedModel | None = None
        """What serves; None while nothing does."""
        self.opened: Opened | None = None
        """Its files."""
        self.home: LocalModel | None = None
        """What a request means that names none: the model that serves, or that the next request wakes."""
        self.coming: LocalModel | None = None
        """What is being loaded."""
        self.return_reason: str | None = None
        """It was given up for what failed, or for other settings that did, and is loaded back: why they did, for
        clients."""
        self.watch: SwitchWatch | None = None
        """While one model is exchanged for another."""
        self.last_switch: Switch | None = None
        self.changes: deque[Switch] = deque(maxlen=_CHANGES_KEPT)
        """The latest switches, loads and unloads, the newest first."""
        self.asked: Asked | None = None
        self.is_asked = False
        """What is under way was asked for so."""
        self.first: LocalModel | None = None
        """What the server was started on, once it is here."""
        self.missing: Missing | None = None
        """Until it has come by other ways."""
        self.expected: Expected | None = None
        """The server's first model, while it is not here yet. Others may serve meanwhile."""
        self.leaving: LocalModel | None = None
        """What is being unloaded with nothing to follow: its memory is not back yet."""
        self.drained_since_s: float | None = None
        """While what runs may end, for a load or an unload: since when."""
        self.rested_at_s = 0.0
        """Of the one at home, where it failed: when the next request has it tried anew."""
        self._num_failures = 0
        """Of it, one after the other."""
        self.has_served = False
        """A model was loaded since the server started."""
        self.loaded_at_s = 0.0
        """When the latest one was."""
        self.loads: dict[Path, LastLoad] = {}
        """Of each model that was loaded since the server started."""
        self._engine = engine
        self._changed = trio.Event()

    @property
    def status(self) -> ModelStatus:
        if self.watch is not None:
            return ModelStatus.SWITCHING
        if self.coming is not None or self.is_awaited:
            return ModelStatus.LOADING
        if self.leaving is not None:
            # Unloaded means that the memory is back.
            return ModelStatus.SERVING
        if self._engine.state is EngineState.DRAINING and self.model is None:
            return ModelStatus.UNLOADED
        return STATUS[self._engine.state]

    @property
    def is_awaited(self) -> bool:
        """The first model is on its way, and there is none that a request could have instead that names none."""
        return self.expected is not None and self.next_one() is None

    @property
    def is_returning(self) -> bool:
        return self.return_reason is not None

    def serves(self, target: LocalModel) -> bool:
        """Whether requests for this model are let in."""
        is_open = self._engine.state is EngineState.SERVING
        return is_open and self.opened is not None and self.opened.local.path == target.path

    def next_one(self) -> LocalModel | None:
        """What serves next, as far as it is settled."""
        asked = None if self.asked is None else self.asked.target
        return asked or self.coming or self.home

    def last_load(self, model: LocalModel) -> LastLoad | None:
        """None where it was not loaded yet, or its file is another by now."""
        last = self.loads.get(model.path)
        return (
            last
            if last is not None and (last.changed_ns, last.size_bytes) == (model.changed_ns(), model.size_bytes())
            else None
        )

    @property
    def load_s(self) -> float:
        """What the load of the model took that serves; 0 while none does."""
        last = None if self.opened is None else self.loads.get(self.opened.local.path)
        return 0.0 if last is None else last.seconds

    def load_estimate_s(self, model: LocalModel) -> float:
        """What a load of it takes, as far as one can tell: what it took before, or what its size says."""
        last = self.loads.get(model.path)
        return model.size_bytes() / _USUAL_BYTES_S + _USUAL_LOAD_S if last is None else last.seconds

    @property
    def doing(self) -> str:
        """What is under way, for clients."""
        coming, watch = self.coming, self.watch
        if coming is None:
            return "the model is being unloaded"
        if self.is_returning and (watch is None or watch.to == watch.before):
            return f"the model {coming.name} could not be loaded by other settings, and is being loaded back by the old"
        if self.is_returning and watch is not None:
            return f"the model {watch.to} could not be loaded, and {coming.name} is being loaded back"
        return f"the model {coming.name} is being loaded"

    def seconds_to_land(self, end_s: float, drain_timeout_s: float) -> float:
        """Until what is coming serves, as far as one can tell.

        Args:
            end_s: until what runs has ended, if a drain waits for so long.
        """
        if self.coming is None:
            return 0.0
        watch, load_s = self.watch, self.load_estimate_s(self.coming)
        if watch is None or self.is_returning:
            status = self._engine.load_status
            return load_s - (0.0 if status is None else status.age_s)
        phase_age_s = watch.age_s - sum(watch.seconds.values())
        if SwitchPhase.DRAIN not in watch.seconds:
            drained_s = phase_age_s if SwitchPhase.PREPARE in watch.seconds else 0.0
            return load_s + min(end_s, max(drain_timeout_s - drained_s, 0.0))
        return load_s - phase_age_s

    def seconds_to_turn(self, end_s: float, drain_timeout_s: float) -> float:
        """Until the order that is before the next one is done, as far as one can tell; by `end_s` as
        `seconds_to_land`."""
        seconds = self.seconds_to_land(end_s, drain_timeout_s)
        if self.coming is None or self.asked is not None:
            # What serves goes first, or what will serve then.
            since_s = self.drained_since_s if self.asked is None else None
            drained_s = 0.0 if since_s is None else self.clock() - since_s
            seconds += min(end_s, max(drain_timeout_s - drained_s, 0.0))
        target = None if self.asked is None else self.home if self.asked.reload is not None else self.asked.target
        return seconds if target is None else seconds + self.load_estimate_s(target)

    def note_failure(self) -> None:
        """The one at home could not be loaded. It is not tried anew by every request, but before long."""
        self.rested_at_s = self.clock() + min(_LONGEST_REST_S, _FIRST_REST_S * 2**self._num_failures)
        # No number of failures makes a number that no float holds.
        self._num_failures = min(self._num_failures + 1, 10)

    def note_loaded(self, opened: Opened, model: LoadedModel) -> None:
        """It serves."""
        self.opened, self.model, self.home = opened, model, opened.local
        self.has_served, self.loaded_at_s = True, self.clock()
        self.rested_at_s, self._num_failures = 0.0, 0

    def not_serving(self) -> BusyError:
        """For whoever wants what requests mean that name none, where none is on its way."""
        seconds = UNKNOWN_RETRY_S if self.home is None else self.rested_at_s - self.clock()
        return not_serving(self._engine.state, self._engine.reason, retry_after_s(seconds))

    def note_change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    @property
    def next_change(self) -> trio.Event:
        """Set when anything of this, or who uses the model, may have changed since now."""
        return self._changed

    async def wait_change(self) -> None:
        """Waits for the next change. What changed before the call is not waited for: look, then wait, without a
        checkpoint between the two."""
        await self._changed.wait()
