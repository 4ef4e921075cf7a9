"""Opens one model, finds out what is wrong with it, loads it and tears it down. Which one and when, others decide."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import trio

from ignis.engine.course import Course, LastLoad
from ignis.engine.engine import Engine
from ignis.engine.lifecycle import LoadedModel
from ignis.engine.load import Loaded
from ignis.engine.opening import Opened, give_memory_back, naming, open_model
from ignis.engine.record import Record
from ignis.engine.settings import LoadSettings
from ignis.models.local import LocalModel

Prepare = Callable[[LoadedModel], Awaitable[None]]


class ModelLoader:
    """Owns the files of what is loaded, and notes in the course what serves."""

    def __init__(
        self,
        engine: Engine,
        course: Course,
        record: Record,
        settings: LoadSettings,
        *,
        prepare: Prepare,
        forget: Callable[[], None],
        on_loaded: Callable[[LoadedModel, Loaded], None],
    ) -> None:
        """The callbacks are the keeper's."""
        self.settings = settings
        """What the next load goes by."""
        self._engine = engine
        self._course = course
        self._record = record
        self._prepare = prepare
        self._forget = forget
        self._on_loaded = on_loaded

    def take_settings(self, settings: LoadSettings) -> bool:
        """Has the next load go by them, where none is needed for that: there is no model, or they are the same for it.
        False: one is, and nothing is changed."""
        opened = self._course.opened
        is_same = opened is not None and self.settings.of(_family(opened)) == settings.of(_family(opened))
        if self._course.home is None or is_same or settings == self.settings:
            self.settings = settings
            return True
        return False

    async def open(self, target: LocalModel) -> Opened:
        """Raises ModelFileError: the message names the file and the fault."""
        opened = await trio.to_thread.run_sync(open_model, target)
        self._record.load_begun(opened)
        return opened

    async def check(self, opened: Opened) -> None:
        """Finds out what is wrong with a model while another serves. Closes it then."""
        try:
            # Soonest what costs least to find out.
            await self._engine.check_plan(opened.checkpoint, self.settings.of(_family(opened)))
            await trio.to_thread.run_sync(opened.make_tokenizer)
            with naming(opened.local.path):
                await self._prepare(opened.describe(opened.checkpoint.shape.context_tokens, None))
        except BaseException:
            opened.close()
            raise

    async def load(self, opened: Opened) -> Loaded:
        """Loads it on the device, and the tokenizer beside that where there is none yet. Closes it on a failure."""
        begun_at_s = self._course.clock()
        try:
            async with trio.open_nursery() as both:
                if opened.tokenizer is None:
                    both.start_soon(trio.to_thread.run_sync, opened.make_tokenizer)
                both.start_soon(self._engine.load, opened.checkpoint, self.settings.of(_family(opened)))
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
        course, local = self._course, opened.local
        loaded = replace(loaded, duration_s=course.clock() - begun_at_s)
        course.loads[local.path] = LastLoad(model.facts(), loaded.duration_s, local.changed_ns(), local.size_bytes())
        course.note_loaded(opened, model)
        self._record.loaded(model, loaded)
        self._on_loaded(model, loaded)
        return loaded

    async def tear_down(self, reason: str | None = None, told: str | None = None) -> None:
        """Unloads whatever is loaded, and gives the memory back.

        Args:
            reason: for the record; None: what is unloaded serves nobody any more.
            told: to clients whose answers still run.
        """
        course = self._course
        opened, course.opened, course.model = course.opened, None, None
        if opened is None:
            return
        begun_at_s = course.clock()
        name = opened.local.name
        try:
            await self._engine.unload(told)
        finally:
            opened.close()
            self._forget()
        del opened
        await trio.to_thread.run_sync(give_memory_back)
        if reason is not None:
            self._record.unloaded(name, reason, course.clock() - begun_at_s)


def _family(opened: Opened) -> str:
    return opened.checkpoint.shape.architecture.value
