"""The configuration of a server that runs: what is in effect, and what is changed of it, one change after the other.

A change is checked as a whole, takes effect, and only then goes into the file. Where it does not take effect, what was
in effect before is so again, and the file was not touched.

    checked --live----------------> applied ---------> written -> told
       +----the model loaded anew--> serves --> checked --> applied ---^
                                      +--failed: the old settings and the old model are back --> told why

Those that take a load wait for each other; the others wait for none of these, and are in effect when one has ended.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import trio

from ignis.config import Config, resolve
from ignis.config_change import Change, kept_in_file, plan_change
from ignis.config_fields import Effect
from ignis.config_file import content_of, read_text, slots_of
from ignis.config_store import ConfigStore
from ignis.config_text import changes_text, hidden_text
from ignis.engine.course import Course, Reload
from ignis.engine.keeper import ModelKeeper
from ignis.engine.settings import EngineSettings, LoadSettings
from ignis.error_body import without_folders
from ignis.errors import (
    ConfigError,
    ConfigFieldNotPatchableError,
    ConfigNotWrittenError,
    DrainingError,
    IgnisError,
    InternalError,
    LoadPlanError,
    ReloadFailedError,
    SwitchInProgressError,
)
from ignis.log import Log

Apply = Callable[[Config], None]
Check = Callable[[Config], Awaitable[None]]

NO_FILE = "the server was started without a configuration file"


@dataclass(frozen=True, slots=True)
class Persisted:
    """Whether the file has a change."""

    path: str | None = None
    reason: str | None = None
    """Why it has not; None with a path: it has."""


@dataclass(slots=True, eq=False)
class Patch:
    """A change that a client waits for."""

    document: Any
    is_wanted: bool = True
    """False: whoever asked left before it began."""
    is_reload: bool = False
    begun: trio.Event = field(default_factory=trio.Event)
    """It is checked, and its reload has begun where it takes one."""
    over: trio.Event = field(default_factory=trio.Event)
    error: Exception | None = None
    change: Change | None = None
    persisted: Persisted = Persisted()


class RunningConfig:
    """Belongs to the event loop's thread. `run` is started once; without it no change is made."""

    def __init__(self, config: Config, keeper: ModelKeeper, log: Log) -> None:
        self.config = config
        """What is in effect."""
        self.next_config = config
        """What the next start would make of the file."""
        self._keeper = keeper
        self._log = log
        self._store = None if config.file is None else ConfigStore(config.file)
        self._checks: list[Check] = []
        self._applies: list[Apply] = []
        self._loading = trio.open_memory_channel[Patch](math.inf)
        """Those that take a load."""
        self._live = trio.open_memory_channel[Patch](math.inf)
        self._lock = trio.Lock()
        """Of what is in effect, and of the file."""
        if self._store is not None:
            self._store.clean()

    @property
    def course(self) -> Course:
        """Where the model goes."""
        return self._keeper.course

    def on_change(self, apply: Apply) -> None:
        """Has that called with every configuration that comes into effect; it raises nothing."""
        self._applies.append(apply)

    def check_with(self, check: Check) -> None:
        """Has that called before a configuration comes into effect: it raises ConfigError where it cannot."""
        self._checks.append(check)

    async def text(self) -> str:
        """The file as it is, its secrets hidden; without a file what differs from the defaults."""
        if self._store is None:
            return changes_text(self.config)
        try:
            return hidden_text(await trio.to_thread.run_sync(read_text, self._store.file), self._store.file)
        except ConfigError as error:
            return f"# {without_folders(error.message)}\n\n{changes_text(self.config)}"

    async def patch(self, document: Any, wait_s: float) -> Patch:
        """Makes a change, in turn: behind a load only where it takes one. Returns when it is over, or after `wait_s`
        where its reload takes longer.

        Once it has begun it goes on, whether its client stays or not.

        Raises:
            ConfigError, ConfigFieldNotPatchableError: it is refused, and nothing of it is done.
            SwitchInProgressError, DrainingError: it would need a reload, and cannot have one now.
            ReloadFailedError, ConfigNotWrittenError: it did not take effect, and nothing of it is left.
        """
        patch = Patch(document)
        send, _ = self._loading if _takes_load(document) else self._live
        send.send_nowait(patch)
        try:
            await patch.begun.wait()
        except trio.Cancelled:
            patch.is_wanted = False
            raise
        if patch.is_reload:
            with trio.move_on_after(wait_s):
                await patch.over.wait()
        else:
            await patch.over.wait()
        if patch.error is not None:
            raise patch.error
        return patch

    async def run(self) -> None:
        """Makes changes, one after the other, until cancelled."""
        async with trio.open_nursery() as nursery:
            for _, receive in (self._loading, self._live):
                nursery.start_soon(self._make_all, receive)

    async def _make_all(self, receive: trio.MemoryReceiveChannel[Patch]) -> None:
        async for patch in receive:
            if not patch.is_wanted:
                continue
            try:
                await self._make(patch)
            except IgnisError as error:
                patch.error = error
            except Exception as error:
                self._log.emit("ignis.config.fault", error=error)
                patch.error = InternalError("a change of the configuration failed")
            except BaseException:
                patch.error = DrainingError("the server is shutting down")
                raise
            finally:
                patch.begun.set()
                patch.over.set()

    async def _make(self, patch: Patch) -> None:
        patch.change = change = await self._checked(patch)
        has_loaded = bool(change.reload) and await self._load(change.config, patch)
        try:
            async with self._lock:
                # What took no load may have been changed since, and stays so.
                patch.change = change = await self._checked(patch)
                await self._apply(change, patch)
        except Exception:
            if has_loaded:
                await self._load_back()
            raise

    async def _load_back(self) -> None:
        """Has the model loaded by what is in effect again. Others may have their turn first; the reason why it is
        needed is what the client is told, whatever becomes of this."""
        while True:
            try:
                await self._load(self.config, Patch(None))
                return
            except SwitchInProgressError:
                await self.course.wait_change()
            except IgnisError as error:
                self._log.emit("ignis.config.fault", error=error)
                return

    async def _checked(self, patch: Patch) -> Change:
        change = plan_change(self.config, patch.document)
        if change.restart and self._store is None:
            key = change.restart[0]
            raise ConfigFieldNotPatchableError(
                f"{key} takes effect at the next start, and the server was started without a configuration file "
                "that could keep it",
                key,
            )
        for check in self._checks:
            await check(change.config)
        return change

    async def _load(self, config: Config, patch: Patch) -> bool:
        """Has the model loaded by a configuration; raises where it cannot be, and the old load is back then. False: it
        makes no difference."""
        settings = LoadSettings.make(config, EngineSettings.from_config)
        if patch.change is not None and settings == LoadSettings.make(self.config, EngineSettings.from_config):
            return False
        loads = () if patch.change is None else patch.change.reload
        reload = self._keeper.ask_reload(settings, loads[0] if len(loads) == 1 else None)
        patch.is_reload = not reload.over.is_set()
        patch.begun.set()
        await reload.over.wait()
        _raise_failure(reload, patch)
        return True

    async def _apply(self, change: Change, patch: Patch) -> None:
        """Has a change take effect and go into the file; raises where only that could keep it and cannot."""
        before = self.config
        self._take(change.config)
        try:
            persisted, self.next_config = await trio.to_thread.run_sync(self._persist, change)
            if persisted.reason is not None and change.restart:
                told = f"{ConfigNotWrittenError.public}: {persisted.reason}"
                raise ConfigNotWrittenError(persisted.reason, change.restart[0], told=told)
        except Exception:
            self._take(before)
            raise
        patch.persisted = persisted
        if persisted.path is not None:
            self.config = kept_in_file(change.config, change.values)
        self._log.emit(
            "ignis.config.changed", fields=", ".join(change.values), path=persisted.path, reason=persisted.reason
        )

    def _take(self, config: Config) -> None:
        self.config = config
        for apply in self._applies:
            apply(config)

    def _persist(self, change: Change) -> tuple[Persisted, Config]:
        """Writes the change into the file, or says why that has it not; and what the next start would make of it.
        Blocks."""
        if self._store is None:
            return Persisted(reason=NO_FILE), self.next_config
        file = self._store.file
        try:
            # What the operator has written there meanwhile is kept; where it is wrong by now, it is not made worse.
            with self._store.alone():
                text = self._store.merged(change.values)
                next_config = resolve(replace(self.config.layers, keys=content_of(text, file).values))
                self._store.write(text)
        except (ConfigError, OSError) as error:
            self._log.emit("ignis.config.not_written", path=str(file), error=error)
            reason = error.message if isinstance(error, ConfigError) else f"it could not be written: {error.strerror}"
            told = without_folders(reason)
            return Persisted(reason=told if file.name in told else f"{file.name}: {told}"), self.next_config
        return Persisted(path=str(file)), next_config


def _takes_load(document: Any) -> bool:
    """Whether a change has a field that asks for one. What is wrong with it is found out by whoever makes it."""
    try:
        slots = [slot for slot, _ in slots_of(document, "")] if isinstance(document, dict) else []
    except ConfigError:
        return False
    return any(slot.field.effect is Effect.RELOAD for slot in slots)


def _raise_failure(reload: Reload, patch: Patch) -> None:
    """Raises what a reload failed of; the field is named where there is no doubt which."""
    cause = reload.error
    if isinstance(cause, DrainingError):
        raise cause
    if cause is not None:
        reason = cause.message if isinstance(cause, IgnisError) else "an internal error occurred"
        loads = () if patch.change is None else patch.change.reload
        named = cause.param if isinstance(cause, ConfigError | LoadPlanError) else None
        raise ReloadFailedError(
            "the model could not be loaded with this, and the old configuration is in effect again: "
            f"{without_folders(reason)}",
            # Of one change it is that one, whatever else could be lower for it.
            loads[0] if len(loads) == 1 else named,
        ) from cause
