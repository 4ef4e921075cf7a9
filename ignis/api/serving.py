"""The loaded model as routes see it: found by the name that a client used, waited for, or an error that says why."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import trio

from ignis.api.row import OnWait, Row
from ignis.engine.engine import Engine
from ignis.engine.gate import Patience, Use
from ignis.engine.keeper import ModelKeeper
from ignis.engine.lifecycle import EngineState, LoadedModel, ModelFacts, ModelStatus
from ignis.engine.limits import REJECTIONS, not_serving
from ignis.engine.load import LoadStatus
from ignis.engine.mailbox import Mailbox
from ignis.errors import IgnisError, ModelSwitchingError
from ignis.metrics import Metrics
from ignis.scheduler.request import RequestClass, Submission

_SUFFIXES = {f"@{kind.name.lower()}": kind for kind in RequestClass}

OnLong = Callable[[], Awaitable[object]]


class Serving:
    """Names, and the gate: a request is let in once its model serves, and nothing is answered by another."""

    def __init__(self, engine: Engine, keeper: ModelKeeper, metrics: Metrics, long_s: float) -> None:
        """long_s: a client that waits for its model is shown a sign of life after so long."""
        self.keeper = keeper
        self._engine = engine
        self._metrics = metrics
        self._row = Row()
        """Who wait for lanes."""
        self.long_s = long_s
        metrics.read_gauge_from("ignis_responses_queued_requests", lambda: len(self._row))

    @property
    def model(self) -> LoadedModel | None:
        """What serves; None while nothing does."""
        return self.keeper.course.model

    async def sleeping(self) -> ModelFacts | None:
        """What is known of the model that the next request wakes; None while one serves, or comes, or failed."""
        course, home = self.keeper.course, self.keeper.course.home
        if self.state is not EngineState.UNLOADED or home is None:
            return None
        last = await trio.to_thread.run_sync(course.last_load, home)
        return None if last is None else last.facts

    @property
    def state(self) -> EngineState:
        return self._engine.state

    @property
    def status(self) -> ModelStatus:
        return self.keeper.course.status

    @property
    def failure(self) -> str | None:
        """Why a model failed, while the one before is loaded back too, or why there is none, for clients; None where it
        is not so."""
        course = self.keeper.course
        if course.is_returning:
            return f"{course.doing}: {course.return_reason}"
        if course.expected is not None and course.is_awaited:
            return course.expected.told
        state, reason = self._engine.state, self._engine.reason
        is_empty = state is EngineState.UNLOADED and reason != ""
        return not_serving(state, reason).message if state is EngineState.FAILED or is_empty else None

    @property
    def load_status(self) -> LoadStatus | None:
        """How far the load under way is; None where there is none."""
        return self._engine.load_status

    @property
    def num_lanes(self) -> int:
        """Answers that can be made at once."""
        return self._engine.num_lanes

    @property
    def is_alive(self) -> bool:
        """Whether the step loop turns."""
        return self._engine.is_alive()

    async def look_at_memory(self) -> None:
        """Reads the device's memory for the metrics."""
        await self._engine.look_at_memory()

    @asynccontextmanager
    async def use(
        self, name: str | None, timeout_s: float | None = None, on_long: OnLong | None = None
    ) -> AsyncIterator[Use]:
        """Keeps the model of that name, suffix aside, until the block is left; waits for it where it does not serve.

        No name means whatever serves. Who submits does so before the next checkpoint after the block.

        Args:
            on_long: called once where the wait is long, to show the client a sign of life.

        Raises:
            ServerNotReadyError, DrainingError: none serves, and none will.
            ModelNotFoundError: there is none of that name.
            ModelSwitchingError, SwitchFailedError, RequestTimeoutError: it did not come.
        """
        wanted = split_suffix(name or "")[0].strip()
        patience = Patience(timeout_s=timeout_s, long_s=self.long_s, on_long=on_long)
        try:
            use = await self.keeper.gate.enter(wanted or None, patience)
        except IgnisError as error:
            reason = REJECTIONS.get(type(error))
            if reason is not None:
                self._metrics.count("ignis_requests_rejected", label=reason)
            raise
        try:
            yield use
        finally:
            self.keeper.gate.leave()

    def ready(self) -> str:
        """Returns the name of the model that a request would be answered by: an idle one is woken, and a switch is
        waited for, so that neither is a reason to send requests elsewhere.

        Raises:
            ServerNotReadyError, DrainingError: it would be refused, or waits for the server's first model.
        """
        course, state = self.keeper.course, self._engine.state
        if state is not EngineState.DRAINING and course.expected is not None and course.is_awaited:
            raise course.expected.not_here()
        if state in (EngineState.DRAINING, EngineState.FAILED) and course.watch is None:
            raise course.not_serving()
        if course.model is not None:
            return course.model.name
        if course.home is None or not course.has_served:
            if course.status is ModelStatus.LOADING:
                raise not_serving(EngineState.LOADING, "")
            raise course.not_serving()
        return course.home.name

    async def submit_in_turn(
        self, submissions: Sequence[Submission], model: LoadedModel, on_wait: OnWait | None = None
    ) -> list[Mailbox]:
        """Waits for lanes where all are taken, behind everybody who waited before; then as `submit`.

        Whoever waits keeps the model.

        Args:
            on_wait: called where it has to wait with its place among all who do, from 1 on, and again as it moves up.
        """
        self._check_served([model])
        self.keeper.gate.stay()
        try:
            if len(self._row) or not self._engine.has_room(len(submissions)):
                return await self._submit_after_others(submissions, model, on_wait)
            # A response may have been given up while it was made.
            await trio.lowlevel.checkpoint_if_cancelled()
            return self.submit(submissions, [model])
        finally:
            self.keeper.gate.leave()

    async def _submit_after_others(
        self, submissions: Sequence[Submission], model: LoadedModel, on_wait: OnWait | None
    ) -> list[Mailbox]:
        place = self._row.enter()
        try:
            await self._row.turn(
                place, lambda: self._engine.has_room(len(submissions)), self._engine.wait_room, on_wait
            )
            return self.submit(submissions, [model])
        finally:
            self._row.leave(place)

    def submit(self, submissions: Sequence[Submission], models: Sequence[LoadedModel]) -> list[Mailbox]:
        """Hands all of them to the engine, or none; raises what it raises.

        Args:
            models: that they were made for.

        Raises:
            ModelSwitchingError: what serves by now is another one, or loaded anew.
        """
        self._check_served(models)
        return self._engine.submit(submissions)

    def _check_served(self, models: Sequence[LoadedModel]) -> None:
        for model in models:
            # A model that only failed says so itself.
            if model is not self.model and self._engine.state is not EngineState.FAILED:
                self._metrics.count("ignis_requests_rejected", label=REJECTIONS[ModelSwitchingError])
                raise ModelSwitchingError(f"the model {model.name} was unloaded before the request could begin")


def split_suffix(name: str) -> tuple[str, RequestClass | None]:
    """Takes @interactive or @agent off a model's name."""
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix), kind
    return name, None
