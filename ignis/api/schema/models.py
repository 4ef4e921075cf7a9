"""Bodies of the routes below /v1/models, and of GET /health."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

Status = Literal["serving", "switching", "loading", "unloaded", "failed"]


class Capabilities(msgspec.Struct, kw_only=True):
    """What a model can do, as its chat template and the server's fields have it."""

    tools: Annotated[bool, msgspec.Meta(description="Its template takes tools, and its calls are understood.")]
    thinking: Annotated[bool, msgspec.Meta(description="It writes its reasoning apart.")]
    thinking_efforts: Annotated[list[str], msgspec.Meta(description="Values of `reasoning_effort` that it takes.")]
    thinking_budget: Annotated[
        int,
        msgspec.Meta(description="Tokens after which its reasoning is closed where a request sets none. 0: never."),
    ]
    vision: bool


class ModelEntry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A model that is served, or would be if a request named it."""

    id: str
    object: Literal["model"]
    created: Annotated[int, msgspec.Meta(description="When its file was written, Unix seconds.")]
    owned_by: Literal["ignis"]
    loaded: Annotated[
        bool, msgspec.Meta(description="Whether it serves, or did until now and its memory is not back yet.")
    ]
    format: Annotated[str, msgspec.Meta(description="How its weights are stored.")]
    size_bytes: Annotated[int, msgspec.Meta(description="Of its weights' files.")]
    load_estimate_seconds: Annotated[
        float, msgspec.Meta(description="What a load takes: as long as the last one, else by its size.")
    ]
    type: Annotated[Literal["model"], msgspec.Meta(description="Of Anthropic's shape, as the next two.")]
    display_name: str
    created_at: Annotated[str, msgspec.Meta(description="As `created`, in UTC.")]
    max_model_len: (
        Annotated[
            int,
            msgspec.Meta(
                description="Tokens of one request, prompt and answer together. This and what "
                "follows is of its last load. Where this server has not loaded it yet, its files tell this, "
                "`num_parameters` and `defaults`, and the rest is left out."
            ),
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    num_parameters: Annotated[int, msgspec.Meta(description="Weights.")] | msgspec.UnsetType = msgspec.UNSET
    device: Annotated[str, msgspec.Meta(description="What runs it: a card, or the CPU.")] | msgspec.UnsetType = (
        msgspec.UNSET
    )
    load_seconds: (
        Annotated[float, msgspec.Meta(description="What its last load took, with the warm-up.")] | msgspec.UnsetType
    ) = msgspec.UNSET
    capabilities: Capabilities | msgspec.UnsetType = msgspec.UNSET
    defaults: (
        Annotated[
            dict[str, float],
            msgspec.Meta(
                description="What a request has of this model that says nothing else, by field: how it draws, its cap "
                "at most, and the budget of a model that thinks."
            ),
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET


class LoadProgress(msgspec.Struct, kw_only=True):
    """How far a load is."""

    phase: Annotated[
        Literal["preparing", "reading", "recording", "warming"],
        msgspec.Meta(description="Memory; the weights; decode rounds are captured; every kind of step is run once."),
    ]
    done_bytes: Annotated[int, msgspec.Meta(description="Of the weights as they are stored.")]
    total_bytes: Annotated[int, msgspec.Meta(description="0 until it is known.")]
    seconds: Annotated[float, msgspec.Meta(description="Since the load began.")]


class Switching(msgspec.Struct, kw_only=True):
    """A switch under way."""

    before: str = msgspec.field(name="from")
    to: str


class ModelChange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A switch that is over, a load where nothing was loaded, or an unload. Phases that never came are left out."""

    before: Annotated[str, msgspec.Meta(description="Left out: nothing was loaded.")] | None = msgspec.field(
        name="from", default=None
    )
    to: Annotated[str, msgspec.Meta(description="Left out: nothing is loaded now.")] | None = None
    at: Annotated[int, msgspec.Meta(description="When it was over, Unix seconds.")]
    outcome: Annotated[
        Literal["switched", "refused", "returned", "failed", "called_off", "loaded", "unloaded"],
        msgspec.Meta(
            description="switched: the new model serves, or the same by other settings. refused: it was found bad "
            "before the old one was touched. returned: its load failed, and the old one was loaded again. failed: "
            "neither could be loaded. called_off: whoever wanted it left in time. loaded, unloaded: nothing was there "
            "before, or is now."
        ),
    ]
    waited: Annotated[int, msgspec.Meta(description="Requests that were held for it.")]
    reason: (
        Annotated[str, msgspec.Meta(description="Why the new model could not be had; of an unload idle or asked.")]
        | None
    ) = None
    prepare_ms: (
        Annotated[float, msgspec.Meta(description="Its files; where an old one served meanwhile, its tokenizer too.")]
        | None
    ) = None
    drain_ms: Annotated[float, msgspec.Meta(description="Running answers were waited for.")] | None = None
    teardown_ms: Annotated[float, msgspec.Meta(description="Until the old model's memory was back.")] | None = None
    load_ms: Annotated[float, msgspec.Meta(description="Until the weights were there.")] | None = None
    warm_up_ms: (
        Annotated[float, msgspec.Meta(description="Rounds were recorded, and each kind of step was run.")] | None
    ) = None


class DownloadProgress(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How far a download of a model is, or what it came to."""

    model: str
    state: Annotated[
        Literal["waiting", "running", "complete", "failed", "stopped"],
        msgspec.Meta(description="waiting: others are fetched first. stopped: what has come is kept."),
    ]
    done_bytes: int
    total_bytes: int
    bytes_per_second: Annotated[int, msgspec.Meta(description="Over the last seconds.")]
    reason: Annotated[str, msgspec.Meta(description="Why it failed, or waits for another attempt.")] | None = None


class DownloadRequest(msgspec.Struct, kw_only=True):
    """Which model is to be fetched."""

    model: Annotated[str, msgspec.Meta(min_length=1, description="An id out of GET /v1/models/catalog.")]


class CatalogEntry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A model that can be fetched by its id."""

    id: str
    object: Literal["model"]
    title: str
    size_bytes: Annotated[int, msgspec.Meta(description="Of all its files.")]
    presence: Annotated[
        Literal["complete", "partial", "absent", "foreign", "unreadable"],
        msgspec.Meta(
            description=(
                "On this machine, by names, sizes, and the digest of what was hashed since it was last written. "
                "foreign: another file has the name of one. unreadable: the server may not look into its folder."
            )
        ),
    ]
    is_verified: Annotated[
        bool, msgspec.Meta(description="All of it is here, and was hashed and right since it was last written.")
    ]
    origin: Annotated[str, msgspec.Meta(description="Repository and revision, or package and version.")]
    is_default: Annotated[bool, msgspec.Meta(description="Served when the configuration names none.")]
    licence: str = ""
    architecture: str = ""
    format: str = ""
    parameters: int | None = None
    context_tokens: int | None = None
    needs_bytes: Annotated[int, msgspec.Meta(description="Memory that a load takes at least.")] | None = None
    download: Annotated[DownloadProgress, msgspec.Meta(description="The latest, where there was one.")] | None = None


class ModelCatalog(msgspec.Struct, kw_only=True):
    """What can be fetched, and what of it is here."""

    object: Literal["list"]
    data: Sequence[CatalogEntry]
    can_download: Annotated[bool, msgspec.Meta(description="Whether `download.enabled` lets clients start downloads.")]


class ModelState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The state of the server; also the data of each event of GET /v1/models/events."""

    status: Status
    model: Annotated[str, msgspec.Meta(description="What serves, or what the next request wakes.")] | None = None
    switching: Annotated[Switching, msgspec.Meta(description="While one model is exchanged for another.")] | None = None
    reason: Annotated[str, msgspec.Meta(description="Why a model failed, or why there is none.")] | None = None
    loading: Annotated[LoadProgress, msgspec.Meta(description="While a model is loaded.")] | None = None
    waiting: Annotated[int, msgspec.Meta(description="Requests that are held until their model serves.")] = 0
    downloads: Annotated[
        Sequence[DownloadProgress], msgspec.Meta(description="The latest of each model that had one.")
    ] = ()
    last_switch: (
        Annotated[ModelChange, msgspec.Meta(description="From one model to another, or to the same by other settings.")]
        | None
    ) = None


class ModelList(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The loaded model, then every other that is here, and the state of the server."""

    object: Literal["list"]
    data: Sequence[ModelEntry]
    status: Status
    has_more: Annotated[Literal[False], msgspec.Meta(description="Of Anthropic's shape, as the two ids.")]
    first_id: str | None
    last_id: str | None
    build: Annotated[
        str, msgspec.Meta(description="The server's version, and which page it has: another one is another build.")
    ]
    can_choose: Annotated[
        bool,
        msgspec.Meta(
            description="Whether `switch.allow_implicit` lets a request have a model loaded by naming it. "
            "POST /v1/models/switch loads one in any case."
        ),
    ]
    switching: Annotated[Switching, msgspec.Meta(description="While one model is exchanged for another.")] | None = None
    reason: Annotated[str, msgspec.Meta(description="Why a model failed, or why there is none.")] | None = None
    loading: Annotated[LoadProgress, msgspec.Meta(description="While a model is loaded.")] | None = None
    last_switch: (
        Annotated[ModelChange, msgspec.Meta(description="From one model to another, or to the same by other settings.")]
        | None
    ) = None
    switches: Annotated[
        Sequence[ModelChange], msgspec.Meta(description="The latest 20, the newest first: loads and unloads too.")
    ] = ()
    unreadable: Annotated[
        Sequence[str],
        msgspec.Meta(
            description=(
                "What is not listed, from the last part of `download.path` on: folders that the server may not read, "
                "that lie too deep or come after too much else, and models whose name is no text or ends in "
                "`.GGUF`. The log says which."
            )
        ),
    ] = ()


class SwitchRequest(msgspec.Struct, kw_only=True):
    """Which model is to serve."""

    model: Annotated[str, msgspec.Meta(min_length=1, description="A name out of GET /v1/models.")]


class SwitchAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What was begun; GET /v1/models and its events say how it goes."""

    status: Literal["switching", "loading", "serving"]
    to: str
    before: Annotated[str, msgspec.Meta(description="What served until now.")] | None = msgspec.field(
        name="from", default=None
    )


class UnloadRequest(msgspec.Struct, kw_only=True):
    """Which model is to go, for whom that matters. A body is needed for that alone."""

    model: Annotated[
        Annotated[str, msgspec.Meta(min_length=1)] | None,
        msgspec.Meta(description="Only where it is this one that serves, or comes; none: whichever it is."),
    ] = None


class UnloadAnswer(msgspec.Struct, kw_only=True):
    """What was begun."""

    status: Annotated[
        Literal["unloading", "unloaded"], msgspec.Meta(description="unloaded: there was nothing to unload.")
    ]


class Health(msgspec.Struct, kw_only=True):
    """The server answers and its step loop turns."""

    status: Literal["ok"] = "ok"
    model: str
