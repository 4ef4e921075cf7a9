"""Keeps the one model: loads what is wanted, switches, unloads what nobody uses, and lets requests in when it serves.

One task, `run`, loads and unloads; everything else only says what is wanted and waits. A request is let in by `enter`
and counts as a user until it leaves; what it has submitted by then counts from there on. Everything here belongs to the
event loop's thread.

    enter --serves--> let in ................................ submits, leaves
      +-----else----> held, in turn --its model serves--> let in ...
                           +---------refused, late, or its client left--> over
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import trio

from ignis.clock import Clock
from ignis.config_fields import ConfigFields
from ignis.engine.engine import Engine
from ignis.engine.lifecycle import STATUS, EngineState, LoadedModel, ModelStatus
from ignis.engine.limits import not_serving
from ignis.engine.load import Loaded
from ignis.engine.opening import Opened, give_memory_back, naming, open_model
from ignis.engine.switching import PingPong, Switch, SwitchOutcome, SwitchPhase, SwitchWatch
from ignis.engine.wishes import Held, Wishes
from ignis.error_body import without_folders
from ignis.errors import (
    ConfigError,
    DrainingError,
    IgnisError,
    LoadPlanError,
    ModelNotFoundError,
    ModelSwitchingError,
    RequestTimeoutError,
    SwitchFailedError,
    SwitchInProgressError,
)
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.models.local import LocalModel, LocalModels

_USUAL_BYTES_S = 1e9
_USUAL_LOAD_S = 2.0
_MOST_RETRY_S = 600
_STRAGGLER = "the server went on to another model before the answer was done"


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


class Use(NamedTuple):
    """A model that a request has, until it leaves."""

    model: LoadedModel
    waited_s: float


Prepare = Callable[[LoadedModel], Awaitable[None]]


class ModelKeeper:
    """`run` is started once; `enter` works without it as long as a model serves."""

    def __init__(
        self,
        engine: Engine,
        models: LocalModels,
        settings: KeeperSettings,
        log: Log,
        metrics: Metrics,
        *,
        prepare: Prepare,
        forget: Callable[[], None] = lambda: None,
        on_loaded: Callable[[LoadedModel, Loaded], None] = lambda _model, _loaded: None,
        clock: Clock = trio.current_time,
    ) -> None:
        """
        Args:
            prepare: does for a model what requests would else pay for, and raises what is wrong with it; called before
                the load, and again with the loaded one.
            forget: lets go of what `prepare` made.
            on_loaded: is told of every model that serves.
        """
        self.model: LoadedModel | None = None
        """What serves; None while nothing does."""
        self.last_switch: Switch | None = None
        self.is_expected = False
        """A first model is being looked for, or fetched; until then nobody knows its path."""
        self.settings = settings
        self.models = models
        self._engine = engine
        self._log = log
        self._metrics = metrics
        self._prepare = prepare
        self._forget = forget
        self._on_loaded = on_loaded
        self._clock = clock
        self._wishes = Wishes()
        self._opened: Opened | None = None
        """The loaded model's files."""
        self._home: LocalModel | None = None
        """What a request means that names none: the model that was served last."""
        self._coming: LocalModel | None = None
        self._watch: SwitchWatch | None = None
        """While one model is exchanged for another."""
        self._asked: tuple[LocalModel | None] | None = None
        """What somebody asked for beside the requests: a model, or (None,) for none at all."""
        self._is_first = True
        self._has_served = False
        self._is_asked = False
        """What is under way was asked for beside the requests."""
        self._is_unloading = False
        self._num_using = 0
        self._used_at_s = 0.0
        self._load_s: dict[Path, float] = {}
        self._ping_pong = PingPong(clock)
        self._changed = trio.Event()
        engine.on_change = self._note_change
        for status in ModelStatus:
            metrics.read_gauge_from("ignis_model_state", partial(self._is_status, status), status.value)
        metrics.read_gauge_from("ignis_model_waiting_requests", lambda: self.num_waiting)

    # What is known of it

    @property
    def status(self) -> ModelStatus:
        if self._watch is not None:
            return ModelStatus.SWITCHING
        if self._coming is not None or self.is_expected:
            return ModelStatus.LOADING
        if self._is_unloading:
            # Unloaded means that the memory is back.
            return ModelStatus.SERVING
        return STATUS[self._engine.state]

    @property
    def switching(self) -> SwitchWatch | None:
        """The switch under way."""
        return self._watch

    @property
    def home(self) -> LocalModel | None:
        """The model that serves, or that the next request wakes."""
        return self._home

    @property
    def has_served(self) -> bool:
        """A model was loaded since the server started."""
        return self._has_served

    @property
    def coming(self) -> LocalModel | None:
        """The model that is being loaded."""
        return self._coming

    def load_estimate_s(self, model: LocalModel) -> float:
        """What a load of it takes, as far as one can tell: what it took before, or what its size says."""
        known = self._load_s.get(model.path)
        return model.size_bytes() / _USUAL_BYTES_S + _USUAL_LOAD_S if known is None else known

    def loaded_estimate_s(self) -> float:
        """What another load of the model that serves would take."""
        return 0.0 if self._opened is None else self.load_estimate_s(self._opened.local)

    @property
    def num_waiting(self) -> int:
        """Requests that are held."""
        return len(self._wishes)

    async def wait_change(self) -> None:
        """Returns when anything of the above may have changed."""
        await self._changed.wait()

    # Requests

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
            model = await self._hold(target, patience)
            return Use(model, trio.current_time() - begun_at_s)
        self._num_using += 1
        return Use(model, 0.0)

    def stay(self) -> None:
        """Of whoever has the model, or has just left, and needs it for longer: until another `leave`."""
        self._num_using += 1

    def leave(self) -> None:
        """Of whoever has entered."""
        self._num_using -= 1
        self._used_at_s = self._clock()
        self._note_change()

    def _serving(self, name: str | None) -> LoadedModel | None:
        model = self.model
        if model is None or self._engine.state is not EngineState.SERVING or self._asked is not None:
            return None
        # Whoever has asked for another model means that one by none.
        return model if name == model.name or (name is None and not self._is_asked) else None

    async def _target(self, name: str | None) -> LocalModel | None:
        """Returns the model that the name means; None for whatever serves next."""
        self._check_hope(name)
        if name is None:
            return None
        # A file system may be slow, and a folder large.
        target = await trio.to_thread.run_sync(self.models.find, name, abandon_on_cancel=True)
        self._check_hope(target.name)
        next_one = self._next_one()
        is_here = next_one is not None and target.path == next_one.path
        if not is_here and not self.settings.is_implicit:
            raise ModelNotFoundError(
                f"the model {target.name} is not loaded, and switch.allow_implicit is false: requests may not choose"
            )
        return target

    def _next_one(self) -> LocalModel | None:
        """What serves next, as far as it is settled."""
        asked = None if self._asked is None else self._asked[0]
        return asked or self._coming or self._home

    def _check_hope(self, name: str | None) -> None:
        """Refuses who would wait for a model that does not come: one that failed stays so until somebody asks anew."""
        state, home = self._engine.state, self._home
        if state is EngineState.DRAINING:
            raise not_serving(state, "")
        if self.is_expected:
            raise not_serving(EngineState.LOADING, "")
        if self._coming is not None or self._asked is not None:
            return
        means_home = name is None or (home is not None and name == home.name)
        if means_home and (home is None or state is EngineState.FAILED):
            raise not_serving(state, self._engine.reason)

    async def _hold(self, target: LocalModel | None, patience: Patience) -> LoadedModel:
        now = trio.current_time()
        end_at = math.inf if patience.timeout_s is None else now + patience.timeout_s
        long_at = now + patience.long_s if patience.on_long is not None else math.inf
        turn_at = now + self.settings.max_wait_s
        if self._is_out_of_turn(target) and self._seconds_to_land() > self.settings.max_wait_s:
            raise self._too_far()
        held = self._wishes.add(target)
        self._note_change()
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
        self._wishes.withdraw(held)
        if held.model is not None:
            self.leave()
        self._note_change()

    def _is_out_of_turn(self, target: LocalModel | None) -> bool:
        coming = self._coming
        return coming is not None and target is not None and coming.path != target.path

    def _too_far(self) -> ModelSwitchingError:
        assert self._coming is not None
        seconds = min(_MOST_RETRY_S, max(1, math.ceil(self._seconds_to_land())))
        return ModelSwitchingError(
            f"the model {self._coming.name} is being loaded, and others wait for their turn", retry_after_s=seconds
        )

    def _seconds_to_land(self) -> float:
        """Until the model that is coming serves, as far as one can tell."""
        if self._coming is None:
            return 0.0
        watch, load_s = self._watch, self.load_estimate_s(self._coming)
        if watch is None:
            status = self._engine.load_status
            return load_s - (0.0 if status is None else status.age_s)
        if SwitchPhase.DRAIN not in watch.seconds:
            return load_s + min(self._engine.seconds_to_end(), self.settings.drain_timeout_s)
        return load_s - (watch.age_s - sum(watch.seconds.values()))

    # What is asked for by name of the deed

    async def ask_switch(self, name: str) -> LocalModel:
        """Has the model of that name loaded; returns it at once. What serves it already is left alone.

        Raises:
            ModelNotFoundError: there is no such model.
            SwitchInProgressError: a model is being loaded or unloaded.
            DrainingError: the server shuts down.
        """
        self._check_quiet()
        target = await trio.to_thread.run_sync(self.models.find, name, abandon_on_cancel=True)
        self._check_quiet()
        if not self._serves(target):
            self._asked = (target,)
            self._note_change()
        return target

    def ask_unload(self) -> bool:
        """Has the model unloaded, once what runs has ended; False where there is none. The next request that needs it
        loads it again.

        Raises:
            SwitchInProgressError, DrainingError: as ask_switch.
        """
        self._check_quiet()
        if self._opened is None:
            return False
        self._asked = (None,)
        self._note_change()
        return True

    def start_with(self, model: LocalModel) -> None:
        """Has the server's first model loaded."""
        self.is_expected = False
        self.models.start_with(model)
        self._home = model
        self._asked = (model,)
        self._note_change()

    def fail_start(self, reason: str) -> None:
        """The first model could not be had: its path is unknown."""
        self.is_expected = False
        self._engine.note_unloadable(reason)

    def stop(self) -> None:
        """The server shuts down: whoever waits is told so. The engine drains already."""
        self._wishes.refuse_all(lambda: DrainingError("the server is shutting down"))
        self._note_change()

    def _check_quiet(self) -> None:
        if self._engine.state is EngineState.DRAINING:
            raise not_serving(EngineState.DRAINING, "")
        if self.is_expected:
            raise SwitchInProgressError("the server's first model is being looked for")
        if self._coming is not None or self._asked is not None:
            name = self._coming.name if self._coming is not None else "another"
            raise SwitchInProgressError(f"the model {name} is being loaded")
        if self._engine.state in (EngineState.LEAVING, EngineState.UNLOADING):
            raise SwitchInProgressError("the model is being unloaded")

    # The one task that loads and unloads

    async def run(self) -> None:
        """Does what is wanted, one thing after the other, until cancelled."""
        while self._engine.state is not EngineState.DRAINING:
            self._let_in()
            deed = self._next()
            if deed is not None:
                await deed()
                continue
            with trio.move_on_at(self._idle_at()):
                await self._changed.wait()

    def _let_in(self) -> None:
        opened, model = self._opened, self.model
        if opened is None or model is None or not self._serves(opened.local):
            return
        self._num_using += self._wishes.grant(opened.local.path, model)
        next_one = self._next_one()
        if next_one is None or next_one.path == opened.local.path or not (self._is_asked or self._asked):
            self._num_using += self._wishes.grant_nameless(model)

    def _next(self) -> Callable[[], Awaitable[None]] | None:
        asked, self._asked = self._asked, None
        if asked is not None:
            (target,) = asked
            return partial(self._unload, "asked") if target is None else partial(self._bring, target, is_asked=True)
        target = next((target for target in self._wishes.targets(self._home) if not self._serves(target)), None)
        if target is not None:
            return partial(self._bring, target, is_asked=False)
        return partial(self._unload, "idle") if self._clock() >= self._idle_at() else None

    def _serves(self, target: LocalModel) -> bool:
        is_open = self._engine.state is EngineState.SERVING
        return is_open and self._opened is not None and self._opened.local.path == target.path

    def _idle_at(self) -> float:
        """When the model has been unused for too long."""
        is_used = self._num_using > 0 or self._engine.num_requests > 0 or len(self._wishes) > 0
        if self._engine.state is not EngineState.SERVING or is_used or self.settings.idle_unload_s == 0:
            return math.inf
        return self._used_at_s + self.settings.idle_unload_s

    async def _bring(self, target: LocalModel, *, is_asked: bool) -> None:
        """Loads a model, in the place of another where one serves."""
        self._coming, self._is_asked = target, is_asked
        before = self._opened
        try:
            if before is None or self._engine.state is not EngineState.SERVING:
                await self._tear_down()
                await self._load_alone(target)
            else:
                self._watch = watch = SwitchWatch(before.local.name, target.name, self._clock)
                await self._switch(before.local, target, watch)
        finally:
            self._coming = self._watch = None
            self._is_asked = False
            self._note_change()

    async def _load_alone(self, target: LocalModel) -> None:
        """Loads where nothing is loaded.

        Raises:
            LoadPlanError, ConfigError: of the server's first model; the configuration has to be mended.
        """
        is_first, self._is_first = self._is_first, False
        try:
            await self._load(await self._open(target))
        except Exception as error:
            cause = first_of(error)
            self._note_failure(target, cause)
            if self._home is None or self._home.path == target.path:
                self._home = target
                if self._engine.state is EngineState.UNLOADED:
                    self._engine.note_unloadable(str(cause))
            if self._engine.state is EngineState.FAILED:
                reason = self._engine.reason
                self._wishes.refuse_nameless(lambda: not_serving(EngineState.FAILED, reason))
            if is_first and isinstance(cause, LoadPlanError | ConfigError):
                raise cause from error

    async def _switch(self, old: LocalModel, target: LocalModel, watch: SwitchWatch) -> None:
        self._log.emit("ignis.model.switch_started", from_=old.name, to=target.name)
        try:
            opened = await self._open(target)
            await self._prepare_opened(opened)
        except Exception as error:
            waited = self._note_failure(target, first_of(error))
            self._settle(watch, SwitchOutcome.REFUSED, waited, first_of(error))
            return
        watch.mark(SwitchPhase.PREPARE)
        if not await self._drain(target):
            opened.close()
            self._settle(watch, SwitchOutcome.CALLED_OFF)
            return
        watch.mark(SwitchPhase.DRAIN)
        try:
            await self._tear_down("switch")
            watch.mark(SwitchPhase.TEARDOWN)
            waited = self._wishes.count(target.path)
            loaded = await self._load(opened)
            watch.mark(SwitchPhase.LOAD)
            watch.split_load(loaded.warm_up_s)
        except Exception as error:
            cause = first_of(error)
            waited = self._note_failure(target, cause)
            is_back = await self._return_to(old)
            self._settle(watch, SwitchOutcome.RETURNED if is_back else SwitchOutcome.FAILED, waited, cause)
        else:
            self._settle(watch, SwitchOutcome.SWITCHED, waited)

    async def _drain(self, target: LocalModel) -> bool:
        """Lets nobody in and waits for what runs. False: nobody wants the other model any more, and this one stays."""
        if self._engine.state is EngineState.SERVING:
            self._engine.leave()
        with trio.move_on_after(self.settings.drain_timeout_s):
            while self._num_using > 0 or self._engine.num_requests > 0:
                if not self._is_asked and not self._wishes.count(target.path):
                    break
                await self._changed.wait()
        if self._is_asked or self._wishes.count(target.path):
            return True
        if self._engine.state is EngineState.LEAVING:
            self._engine.stay()
        return False

    async def _return_to(self, old: LocalModel) -> bool:
        """Loads the model again that was given up for one that failed."""
        try:
            await self._load(await self._open(old))
        except Exception as error:
            cause = first_of(error)
            self._log.emit("ignis.model.load_failed", id=old.name, error=cause)
            if self._engine.state is EngineState.UNLOADED:
                self._engine.note_unloadable(str(cause))
            reason = self._engine.reason
            self._wishes.refuse_nameless(lambda: not_serving(EngineState.FAILED, reason))
            return False
        return True

    async def _unload(self, reason: str) -> None:
        """Unloads with nothing to follow; what was served last stays known, and the next request wakes it."""
        if self._opened is None:
            return
        if reason != "idle" and self._engine.state is EngineState.SERVING:
            self._engine.leave()
            with trio.move_on_after(self.settings.drain_timeout_s):
                while self._num_using > 0 or self._engine.num_requests > 0:
                    await self._changed.wait()
        self._is_unloading = True
        try:
            await self._tear_down(reason)
        finally:
            self._is_unloading = False
            self._note_change()

    # Its parts

    async def _open(self, target: LocalModel) -> Opened:
        opened = await trio.to_thread.run_sync(open_model, target)
        self._log.emit(
            "ignis.model.load_started", id=target.name, artifact=target.path.name, format=opened.checkpoint.format
        )
        return opened

    async def _prepare_opened(self, opened: Opened) -> None:
        """Finds out what is wrong with a model while another serves. Closes it then."""
        try:
            await trio.to_thread.run_sync(opened.make_tokenizer)
            with naming(opened.local.path):
                await self._prepare(opened.describe(opened.checkpoint.shape.context_tokens, None))
        except BaseException:
            opened.close()
            raise

    async def _load(self, opened: Opened) -> Loaded:
        """Loads it on the device, and the tokenizer beside that where there is none yet. Closes it on a failure."""
        begun_at_s = self._clock()
        try:
            async with trio.open_nursery() as both:
                if opened.tokenizer is None:
                    both.start_soon(trio.to_thread.run_sync, opened.make_tokenizer)
                both.start_soon(self._engine.load, opened.checkpoint)
            loaded = self._engine.loaded
            assert loaded is not None
            model = opened.describe(self._engine.max_context, loaded)
            with naming(opened.local.path):
                await self._prepare(model)
        except BaseException:
            if self._engine.loaded is not None:
                await self._engine.unload()
            opened.close()
            raise
        load_s = self._clock() - begun_at_s
        self._opened, self.model, self._home = opened, model, opened.local
        self._has_served = True
        self._used_at_s = self._clock()
        self._load_s[opened.local.path] = load_s
        self._metrics.count("ignis_model_loads", label="loaded")
        self._log.emit(
            "ignis.model.loaded",
            id=model.name,
            load_ms=round(load_s * 1e3, 1),
            warm_up_ms=round(loaded.warm_up_s * 1e3, 1),
            total_bytes=model.size_bytes,
        )
        self._on_loaded(model, loaded)
        self._let_in()
        return loaded

    async def _tear_down(self, reason: str | None = None) -> None:
        """Unloads whatever is loaded, and gives the memory back."""
        opened, self._opened, self.model = self._opened, None, None
        if opened is None:
            return
        begun_at_s = self._clock()
        name = opened.local.name
        try:
            await self._engine.unload(_STRAGGLER)
        finally:
            opened.close()
            self._forget()
        del opened
        await trio.to_thread.run_sync(give_memory_back)
        if reason is not None:
            self._metrics.count("ignis_model_unloads", label=reason)
            duration_ms = round((self._clock() - begun_at_s) * 1e3, 1)
            self._log.emit("ignis.model.unloaded", id=name, reason=reason, duration_ms=duration_ms)

    def _note_failure(self, target: LocalModel, cause: BaseException) -> int:
        """Ends the wait of those who wanted it; returns how many that were."""
        self._metrics.count("ignis_model_loads", label="failed")
        self._log.emit("ignis.model.load_failed", id=target.name, error=cause)
        reason = without_folders(cause.message if isinstance(cause, IgnisError) else "an internal error occurred")
        return self._wishes.refuse(
            target.path, lambda: SwitchFailedError(f"the model {target.name} could not be loaded: {reason}")
        )

    def _settle(
        self, watch: SwitchWatch, outcome: SwitchOutcome, waited: int = 0, cause: BaseException | None = None
    ) -> None:
        """Puts a switch that is over on record."""
        reason = "" if cause is None else without_folders(str(cause))
        self.last_switch = switch = watch.over(outcome, waited, reason)
        self._metrics.count("ignis_model_switches", label=outcome.value)
        for phase, seconds in switch.seconds.items():
            self._metrics.count("ignis_model_switch_seconds", seconds, label=phase.value)
        before, to = watch.before, watch.to
        if cause is not None:
            self._log.emit("ignis.model.switch_failed", from_=before, to=to, error=cause)
            return
        if outcome is SwitchOutcome.CALLED_OFF:
            self._log.emit("ignis.model.switch_called_off", from_=before, to=to)
            return
        self._log.emit(
            "ignis.model.switched",
            from_=before,
            to=to,
            prepare_ms=switch.ms(SwitchPhase.PREPARE),
            drain_ms=switch.ms(SwitchPhase.DRAIN),
            teardown_ms=switch.ms(SwitchPhase.TEARDOWN),
            load_ms=switch.ms(SwitchPhase.LOAD),
            warm_up_ms=switch.ms(SwitchPhase.WARM_UP),
            waited=waited,
        )
        if self._ping_pong.is_return(switch):
            self._metrics.count("ignis_model_ping_pongs")
            if self._ping_pong.is_news():
                self._log.emit("ignis.model.ping_pong", from_=before, to=to, switches=self._ping_pong.num_returns)

    def _is_status(self, status: ModelStatus) -> float:
        return float(self.status is status)

    def _note_change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


def first_of(error: BaseException) -> BaseException:
    """The error that a person should read: of a group ours if there is one, else the first."""
    leaves: list[BaseException] = []
    pending = [error]
    while pending:
        inner = pending.pop(0)
        if isinstance(inner, BaseExceptionGroup):
            pending += inner.exceptions
        else:
            leaves.append(inner)
    return next((inner for inner in leaves if isinstance(inner, IgnisError)), leaves[0])
