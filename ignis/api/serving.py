"""The loaded model as routes see it: found by the name that a client used, or an error that says why there is none."""

from collections.abc import Sequence

from ignis.engine.engine import Engine
from ignis.engine.lifecycle import EngineState, LoadedModel
from ignis.engine.mailbox import Mailbox
from ignis.error_body import without_folders
from ignis.errors import DrainingError, ModelNotFoundError, ServerNotReadyError
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

    @property
    def state(self) -> EngineState:
        return self._engine.state

    @property
    def is_serving(self) -> bool:
        return self._engine.state is EngineState.SERVING and self.model is not None

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
        if self._engine.state is EngineState.DRAINING:
            raise DrainingError(self.describe_state())
        if self._engine.state is not EngineState.SERVING or self.model is None:
            self._metrics.count("ignis_requests_rejected", label="not_ready")
            raise ServerNotReadyError(self.describe_state())
        wanted = split_suffix(name or "")[0].strip()
        if wanted and wanted != self.model.name:
            self._metrics.count("ignis_requests_rejected", label="unknown_model")
            raise ModelNotFoundError(f"the model {wanted[:200]} is not served, {self.model.name} is")
        return self.model

    def submit(self, submissions: Sequence[Submission]) -> list[Mailbox]:
        """Hands all of them to the engine, or none; raises what it raises."""
        return self._engine.submit(submissions)

    def describe_state(self) -> str:
        """Says in a sentence why no model serves."""
        match self._engine.state:
            case EngineState.LOADING | EngineState.SERVING:
                # The engine is ready a moment before the model is put up.
                return "the model is being loaded"
            case EngineState.FAILED:
                return f"the model could not be loaded: {without_folders(self._engine.reason)}"
            case EngineState.DRAINING:
                return "the server is shutting down"
            case _:
                return "no model is loaded"


def split_suffix(name: str) -> tuple[str, RequestClass | None]:
    """Takes @interactive or @agent off a model's name."""
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix), kind
    return name, None
