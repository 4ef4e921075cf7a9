"""GET /v1/models and /v1/models/{id}: which model is loaded, and whether it serves. Reading it counts as no use."""

from datetime import UTC, datetime
from typing import Literal

import msgspec

from ignis.api.schema.models import LoadProgress, ModelEntry, ModelList
from ignis.api.serving import Serving
from ignis.engine.lifecycle import EngineState, LoadedModel
from ignis.engine.load import LoadStatus
from ignis.errors import ModelNotFoundError
from ignis.exchange import Exchange

PREFIX = "/v1/models/"

_STATUS: dict[EngineState, Literal["serving", "loading", "unloaded", "failed"]] = {
    EngineState.SERVING: "serving",
    # Shutting down, what runs is still served.
    EngineState.DRAINING: "serving",
    EngineState.LOADING: "loading",
    EngineState.UNLOADED: "unloaded",
    EngineState.FAILED: "failed",
}


class Models:
    """The two endpoints."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def list(self, exchange: Exchange) -> None:
        serving = self._serving
        name = None if serving.model is None else serving.model.name
        body = ModelList(
            object="list",
            data=[] if serving.model is None else [_entry(serving.model)],
            status=_STATUS[serving.state],
            reason=serving.failure,
            loading=_progress(serving.load_status),
            has_more=False,
            first_id=name,
            last_id=name,
        )
        await exchange.respond(200, msgspec.json.encode(body))

    async def show(self, exchange: Exchange) -> None:
        name = exchange.path.removeprefix(PREFIX)
        model = self._serving.model
        if model is None or name != model.name:
            served = "none is" if model is None else f"{model.name} is"
            raise ModelNotFoundError(f"the model {name[:200]} is not served, {served}")
        await exchange.respond(200, msgspec.json.encode(_entry(model)))


def _entry(model: LoadedModel) -> ModelEntry:
    return ModelEntry(
        id=model.name,
        created=model.created_unix_s,
        max_model_len=model.max_context,
        format=model.format,
        num_parameters=model.num_parameters,
        size_bytes=model.size_bytes,
        device=model.device,
        load_seconds=round(model.load_s, 3),
        display_name=model.name,
        created_at=datetime.fromtimestamp(model.created_unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
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
