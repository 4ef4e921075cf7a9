"""The states of the one model, and what is known of it once it is loaded."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from ignis import machine
from ignis.models.base import Architecture, Checkpoint, SpecialTokens
from ignis.tokenizer import Tokenizer


class EngineState(enum.Enum):
    UNLOADED = "unloaded"
    LOADING = "loading"
    SERVING = "serving"
    FAILED = "failed"
    DRAINING = "draining"
    """Shutting down: what runs may end, nothing new is taken."""


class EngineEvent(enum.Enum):
    LOAD = "load"
    READY = "ready"
    ERROR = "error"
    CANCEL = "cancel"
    """Of a load: nothing is held."""
    UNLOAD = "unload"
    DRAIN = "drain"


TABLE: machine.Table[EngineState, EngineEvent] = {
    EngineState.UNLOADED: {
        EngineEvent.LOAD: EngineState.LOADING,
        EngineEvent.UNLOAD: EngineState.UNLOADED,
        EngineEvent.DRAIN: EngineState.DRAINING,
    },
    EngineState.LOADING: {
        EngineEvent.READY: EngineState.SERVING,
        EngineEvent.ERROR: EngineState.FAILED,
        EngineEvent.CANCEL: EngineState.UNLOADED,
        EngineEvent.DRAIN: EngineState.DRAINING,
    },
    EngineState.SERVING: {
        EngineEvent.ERROR: EngineState.FAILED,
        EngineEvent.UNLOAD: EngineState.UNLOADED,
        EngineEvent.DRAIN: EngineState.DRAINING,
    },
    EngineState.FAILED: {
        EngineEvent.LOAD: EngineState.LOADING,
        EngineEvent.ERROR: EngineState.FAILED,
        EngineEvent.UNLOAD: EngineState.UNLOADED,
        EngineEvent.DRAIN: EngineState.DRAINING,
    },
    EngineState.DRAINING: {
        EngineEvent.LOAD: EngineState.DRAINING,
        EngineEvent.READY: EngineState.DRAINING,
        EngineEvent.ERROR: EngineState.DRAINING,
        EngineEvent.CANCEL: EngineState.DRAINING,
        EngineEvent.UNLOAD: EngineState.DRAINING,
        EngineEvent.DRAIN: EngineState.DRAINING,
    },
}


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What a request needs to know of the model that serves it. A request keeps its own, whatever is loaded later."""

    name: str
    """The id that clients use."""
    format: str
    num_parameters: int
    size_bytes: int
    """Of its files."""
    max_context: int
    """Tokens of prompt and answer together."""
    vocab_size: int
    special: SpecialTokens
    tokenizer: Tokenizer
    template: str | None
    """Source of the chat template, where the model has one."""
    created_unix_s: int
    device: str = ""
    """The device that runs it, by its own name."""
    load_s: float = 0.0
    """What the device took to load it."""
    sampling_defaults: Mapping[str, float] = field(default_factory=dict)
    architecture: Architecture | None = None
    """Together with the template it tells how the model writes thinking and calls."""


def describe(
    checkpoint: Checkpoint,
    tokenizer: Tokenizer,
    *,
    name: str,
    max_context: int,
    created_unix_s: int,
    device: str,
    load_s: float,
) -> LoadedModel:
    """Makes the LoadedModel of a checkpoint."""
    return LoadedModel(
        name=name,
        format=checkpoint.format,
        num_parameters=checkpoint.num_parameters,
        size_bytes=checkpoint.size_bytes,
        max_context=max_context,
        vocab_size=checkpoint.shape.vocab_size,
        special=checkpoint.special,
        tokenizer=tokenizer,
        template=checkpoint.chat_template,
        created_unix_s=created_unix_s,
        device=device,
        load_s=load_s,
        sampling_defaults=dict(checkpoint.sampling_defaults),
        architecture=checkpoint.shape.architecture,
    )
