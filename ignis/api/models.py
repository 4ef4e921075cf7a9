"""The routes below /v1/models: what is here, what serves, and its changes. Reading is no use, and loads nothing."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import trio

from ignis import bundle
from ignis.api.body import check_body, read_body
from ignis.api.orders import Orders
from ignis.api.progress import progress_of
from ignis.api.schema.models import (
    LoadProgress,
    ModelChange,
    ModelEntry,
    ModelList,
    ModelState,
    SwitchAnswer,
    Switching,
    SwitchRequest,
    UnloadAnswer,
    UnloadRequest,
)
from ignis.api.serving import Serving
from ignis.downloads import Downloads
from ignis.engine.lifecycle import LoadedModel, ModelFacts, ModelStatus
from ignis.engine.load import LoadStatus
from ignis.engine.survey import Survey
from ignis.engine.switching import Switch, SwitchPhase, SwitchWatch
from ignis.exchange import Exchange
from ignis.models.local import LocalModel, measured
from ignis.version import VERSION

PREFIX = "/v1/models/"
_PROGRESS_INTERVAL_S = 0.25
_ACCEPTED = 202
_SURVEY_S = 0.5
"""Of one answer, for the headers of models that were never loaded. What is not read by then is left to the next."""


class Models:
    """The endpoints."""

    def __init__(self, serving: Serving, downloads: Downloads, orders: Orders, page: Path, max_body_bytes: int) -> None:
        """
        Args:
            orders: they say what a loaded model can do.
            page: the folder of the page, which tells one build of a version from another.
        """
        self._serving = serving
        self._downloads = downloads
        self._orders = orders
        self._page = page
        self._build: str | None = None
        self._survey = Survey()
        self._max_body_bytes = max_body_bytes

    async def list(self, exchange: Exchange) -> None:
        build, entries = await self._build_id(), await self._entries()
        # Of the same moment as the entries: nothing serves that is not loaded.
        state = self._state()
        body = ModelList(
            object="list",
            data=entries,
            status=state.status,
            build=build,
            can_choose=self._serving.keeper.gate.settings.is_implicit,
            switching=state.switching,
            reason=state.reason,
            loading=state.loading,
            last_switch=state.last_switch,
            unreadable=self._serving.keeper.models.unreadable,
            switches=tuple(_change(change) for change in self._serving.keeper.course.changes),
            has_more=False,
            first_id=entries[0].id if entries else None,
            last_id=entries[-1].id if entries else None,
        )
        await exchange.respond(200, msgspec.json.encode(body))

    async def show(self, exchange: Exchange) -> None:
        name = exchange.path.removeprefix(PREFIX)
        model = self._serving.model
        if model is not None and name == model.name:
            entry = await self._loaded_entry(model)
        else:
            local = await trio.to_thread.run_sync(self._find, name, abandon_on_cancel=True)
            is_loaded = model is not None and local.name == model.name
            entry = await self._loaded_entry(model) if model is not None and is_loaded else await self._entry(local)
        await exchange.respond(200, msgspec.json.encode(entry))

    def _find(self, name: str) -> LocalModel:
        (found,) = self._surveyed(measured([self._serving.keeper.models.find(name)]))
        return found

    def _there(self) -> Sequence[LocalModel]:
        return self._surveyed(self._serving.keeper.models.there())

    def _surveyed(self, locals_: Sequence[LocalModel]) -> Sequence[LocalModel]:
        course = self._serving.keeper.course
        self._survey.read((local for local in locals_ if course.last_load(local) is None), _SURVEY_S)
        return locals_

    async def switch(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, SwitchRequest)
        keeper = self._serving.keeper
        before = self._serving.model
        target = await keeper.ask_switch(read.fields.model)
        if before is not None and before.name == target.name and keeper.course.status is ModelStatus.SERVING:
            answer = SwitchAnswer(status="serving", to=target.name, before=before.name)
            await exchange.respond(200, msgspec.json.encode(answer), headers=read.headers)
            return
        answer = SwitchAnswer(
            status="loading" if before is None else "switching",
            to=target.name,
            before=None if before is None else before.name,
        )
        await exchange.respond(_ACCEPTED, msgspec.json.encode(answer), headers=read.headers)

    async def unload(self, exchange: Exchange) -> None:
        data = await exchange.read_body(self._max_body_bytes)
        read = await check_body(data if data.strip() else b"{}", UnloadRequest)
        keeper, name = self._serving.keeper, read.fields.model
        has_begun = keeper.ask_unload(name)
        if name is not None and not has_begun:
            # It is another one, or this by another spelling, or none that anybody knows.
            found = await trio.to_thread.run_sync(keeper.models.find, name, abandon_on_cancel=True)
            has_begun = keeper.ask_unload(found.name)
        answer = UnloadAnswer(status="unloading" if has_begun else "unloaded")
        await exchange.respond(_ACCEPTED if has_begun else 200, msgspec.json.encode(answer), headers=read.headers)

    async def events(self, exchange: Exchange) -> None:
        """Sends the state, and again whenever it has changed, for as long as both are there."""
        events = await exchange.open_watch()
        sent = b""
        while True:
            changed = self._serving.keeper.course.next_change
            state = self._state()
            data = msgspec.json.encode(state)
            if data != sent:
                sent = data
                await events.send(data, "status")
            # A load and a download move without telling; everything else is a change.
            is_moving = state.loading is not None or self._downloads.is_moving
            with trio.move_on_after(_PROGRESS_INTERVAL_S if is_moving else math.inf):
                await changed.wait()
            # Requests come and go by the hundred: one look for all that happened in a moment.
            await trio.sleep(_PROGRESS_INTERVAL_S / 10)

    def _state(self) -> ModelState:
        serving, keeper = self._serving, self._serving.keeper
        course = keeper.course
        home = course.home
        return ModelState(
            status=course.status.value,
            model=serving.model.name if serving.model is not None else None if home is None else home.name,
            switching=_switching(course.watch),
            reason=serving.failure,
            loading=_progress(serving.load_status),
            waiting=len(keeper.gate.wishes),
            downloads=tuple(progress_of(download) for download in self._downloads.known.values()),
            last_switch=None if course.last_switch is None else _change(course.last_switch),
        )

    async def _build_id(self) -> str:
        if self._build is None:
            self._build = f"{VERSION}+{await trio.to_thread.run_sync(bundle.digest, self._page)}"
        return self._build

    async def _entries(self) -> Sequence[ModelEntry]:
        locals_ = await trio.to_thread.run_sync(self._there, abandon_on_cancel=True)
        model, home = self._serving.model, self._serving.keeper.course.home
        if model is not None:
            others = [await self._entry(local) for local in locals_ if local.name != model.name]
            return [await self._loaded_entry(model), *others]
        # First the one that the next request wakes.
        return [await self._entry(local) for local in sorted(locals_, key=lambda local: local != home)]

    async def _entry(self, local: LocalModel) -> ModelEntry:
        """Of a measured model that does not serve, with what its last load found out."""
        course = self._serving.keeper.course
        modified_unix_s = local.modified_unix_s()
        entry = ModelEntry(
            id=local.name,
            object="model",
            owned_by="ignis",
            type="model",
            created=modified_unix_s,
            loaded=local == course.leaving,
            format=local.format,
            size_bytes=local.size_bytes(),
            load_estimate_seconds=round(course.load_estimate_s(local), 1),
            display_name=local.name,
            created_at=_utc(modified_unix_s),
        )
        last = course.last_load(local)
        facts = self._survey.known(local) if last is None else last.facts
        if facts is None:
            return entry
        facts = replace(facts, max_context=self._serving.keeper.context_of(facts))
        if last is not None:
            return await self._with_facts(entry, facts, last.seconds)
        return msgspec.structs.replace(
            entry,
            format=facts.format,
            max_model_len=facts.max_context,
            num_parameters=facts.num_parameters,
            defaults=await self._orders.defaults(facts),
        )

    async def _loaded_entry(self, model: LoadedModel) -> ModelEntry:
        opened = self._serving.keeper.course.opened
        estimate_s = 0.0 if opened is None else self._serving.keeper.course.load_estimate_s(opened.local)
        entry = ModelEntry(
            id=model.name,
            object="model",
            owned_by="ignis",
            type="model",
            created=model.created_unix_s,
            loaded=True,
            format=model.format,
            size_bytes=model.size_bytes,
            load_estimate_seconds=round(estimate_s, 1),
            display_name=model.name,
            created_at=_utc(model.created_unix_s),
        )
        return await self._with_facts(entry, model, self._serving.keeper.course.load_s)

    async def _with_facts(self, entry: ModelEntry, facts: ModelFacts, load_s: float) -> ModelEntry:
        return msgspec.structs.replace(
            entry,
            format=facts.format,
            max_model_len=facts.max_context,
            num_parameters=facts.num_parameters,
            device=facts.device,
            load_seconds=round(load_s, 3),
            capabilities=await self._orders.capabilities(facts),
            defaults=await self._orders.defaults(facts),
        )


def _utc(unix_s: int) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _switching(watch: SwitchWatch | None) -> Switching | None:
    if watch is None:
        return None
    assert watch.before is not None and watch.to is not None
    return Switching(before=watch.before, to=watch.to)


def _change(switch: Switch) -> ModelChange:
    return ModelChange(
        before=switch.before,
        to=switch.to,
        at=switch.at_unix_s,
        outcome=switch.outcome.value,
        waited=switch.waited,
        reason=switch.reason or None,
        prepare_ms=switch.ms(SwitchPhase.PREPARE),
        drain_ms=switch.ms(SwitchPhase.DRAIN),
        teardown_ms=switch.ms(SwitchPhase.TEARDOWN),
        load_ms=switch.ms(SwitchPhase.LOAD),
        warm_up_ms=switch.ms(SwitchPhase.WARM_UP),
    )


def _progress(status: LoadStatus | None) -> LoadProgress | None:
    if status is None:
        return None
    return LoadProgress(
        phase=status.phase.value,
        done_bytes=status.done_bytes,
        total_bytes=status.total_bytes,
        seconds=round(status.age_s, 1),
    )
