"""One generation as the scheduler sees it: what is asked for, its states, and what comes out. Plain values, no I/O."""

import enum
from dataclasses import dataclass, field

from ignis import machine
from ignis.scheduler.constraint import Constraint


class RequestClass(enum.IntEnum):
    """The rank's first part: a lower value goes first."""

    INTERACTIVE = 0
    AGENT = 1


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How tokens are drawn. Neutral values switch a step off; the order of the steps is in ignis_step.h."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0
    """Unsigned 64 bits. With the position it is the whole state of the generator."""
    logit_bias: tuple[tuple[int, float], ...] = ()
    top_logprobs: int | None = None
    """None: no log probabilities. n: the chosen token's and those of the n best (0..20)."""


@dataclass(slots=True)
class ReasoningRecord:
    """What was done to an answer's reasoning. Its constraint and the scheduler write it, and it is read at the end."""

    forced_at: int | None = None
    """Reasoning tokens when the spent budget closed it."""
    redirected_at: int | None = None
    """Reasoning tokens when the model ended its turn, which closed it; that token is counted."""
    num_nudges: int = 0
    """Loops that were cut and talked out of."""
    is_cut_short: bool = False
    """A loop closed it."""
    rewound_tokens: int = 0
    """Drawn, and taken back out of the context."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What the API hands to the engine for one generation."""

    prompt: tuple[int, ...]
    """Token ids, at least one."""
    max_tokens: int
    """The cap: tokens to draw at most, already clamped so that prompt + cap fits the context."""
    sampling: SamplingParams
    stop_ids: frozenset[int]
    """Drawing one of these ends the request with STOP; it is counted but not delivered as text."""
    request_class: RequestClass = RequestClass.INTERACTIVE
    timeout_s: float | None = None
    """Counts from submission, so that a request that waits for pages cannot wait for ever."""
    trace: str = ""
    """The exchange's request id, for the log."""
    prompt_logprobs: int | None = None
    """None: the prompt is not scored. n: the log probability of each of its tokens but the first, and of the n best.
    Nothing of it is found in the cache then: every position has to be computed."""
    constraint: Constraint | None = field(default=None, compare=False)
    """What the answer may draw; one object an answer, which is the engine's from now on."""
    reasoning: ReasoningRecord | None = None
    """Where the answer reasons."""


class FinishReason(enum.Enum):
    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    BLOCKED = "blocked"
    """Its constraint has reached its bounds."""
    CUT_OFF = "cut_off"
    """Its model was unloaded before it was done."""
    FAULT = "fault"


class RequestState(enum.Enum):
    # The members' own identity: Enum's hash is of the name and in Python, and each lane moves between two rounds.
    __hash__ = object.__hash__

    QUEUED = "queued"
    PREFILLING = "prefilling"
    DECODING = "decoding"
    PARKED = "parked"
    FINISHED = "finished"


class RequestEvent(enum.Enum):
    __hash__ = object.__hash__

    ADMIT = "admit"
    SPAN = "span"
    PROMPT_DONE = "prompt_done"
    TOKENS = "tokens"
    PARK = "park"
    RESTORE = "restore"
    STOP = "stop"
    LENGTH = "length"
    EXPIRE = "expire"
    CANCEL = "cancel"
    FAULT = "fault"


TABLE: machine.Table[RequestState, RequestEvent] = {
    RequestState.QUEUED: {
        RequestEvent.ADMIT: RequestState.PREFILLING,
        RequestEvent.EXPIRE: RequestState.FINISHED,
        RequestEvent.CANCEL: RequestState.FINISHED,
        RequestEvent.FAULT: RequestState.FINISHED,
    },
    RequestState.PREFILLING: {
        RequestEvent.SPAN: RequestState.PREFILLING,
        RequestEvent.PROMPT_DONE: RequestState.DECODING,
        RequestEvent.STOP: RequestState.FINISHED,
        RequestEvent.LENGTH: RequestState.FINISHED,
        RequestEvent.EXPIRE: RequestState.FINISHED,
        RequestEvent.CANCEL: RequestState.FINISHED,
        RequestEvent.FAULT: RequestState.FINISHED,
    },
    RequestState.DECODING: {
        RequestEvent.TOKENS: RequestState.DECODING,
        RequestEvent.PARK: RequestState.PARKED,
        RequestEvent.STOP: RequestState.FINISHED,
        RequestEvent.LENGTH: RequestState.FINISHED,
        RequestEvent.EXPIRE: RequestState.FINISHED,
        RequestEvent.CANCEL: RequestState.FINISHED,
        RequestEvent.FAULT: RequestState.FINISHED,
    },
    RequestState.PARKED: {
        RequestEvent.RESTORE: RequestState.DECODING,
        RequestEvent.STOP: RequestState.FINISHED,
        RequestEvent.EXPIRE: RequestState.FINISHED,
        RequestEvent.CANCEL: RequestState.FINISHED,
        RequestEvent.FAULT: RequestState.FINISHED,
    },
    RequestState.FINISHED: {},
}


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """Log probability of the drawn token and of the best ones, of the raw logits."""

    logprob: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Sent with a request's first token and its last event. Seconds are differences of the engine's monotonic clock."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    """Every token drawn, the stop token included."""
    queued_s: float
    prefill_s: float
    decode_s: float


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request left the queue: its bound is reserved, and what is cached of its prompt is claimed."""

    request_id: int
    lane: int
    cached_tokens: int
    shared_tokens: int
    """Of the cached ones, those in pages that running requests hold; the others were retained for reuse."""
    restored_tokens: int
    """Of the cached ones, those in pages that come back from host memory."""
    queued_s: float


@dataclass(frozen=True, slots=True)
class Parked:
    """A request gave its pages up for one of a higher class: what it had is in host memory, and it waits."""

    request_id: int
    tokens: int
    """In its pages."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A parked request has its pages back and goes on."""

    request_id: int
    tokens: int
    parked_s: float


@dataclass(slots=True)
class TokenEvent:
    """What one commit means for one request. The last one has `finish` and `usage`.

    Nobody changes one. It is not frozen, because each lane's is made between two rounds, and a frozen one takes five
    times as long to make.
    """

    request_id: int
    tokens: tuple[int, ...] = ()
    """Drawn in this step, without a stop token."""
    logprobs: tuple[TokenLogprob, ...] = ()
    """As many as tokens (plus one for a drawn stop token), or empty where not asked for."""
    finish: FinishReason | None = None
    fault: str = ""
    """With FAULT and CUT_OFF: a line for the log. With BLOCKED: the line for the client."""
    told: str | None = None
    """With FAULT and CUT_OFF: the line for the client; None: the generic one, or that of the log."""
    usage: Usage | None = field(default=None)
    scores: tuple[TokenLogprob, ...] = ()
    """Of the prompt's tokens but the first, with the first drawn one; empty where not asked for."""


Event = Admitted | Parked | Restored | TokenEvent
"""What the scheduler tells of a request: one Admitted at most, then tokens, and between them that it was moved."""
