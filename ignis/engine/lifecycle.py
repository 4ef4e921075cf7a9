"""The states of the one model, as the engine moves through them and as clients read them, and what is known of it."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from ignis import machine
from ignis.models.base import Architecture, Checkpoint, SpecialTokens
from ignis.tokenizer import Tokenizer


class EngineState(enum.Enum):
    UNLOADED = "unloaded"
    LOADING = "loading"
    SERVING = "serving"
    LEAVING = "leaving"
    """The model is to go: what runs may end, and nothing new begins."""
    UNLOADING = "unloading"
    FAILED = "failed"
    DRAINING = "draining"
    """Shutting down: what runs may end, nothing new is taken."""


class EngineEvent(enum.Enum):
    LOAD = "load"
    READY = "ready"
    ERROR = "error"
    CANCEL = "cancel"
    """Of a load: nothing is held."""
    LEAVE = "leave"
    STAY = "stay"
    """Nobody wants another model any more."""
    UNLOAD = "unload"
    DONE = "done"
    """The memory is back."""
    DRAIN = "drain"


TABLE: machine.Table[EngineState, EngineEvent] = {
    EngineState.UNLOADED: {
        EngineEvent.LOAD: EngineState.LOADING,
        EngineEvent.UNLOAD: EngineState.UNLOADING,
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
        EngineEvent.LEAVE: EngineState.LEAVING,
        EngineEvent.UNLOAD: EngineState.UNLOADING,
        EngineEvent.DRAIN: EngineState.DRAINING,
    },
    EngineState.LEAVING: {
        EngineEvent.ERROR: EngineState.FAILED,
        EngineEvent.STAY: EngineState.SERVING,
        EngineEvent.UNLOAD: EngineState.UNLOADING,
        EngineEvent.DRAIN: EngineState.DRAINING,
    },
    EngineState.UNLOADING: {
        EngineEvent.DONE: EngineState.UNLOADED,
        # The step loop may break over its last step.
        EngineEvent.ERROR: EngineState.UNLOADING,
        EngineEvent.DRAIN: EngineState.DRAINING,
    },
    EngineState.FAILED: {
        EngineEvent.LOAD: EngineState.LOADING,
        EngineEvent.ERROR: EngineState.FAILED,
        EngineEvent.UNLOAD: EngineState.UNLOADING,
        EngineEvent.DRAIN: EngineState.DRAINING,
    },
    # A load or an unload under way comes to its end; nothing of it is served.
    EngineState.DRAINING: dict.fromkeys(EngineEvent, EngineState.DRAINING),
}


class ModelStatus(enum.Enum):
    """The state as clients read it."""

    UNLOADED = "unloaded"
    LOADING = "loading"
    SERVING = "serving"
    SWITCHING = "switching"
    FAILED = "failed"


STATUS: dict[EngineState, ModelStatus] = {
    EngineState.UNLOADED: ModelStatus.UNLOADED,
    EngineState.LOADING: ModelStatus.LOADING,
    EngineState.SERVING: ModelStatus.SERVING,
    # What runs is still served.
    EngineState.LEAVING: ModelStatus.SERVING,
    EngineState.UNLOADING: ModelStatus.UNLOADED,
    EngineState.FAILED: ModelStatus.FAILED,
    EngineState.DRAINING: ModelStatus.SERVING,
}
"""Where no switch is under way; while one is, it is SWITCHING whatever the engine does for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known of a model that was loaded, also when its memory has been given back."""

    name: str
    """The id that clients use."""
    format: str
    num_parameters: int
    size_bytes: int
    """Of its files."""
    max_context: int
    """Tokens of prompt and answer together."""
    template: str | None
    """Source of the chat template, where the model has one."""
    created_unix_s: int
    device: str = ""
    """The device that runs it, by its own name."""
    sampling_defaults: Mapping[str, float] = field(default_factory=dict)
    architecture: Architecture | None = None
    """Together with the template it tells how the model writes thinking and calls."""

    @property
    def family(self) -> str | None:
        """By which the configuration may differ."""
        return None if self.architecture is None else self.architecture.value


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel(ModelFacts):
    """What a request needs to know of the model that serves it. A request keeps its own, whatever is loaded later."""

    vocab_size: int
    special: SpecialTokens
    tokenizer: Tokenizer

    def facts(self) -> ModelFacts:
        """Returns what outlives the tokenizer, which is not small."""
        return ModelFacts(**{each.name: getattr(self, each.name) for each in fields(ModelFacts)})


def describe(
    checkpoint: Checkpoint,
    tokenizer: Tokenizer,
    *,
    name: str,
    max_context: int,
    created_unix_s: int,
    device: str,
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
        sampling_defaults=dict(checkpoint.sampling_defaults),
        architecture=checkpoint.shape.architecture,
    )
