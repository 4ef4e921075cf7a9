"""Keeps the one model: takes orders and wishes in turn, loads what is wanted, and unloads what nobody uses.

One task, `run`, has the model changed, by `changeover`; everything else only says what is wanted.
"""

import math
from collections.abc import Awaitable, Callable
from functools import partial

import trio

from ignis.clock import Clock
from ignis.engine.changeover import Changeover
from ignis.engine.course import UNKNOWN_RETRY_S, Asked, Course, Expected, Missing, Reload, retry_after_s
from ignis.engine.engine import Engine
from ignis.engine.gate import Gate, KeeperSettings
from ignis.engine.lifecycle import EngineState, LoadedModel, ModelFacts, ModelStatus
from ignis.engine.limits import not_serving
from ignis.engine.load import Loaded
from ignis.engine.model_loader import ModelLoader, Prepare
from ignis.engine.record import Record
from ignis.engine.settings import LoadSettings
from ignis.errors import ConfigError, IgnisError, LoadPlanError, ModelNotFoundError, SwitchInProgressError
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.models.local import LocalModel, LocalModels


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
        ends_start: Callable[[IgnisError], bool] = lambda _error: True,
        clock: Clock = trio.current_time,
    ) -> None:
        """
        Args:
            prepare: does for a model what requests would else pay for, and raises what is wrong with it; called before
                the load, and again with the loaded one.
            load_settings: what loads go by; None: the engine's own settings.
            forget: lets go of what `prepare` made.
            on_loaded: is told of every model that serves.
            ends_start: whether the start ends by what its first load cannot be for, settings that no model could mend.
        """
        self.models = models
        self.course = Course(engine, clock)
        self.gate = Gate(engine, self.course, models, settings)
        self._engine = engine
        record = Record(self.course, log, metrics)
        self._loader = ModelLoader(
            engine,
            self.course,
            record,
            load_settings or LoadSettings(engine.settings),
            prepare=prepare,
            forget=forget,
            on_loaded=on_loaded,
        )
        self._changeover = Changeover(engine, self.course, self.gate, self._loader, record)
        self._ends_start = ends_start
        self._is_start = True
        """Nothing was tried yet."""
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

    def ask_unload(self, name: str | None = None) -> bool:
        """Has the model unloaded, once what runs has ended; False where there is none, or none of that name. The next
        request that needs it loads it again. In turn as ask_switch.

        Raises:
            SwitchInProgressError, DrainingError: as ask_switch.
        """
        self._check_turn()
        if self.course.opened is None and self.course.coming is None:
            return False
        next_one = self.course.next_one()
        if name is not None and (next_one is None or next_one.name != name):
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
        # What a client has changed ends no server.
        self._is_start = False
        if self.course.coming is not None or not self._settle_at_once(reload):
            self.course.asked = Asked(None, reload)
            self.course.note_change()
        return reload

    def _settle_at_once(self, reload: Reload) -> bool:
        """Whether it needs no load; the next one goes by its settings then."""
        needs_none = self._loader.take_settings(reload.settings)
        if needs_none:
            reload.settle()
        return needs_none

    def context_of(self, facts: ModelFacts) -> int:
        """What a model that was loaded once would be loaded with now: less may be asked for since."""
        asked = self._loader.settings.of(facts.family).max_context
        return min(asked or facts.max_context, facts.max_context)

    async def check_need(self, name: str, need_bytes: int, family: str) -> None:
        """Raises ModelTooLargeError: a load of so many bytes could never be on this device, by what the next one goes
        by."""
        await self._engine.check_need(name, need_bytes, self._loader.settings.of(family))

    def start_with(self, model: LocalModel) -> None:
        """The server's first model is here. It is loaded, unless another one was meanwhile: that serves on."""
        course = self.course
        course.expected = course.missing = None
        course.first = model
        self.models.start_with(model)
        self.gate.wishes.locate(model)
        is_resting = course.asked is None and course.coming is None
        if course.next_one() is None or (self._engine.state is EngineState.FAILED and is_resting):
            course.home = model
            course.asked = Asked(model)
        course.note_change()

    def expect(
        self,
        name: str,
        seconds_left: Callable[[], float] | None = None,
    ) -> None:
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
        self._is_start = False
        self.gate.wishes.refuse_awaited(lambda: not_serving(state, reason, UNKNOWN_RETRY_S))
        if self.course.next_one() is None and self._engine.state in (EngineState.UNLOADED, EngineState.FAILED):
            self.gate.wishes.refuse_nameless(lambda: not_serving(state, reason, UNKNOWN_RETRY_S))
            note(reason)
        self.course.note_change()

    def stop(self) -> None:
        """The server shuts down: whoever waits is told so. The engine drains already."""
        stopping = partial(not_serving, EngineState.DRAINING, "")
        self.gate.wishes.refuse_all(stopping)
        asked, self.course.asked = self.course.asked, None
        if asked is not None and asked.reload is not None:
            asked.reload.settle(stopping())
        self.course.note_change()

    def _check_turn(self, param: str | None = None) -> None:
        """Refuses an order where there is one before it; what only requests want has one after it at the most."""
        if self._engine.state is EngineState.DRAINING:
            raise not_serving(EngineState.DRAINING, "")
        asked = self.course.asked
        if asked is not None or self.course.is_asked:
            # Nobody knows how long an answer will be: who came back by the usual length would be told the same again.
            end_s = self._engine.most_seconds_to_end()
            seconds = self.course.seconds_to_turn(end_s, self.gate.settings.drain_timeout_s)
            told = self.course.doing if asked is None else asked.told
            raise SwitchInProgressError(told, param, retry_after_s(seconds))

    # The one task that loads and unloads

    async def run(self) -> None:
        """Does what is wanted, one thing after the other, until cancelled."""
        while self._engine.state is not EngineState.DRAINING:
            self.gate.let_in()
            deed = self._next()
            if deed is not None:
                await deed()
                continue
            with trio.move_on_at(self._idle_at()):
                await self.course.wait_change()

    def _next(self) -> Callable[[], Awaitable[None]] | None:
        asked, self.course.asked = self.course.asked, None
        if asked is not None:
            return partial(self._obey, asked)
        wanted = self.gate.wishes.targets(self.course.home)
        target = next((target for target in wanted if not self.course.serves(target)), None)
        if target is not None:
            return partial(self._bring, target)
        return partial(self._changeover.send_away, "idle") if self.course.clock() >= self._idle_at() else None

    async def _obey(self, asked: Asked) -> None:
        target, reload, home = asked.target, asked.reload, self.course.home
        if reload is not None:
            if not self._settle_at_once(reload):
                assert home is not None
                await self._bring(home, asked)
        elif target is None:
            await self._changeover.send_away("asked")
        elif not self.course.serves(target):
            await self._bring(target, asked)

    def _idle_at(self) -> float:
        """When the model has been unused for too long."""
        idle_unload_s = self.gate.settings.idle_unload_s
        is_used = self.gate.is_used or len(self.gate.wishes) > 0
        if self._engine.state is not EngineState.SERVING or is_used or idle_unload_s == 0:
            return math.inf
        return max(self.gate.used_at_s, self.course.loaded_at_s) + idle_unload_s

    async def _bring(self, target: LocalModel, asked: Asked | None = None) -> None:
        """Raises LoadPlanError, ConfigError: of the server's first model, where that ends the start."""
        first = self.course.first
        is_start = self._is_start and first is not None and target.path == first.path
        self._is_start = False
        cause = await self._changeover.bring(target, asked)
        if is_start and isinstance(cause, LoadPlanError | ConfigError) and self._ends_start(cause):
            raise cause

    def _is_status(self, status: ModelStatus) -> float:
        return float(self.course.status is status)
