"""The scheduler against a plain model, under random submissions, cancels, deadlines, faults and step times."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ignis._core import Draw
from ignis.scheduler.constraint import Constraint
from ignis.scheduler.live import Live
from ignis.scheduler.plan import CopyPage, DecodeRound, Idle, MovePages, PrefillSpan
from ignis.scheduler.request import (
    Admitted,
    Event,
    FinishReason,
    Parked,
    ReasoningRecord,
    RequestClass,
    Restored,
    SamplingParams,
    Submission,
)
from ignis.scheduler.scheduler import Scheduler, SchedulerSettings
from tests.fakes.constraint import Rewinding, RuledConstraint, ends_in
from tests.fakes.leaf import VOCAB_SIZE, ScriptedLeaf, mixed

NUM_PAGES = 8
NUM_LANES = 4
CHUNK = 128
SHARE = 0.25
STOP_IDS = frozenset(range(1, 20))


@dataclass
class Expected:
    """One request of the model."""

    submission: Submission
    arrival: int
    submitted_at: float
    tokens: list[int] = field(default_factory=list)
    finish: FinishReason | None = None
    has_begun: bool = False
    """It has had a step."""
    has_span: bool = False
    resumes_at: int = 0
    """Where its copied page ends; 0 where none was copied."""
    digit: int | None = None
    """What its constraint has each token end with."""
    loop: tuple[int, int, int] | None = None
    """A place where its constraint gives the answer another token and lets so many before it go."""
    times_parked: int = 0
    is_parked: bool = False
    is_returning: bool = False
    was_admitted: bool = False
    was_told: FinishReason | None = None

    @property
    def rank(self) -> tuple[int, int]:
        return self.submission.request_class.value, self.arrival

    def answer(self) -> tuple[list[int], FinishReason]:
        """What it gets when nobody disturbs it: a function of its own tokens alone."""
        context, num_prompt = list(self.submission.prompt), len(self.submission.prompt)
        tokens: list[int] = []
        record = self.submission.reasoning
        while len(tokens) < self.submission.max_tokens:
            token = mixed(context, num_prompt)
            if self.loop is not None and len(tokens) == self.loop[0]:
                _, surplus, token = self.loop
                assert record is not None
                # All of it in whole pages, or nothing, where others read them.
                rest = (len(context) - surplus + 63) // 64 * 64
                assert record.rewound_tokens in (0, max(0, len(context) - rest))
                del context[len(context) - record.rewound_tokens :]
            if self.digit is not None:
                token = next(other for other in range(token, token + 10) if other % 10 == self.digit) % VOCAB_SIZE
            if token in STOP_IDS:
                return tokens, FinishReason.STOP
            tokens.append(token)
            context.append(token)
        return tokens, FinishReason.LENGTH


prompts = strategies.builds(
    lambda words, tail, own: tuple(word for word in words for _ in range(64)) + tuple(range(tail)) + (900 + own,) * own,
    strategies.lists(strategies.integers(1, 2), max_size=4),
    strategies.just(64) | strategies.integers(1, 70),
    strategies.integers(0, 3),
)


loops = strategies.integers(1, 90).flatmap(
    lambda place: strategies.tuples(strategies.just(place), strategies.integers(1, place), strategies.just(777))
)
"""A place, as many tokens of the answer as there are before it or fewer, and the token that comes."""


class SchedulerMachine(RuleBasedStateMachine):
    phases_agree = True
    num_host_pages = 0
    gains_ahead = False

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Scheduler(
            SchedulerSettings(
                num_pages=NUM_PAGES,
                num_lanes=NUM_LANES,
                prefill_chunk=CHUNK,
                decode_share=SHARE,
                has_prefix_cache=True,
                phases_agree=self.phases_agree,
                num_host_pages=self.num_host_pages,
                gains_ahead=self.gains_ahead,
            )
        )
        self.leaf = ScriptedLeaf(phases_agree=self.phases_agree)
        self.leaf.prepare(NUM_PAGES, self.num_host_pages)
        self.now = 0.0
        self.requests: dict[int, Expected] = {}
        self.chunk_end: tuple[int, float, float] | None = None
        """Of the last span: its request, when it ended, how long the same prompt's next one has to wait."""
        self.rounds_since_chunk = 0
        self.unworked: list[Live] = []
        """Those whose constraint is late."""

    def open(self) -> dict[int, Expected]:
        return {i: request for i, request in self.requests.items() if request.finish is None and not request.was_told}

    @rule(
        prompt=prompts,
        max_tokens=strategies.integers(1, 100),
        request_class=strategies.sampled_from(RequestClass),
        timeout_s=strategies.none() | strategies.floats(0.1, 50),
        digit=strategies.none() | strategies.integers(0, 9),
        is_slow=strategies.booleans(),
        loop=strategies.none() | loops,
    )
    def submit(
        self,
        prompt: tuple[int, ...],
        max_tokens: int,
        request_class: RequestClass,
        timeout_s: float | None,
        digit: int | None,
        is_slow: bool,
        loop: tuple[int, int, int] | None,
    ) -> None:
        if len(self.open()) == NUM_LANES:
            assert self.scheduler.num_waiting + self.scheduler.num_running == NUM_LANES
            return
        sampling = SamplingParams(temperature=0.0)
        constraint: Constraint | None = None
        if loop is not None:
            constraint, digit = Rewinding(*loop), None
        elif digit is not None:
            constraint = RuledConstraint(ends_in(digit), is_slow=is_slow)
        submission = Submission(
            prompt,
            max_tokens,
            sampling,
            STOP_IDS,
            request_class,
            timeout_s,
            constraint=constraint,
            reasoning=ReasoningRecord(),
        )
        request_id = len(self.requests) + 1
        self.requests[request_id] = Expected(submission, request_id, self.now, digit=digit, loop=loop)
        self.scheduler.submit(request_id, submission, self.now)

    @rule(
        choice=strategies.integers(0, 100), reason=strategies.sampled_from([FinishReason.CANCELLED, FinishReason.STOP])
    )
    def leave(self, choice: int, reason: FinishReason) -> None:
        if self.open():
            request_id = sorted(self.open())[choice % len(self.open())]
            request = self.requests[request_id]
            request.was_told = reason if request.tokens else FinishReason.CANCELLED
            self.scheduler.cancel(request_id, self.now, reason)

    @rule(choice=strategies.integers(0, 100))
    def fail(self, choice: int) -> None:
        if self.open():
            request_id = sorted(self.open())[choice % len(self.open())]
            self.requests[request_id].was_told = FinishReason.FAULT
            self.take(self.scheduler.fail([request_id], "broke", self.now))

    @rule(count=strategies.integers(1, NUM_LANES), fails=strategies.sampled_from([False, False, False, True]))
    def work(self, count: int, fails: bool) -> None:
        """Some of the late constraints are worked out, in any order; a request may have ended meanwhile."""
        for live in self.unworked[-count:]:
            assert live.constraint is not None
            live.constraint.work()
            reason = FinishReason.BLOCKED if fails else None
            if reason is not None and live.request_id in self.open():
                self.requests[live.request_id].was_told = reason
            self.scheduler.end_work(live.request_id, reason, "too large", self.now)
        del self.unworked[-count:]

    @rule(seconds=strategies.floats(0, 20))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(times=strategies.lists(strategies.floats(0.001, 2.0), min_size=1, max_size=30))
    def run(self, times: list[float]) -> None:
        for takes_s in times:
            self.step(takes_s)

    def step(self, takes_s: float) -> bool:
        """Plans, runs and commits one step; returns whether there was one."""
        late = [request for request in self.open().values() if self.is_late(request)]
        step = self.scheduler.plan(self.now)
        num_decoding = len(self.scheduler._lanes.round().lives)
        if isinstance(step, Idle):
            self.take(self.scheduler.commit(step, (), self.now))
            if self.unworked:
                self.work(NUM_LANES, fails=False)
                return True
            assert not self.open()
            assert all(request.finish for request in late)
            return False
        draws: Sequence[Draw] = ()
        if isinstance(step, CopyPage):
            self.check_copy(step)
            self.leaf.copy_page(step)
        elif isinstance(step, MovePages):
            self.check_moves(step)
            self.leaf.move_pages(step)
        elif isinstance(step, DecodeRound):
            assert 1 <= len(step.rows) <= NUM_LANES
            self.rounds_since_chunk += 1
            draws = self.leaf.decode(step, goes_on=self.scheduler.goes_on(step))
        else:
            self.check_span(step, is_beside_others=num_decoding > 0)
            draws = self.leaf.prefill(step)
        started, self.now = self.now, self.now + takes_s
        if isinstance(step, PrefillSpan):
            wait_s = 0.0 if step.is_last else (self.now - started) * SHARE / (1 - SHARE)
            self.chunk_end = (step.live.request_id, self.now, wait_s)
            self.rounds_since_chunk = 0
        self.take(self.scheduler.commit(step, draws, self.now))
        self.unworked += self.scheduler.take_late()
        assert all(request.finish for request in late), "a deadline was missed"
        return True

    def check_copy(self, step: CopyPage) -> None:
        request = self.requests[step.live.request_id]
        assert not request.has_span, "a copy after the first span"
        if not request.has_begun:
            self.check_rank(request)
        assert 0 < step.stop < len(request.submission.prompt)
        request.resumes_at = step.stop

    def check_moves(self, step: MovePages) -> None:
        assert self.num_host_pages and step.outs + step.ins
        request = self.requests[step.live.request_id]
        if step.live.is_parked:
            self.check_parked(step, request)
            return
        if not request.has_begun:
            self.check_rank(request)
        if not step.ins:
            return
        assert len(step.ins) <= CHUNK // 64
        assert step.stop < len(request.submission.prompt), "no token of the prompt is left to compute"
        request.resumes_at = step.stop

    def check_parked(self, step: MovePages, request: Expected) -> None:
        waiting = [other for other in self.open().values() if not other.was_admitted and not self.is_late(other)]
        if step.ins:
            # Whoever comes while its pages come back waits for them as for a prompt.
            assert request.is_returning or all(other.rank > request.rank for other in waiting), "it passed another"
            request.is_returning = True
        else:
            head = min(other.rank for other in waiting)
            assert head[0] < request.rank[0], "parked for nobody of a higher class"
            request.times_parked += 1

    def check_rank(self, request: Expected) -> None:
        """Of its first step, a copy or a span: it was the head of the queue."""
        waiting = [other for other in self.open().values() if not other.has_begun and not self.is_late(other)]
        assert request.rank == min(other.rank for other in waiting), "a lower rank went first"
        request.has_begun = True

    def check_span(self, step: PrefillSpan, *, is_beside_others: bool) -> None:
        request = self.requests[step.live.request_id]
        request.has_span = True
        assert step.stop - step.start <= CHUNK
        assert step.stop % CHUNK == 0 or step.is_last
        if request.resumes_at:
            assert step.start == request.resumes_at, "the span after a copy starts elsewhere"
            request.resumes_at = 0
        elif not request.has_begun:
            self.check_rank(request)
            assert step.start % 64 == 0
        if is_beside_others and self.chunk_end is not None:
            request_id, ended, wait_s = self.chunk_end
            assert self.rounds_since_chunk >= 1, "two chunks without a round"
            assert request_id != step.live.request_id or self.now >= ended + wait_s, "the share was not kept"

    def is_late(self, request: Expected) -> bool:
        timeout_s = request.submission.timeout_s
        return timeout_s is not None and self.now >= request.submitted_at + timeout_s

    def take(self, events: list[Event]) -> None:
        for event in events:
            request = self.requests[event.request_id]
            if isinstance(event, Admitted):
                assert not request.was_admitted and not request.tokens and request.finish is None
                request.was_admitted = True
                continue
            if isinstance(event, Parked | Restored):
                assert request.was_admitted and request.finish is None
                assert isinstance(event, Parked) is not request.is_parked, "it was told twice"
                request.is_parked, request.is_returning = isinstance(event, Parked), False
                continue
            assert not (request.is_parked and event.tokens), "a token of a parked request"
            assert request.was_admitted or not event.tokens, "a token before its request left the queue"
            assert request.finish is None, "something came after the end"
            request.tokens += event.tokens
            request.finish = event.finish

    @invariant()
    def agrees(self) -> None:
        self.scheduler.check()
        assert self.scheduler.num_waiting + self.scheduler.num_running <= NUM_LANES

    @invariant()
    def answers_are_each_request_s_own(self) -> None:
        for request in self.requests.values():
            tokens, finish = request.answer()
            assert request.tokens == tokens[: len(request.tokens)]
            if request.finish in (FinishReason.STOP, FinishReason.LENGTH) and request.was_told is None:
                assert (request.tokens, request.finish) == (tokens, finish)
            if request.finish is FinishReason.EXPIRED:
                assert self.is_late(request)

    def teardown(self) -> None:
        while self.step(0.5):
            pass
        assert all(request.finish is not None for request in self.requests.values()), "a request never ended"
        residency = self.scheduler.residency
        assert residency.num_used == residency.index.num_idle
        assert (residency.reserved, self.scheduler.num_waiting, self.scheduler.num_running) == (0, 0, 0)
        self.scheduler.check()


class TwoPhaseMachine(SchedulerMachine):
    """On a leaf whose decode writes other bits than its prefill: it refuses to have a prompt meet them."""

    phases_agree = False


class HostMemoryMachine(SchedulerMachine):
    """Pages that the device gives up go to host memory, which is soon full, and agents give theirs up for users."""

    num_host_pages = 9

    @rule(
        prompts=strategies.tuples(prompts, prompts),
        max_tokens=strategies.tuples(strategies.integers(60, 100), strategies.integers(1, 100)),
        num_steps=strategies.integers(3, 60),
        digit=strategies.none() | strategies.integers(0, 9),
        is_slow=strategies.booleans(),
        loop=strategies.none() | loops,
    )
    def displace(
        self,
        prompts: tuple[tuple[int, ...], tuple[int, ...]],
        max_tokens: tuple[int, int],
        num_steps: int,
        digit: int | None,
        is_slow: bool,
        loop: tuple[int, int, int] | None,
    ) -> None:
        """A user comes some steps after an agent."""
        self.submit(prompts[0], max_tokens[0], RequestClass.AGENT, None, digit, is_slow, loop)
        for _ in range(num_steps):
            self.step(0.1)
        self.submit(prompts[1], max_tokens[1], RequestClass.INTERACTIVE, None, None, False, None)

    @rule(choice=strategies.integers(0, 100))
    def ask_again(self, choice: int) -> None:
        """A prompt that was asked before."""
        if self.requests:
            submission = self.requests[choice % len(self.requests) + 1].submission
            self.submit(submission.prompt, 20, submission.request_class, None, None, False, None)


class TwoPhaseHostMemoryMachine(HostMemoryMachine):
    phases_agree = False


class AheadMachine(HostMemoryMachine):
    """On a leaf that begins a round before the draws of the one before are known."""

    gains_ahead = True


class TwoPhaseAheadMachine(AheadMachine):
    phases_agree = False


TestSchedulerMachine = SchedulerMachine.TestCase
TestSchedulerMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestTwoPhaseMachine = TwoPhaseMachine.TestCase
TestTwoPhaseMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestHostMemoryMachine = HostMemoryMachine.TestCase
TestHostMemoryMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestTwoPhaseHostMemoryMachine = TwoPhaseHostMemoryMachine.TestCase
TestTwoPhaseHostMemoryMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestAheadMachine = AheadMachine.TestCase
TestAheadMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestTwoPhaseAheadMachine = TwoPhaseAheadMachine.TestCase
TestTwoPhaseAheadMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
