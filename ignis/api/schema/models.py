"""Bodies of GET /v1/models and GET /health."""

from typing import Annotated, Literal

import msgspec


class ModelEntry(msgspec.Struct, kw_only=True):
    """A served model."""

    id: str
    object: Literal["model"] = "model"
    created: Annotated[int, msgspec.Meta(description="When its file was written, Unix seconds.")]
    owned_by: Literal["ignis"] = "ignis"
    max_model_len: Annotated[int, msgspec.Meta(description="Tokens of one request, prompt and answer together.")]
    format: Annotated[str, msgspec.Meta(description="How its weights are stored.")]
    num_parameters: int
    size_bytes: Annotated[int, msgspec.Meta(description="Of its files.")]
    device: Annotated[str, msgspec.Meta(description="What runs it: a card, or the CPU.")]
    load_seconds: Annotated[float, msgspec.Meta(description="What the device took to load it.")]
    type: Annotated[Literal["model"], msgspec.Meta(description="Of Anthropic's shape, as the rest.")] = "model"
    display_name: str
    created_at: Annotated[str, msgspec.Meta(description="As `created`, in UTC.")]


class LoadProgress(msgspec.Struct, kw_only=True):
    """How far a load is."""

    phase: Annotated[
        Literal["preparing", "reading", "recording", "warming"],
        msgspec.Meta(description="Memory; the weights; decode rounds are captured; every kind of step is run once."),
    ]
    done_bytes: Annotated[int, msgspec.Meta(description="Of the weights as they are stored.")]
    total_bytes: Annotated[int, msgspec.Meta(description="0 until it is known.")]
    seconds: Annotated[float, msgspec.Meta(description="Since the load began.")]


class ModelList(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The loaded model, and the state of the server. Clients of OpenAI and of Anthropic both find their fields."""

    object: Literal["list"]
    data: list[ModelEntry]
    status: Literal["serving", "loading", "unloaded", "failed"]
    reason: Annotated[str, msgspec.Meta(description="Why the model failed.")] | None = None
    loading: Annotated[LoadProgress, msgspec.Meta(description="While a model is loaded.")] | None = None
    has_more: Annotated[Literal[False], msgspec.Meta(description="Of Anthropic's shape, as the two ids.")]
    first_id: str | None
    last_id: str | None


class Health(msgspec.Struct, kw_only=True):
    """The server answers and its step loop turns."""

    status: Literal["ok"] = "ok"
    model: str
