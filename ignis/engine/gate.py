"""Lets requests to the model: at once where theirs serves, else it holds them until it does. Loads nothing.

A request enters, and counts as a user until it leaves; what it has submitted by then counts from there on.

    enter --serves--> let in ................................ submits, leaves
      +-----else----> held, in turn --its model serves--> let in ...
                           +---------refused, late, or its client left--> over
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import trio

from ignis.config_fields import ConfigFields
from ignis.engine.course import UNKNOWN_RETRY_S, Course, retry_after_s
from ignis.engine.engine import Engine
from ignis.engine.lifecycle import EngineState, LoadedModel
from ignis.engine.limits import not_serving
from ignis.engine.wishes import Held, Wishes
from ignis.error_body import without_folders
from ignis.errors import IgnisError, ModelNotFoundError, ModelSwitchingError, RequestTimeoutError, SwitchFailedError
from ignis.models.local import LocalModel, LocalModels


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperSettings:
    idle_unload_s: float
    """0: never."""
    drain_timeout_s: float
    max_wait_s: float
    """Of a request whose turn is not next."""
    is_implicit: bool
    """Whether a request may name another model than the loaded one."""

    @classmethod
    def from_config(cls, config: ConfigFields) -> Self:
        return cls(
            idle_unload_s=config.model.idle_unload,
            drain_timeout_s=config.switch.drain_timeout,
            max_wait_s=config.switch.max_wait,
            is_implicit=config.switch.allow_implicit,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How a request waits for its model."""

    timeout_s: float | None = None
    """Then it ends with RequestTimeoutError. None: never."""
    long_s: float = math.inf
    on_long: Callable[[], Awaitable[object]] | None = None
    """Called once, when it has waited for `long_s`: its client is to see a sign of life."""


SeekHome = Callable[[str | None], Awaitable[None]]


class Use(NamedTuple):
    """A model that a request has, until it leaves."""

    model: LoadedModel
    waited_s: float


class Gate:
    """Belongs to the event loop's thread, as everything that it reads."""

    def __init__(self, engine: Engine, course: Course, models: LocalModels, settings: KeeperSettings) -> None:
        self.settings = settings
        self.wishes = Wishes()
        self.num_using = 0
        """Requests that have entered and not left yet."""
        self.used_at_s = 0.0
        """When the last one left, by the course's clock."""
        self.seek_home: SeekHome = _seek_nowhere
        """Called for a request, with the name of its model, while nobody knows what one means that names none: has the
        server's first model loaded, where that one is meant and has come to be here."""
        self._engine = engine
        self._course = course
        self._models = models

    async def enter(self, name: str | None, patience: Patience) -> Use:
        """Waits for the model of that name, and keeps it until `leave`; no name means whatever serves.

        Whoever submits does so before its next checkpoint after `leave`: from then on its requests keep the model.

        Raises:
            DrainingError, ServerNotReadyError: none serves, and none will.
            ModelNotFoundError: there is no such model, or requests may not choose.
            ModelSwitchingError: its turn is too far away.
            SwitchFailedError: it could not be loaded.
            RequestTimeoutError: it did not come in time.
        """
        model = self._serving(name)
        if model is None:
            target = await self._target(name)
            begun_at_s = trio.current_time()
            model = await self._hold(target, patience, name if target is None else None)
            return Use(model, trio.current_time() - begun_at_s)
        self.num_using += 1
        return Use(model, 0.0)

    def stay(self) -> None:
        """Of whoever has the model, or has just left, and needs it for longer: until another `leave`."""
        self.num_using += 1

    def leave(self) -> None:
        """Of whoever has entered."""
        self.num_using -= 1
        self.used_at_s = self._course.clock()
        self._course.note_change()

    @property
    def is_used(self) -> bool:
        """Whether a request has the model, or its answer has."""
        return self.num_using > 0 or self._engine.num_requests > 0

    def let_in(self) -> int:
        """Lets those in who wait for what serves; returns how many that are."""
        course = self._course
        opened, model = course.opened, course.model
        if opened is None or model is None or not course.serves(opened.local):
            return 0
        num = self.wishes.grant(opened.local.path, model)
        next_one = course.next_one()
        if next_one is None or next_one.path == opened.local.path or not (course.is_asked or course.asked):
            num += self.wishes.grant_nameless(model)
        self.num_using += num
        return num

    def refuse(self, target: LocalModel, cause: BaseException, retry_after_s: int | None = None) -> int:
        """Ends the wait of those who wanted this model, which could not be loaded; returns how many that were."""
        reason = without_folders(cause.message if isinstance(cause, IgnisError) else "an internal error occurred")
        return self.wishes.refuse(
            target.path,
            lambda: SwitchFailedError(
                f"the model {target.name} could not be loaded: {reason}", "model", retry_after_s=retry_after_s
            ),
        )

    def _serving(self, name: str | None) -> LoadedModel | None:
        model = self._course.model
        if model is None or self._engine.state is not EngineState.SERVING or self._course.asked is not None:
            return None
        # Whoever has asked for another model means that one by none.
        return model if name == model.name or (name is None and not self._course.is_asked) else None

    async def _target(self, name: str | None) -> LocalModel | None:
        """Returns the model that the name means; None for whatever serves next, and for the first one while nobody
        knows where it is."""
        course = self._course
        is_lost = course.next_one() is None and course.expected is None
        if is_lost and self._engine.state is not EngineState.DRAINING:
            await self.seek_home(name)
        self._check_hope(name)
        if name is None:
            return None
        here = course.next_one()
        if here is not None and name == here.name:
            return here
        if course.expected is not None and name == course.expected.name:
            self._check_choice(name, is_here=here is None)
            return None
        # A file system may be slow, and a folder large.
        try:
            target = await trio.to_thread.run_sync(self._models.find, name, abandon_on_cancel=True)
        except ModelNotFoundError:
            missing = course.missing
            if missing is None or name != missing.name:
                raise
            # It is known what it is, and why it is not here.
            raise not_serving(missing.state, missing.reason, UNKNOWN_RETRY_S) from None
        self._check_hope(target.name)
        next_one = course.next_one()
        self._check_choice(target.name, is_here=next_one is not None and target.path == next_one.path)
        return target

    def _check_choice(self, name: str, *, is_here: bool) -> None:
        if not is_here and not self.settings.is_implicit:
            raise ModelNotFoundError(
                f"the model {name} is not loaded, and switch.allow_implicit is false: requests may not choose"
            )

    def _check_hope(self, name: str | None) -> None:
        """Refuses who would wait for a model that does not come: one that failed is let rest for a while."""
        course, state, home = self._course, self._engine.state, self._course.home
        if state is EngineState.DRAINING:
            raise course.not_serving()
        if course.is_awaited or course.coming is not None or course.asked is not None:
            return
        means_home = name is None or (home is not None and name == home.name)
        is_resting = state is EngineState.FAILED and course.clock() < course.rested_at_s
        if means_home and (home is None or is_resting):
            raise course.not_serving()

    async def _hold(self, target: LocalModel | None, patience: Patience, awaited: str | None) -> LoadedModel:
        now = trio.current_time()
        end_at = math.inf if patience.timeout_s is None else now + patience.timeout_s
        long_at = now + patience.long_s if patience.on_long is not None else math.inf
        turn_at = now + self.settings.max_wait_s
        # Whoever may be served in time is held, by the usual length of what runs.
        land_s = self._course.seconds_to_land(self._engine.seconds_to_end(), self.settings.drain_timeout_s)
        if self._is_out_of_turn(target) and land_s > self.settings.max_wait_s:
            raise self._too_far()
        held = self.wishes.add(target, awaited)
        self._course.note_change()
        try:
            while not held.is_over.is_set():
                with trio.move_on_at(min(end_at, long_at, turn_at)):
                    await held.is_over.wait()
                now = trio.current_time()
                if held.is_over.is_set():
                    break
                if now >= end_at:
                    raise RequestTimeoutError(f"the model did not serve within the request's {patience.timeout_s:g} s")
                if now >= turn_at:
                    turn_at = math.inf
                    if self._is_out_of_turn(target):
                        raise self._too_far()
                if now >= long_at and patience.on_long is not None:
                    long_at = math.inf
                    await patience.on_long()
        except BaseException:
            self._give_up(held)
            raise
        if held.error is not None:
            raise held.error
        assert held.model is not None
        return held.model

    def _give_up(self, held: Held) -> None:
        """Of a request that left, perhaps just after it was let in."""
        self.wishes.withdraw(held)
        if held.model is not None:
            self.leave()
        self._course.note_change()

    def _is_out_of_turn(self, target: LocalModel | None) -> bool:
        coming = self._course.coming
        return coming is not None and target is not None and coming.path != target.path

    def _too_far(self) -> ModelSwitchingError:
        assert self._course.coming is not None
        seconds = self._course.seconds_to_land(self._engine.most_seconds_to_end(), self.settings.drain_timeout_s)
        return ModelSwitchingError(
            f"{self._course.doing}, and others wait for their turn",
            "model",
            retry_after_s=retry_after_s(seconds),
        )


async def _seek_nowhere(_name: str | None) -> None:
    """There is no first model but the one that the server was started with."""
