"""Plays whole requests through the real scheduler on a leaf: the engine's step loop, without threads and sockets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ignis.engine.leaf import NativeLeaf
from ignis.scheduler.plan import CopyPage, DecodeRound, Idle, PrefillSpan
from ignis.scheduler.request import FinishReason, SamplingParams, Submission, TokenEvent, TokenLogprob
from ignis.scheduler.scheduler import Scheduler, SchedulerSettings


@dataclass
class Answer:
    """What one request got."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finish: FinishReason | None = None
    cached_tokens: int = 0

    @property
    def digest(self) -> tuple[tuple[int, ...], tuple[TokenLogprob, ...], FinishReason | None]:
        """All that must not depend on how it was served; log probabilities show every bit of the logits."""
        return tuple(self.tokens), tuple(self.logprobs), self.finish


class Player:
    """One load's requests. The leaf has a model of this many pages and lanes; it is the caller's to unload."""

    def __init__(
        self, leaf: NativeLeaf, *, num_pages: int, num_lanes: int = 8, chunk: int = 256, has_prefix_cache: bool = True
    ) -> None:
        self._leaf = leaf
        self._scheduler = Scheduler(
            SchedulerSettings(
                num_pages=num_pages,
                num_lanes=num_lanes,
                prefill_chunk=chunk,
                decode_share=0.25,
                has_prefix_cache=has_prefix_cache,
                phases_agree=leaf.probe().phases_agree,
            )
        )
        self._answers: dict[int, Answer] = {}
        self._now = 0.0

    def submit(self, prompt: Sequence[int], max_tokens: int, sampling: SamplingParams) -> int:
        request_id = len(self._answers)
        self._answers[request_id] = Answer()
        self._scheduler.submit(request_id, Submission(tuple(prompt), max_tokens, sampling, frozenset()), self._now)
        return request_id

    def step(self) -> bool:
        """Plans, runs and commits one step of a second; returns whether there was one."""
        step = self._scheduler.plan(self._now)
        self._now += 1.0
        if isinstance(step, Idle):
            self._take(self._scheduler.commit(step, (), self._now))
            return False
        if isinstance(step, CopyPage):
            self._leaf.copy_page(step)
            self._take(self._scheduler.commit(step, (), self._now))
        elif isinstance(step, PrefillSpan):
            self._take(self._scheduler.commit(step, self._leaf.prefill(step), self._now))
        else:
            assert isinstance(step, DecodeRound)
            self._take(self._scheduler.commit(step, self._leaf.decode(step, lambda: None), self._now))
        self._scheduler.check()
        return True

    def run(self, request_id: int) -> Answer:
        """Steps until the request has ended."""
        while self._answers[request_id].finish is None:
            assert self.step()
        return self._answers[request_id]

    def answer(self, prompt: Sequence[int], max_tokens: int, sampling: SamplingParams) -> Answer:
        return self.run(self.submit(prompt, max_tokens, sampling))

    def rest(self) -> None:
        """Steps until nobody is left."""
        while self.step():
            pass

    def _take(self, events: Iterable[object]) -> None:
        for event in events:
            if not isinstance(event, TokenEvent):
                continue
            answer = self._answers[event.request_id]
            answer.tokens += event.tokens
            answer.logprobs += event.logprobs
            if event.usage is not None:
                answer.cached_tokens = event.usage.cached_tokens
            if event.finish is not None:
                assert event.finish is not FinishReason.FAULT, event.fault
                answer.finish = event.finish
