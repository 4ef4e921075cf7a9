"""The leaf's life: opened once, then loaded and unloaded, in worker threads. Nothing here knows of requests.

While a model serves the step loop has the leaf: whoever loads or unloads has taken it from there.
"""

import contextlib
import threading
from collections.abc import Callable
from functools import partial

import trio

from ignis.clock import Clock
from ignis.engine.device_memory import DeviceMemory, memory_of
from ignis.engine.host_memory import available_bytes
from ignis.engine.leaf import Leaf
from ignis.engine.load import Loaded, LoadStatus, LoadWatch
from ignis.engine.load_log import log_loaded, log_plan, log_progress
from ignis.engine.settings import EngineSettings
from ignis.engine.vram import check_need, measure, plan_load
from ignis.errors import IgnisError, LoadPlanError, ModelLoadError
from ignis.log import Log
from ignis.models.base import Checkpoint

_REPORT_INTERVAL_S = 1.0
_LOOK_INTERVAL_S = 0.01
_MEMORY_LIMIT_S = 1.0


class LeafLoader:
    """The one leaf, and the load under way. Belongs to the event loop's thread, but for what says otherwise."""

    def __init__(self, open_leaf: Callable[[], Leaf], log: Log, clock: Clock) -> None:
        """`open_leaf` is called where the leaf is first needed, in a worker thread."""
        self.memory = DeviceMemory()
        """As `look_at_memory` saw it last."""
        self._open_leaf = open_leaf
        self._log = log
        self._clock = clock
        self._leaf: Leaf | None = None
        self._opening = threading.Lock()
        self._watch: LoadWatch | None = None
        self._has_no_load = trio.Event()
        self._has_no_load.set()

    @property
    def leaf(self) -> Leaf:
        """Whoever asks has loaded something onto it."""
        assert self._leaf is not None
        return self._leaf

    @property
    def status(self) -> LoadStatus | None:
        """How far the load under way is; None where there is none."""
        return None if self._watch is None else self._watch.status()

    async def wait_idle(self) -> None:
        """Returns when no load is under way."""
        await self._has_no_load.wait()

    async def load(self, checkpoint: Checkpoint, settings: EngineSettings) -> Loaded:
        """Loads a model in a worker thread. However it fails, and where it is cancelled, nothing is held afterwards.

        Raises:
            ModelLoadError, LoadPlanError, DeviceLoadError: as Engine.load.
        """
        self._watch = watch = LoadWatch(self._clock)
        self._has_no_load = trio.Event()
        try:
            loaded = await self._load_watched(checkpoint, settings, watch)
        except Exception:
            raise
        except BaseException:
            # Cancelled, perhaps just after the leaf was done.
            with trio.CancelScope(shield=True):
                await self.unload()
            raise
        finally:
            self._watch = None
            self._has_no_load.set()
        log_loaded(self._log, loaded)
        return loaded

    async def unload(self) -> None:
        """Frees the model, if one is loaded, in a worker thread. Is not broken off once it has begun."""
        await trio.to_thread.run_sync(self._unload)

    async def check_plan(self, before: Loaded, checkpoint: Checkpoint, settings: EngineSettings) -> None:
        """Makes the plan of a load that would follow another, and holds nothing; raises as Engine.check_plan."""
        # What the driver saw going may be more than the plan says.
        freed = max(before.plan.allocated_bytes, before.measured.taken_bytes)
        host = available_bytes()
        # Beside a card that is what it pins; on the CPU nobody asks.
        host_bytes = None if host is None else host + before.plan.kv_ram_bytes
        await trio.to_thread.run_sync(plan_load, self.leaf, checkpoint, settings, freed, host_bytes)

    async def check_need(self, name: str, need_bytes: int, settings: EngineSettings) -> None:
        """Sees whether a load of so many bytes at least could ever be on this device; raises as Engine.check_need."""
        with contextlib.suppress(ModelLoadError, LoadPlanError):
            # Without a device there is nothing to compare with, and a load says so by itself.
            await trio.to_thread.run_sync(self._check_need, name, need_bytes, settings)

    async def look_at_memory(self) -> None:
        """Reads the device's memory, in a worker thread: a driver takes a while, and one that has lost its card may
        never answer."""
        leaf = self._leaf
        if leaf is None or self._watch is not None:
            # A load may be recording, which no other thread should come near.
            return
        with trio.move_on_after(_MEMORY_LIMIT_S), contextlib.suppress(ModelLoadError):
            # A card that does not answer leaves the last reading; who needs the card hears of it there.
            self.memory = memory_of(await trio.to_thread.run_sync(leaf.probe, abandon_on_cancel=True))

    async def _load_watched(self, checkpoint: Checkpoint, settings: EngineSettings, watch: LoadWatch) -> Loaded:
        """Loads in a worker thread, reports how far it is, and has a cancelled load end soon."""
        outcome: Loaded | Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._report_load, watch)
            # Not abandoned where it is cancelled: what it holds must be freed before anybody goes on.
            outcome = await trio.to_thread.run_sync(self._try_load, checkpoint, settings, watch)
            nursery.cancel_scope.cancel()
        try:
            if isinstance(outcome, Exception):
                raise outcome
            assert outcome is not None
            return outcome
        finally:
            # Else the error's traceback holds this frame, and the frame the error and the checkpoint.
            del outcome

    async def _report_load(self, watch: LoadWatch) -> None:
        next_report_at = trio.current_time() + _REPORT_INTERVAL_S
        try:
            while True:
                await trio.sleep(_LOOK_INTERVAL_S)
                watch.look()
                if trio.current_time() >= next_report_at:
                    next_report_at += _REPORT_INTERVAL_S
                    watch.report(partial(log_progress, self._log))
        finally:
            # At the end of a load nobody reads it any more; before, the load is cancelled.
            watch.progress.cancel()

    # The rest runs in worker threads, of which there may be two.

    def _try_load(self, checkpoint: Checkpoint, settings: EngineSettings, watch: LoadWatch) -> Loaded | Exception:
        """Gives an error back, and one of ours without its way through the worker thread.

        An error that a thread raises is in a cycle with the thread's frames, and the checkpoint would be too.
        """
        try:
            return self._load(checkpoint, settings, watch)
        except IgnisError as error:
            cause: BaseException | None = error
            while cause is not None:
                cause.__traceback__ = None
                cause = cause.__cause__ or cause.__context__
            return error
        except Exception as error:
            return error

    def _load(self, checkpoint: Checkpoint, settings: EngineSettings, watch: LoadWatch) -> Loaded:
        """Whatever goes wrong, nothing is held afterwards."""
        started = self._clock()
        leaf = self._opened()
        leaf.unload()
        plan = plan_load(leaf, checkpoint, settings, host_bytes=available_bytes())
        log_plan(self._log, plan, settings)
        try:
            leaf.load(checkpoint, plan.layout, watch.progress)
            measured = measure(plan, leaf.probe())
        except BaseException:
            leaf.unload()
            raise
        watch.look()
        return Loaded(plan, measured, self._clock() - started, watch.warm_up_s)

    async def open(self) -> None:
        """Opens the leaf, if that is not done."""
        await trio.to_thread.run_sync(self._opened)

    def _opened(self) -> Leaf:
        with self._opening:
            if self._leaf is None:
                self._leaf = self._open_leaf()
            return self._leaf

    def _check_need(self, name: str, need_bytes: int, settings: EngineSettings) -> None:
        check_need(name, need_bytes, self._opened().probe(), settings)

    def _unload(self) -> None:
        if self._leaf is not None:
            self._leaf.unload()
