"""The loaded model as routes see it: found by the name that a client used, or an error that says why there is none."""

from collections.abc import Sequence

import trio

from ignis.engine.engine import Engine
from ignis.engine.lifecycle import EngineState, LoadedModel
from ignis.engine.limits import REJECTIONS, check_state, not_serving
from ignis.engine.load import LoadStatus
from ignis.engine.mailbox import Mailbox
from ignis.errors import IgnisError, ModelNotFoundError
from ignis.metrics import Metrics
from ignis.scheduler.request import RequestClass, Submission

_SUFFIXES = {f"@{kind.name.lower()}": kind for kind in RequestClass}


class Serving:
    """Names, and the readiness gate: nothing but the loaded model is served, and nothing before it is.

    Whoever loads a model sets `model` once it serves, and takes it away before it unloads.
    """

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self.model: LoadedModel | None = None
        self._engine = engine
        self._metrics = metrics
        self._turn = trio.StrictFIFOLock()
        self._is_waiting = False
        """Whose turn it is waits for room."""

    @property
    def state(self) -> EngineState:
        return self._engine.state

    @property
    def failure(self) -> str | None:
        """Why the model failed, for clients; None where it did not."""
        state = self._engine.state
        return not_serving(state, self._engine.reason).message if state is EngineState.FAILED else None

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

    def require(self, name: str | None) -> LoadedModel:
        """Returns the model of that name, without its suffix; no name means the loaded model.

        Raises:
            ServerNotReadyError, DrainingError: no model serves now.
            ModelNotFoundError: another one is loaded.
        """
        try:
            model = self.loaded()
            wanted = split_suffix(name or "")[0].strip()
            if wanted and wanted != model.name:
                raise ModelNotFoundError(f"the model {wanted[:200]} is not served, {model.name} is")
        except IgnisError as error:
            self._metrics.count("ignis_requests_rejected", label=REJECTIONS[type(error)])
            raise
        return model

    def loaded(self) -> LoadedModel:
        """Returns the model that serves.

        Raises:
            ServerNotReadyError, DrainingError: there is none now.
        """
        check_state(self._engine.state, self._engine.reason)
        if self.model is None:
            # The engine is ready a moment before the model is put up.
            raise not_serving(EngineState.LOADING, "")
        return self.model

    async def submit_in_turn(self, submissions: Sequence[Submission]) -> list[Mailbox]:
        """Waits for lanes where all are taken, behind everybody who waited before; then as `submit`."""
        async with self._turn:
            try:
                while not self._engine.has_room(len(submissions)):
                    self._is_waiting = True
                    await self._engine.wait_room()
            finally:
                self._is_waiting = False
            return self.submit(submissions)

    def must_wait(self) -> bool:
        """Whether the next submission in turn finds no lane at once."""
        return self._is_waiting or not self._engine.has_room(1)

    def submit(self, submissions: Sequence[Submission]) -> list[Mailbox]:
        """Hands all of them to the engine, or none; raises what it raises."""
        return self._engine.submit(submissions)


def split_suffix(name: str) -> tuple[str, RequestClass | None]:
    """Takes @interactive or @agent off a model's name."""
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix), kind
    return name, None
