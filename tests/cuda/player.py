"""Plays whole requests through the real scheduler on a leaf: the engine's step loop, without threads and sockets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ignis.engine.leaf import NativeLeaf
from ignis.scheduler.constraint import Constraint
from ignis.scheduler.live import Live
from ignis.scheduler.plan import CopyPage, DecodeRound, Idle, MovePages, PrefillSpan
from ignis.scheduler.request import (
    Event,
    FinishReason,
    Parked,
    RequestClass,
    SamplingParams,
    Submission,
    TokenEvent,
    TokenLogprob,
)
from ignis.scheduler.scheduler import Scheduler, SchedulerSettings


@dataclass
class Answer:
    """What one request got."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    scores: list[TokenLogprob] = field(default_factory=list)
    """Of its prompt, where that was asked for."""
    finish: FinishReason | None = None
    cached_tokens: int = 0

    @property
    def digest(self) -> tuple[object, ...]:
        """All that must not depend on how it was served; log probabilities show every bit of the logits."""
        return tuple(self.tokens), tuple(self.logprobs), tuple(self.scores), self.finish


class Player:
    """One load's requests. The leaf has a model of this many pages and lanes; it is the caller's to unload."""

    def __init__(
        self,
        leaf: NativeLeaf,
        *,
        num_pages: int,
        num_lanes: int = 8,
        chunk: int = 256,
        has_prefix_cache: bool = True,
        num_host_pages: int = 0,
        gains_ahead: bool | None = None,
    ) -> None:
        """gains_ahead: None is as the leaf says."""
        self._leaf = leaf
        device = leaf.probe()
        self._scheduler = Scheduler(
            SchedulerSettings(
                num_pages=num_pages,
                num_lanes=num_lanes,
                prefill_chunk=chunk,
                decode_share=0.25,
                has_prefix_cache=has_prefix_cache,
                num_host_pages=num_host_pages,
                phases_agree=device.phases_agree,
                gains_ahead=device.gains_ahead if gains_ahead is None else gains_ahead,
            )
        )
        self.num_ahead = 0
        """Rounds that were begun before the draws of the one before were known."""
        self.num_parked = 0
        self._answers: dict[int, Answer] = {}
        self._late: list[tuple[float, Live]] = []
        """Whose constraint is to be worked out, from when on."""
        self._now = 0.0

    def submit(
        self,
        prompt: Sequence[int],
        max_tokens: int,
        sampling: SamplingParams,
        *,
        constraint: Constraint | None = None,
        prompt_logprobs: int | None = None,
        request_class: RequestClass = RequestClass.INTERACTIVE,
    ) -> int:
        request_id = len(self._answers)
        self._answers[request_id] = Answer()
        submission = Submission(
            tuple(prompt),
            max_tokens,
            sampling,
            frozenset(),
            request_class,
            constraint=constraint,
            prompt_logprobs=prompt_logprobs,
        )
        self._scheduler.submit(request_id, submission, self._now)
        return request_id

    def cancel(self, request_id: int) -> None:
        self._scheduler.cancel(request_id, self._now)

    def step(self) -> bool:
        """Plans, runs and commits one step of a second; returns whether there was one.

        A late constraint is worked out after none to two further steps, or when nothing else can run.
        """
        self._work_late()
        step = self._scheduler.plan(self._now)
        self._now += 1.0
        if isinstance(step, Idle):
            self._take(self._scheduler.commit(step, (), self._now))
            return bool(self._late)
        if isinstance(step, CopyPage):
            self._leaf.copy_page(step)
            self._take(self._scheduler.commit(step, (), self._now))
        elif isinstance(step, MovePages):
            self._leaf.move_pages(step)
            self._take(self._scheduler.commit(step, (), self._now))
        elif isinstance(step, PrefillSpan):
            self._take(self._scheduler.commit(step, self._leaf.prefill(step), self._now))
        else:
            assert isinstance(step, DecodeRound)
            goes_on = self._scheduler.goes_on(step)
            self.num_ahead += goes_on
            draws = self._leaf.decode(step, lambda: None, goes_on=goes_on)
            self._take(self._scheduler.commit(step, draws, self._now))
        for live in self._scheduler.take_late():
            self._late.append((self._now + (live.request_id + live.num_drawn) % 3, live))
        self._scheduler.check()
        return True

    def num_tokens(self, request_id: int) -> int:
        """Of its answer, so far."""
        return len(self._answers[request_id].tokens)

    def run(self, request_id: int) -> Answer:
        """Steps until the request has ended."""
        while self._answers[request_id].finish is None:
            assert self.step()
        return self._answers[request_id]

    def answer(
        self,
        prompt: Sequence[int],
        max_tokens: int,
        sampling: SamplingParams,
        *,
        constraint: Constraint | None = None,
        prompt_logprobs: int | None = None,
    ) -> Answer:
        return self.run(
            self.submit(prompt, max_tokens, sampling, constraint=constraint, prompt_logprobs=prompt_logprobs)
        )

    def rest(self) -> None:
        """Steps until nobody is left."""
        while self.step():
            pass

    def _work_late(self) -> None:
        due = [item for item in self._late if item[0] <= self._now]
        if not due and not self._scheduler.num_ready:
            due = self._late[:1]
        for item in due:
            self._late.remove(item)
            _, live = item
            assert live.constraint is not None
            if not live.is_finished:
                live.constraint.work()
            self._scheduler.end_work(live.request_id, None, "", self._now)

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            self.num_parked += isinstance(event, Parked)
            if not isinstance(event, TokenEvent):
                continue
            answer = self._answers[event.request_id]
            answer.tokens += event.tokens
            answer.logprobs += event.logprobs
            answer.scores += event.scores
            if event.usage is not None:
                answer.cached_tokens = event.usage.cached_tokens
            if event.finish is not None:
                assert event.finish is not FinishReason.FAULT, event.fault
                answer.finish = event.finish
