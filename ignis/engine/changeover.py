"""Carries out one change of the model: brings one, in the place of another or of none, or sends one away.

bring, where another serves
    prepare --bad--> refused ................................ the old one serves on
    drain ---nobody wants it any more, or a shutdown--> called off ... likewise
    tear down, load --fails--> the old one is loaded back --fails--> failed
bring, where none serves: load --fails--> failed; by new settings, by the old ones first
send away: drain, tear down
"""

from collections.abc import Callable

import trio

from ignis.engine import cut_off
from ignis.engine.course import Asked, Course
from ignis.engine.engine import Engine
from ignis.engine.gate import Gate
from ignis.engine.lifecycle import EngineState
from ignis.engine.limits import not_serving
from ignis.engine.model_loader import ModelLoader
from ignis.engine.opening import Opened, give_memory_back
from ignis.engine.record import Record
from ignis.engine.settings import LoadSettings
from ignis.engine.switching import SwitchOutcome, SwitchPhase, SwitchWatch
from ignis.error_body import first_of, without_folders
from ignis.models.local import LocalModel


class Changeover:
    """One change at a time: the keeper's task calls it, nobody else does."""

    def __init__(self, engine: Engine, course: Course, gate: Gate, loader: ModelLoader, record: Record) -> None:
        self._engine = engine
        self._course = course
        self._gate = gate
        self._loader = loader
        self._record = record

    async def bring(self, target: LocalModel, asked: Asked | None = None) -> BaseException | None:
        """Loads a model, in the place of another where one serves, or of itself; returns why it does not serve.

        Who waited for it is told so by then, and an order's reload is settled.
        """
        course = self._course
        course.coming, course.is_asked = target, asked is not None
        before, old_settings = course.opened, self._loader.settings
        reload = None if asked is None else asked.reload
        if reload is not None:
            self._loader.settings = reload.settings
        cause: BaseException | None = not_serving(EngineState.DRAINING, "")
        try:
            if before is None or self._engine.state is not EngineState.SERVING:
                await self._loader.tear_down()
                cause = await self._load_alone(target, None if reload is None else old_settings)
            else:
                course.watch = watch = SwitchWatch(before.local.name, target.name, course.clock)
                cause = await self._switch(before.local, target, watch, old_settings)
        finally:
            course.coming = course.watch = None
            course.is_asked, course.return_reason = False, None
            if cause is not None:
                self._loader.settings = old_settings
            if reload is not None:
                reload.settle(cause)
            course.note_change()
        return cause

    async def send_away(self, reason: str) -> None:
        """Unloads with nothing to follow; what was served last stays known, and the next request wakes it."""
        course = self._course
        if course.opened is None:
            return
        course.is_asked = reason != "idle"
        try:
            if course.is_asked and self._engine.state is EngineState.SERVING and not await self._drain(lambda: True):
                return
            course.leaving = leaving = course.opened.local
            watch = SwitchWatch(leaving.name, None, course.clock)
            await self._loader.tear_down(reason, cut_off.unloaded(self._gate.settings.drain_timeout_s))
            watch.mark(SwitchPhase.TEARDOWN)
            self._record.over(watch, SwitchOutcome.UNLOADED, reason=reason)
        finally:
            course.leaving = None
            course.is_asked = False
            course.note_change()

    async def _load_alone(self, target: LocalModel, old_settings: LoadSettings | None) -> BaseException | None:
        """Loads where nothing is loaded; returns what it failed of.

        Args:
            old_settings: what is gone back to where it fails; None: there is nothing to go back to.
        """
        watch = SwitchWatch(None, target.name, self._course.clock)
        try:
            opened = await self._loader.open(target)
            watch.mark(SwitchPhase.PREPARE)
            waited = await self._load(opened, watch)
        except Exception as error:
            cause = first_of(error)
            self._record.load_failed(target, cause)
            waited = self._gate.wishes.count(target.path)
            self._record.over(watch, SwitchOutcome.FAILED, waited, without_folders(str(cause)))
            if old_settings is None or await self._return_to(target, old_settings, cause) is not None:
                await self._fail(target, cause)
            return cause
        self._record.over(watch, SwitchOutcome.LOADED, waited)
        return None

    async def _fail(self, target: LocalModel, cause: BaseException) -> None:
        """A model that was to be loaded where nothing is could not be."""
        home = self._course.home
        if home is None and self._course.expected is not None:
            # Whoever names none waits for that one.
            self._gate.refuse(target, cause)
        elif home is None or home.path == target.path:
            self._course.home = target
            self._note_failed(cause)
            self._gate.refuse(target, cause, self._course.not_serving().retry_after_s)
        else:
            self._gate.refuse(target, cause)
            if self._engine.state is EngineState.FAILED:
                # The one at home did not: it is asleep as before.
                await self._engine.unload()

    def _note_failed(self, cause: BaseException) -> None:
        """What requests mean that name none could not be loaded."""
        if self._engine.state is EngineState.UNLOADED:
            self._engine.note_unloadable(str(cause))
        self._course.note_failure()
        self._gate.wishes.refuse_nameless(self._course.not_serving)

    async def _switch(
        self, old: LocalModel, target: LocalModel, watch: SwitchWatch, old_settings: LoadSettings
    ) -> BaseException | None:
        """Exchanges the model that serves; returns why the old one serves on, or nothing does."""
        course, is_reload = self._course, old.path == target.path
        self._record.switch_begun(old, target)
        try:
            opened = await self._loader.open(target)
            await self._loader.check(opened)
        except Exception as error:
            cause = first_of(error)
            self._record.refused(target, cause)
            # What was read of it is a million small objects.
            await trio.to_thread.run_sync(give_memory_back)
            # The last thing: whoever is told so may at once order another.
            # Who waits for a model that is only loaded anew still has it.
            waited = 0 if is_reload else self._gate.refuse(target, cause)
            self._record.switch_over(watch, SwitchOutcome.REFUSED, waited, cause)
            return cause
        watch.mark(SwitchPhase.PREPARE)
        if not await self._drain(lambda: course.is_asked or self._gate.wishes.count(target.path) > 0):
            opened.close()
            self._record.switch_over(watch, SwitchOutcome.CALLED_OFF)
            return not_serving(EngineState.DRAINING, "")
        watch.mark(SwitchPhase.DRAIN)
        try:
            drain_s = self._gate.settings.drain_timeout_s
            await self._loader.tear_down(
                "switch", cut_off.reloaded(drain_s) if is_reload else cut_off.switched(drain_s)
            )
            watch.mark(SwitchPhase.TEARDOWN)
            waited = await self._load(opened, watch)
        except Exception as error:
            cause = first_of(error)
            self._record.load_failed(target, cause)
            waited = self._gate.wishes.count(target.path)
            if not is_reload:
                self._gate.refuse(target, cause)
            return_cause = await self._return_to(old, old_settings, cause)
            if return_cause is not None:
                self._note_failed(return_cause)
            # Who has come meanwhile too.
            self._gate.refuse(target, cause)
            outcome = SwitchOutcome.RETURNED if return_cause is None else SwitchOutcome.FAILED
            self._record.switch_over(watch, outcome, waited, cause)
            return cause
        self._record.switch_over(watch, SwitchOutcome.SWITCHED, waited)
        return None

    async def _drain(self, is_wanted: Callable[[], bool]) -> bool:
        """Lets nobody in and waits for what runs. False: the change is not wanted any more, or the server shuts down,
        and this model stays."""
        engine = self._engine
        if engine.state is EngineState.SERVING:
            engine.leave()
        self._course.drained_since_s = self._course.clock()
        try:
            with trio.move_on_after(self._gate.settings.drain_timeout_s):
                while self._gate.is_used and is_wanted():
                    await self._course.wait_change()
        finally:
            self._course.drained_since_s = None
        if engine.state is not EngineState.DRAINING and is_wanted():
            return True
        if engine.state is EngineState.LEAVING:
            engine.stay()
        return False

    async def _load(self, opened: Opened, watch: SwitchWatch) -> int:
        """Returns how many requests it lets in at once."""
        loaded = await self._loader.load(opened)
        watch.mark_load(loaded.weights_s, loaded.warm_up_s)
        return self._gate.let_in()

    async def _return_to(self, old: LocalModel, old_settings: LoadSettings, why: BaseException) -> BaseException | None:
        """Loads the model again that was given up for one that failed; returns why it could not be."""
        self._loader.settings = old_settings
        self._course.coming, self._course.return_reason = old, without_folders(str(why))
        self._course.note_change()
        try:
            await self._loader.load(await self._loader.open(old))
        except Exception as error:
            cause = first_of(error)
            self._record.load_failed(old, cause)
            return cause
        return None
