"""A scripted engine for tests of the routes: real mailboxes, tokens out of a literal, no thread and no device.

    engine = ScriptedEngine([script("Hello")])

Each submission plays the next script, and the last one is repeated. `is_held` keeps events back until `deliver`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import trio

from ignis.engine.lifecycle import EngineState, LoadedModel
from ignis.engine.load import LoadStatus
from ignis.engine.mailbox import Mailbox
from ignis.engine.settings import EngineSettings
from ignis.errors import IgnisError, ModelTooLargeError
from ignis.models.base import GgufVocabulary, SpecialTokens, VocabularyKind
from ignis.scheduler.request import FinishReason, Submission, TokenEvent, TokenLogprob, Usage
from ignis.tokenizer import load_tokenizer
from tests.settings import engine_settings

IM_START, IM_END = 256, 257
VOCAB_SIZE = 258
MAX_CONTEXT = 512
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_model(name: str = "tiny", template: str | None = TEMPLATE, **defaults: float) -> LoadedModel:
    """A model whose tokens are bytes: token 72 is H. Two control tokens follow."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(0x100) if byte not in printable]
    spelled = {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + index) for index, byte in enumerate(rest)}
    vocabulary = GgufVocabulary(
        kind=VocabularyKind.BPE,
        pre_tokenizer="gpt-2",
        tokens=(*(spelled[byte] for byte in range(0x100)), "<|im_start|>", "<|im_end|>"),
        token_types=(*(1 for _ in range(0x100)), 3, 3),
        scores=(),
        merges=(),
        adds_bos=False,
        adds_eos=False,
        adds_space_prefix=False,
    )
    special = SpecialTokens(bos=None, eos=IM_END, pad=None, unk=None, stop_ids=frozenset({IM_END}))
    return LoadedModel(
        name=name,
        format="GGUF F32",
        num_parameters=1,
        size_bytes=4,
        max_context=MAX_CONTEXT,
        vocab_size=VOCAB_SIZE,
        special=special,
        tokenizer=load_tokenizer(vocabulary, special, VOCAB_SIZE),
        template=template,
        created_unix_s=1_700_000_000,
        device="Card 1 (sm_90)",
        sampling_defaults=defaults,
    )


@dataclass(frozen=True, slots=True)
class Script:
    """What one request draws, and how it ends: its finish, or LENGTH where the cap comes first."""

    tokens: tuple[int, ...]
    finish: FinishReason = FinishReason.STOP
    fault: str = ""
    tokens_per_event: int = 1
    logprob: float = -0.5
    """Of each token."""
    told: str | None = None
    """With FAULT: to the client."""


def script(
    text: str | bytes,
    finish: FinishReason = FinishReason.STOP,
    *,
    tokens_per_event: int = 1,
    logprob: float = -0.5,
) -> Script:
    """A script that draws the bytes of a text."""
    data = text.encode() if isinstance(text, str) else text
    return Script(tuple(data), finish, "a fault", tokens_per_event, logprob)


class ScriptedEngine:
    """As much of the engine as the routes touch."""

    def __init__(self, scripts: Sequence[Script] = (), *, is_held: bool = False) -> None:
        self.num_free = self.num_lanes = 1000
        """Lanes that the next submissions find free."""
        self.state = EngineState.SERVING
        self.reason = ""
        self.is_turning = True
        self.num_requests = 0
        self.settings = engine_settings()
        self.on_change: Callable[[], None] = lambda: None
        self.refusal: IgnisError | None = None
        self.most_bytes = 1 << 40
        """Of a load."""
        self.load_status: LoadStatus | None = None
        self.cached_tokens = 0
        self.submissions: list[Submission] = []
        self.ended: list[tuple[int, FinishReason]] = []
        """Requests that their reader ended."""
        self.has_submitted = trio.Event()
        self._scripts = list(scripts or [script("Hello")])
        self._is_held = is_held
        self._room = trio.lowlevel.ParkingLot()
        self._running: dict[int, tuple[Mailbox, list[TokenEvent]]] = {}

    def is_alive(self) -> bool:
        return self.is_turning

    async def look_at_memory(self) -> None:
        """Has no device."""

    def seconds_to_end(self) -> float:
        return 0.0

    def most_seconds_to_end(self) -> float:
        return 0.0

    async def check_need(self, name: str, need_bytes: int, settings: EngineSettings) -> None:
        await trio.lowlevel.checkpoint()
        if need_bytes > (settings.budget_bytes or self.most_bytes):
            raise ModelTooLargeError(f"{name} takes {need_bytes} bytes", "model")

    def has_room(self, count: int) -> bool:
        return count <= self.num_free

    async def wait_room(self) -> None:
        await self._room.park()

    def free(self, num_lanes: int) -> None:
        """Gives lanes to those who wait."""
        self.num_free = num_lanes
        self._room.unpark_all()

    def submit(self, submissions: Sequence[Submission]) -> list[Mailbox]:
        if self.refusal is not None:
            raise self.refusal
        self.num_free -= len(submissions)
        mailboxes = []
        for submission in submissions:
            played = self._scripts[min(len(self.submissions), len(self._scripts) - 1)]
            self.submissions.append(submission)
            mailbox = Mailbox(len(self.submissions), lambda number, reason: self.ended.append((number, reason)))
            self._running[mailbox.request_id] = (mailbox, self._events(mailbox.request_id, submission, played))
            mailboxes.append(mailbox)
            if not self._is_held:
                self.deliver(mailbox.request_id)
        self.has_submitted.set()
        return mailboxes

    def deliver(self, request_id: int, num_events: int | None = None) -> None:
        """Posts the next events of a request."""
        mailbox, events = self._running[request_id]
        for event in events[:num_events]:
            mailbox.put(event)
        del events[:num_events]

    def _events(self, request_id: int, submission: Submission, played: Script) -> list[TokenEvent]:
        tokens = played.tokens[: submission.max_tokens]
        is_cut = len(played.tokens) >= submission.max_tokens
        finish = FinishReason.LENGTH if is_cut and played.finish is FinishReason.STOP else played.finish
        num_drawn = len(tokens) + (finish is FinishReason.STOP)
        usage = Usage(len(submission.prompt), self.cached_tokens, num_drawn, 0.001, 0.01, 0.1)
        events = []
        for start in range(0, len(tokens), played.tokens_per_event):
            part = tokens[start : start + played.tokens_per_event]
            has_logprobs = submission.sampling.top_logprobs is not None
            logprobs = tuple(_logprob(token, played, submission) for token in part) if has_logprobs else ()
            scores = () if start else _scores(submission)
            events.append(TokenEvent(request_id, part, logprobs, usage=None if start else usage, scores=scores))
        fault = played.fault if finish in (FinishReason.FAULT, FinishReason.BLOCKED) else ""
        scores = () if events else _scores(submission)
        return [
            *events,
            TokenEvent(request_id, finish=finish, fault=fault, told=played.told, usage=usage, scores=scores),
        ]


def _scores(submission: Submission) -> tuple[TokenLogprob, ...]:
    if submission.prompt_logprobs is None:
        return ()
    best = ((1, -0.1), (2, -0.2))[: submission.prompt_logprobs]
    return tuple(TokenLogprob(-float(place), best) for place in range(1, len(submission.prompt)))


def _logprob(token: int, played: Script, submission: Submission) -> TokenLogprob:
    best = [(token, played.logprob), *(((token + step) % 256, -1.0 - step) for step in range(1, 20))]
    return TokenLogprob(played.logprob, tuple(best[: submission.sampling.top_logprobs]))
