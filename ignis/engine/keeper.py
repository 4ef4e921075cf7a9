"""Keeps the one model: loads what is wanted, switches, and unloads what nobody uses.

One task, `run`, loads and unloads; everything else only says what is wanted.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import trio

from ignis.clock import Clock
from ignis.engine import cut_off
from ignis.engine.course import UNKNOWN_RETRY_S, Asked, Course, Expected, LastLoad, Missing, Reload
from ignis.engine.engine import Engine
from ignis.engine.gate import Gate, KeeperSettings
from ignis.engine.lifecycle import EngineState, LoadedModel, ModelStatus
from ignis.engine.limits import not_serving
from ignis.engine.load import Loaded
from ignis.engine.opening import Opened, give_memory_back, naming, open_model
from ignis.engine.settings import EngineSettings, LoadSettings
from ignis.engine.switching import PingPong, SwitchOutcome, SwitchPhase, SwitchWatch
from ignis.engine.vram import context_of
from ignis.error_body import without_folders
from ignis.errors import (
    ConfigError,
    DrainingError,
    IgnisError,
    LoadPlanError,
    ModelNotFoundError,
    SwitchFailedError,
    SwitchInProgressError,
)
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.models.local import LocalModel, LocalModels

Prepare = Callable[[LoadedModel], Awaitable[None]]


class ModelKeeper:
    """`run` is started once. What is known of the model is in `course`; requests come through `gate`."""

    def __init__(
        self,
        engine: Engine,
        models: LocalModels,
        settings: KeeperSettings,
        log: Log,
        metrics: Metrics,
        *,
        prepare: Prepare,
        load_settings: LoadSettings | None = None,
        forget: Callable[[], None] = lambda: None,
        on_loaded: Callable[[LoadedModel, Loaded], None] = lambda _model, _loaded: None,
        clock: Clock = trio.current_time,
    ) -> None:
        """
        Args:
            prepare: does for a model what requests would else pay for, and raises what is wrong with it; called before
                the load, and again with the loaded one.
            load_settings: what loads go by; None: the engine's own settings.
            forget: lets go of what `prepare` made.
            on_loaded: is told of every model that serves.
        """
        self.models = models
        self.course = Course(engine, clock)
        self.gate = Gate(engine, self.course, models, settings)
        self._engine = engine
        self._log = log
        self._metrics = metrics
        self._prepare = prepare
        self._forget = forget
        self._on_loaded = on_loaded
        self._settings = load_settings or LoadSettings(engine.settings)
        """What the next load goes by."""
        self._first: LocalModel | None = None
        """What the server was started on."""
        self._is_first = True
        self._ping_pong = PingPong(clock)
        engine.on_change = self.course.note_change
        for status in ModelStatus:
            metrics.read_gauge_from("ignis_model_state", partial(self._is_status, status), status.value)
        metrics.read_gauge_from("ignis_model_load_seconds", lambda: self.course.load_s)
        metrics.read_gauge_from("ignis_model_waiting_requests", lambda: len(self.gate.wishes))
        metrics.read_gauge_from("ignis_oldest_waiting_seconds", self.gate.wishes.oldest_s, "model")

    async def ask_switch(self, name: str) -> LocalModel:
        """Has the model of that name loaded; returns it at once. What serves it already is left alone.

        It is the next thing that is done. What requests have had begun goes to its end before.

        Raises:
            ModelNotFoundError: there is no such model.
            SwitchInProgressError: another order is not done yet.
            DrainingError: the server shuts down.
        """
        self._check_turn("model")
        try:
            target = await trio.to_thread.run_sync(self.models.find, name, abandon_on_cancel=True)
        except ModelNotFoundError:
            expected = self.course.expected
            if expected is not None and name == expected.name:
                raise ModelNotFoundError(f"{expected.told}: it is not here yet") from None
            raise
        self._check_turn("model")
        course = self.course
        if course.coming is not None and course.coming.path == target.path:
            # It comes, whether those who have it come stay or not.
            course.is_asked = True
        elif course.coming is not None or not course.serves(target):
            course.asked = Asked(target)
        course.note_change()
        return target

    def ask_unload(self) -> bool:
        """Has the model unloaded, once what runs has ended; False where there is none. The next request that needs it
        loads it again. In turn as ask_switch.

        Raises:
            SwitchInProgressError, DrainingError: as ask_switch.
        """
        self._check_turn()
        if self.course.opened is None and self.course.coming is None:
            return False
        self.course.asked = Asked(None)
        self.course.note_change()
        return True

    def ask_reload(self, settings: LoadSettings, param: str | None = None) -> Reload:
        """Has the model loaded anew by other settings; where that fails, by the old ones again. An idle one is woken
        for it, for nobody knows otherwise whether they do. In turn as ask_switch.

        Over at once where they are the same for this model, or where there is no model: the next load goes by them.

        Args:
            param: what of the client's asks for it.

        Raises:
            SwitchInProgressError, DrainingError: as ask_switch.
        """
        self._check_turn(param)
        reload = Reload(settings)
        if self.course.coming is not None or not self._settle_at_once(reload):
            self.course.asked = Asked(None, reload)
            self.course.note_change()
        return reload

    def _settle_at_once(self, reload: Reload) -> bool:
        """Whether it needs no load; the next one goes by its settings then."""
        opened, settings = self.course.opened, reload.settings
        is_same = opened is not None and self._is_same(settings, _family(opened))
        if self.course.home is None or settings == self._settings or is_same:
            self._settings = settings
            reload.settle()
            return True
        return False

    async def check_need(self, name: str, need_bytes: int) -> None:
        """Raises ModelTooLargeError: a load of so many bytes could never be on this device."""
        await self._engine.check_need(name, need_bytes)

    def start_with(self, model: LocalModel) -> None:
        """The server's first model is here. It is loaded, unless another one was meanwhile: that serves on."""
        course = self.course
        course.expected = course.missing = None
        self._first = model
        self.models.start_with(model)
        self.gate.wishes.locate(model)
        is_resting = course.asked is None and course.coming is None
        if course.next_one() is None or (self._engine.state is EngineState.FAILED and is_resting):
            course.home = model
            course.asked = Asked(model)
        course.note_change()

    def expect(self, name: str, seconds_left: Callable[[], float] | None = None) -> None:
        """The server's first model is on its way; `start_with`, `have_none` or `fail_start` follows.

        Requests for it are held until then, and any other model is served.

        Args:
            name: that clients will use.
            seconds_left: of its download, as far as one can tell; None: it is looked for on the disk.
        """
        self.course.expected = Expected(name, seconds_left)
        self.course.note_change()

    def have_none(self, reason: str) -> None:
        """There is no first model, and none is on its way. Requests that name another are served."""
        self._give_up_first(EngineState.UNLOADED, reason, self._engine.note_empty)

    def fail_start(self, reason: str) -> None:
        """The first model could not be had: its path is unknown."""
        self._give_up_first(EngineState.FAILED, reason, self._engine.note_unloadable)

    def _give_up_first(self, state: EngineState, reason: str, note: Callable[[str], None]) -> None:
        if self.course.expected is not None:
            self.course.missing = Missing(self.course.expected.name, state, reason)
        self.course.expected = None
        self._is_first = False
        self.gate.wishes.refuse_awaited(lambda: not_serving(state, reason, UNKNOWN_RETRY_S))
        if self.course.next_one() is None and self._engine.state in (EngineState.UNLOADED, EngineState.FAILED):
            self.gate.wishes.refuse_nameless(lambda: not_serving(state, reason, UNKNOWN_RETRY_S))
            note(reason)
        self.course.note_change()

    def stop(self) -> None:
        """The server shuts down: whoever waits is told so. The engine drains already."""
        self.gate.wishes.refuse_all(_stopping)
        asked, self.course.asked = self.course.asked, None
        if asked is not None and asked.reload is not None:
            asked.reload.settle(_stopping())
        self.course.note_change()

    def _check_turn(self, param: str | None = None) -> None:
        """Refuses an order where there is one before it; what only requests want has one after it at the most."""
        if self._engine.state is EngineState.DRAINING:
            raise not_serving(EngineState.DRAINING, "")
        asked = self.course.asked
        if asked is not None or self.course.is_asked:
            raise SwitchInProgressError(self.course.doing if asked is None else asked.told, param)

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
                await self.course.wait_change()

    def _let_in(self) -> int:
        """Lets those in who wait for what serves; returns how many that are."""
        opened, model = self.course.opened, self.course.model
        if opened is None or model is None or not self.course.serves(opened.local):
            return 0
        num = self.gate.wishes.grant(opened.local.path, model)
        next_one = self.course.next_one()
        if next_one is None or next_one.path == opened.local.path or not (self.course.is_asked or self.course.asked):
            num += self.gate.wishes.grant_nameless(model)
        self.gate.num_using += num
        return num

    def _next(self) -> Callable[[], Awaitable[None]] | None:
        asked, self.course.asked = self.course.asked, None
        if asked is not None:
            return partial(self._obey, asked)
        wanted = self.gate.wishes.targets(self.course.home)
        target = next((target for target in wanted if not self.course.serves(target)), None)
        if target is not None:
            return partial(self._bring, target)
        return partial(self._unload, "idle") if self.course.clock() >= self._idle_at() else None

    async def _obey(self, asked: Asked) -> None:
        target, reload, home = asked.target, asked.reload, self.course.home
        if reload is not None:
            if not self._settle_at_once(reload):
                assert home is not None
                await self._bring(home, asked)
        elif target is None:
            await self._unload("asked")
        elif not self.course.serves(target):
            await self._bring(target, asked)

    def _idle_at(self) -> float:
        """When the model has been unused for too long."""
        is_used = self.gate.num_using > 0 or self._engine.num_requests > 0 or len(self.gate.wishes) > 0
        if self._engine.state is not EngineState.SERVING or is_used or self.gate.settings.idle_unload_s == 0:
            return math.inf
        return self.gate.used_at_s + self.gate.settings.idle_unload_s

    async def _bring(self, target: LocalModel, asked: Asked | None = None) -> None:
        """Loads a model, in the place of another where one serves, or of itself."""
        self.course.coming, self.course.is_asked = target, asked is not None
        before = self.course.opened
        old_settings = self._settings
        reload = None if asked is None else asked.reload
        if reload is not None:
            self._settings = reload.settings
        cause: BaseException | None = _stopping()
        try:
            if before is None or self._engine.state is not EngineState.SERVING:
                await self._tear_down()
                cause = await self._load_alone(target, None if reload is None else old_settings)
            else:
                self.course.watch = watch = SwitchWatch(before.local.name, target.name, self.course.clock)
                cause = await self._switch(before.local, target, watch, old_settings)
        finally:
            self.course.coming = self.course.watch = None
            self.course.is_asked = False
            if reload is not None:
                reload.settle(cause)
            self.course.note_change()

    async def _load_alone(self, target: LocalModel, old_settings: LoadSettings | None) -> BaseException | None:
        """Loads where nothing is loaded; returns what it failed of.

        Args:
            old_settings: what is gone back to where it fails; None: there is nothing to go back to.

        Raises:
            LoadPlanError, ConfigError: of the server's first model; the configuration has to be mended.
        """
        is_first = self._is_first and self._first is not None and target.path == self._first.path
        self._is_first = False
        watch = SwitchWatch(None, target.name, self.course.clock)
        try:
            opened = await self._open(target)
            watch.mark(SwitchPhase.PREPARE)
            loaded, waited = await self._load(opened)
            watch.mark(SwitchPhase.LOAD)
            watch.split_load(loaded.warm_up_s)
            self.course.changes.appendleft(watch.over(SwitchOutcome.LOADED, waited))
        except Exception as error:
            cause = first_of(error)
            self._log_failure(target, cause)
            waited = self.gate.wishes.count(target.path)
            self.course.changes.appendleft(watch.over(SwitchOutcome.FAILED, waited, without_folders(str(cause))))
            if old_settings is not None:
                self._settings = old_settings
                if await self._return_to(target):
                    return cause
            await self._fail(target, cause)
            if is_first and isinstance(cause, LoadPlanError | ConfigError):
                raise cause from error
            return cause
        return None

    async def _fail(self, target: LocalModel, cause: BaseException) -> None:
        """A model that was to be loaded where nothing is could not be."""
        home = self.course.home
        if home is None and self.course.expected is not None:
            # Whoever names none waits for that one.
            self._refuse_waiting(target, cause)
        elif home is None or home.path == target.path:
            self.course.home = target
            self._note_failed(cause)
            self._refuse_waiting(target, cause, self.course.not_serving().retry_after_s)
        else:
            self._refuse_waiting(target, cause)
            if self._engine.state is EngineState.FAILED:
                # The one at home did not: it is asleep as before.
                await self._engine.unload()

    def _note_failed(self, cause: BaseException) -> None:
        """What requests mean that name none could not be loaded."""
        if self._engine.state is EngineState.UNLOADED:
            self._engine.note_unloadable(str(cause))
        self.course.note_failure()
        self.gate.wishes.refuse_nameless(self.course.not_serving)

    async def _switch(
        self, old: LocalModel, target: LocalModel, watch: SwitchWatch, old_settings: LoadSettings
    ) -> BaseException | None:
        """Exchanges the model that serves; returns why the old one serves on, or nothing does."""
        self._log.emit("ignis.model.switch_started", from_=old.name, to=target.name)
        try:
            opened = await self._open(target)
            await self._prepare_opened(opened)
        except Exception as error:
            cause = first_of(error)
            self._settings = old_settings
            self._log_failure(target, cause)
            # What was read of it is a million small objects.
            await trio.to_thread.run_sync(give_memory_back)
            # The last thing: whoever is told so may at once order another.
            # Who waits for a model that is only loaded anew still has it.
            waited = 0 if old.path == target.path else self._refuse_waiting(target, cause)
            self._settle(watch, SwitchOutcome.REFUSED, waited, cause)
            return cause
        watch.mark(SwitchPhase.PREPARE)
        if not await self._drain(target):
            opened.close()
            self._settings = old_settings
            self._settle(watch, SwitchOutcome.CALLED_OFF)
            return _stopping()
        watch.mark(SwitchPhase.DRAIN)
        try:
            drain_s = self.gate.settings.drain_timeout_s
            is_reload = old.path == target.path
            await self._tear_down("switch", cut_off.reloaded(drain_s) if is_reload else cut_off.switched(drain_s))
            watch.mark(SwitchPhase.TEARDOWN)
            loaded, waited = await self._load(opened)
            watch.mark(SwitchPhase.LOAD)
            watch.split_load(loaded.warm_up_s)
        except Exception as error:
            cause = first_of(error)
            self._settings = old_settings
            self._log_failure(target, cause)
            waited = self.gate.wishes.count(target.path)
            if old.path != target.path:
                self._refuse_waiting(target, cause)
                self.course.coming = old
                self.course.note_change()
            is_back = await self._return_to(old)
            self._refuse_waiting(target, cause)
            self._settle(watch, SwitchOutcome.RETURNED if is_back else SwitchOutcome.FAILED, waited, cause)
            return cause
        self._settle(watch, SwitchOutcome.SWITCHED, waited)
        return None

    async def _drain(self, target: LocalModel) -> bool:
        """Lets nobody in and waits for what runs. False: nobody wants the other model any more, and this one stays."""
        if self._engine.state is EngineState.SERVING:
            self._engine.leave()
        with trio.move_on_after(self.gate.settings.drain_timeout_s):
            while self.gate.num_using > 0 or self._engine.num_requests > 0:
                if not self.course.is_asked and not self.gate.wishes.count(target.path):
                    break
                await self.course.wait_change()
        is_stopping = self._engine.state is EngineState.DRAINING
        if not is_stopping and (self.course.is_asked or self.gate.wishes.count(target.path)):
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
            self._note_failed(cause)
            return False
        return True

    async def _unload(self, reason: str) -> None:
        """Unloads with nothing to follow; what was served last stays known, and the next request wakes it."""
        if self.course.opened is None:
            return
        self.course.is_asked = reason != "idle"
        try:
            if self.course.is_asked and self._engine.state is EngineState.SERVING:
                self._engine.leave()
                with trio.move_on_after(self.gate.settings.drain_timeout_s):
                    while self.gate.num_using > 0 or self._engine.num_requests > 0:
                        await self.course.wait_change()
            if self._engine.state is EngineState.DRAINING:
                return
            self.course.leaving = leaving = self.course.opened.local
            watch = SwitchWatch(leaving.name, None, self.course.clock)
            await self._tear_down(reason, cut_off.unloaded(self.gate.settings.drain_timeout_s))
            watch.mark(SwitchPhase.TEARDOWN)
            self.course.changes.appendleft(watch.over(SwitchOutcome.UNLOADED, reason=reason))
        finally:
            self.course.leaving = None
            self.course.is_asked = False
            self.course.note_change()

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
            context_of(opened.checkpoint, self._settings_for(opened))
            # Soonest what costs least to find out.
            await self._engine.check_plan(opened.checkpoint, self._settings_for(opened))
            await trio.to_thread.run_sync(opened.make_tokenizer)
            with naming(opened.local.path):
                await self._prepare(opened.describe(opened.checkpoint.shape.context_tokens, None))
        except BaseException:
            opened.close()
            raise

    async def _load(self, opened: Opened) -> tuple[Loaded, int]:
        """Loads it on the device, and the tokenizer beside that where there is none yet. Closes it on a failure.

        Returns also how many requests it lets in at once.
        """
        begun_at_s = self.course.clock()
        try:
            async with trio.open_nursery() as both:
                if opened.tokenizer is None:
                    both.start_soon(trio.to_thread.run_sync, opened.make_tokenizer)
                both.start_soon(self._engine.load, opened.checkpoint, self._settings_for(opened))
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
        load_s = self.course.clock() - begun_at_s
        loaded = replace(loaded, duration_s=load_s)
        self.course.opened, self.course.model, self.course.home = opened, model, opened.local
        self.course.has_served = True
        self.course.note_success()
        self.gate.used_at_s = self.course.clock()
        local = opened.local
        self.course.loads[local.path] = LastLoad(model.facts(), load_s, local.modified_unix_s(), local.size_bytes())
        self._metrics.count("ignis_model_loads", label="loaded")
        self._log.emit(
            "ignis.model.loaded",
            id=model.name,
            load_ms=round(loaded.weights_s * 1e3, 1),
            warm_up_ms=round(loaded.warm_up_s * 1e3, 1),
            total_bytes=model.size_bytes,
        )
        self._on_loaded(model, loaded)
        return loaded, self._let_in()

    def _settings_for(self, opened: Opened) -> EngineSettings:
        """The context that the operator chose is of the model that the server was started on: another one that has less
        is served with what it has."""
        settings = self._settings.of(_family(opened))
        trained = opened.checkpoint.shape.context_tokens
        is_first = self._first is not None and opened.local.path == self._first.path
        if is_first or settings.max_context <= trained:
            return settings
        return replace(settings, max_context=0)

    def _is_same(self, settings: LoadSettings, family: str | None) -> bool:
        return settings.of(family) == self._settings.of(family)

    async def _tear_down(self, reason: str | None = None, told: str | None = None) -> None:
        """Unloads whatever is loaded, and gives the memory back. told: to clients whose answers still run."""
        opened, self.course.opened, self.course.model = self.course.opened, None, None
        if opened is None:
            return
        begun_at_s = self.course.clock()
        name = opened.local.name
        try:
            await self._engine.unload(told)
        finally:
            opened.close()
            self._forget()
        del opened
        await trio.to_thread.run_sync(give_memory_back)
        if reason is not None:
            self._metrics.count("ignis_model_unloads", label=reason)
            duration_ms = round((self.course.clock() - begun_at_s) * 1e3, 1)
            self._log.emit("ignis.model.unloaded", id=name, reason=reason, duration_ms=duration_ms)

    def _log_failure(self, target: LocalModel, cause: BaseException) -> None:
        self._metrics.count("ignis_model_loads", label="failed")
        self._log.emit("ignis.model.load_failed", id=target.name, error=cause)

    def _refuse_waiting(self, target: LocalModel, cause: BaseException, retry_after_s: int | None = None) -> int:
        """Ends the wait of those who wanted it; returns how many that were."""
        reason = without_folders(cause.message if isinstance(cause, IgnisError) else "an internal error occurred")
        return self.gate.wishes.refuse(
            target.path,
            lambda: SwitchFailedError(
                f"the model {target.name} could not be loaded: {reason}", "model", retry_after_s=retry_after_s
            ),
        )

    def _settle(
        self, watch: SwitchWatch, outcome: SwitchOutcome, waited: int = 0, cause: BaseException | None = None
    ) -> None:
        """Puts a switch that is over on record."""
        reason = "" if cause is None else without_folders(str(cause))
        self.course.last_switch = switch = watch.over(outcome, waited, reason)
        self.course.changes.appendleft(switch)
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
        return float(self.course.status is status)


def _family(opened: Opened) -> str:
    return opened.checkpoint.shape.architecture.value


def _stopping() -> DrainingError:
    return DrainingError("the server is shutting down")


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
