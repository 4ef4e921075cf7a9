"""The pure middle: `plan(now)` says what the device does next, `commit(step, draws, now)` takes what came out of it.

No I/O, no clock, no event loop. `now` is in seconds of any clock that only grows. Between a plan and its commit nothing
else is called.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ignis._core import PAGE_TOKENS, Draw, full_rows, may_go_on, take_draws
from ignis.scheduler.admission import Admission
from ignis.scheduler.decode import DecodeLanes
from ignis.scheduler.live import Live, pages_of
from ignis.scheduler.plan import DecodeRound, Idle, MovePages, PrefillSpan, Step
from ignis.scheduler.prefill import PrefillLane
from ignis.scheduler.request import (
    Admitted,
    Event,
    FinishReason,
    Parked,
    RequestEvent,
    Restored,
    Submission,
    TokenEvent,
    TokenLogprob,
)
from ignis.scheduler.residency import Residency

_NO_TOKEN = "the logits of this request give no token: all are -infinity, or some are NaN or infinite"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    num_pages: int
    num_lanes: int
    prefill_chunk: int
    """Tokens of the longest span, a multiple of 64."""
    decode_share: float
    """[0, 1): the part of the time that lanes keep while a prompt prefills."""
    has_prefix_cache: bool
    phases_agree: bool
    """The device's: False keeps positions that decode wrote out of the prefix cache."""
    num_host_pages: int = 0
    """Places in host memory for pages that the device gives up."""
    gains_ahead: bool = False
    """The device's: it may begin a round before the draws of the one before are known."""


class Scheduler:
    """All requests of one load, from submission to their end."""

    def __init__(self, settings: SchedulerSettings) -> None:
        self.residency = Residency(
            settings.num_pages,
            has_prefix_cache=settings.has_prefix_cache,
            phases_agree=settings.phases_agree,
            num_host_pages=settings.num_host_pages,
        )
        self._chunk_pages = max(1, settings.prefill_chunk // PAGE_TOKENS)
        self._admission = Admission(self.residency)
        self._prefill = PrefillLane(settings.prefill_chunk, settings.decode_share)
        self._lanes = DecodeLanes(settings.num_lanes)
        self._lives: dict[int, Live] = {}
        self._first_deadline_s = math.inf
        self._num_arrived = 0
        self._untold: list[Event] = []
        """What happened outside a commit; the next one tells it."""
        self._gains_ahead = settings.gains_ahead
        self._ahead: DecodeRound | None = None
        """The round that the device has begun before the draws of the one before were known: it is the next one.
        Whoever has ended since is still in it, and what it draws for them is nobody's."""
        self._late: list[Live] = []
        """Whose constraint became late since `take_late`."""
        self._standing: DecodeRound | None = None
        """The round that comes again unless something happens: nobody waits, no prompt runs, no lane is late, and each
        row has room in its page. Planning and committing it touch as little memory as they can, which after the
        device's milliseconds is in no cache, and most of what a round takes of the host."""

    @property
    def num_waiting(self) -> int:
        return len(self._admission)

    @property
    def num_running(self) -> int:
        return len(self._lives) - len(self._admission)

    @property
    def num_prefilling(self) -> int:
        """1 while a prompt has the prefill lane."""
        return int(self._prefill.live is not None)

    @property
    def num_decoding(self) -> int:
        """Lanes whose prompt is done, the late ones too."""
        return self._lanes.num_decoding

    @property
    def num_late(self) -> int:
        """Lanes that are in no round until their constraint is worked out."""
        return self._lanes.num_late

    @property
    def num_ready(self) -> int:
        """Lanes that the next round would have."""
        return self._lanes.num_ready

    @property
    def has_free_lane(self) -> bool:
        """A lane that decodes has no constraint, and so would wait for others only."""
        return self._lanes.has_free_lane

    def submit(self, request_id: int, submission: Submission, now: float) -> None:
        """Queues a request. The caller has seen that a lane is free and that the bound fits the whole pool."""
        assert self._lanes.num_free > 0, "more requests than lanes"
        assert len(submission.prompt) > 0, "no prompt"
        assert submission.max_tokens > 0, "nothing to draw"
        assert pages_of(len(submission.prompt) + submission.max_tokens) <= self.residency.pool.num_pages, "never fits"
        live = Live(request_id, submission, self._lanes.reserve(), self._num_arrived, now)
        self._num_arrived += 1
        self._standing = None
        self._lives[request_id] = live
        self._note_deadlines()
        self._admission.push(live)

    def cancel(self, request_id: int, now: float, reason: FinishReason = FinishReason.CANCELLED) -> None:
        """Ends a request between two steps: CANCELLED, or STOP where its reader has seen enough. One that has ended
        already is left alone, since its end and the cancel may have crossed."""
        live = self._lives.get(request_id)
        if live is not None:
            self._end(live, reason if live.num_drawn else FinishReason.CANCELLED, now)

    def fail(
        self,
        request_ids: Iterable[int],
        fault: str,
        now: float,
        told: str | None = None,
        finish: FinishReason = FinishReason.FAULT,
    ) -> list[Event]:
        """Ends requests, and what their clients are told; returns their events and those that waited for a commit.

        Args:
            finish: FAULT or CUT_OFF.
        """
        for request_id in request_ids:
            self._end(self._lives[request_id], finish, now, fault, told)
        self.residency.forget_moves()
        return self._take_untold()

    def refuse(self, step: Step, fault: str, now: float) -> list[Event]:
        """The leaf refused a planned step, and has begun none: whoever was in it ends, the others go on."""
        self._ahead = None
        lives = step.lives if isinstance(step, DecodeRound) else () if isinstance(step, Idle) else (step.live,)
        return self.fail([live.request_id for live in lives if live.finish is None], fault, now)

    def request_ids(self) -> list[int]:
        return list(self._lives)

    def plan(self, now: float) -> Step:
        """Returns the next step. Before it, requests past their deadline end and one may be admitted, which the commit
        tells."""
        if now >= self._first_deadline_s:
            self._expire(now)
        if self._ahead is not None:
            return self._ahead
        if self._standing is not None:
            return self._standing
        step = self._plan(now)
        # Pages that were given up for it go to host memory first, and then it is planned again.
        return self.residency.take_outs() or step

    def goes_on(self, step: DecodeRound) -> bool:
        """Whether the device may begin the round after this planned one at once: it stands, and nobody's part in it
        ends or wants a page, whatever is drawn but a stop token. Then plan returns it next, come what may. Asked once a
        round, before it runs."""
        if not self._gains_ahead:
            return False
        if step is self._lanes.round() and not (step.replaced or self._untold) and self._is_quiet():
            # One that was planned anew, behind the end of a page say, stands from here on.
            self._standing = step
        goes_on = step is self._standing and may_go_on(step.rows)
        self._ahead = step if goes_on else None
        return goes_on

    def _is_quiet(self) -> bool:
        """Whether nobody is waited for or has to be let in between two rounds."""
        return not (self._prefill.live or self._admission or self._lanes.num_late)

    def _plan(self, now: float) -> Step:
        if not self._lanes.num_decoding or self._prefill.may_run(now):
            # Not before its first step can run: whoever comes until then may be of a higher rank.
            if self._prefill.live is None and (moves := self._admit(now)) is not None:
                return moves
            if self._prefill.live is not None:
                if self._prefill.live.source is not None:
                    return self.residency.copy(self._prefill.live)
                if self._prefill.live.returning:
                    self._prefill.begin(now)
                    return self.residency.bring_back(self._prefill.live, self._chunk_pages)
                return self._plan_span(self._prefill.live, now)
        if self._lanes.num_ready:
            return self._plan_round()
        assert not self._lives or self._lanes.num_late, "requests wait and nothing runs"
        return Idle()

    def commit(self, step: Step, draws: Sequence[Draw], now: float) -> list[Event]:
        """Takes the result of a step: a round's draws in the order of its rows; a span's scores where its prompt is
        scored, then a last span's one draw."""
        if isinstance(step, DecodeRound):
            return self._commit_round(step, draws, now)
        self._standing = None
        events = self._take_untold()
        if isinstance(step, Idle):
            return events
        if isinstance(step, PrefillSpan):
            live = step.live
            live.filled = step.stop
            self.residency.enter(live)
            self._prefill.end(now, is_last=step.is_last)
            scores = draws[:-1] if step.is_last else draws
            live.scores += [TokenLogprob(score.logprob, score.top) for score in scores]
            if step.is_last:
                live.first_token_at_s = now
                live.advance(RequestEvent.PROMPT_DONE)
                self._lanes.join(live)
                event = self._take_draw(live, draws[-1], now)
                event.scores = tuple(live.scores)
                events.append(event)
            else:
                live.advance(RequestEvent.SPAN)
        elif isinstance(step, MovePages):
            self.residency.end_moves(step)
            if step.ins:
                self._end_bringing(step.live, now)
        else:
            step.live.filled = step.stop
            self.residency.end_copy(step.live)
            self.residency.enter(step.live)
        return events

    def _commit_round(self, step: DecodeRound, draws: Sequence[Draw], now: float) -> list[Event]:
        if step is not self._standing:
            step, draws = self._of_the_living(step, draws)
        others = take_draws(step.rows, draws)
        if step is self._standing and not others:
            return [TokenEvent(live.request_id, (draw.token,)) for live, draw in zip(step.lives, draws, strict=True)]
        self._standing = None
        events = self._take_untold()
        self._prefill.note_round()
        self._lanes.end_round(step)
        for index, live in enumerate(step.lives):
            if index in others:
                events.append(self._take_row(live, draws[index], now))
            else:
                events.append(TokenEvent(live.request_id, (draws[index].token,)))
        if not others and self._is_quiet() and self._lanes.num_ready:
            self._standing = self._lanes.round()
        return events

    def _of_the_living(self, step: DecodeRound, draws: Sequence[Draw]) -> tuple[DecodeRound, Sequence[Draw]]:
        """A round without those who ended after it had begun."""
        kept = [index for index, live in enumerate(step.lives) if live.finish is None]
        if len(kept) == len(step.lives):
            return step, draws
        lives = tuple(step.lives[index] for index in kept)
        own = DecodeRound(lives, tuple(live.row for live in lives), step.sampling, step.replaced)
        return own, [draws[index] for index in kept]

    def take_late(self) -> list[Live]:
        """Returns those whose constraint became late since the last call; `end_work` is owed for each."""
        late, self._late = self._late, []
        return late

    def skip_late(self) -> None:
        """Every lane is late, and was waited for long enough: a prompt goes on before their next round."""
        self._prefill.skip_round()

    def end_work(self, request_id: int, failure: FinishReason | None, text: str, now: float) -> None:
        """A constraint is up to date, or has failed for a reason. Comes between two steps; a request that has ended
        meanwhile is left alone."""
        live = self._lives.get(request_id)
        if live is None:
            return
        self._standing = None
        if failure is None:
            self._lanes.permit(live)
        else:
            self._end(live, failure, now, text)

    def check(self) -> None:
        """Asserts that pages, lanes and states agree."""
        self.residency.check([live for live in self._lives.values() if live.admitted_at_s is not None])
        assert self._lanes.num_free + len(self._lives) == self._lanes.sampling.num_lanes, "a lane is lost"
        assert len({live.lane for live in self._lives.values()}) == len(self._lives), "a lane is shared"

    def _admit(self, now: float) -> MovePages | None:
        """Lets the head of the queue in; returns what has to go out to host memory before it may be."""
        live = self._admission.pop()
        if live is None:
            victim = self._admission.victim(self._lanes.decoding)
            return None if victim is None else self._park(victim, now)
        if live.is_parked:
            self._prefill.live = live
            if not live.returning:
                self._restore(live, now)
        else:
            live.admitted_at_s = now
            live.advance(RequestEvent.ADMIT)
            self._prefill.live = live
            self._untold.append(
                Admitted(
                    live.request_id,
                    live.lane,
                    live.cached_tokens,
                    live.shared_tokens,
                    live.restored_tokens,
                    now - live.submitted_at_s,
                )
            )
        return None

    def _end_bringing(self, live: Live, now: float) -> None:
        """Some pages have come back from host memory."""
        self._prefill.end(now, is_last=False)
        if not live.is_parked:
            live.advance(RequestEvent.SPAN)
        elif not live.returning:
            self._restore(live, now)

    def _park(self, live: Live, now: float) -> MovePages:
        live.advance(RequestEvent.PARK)
        live.parked_at_s = now
        self._lanes.park(live)
        self._untold.append(Parked(live.request_id, live.filled))
        moves = self.residency.park(live)
        self._admission.push(live)
        return moves

    def _restore(self, live: Live, now: float) -> None:
        """All pages are back."""
        assert live.filled == live.parked_tokens
        live.advance(RequestEvent.RESTORE)
        self._prefill.live = None
        self._lanes.join(live)
        self._untold.append(Restored(live.request_id, live.filled, now - live.parked_at_s))

    def _plan_span(self, live: Live, now: float) -> PrefillSpan:
        start, stop = self._prefill.start(now)
        self.residency.extend(live, stop)
        is_last = stop == live.prompt_tokens
        if is_last:
            self._lanes.open(live)
        return PrefillSpan(live, start, stop, is_last, self._lanes.sampling)

    def _plan_round(self) -> DecodeRound:
        step = self._lanes.round()
        for index in full_rows(step.rows):
            self.residency.extend(step.lives[index], step.lives[index].filled + 1)
        return step

    def _take_row(self, live: Live, draw: Draw, now: float) -> TokenEvent:
        live.filled += 1
        self.residency.enter(live)
        live.advance(RequestEvent.TOKENS)
        return self._take_draw(live, draw, now)

    def _take_draw(self, live: Live, draw: Draw, now: float) -> TokenEvent:
        """Counts a drawn token, and ends the request where it is a stop token or the last one of the cap."""
        token = draw.token
        if token < 0:
            self._leave(live, FinishReason.FAULT)
            return TokenEvent(live.request_id, finish=FinishReason.FAULT, fault=_NO_TOKEN, usage=live.usage(now))
        constraint = live.constraint
        if constraint is not None:
            kept = constraint.take(token)
            if constraint.surplus:
                self._rewind(live, constraint.surplus)
            if kept != token:
                token = kept
                self._lanes.replace(live)
        live.tokens.append(token)
        live.row.num_drawn += 1
        submission = live.submission
        is_stop = token in submission.stop_ids
        logprobs = () if submission.sampling.top_logprobs is None else (TokenLogprob(draw.logprob, draw.top),)
        if is_stop or live.num_drawn == submission.max_tokens:
            reason = FinishReason.STOP if is_stop else FinishReason.LENGTH
            self._leave(live, reason)
            return TokenEvent(live.request_id, () if is_stop else (token,), logprobs, reason, usage=live.usage(now))
        if constraint is not None and constraint.is_late:
            self._lanes.wait(live)
            self._late.append(live)
        elif constraint is not None:
            self._lanes.permit(live)
        if live.num_drawn == 1:
            return TokenEvent(live.request_id, (token,), logprobs, usage=live.usage(now))
        return TokenEvent(live.request_id, (token,), logprobs)

    def _rewind(self, live: Live, surplus: int) -> None:
        """Takes the last tokens out of the context, as far as whole pages go: at most so many."""
        before = len(live.tokens)
        stop = pages_of(before - surplus) * PAGE_TOKENS
        if stop >= before or not self.residency.rewind(live, stop):
            return
        live.rewind(stop)
        self._lanes.replace(live)
        if live.submission.reasoning is not None:
            live.submission.reasoning.rewound_tokens += before - stop

    def _note_deadlines(self) -> None:
        deadlines = (live.deadline_s for live in self._lives.values() if live.deadline_s is not None)
        self._first_deadline_s = min(deadlines, default=math.inf)

    def _expire(self, now: float) -> None:
        late = [live for live in self._lives.values() if live.deadline_s is not None and now >= live.deadline_s]
        for live in late:
            self._end(live, FinishReason.EXPIRED, now)

    def _end(self, live: Live, reason: FinishReason, now: float, fault: str = "", told: str | None = None) -> None:
        """Ends a request outside a commit; its event waits for the next one."""
        self._leave(live, reason)
        self._untold.append(TokenEvent(live.request_id, finish=reason, fault=fault, told=told, usage=live.usage(now)))

    def _leave(self, live: Live, reason: FinishReason) -> None:
        self._standing = None
        if live.has_room:
            self.residency.release(live)
        else:
            self._admission.remove(live)
            self.residency.let_go(live)
        if self._prefill.live is live:
            self._prefill.leave()
        self._lanes.leave(live)
        del self._lives[live.request_id]
        self._note_deadlines()
        live.end(reason)

    def _take_untold(self) -> list[Event]:
        untold, self._untold = self._untold, []
        return untold
