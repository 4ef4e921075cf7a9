"""Whole requests played through the scheduler, on the scripted leaf and a clock made of numbers."""

from collections.abc import Callable, Sequence

import pytest

from ignis._core import Draw
from ignis.scheduler.plan import CopyPage, DecodeRound, Idle, MovePages, PrefillSpan, Step
from ignis.scheduler.request import (
    Admitted,
    Event,
    FinishReason,
    Parked,
    RequestClass,
    Restored,
    SamplingParams,
    Submission,
    TokenEvent,
    TokenLogprob,
    Usage,
)
from ignis.scheduler.scheduler import Scheduler, SchedulerSettings
from tests.fakes.leaf import ScriptedLeaf, mixed, saying

GREEDY = SamplingParams(temperature=0.0)


class Player:
    """Plays steps: what the engine's loop does, with a time for each step that the test gives."""

    def __init__(self, leaf: ScriptedLeaf | None = None, **settings: object) -> None:
        merged = {
            "num_pages": 64,
            "num_lanes": 8,
            "prefill_chunk": 128,
            "decode_share": 0.25,
            "has_prefix_cache": True,
            "phases_agree": True,
            **settings,
        }
        self.scheduler = Scheduler(SchedulerSettings(**merged))  # type: ignore[arg-type]  # literals of the tests
        self.leaf = leaf or ScriptedLeaf(phases_agree=bool(merged["phases_agree"]))
        self.num_ahead = 0
        """Rounds that were begun before the draws of the one before were known."""
        residency = self.scheduler.residency
        self.leaf.prepare(residency.pool.num_pages, residency.kv_ram.num_places)
        self.now = 0.0
        self.admitted: list[Admitted] = []
        self.moved: list[Parked | Restored] = []
        self.events: list[TokenEvent] = []
        self._next_id = 1

    def submit(
        self,
        prompt: range | list[int],
        max_tokens: int = 4,
        stop_ids: frozenset[int] = frozenset(),
        sampling: SamplingParams = GREEDY,
        request_class: RequestClass = RequestClass.INTERACTIVE,
        timeout_s: float | None = None,
        prompt_logprobs: int | None = None,
    ) -> int:
        submission = Submission(
            tuple(prompt),
            max_tokens,
            sampling,
            stop_ids,
            request_class,
            timeout_s,
            prompt_logprobs=prompt_logprobs,
        )
        request_id, self._next_id = self._next_id, self._next_id + 1
        self.scheduler.submit(request_id, submission, self.now)
        return request_id

    def step(self, takes_s: float = 1.0) -> Step:
        step = self.scheduler.plan(self.now)
        if isinstance(step, Idle):
            draws: Sequence[Draw] = ()
            takes_s = 0.0
        elif isinstance(step, CopyPage):
            self.leaf.copy_page(step)
            draws, takes_s = (), 0.0
        elif isinstance(step, MovePages):
            self.leaf.move_pages(step)
            draws, takes_s = (), takes_s if step.ins else 0.0
        elif isinstance(step, DecodeRound):
            goes_on = self.scheduler.goes_on(step)
            self.num_ahead += goes_on
            draws = self.leaf.decode(step, goes_on=goes_on)
        else:
            draws = self.leaf.prefill(step)
        self.now += takes_s
        self.tell(self.scheduler.commit(step, draws, self.now))
        self.scheduler.check()
        return step

    def tell(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Admitted):
                self.admitted.append(event)
            elif isinstance(event, Parked | Restored):
                self.moved.append(event)
            else:
                self.events.append(event)

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        while not until() and not isinstance(self.step(), Idle):
            pass

    def tokens(self, request_id: int) -> list[int]:
        return [token for event in self.events if event.request_id == request_id for token in event.tokens]

    def last(self, request_id: int) -> TokenEvent:
        (last,) = [event for event in self.events if event.request_id == request_id and event.finish is not None]
        return last

    @property
    def last_ended(self) -> int | None:
        """The request that ended last."""
        ended = [event.request_id for event in self.events if event.finish is not None]
        return ended[-1] if ended else None

    def usage(self, request_id: int) -> Usage:
        usage = self.last(request_id).usage
        assert usage is not None
        return usage

    def cached(self, request_id: int) -> int:
        return self.usage(request_id).cached_tokens


def answer_to(prompt: range | list[int], count: int) -> list[int]:
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(mixed(tokens, 0))
    return tokens[-count:]


def test_a_request_runs_from_prompt_to_cap() -> None:
    play = Player()
    one = play.submit(range(10), max_tokens=3)
    play.run()
    assert play.tokens(one) == answer_to(range(10), 3)
    assert play.last(one).finish is FinishReason.LENGTH
    assert play.leaf.steps == [("prefill", (0, 0, 10)), ("decode", (0,)), ("decode", (0,))]


def test_spans_break_at_absolute_multiples_of_the_chunk() -> None:
    play = Player(prefill_chunk=128)
    play.submit(range(300), max_tokens=1)
    play.run()
    assert play.leaf.steps == [("prefill", (0, 0, 128)), ("prefill", (0, 128, 256)), ("prefill", (0, 256, 300))]


def test_a_resumed_prompt_meets_the_same_boundaries() -> None:
    play = Player(prefill_chunk=256)
    play.submit(range(100), max_tokens=1)
    play.run()
    play.submit(range(400), max_tokens=1)
    play.run()
    assert play.leaf.steps[1:] == [("copy", (0, 100)), ("prefill", (0, 100, 256)), ("prefill", (0, 256, 400))]


def test_a_stop_token_ends_the_request_and_is_counted_but_not_delivered() -> None:
    play = Player(ScriptedLeaf(saying([5, 6], last=0)))
    one = play.submit(range(3), max_tokens=50, stop_ids=frozenset({0}))
    play.run()
    assert (play.tokens(one), play.last(one).finish, play.usage(one).completion_tokens) == (
        [5, 6],
        FinishReason.STOP,
        3,
    )


def test_a_stop_token_at_once_ends_the_request_without_text() -> None:
    play = Player(ScriptedLeaf(saying([], last=0)))
    one = play.submit(range(3), stop_ids=frozenset({0}))
    play.run()
    assert (play.tokens(one), play.last(one).finish) == ([], FinishReason.STOP)


def test_a_repeated_prompt_is_taken_from_the_cache_but_for_its_last_token() -> None:
    play = Player()
    first, second = (play.submit(range(128), max_tokens=1), play.submit(range(128), max_tokens=1))
    play.run()
    assert (play.cached(first), play.cached(second)) == (0, 127)
    assert play.tokens(first) == play.tokens(second)
    assert play.leaf.steps[-2:] == [("copy", (1, 127)), ("prefill", (1, 127, 128))]


@pytest.mark.parametrize("length", [2, 63, 64, 65, 100, 129])
def test_a_prompt_that_ends_inside_a_page_is_repeated_but_for_its_last_token(length: int) -> None:
    play = Player()
    first = play.submit(range(length), max_tokens=1)
    play.run()
    second = play.submit(range(length), max_tokens=1)
    play.run()
    assert play.cached(second) == length - 1
    assert play.tokens(first) == play.tokens(second)


@pytest.mark.parametrize("shared", [1, 63, 65, 100, 127])
def test_a_prompt_that_turns_off_inside_a_page_keeps_all_before_it(shared: int) -> None:
    play = Player()
    play.submit(range(200), max_tokens=1)
    play.run()
    prompt = [*range(shared), *range(500, 600)]
    other = play.submit(prompt, max_tokens=3)
    play.run()
    assert (play.cached(other), play.tokens(other)) == (shared, answer_to(prompt, 3))


def test_the_next_turn_goes_on_at_the_last_token_that_was_filled_in() -> None:
    play = Player()
    play.submit(range(30), max_tokens=50)
    play.run()
    prompt = [*range(30), *answer_to(range(30), 50), *range(7)]
    turn = play.submit(prompt, max_tokens=3)
    play.run()
    # The last token of an answer is drawn and never filled in.
    assert (play.cached(turn), play.tokens(turn)) == (79, answer_to(prompt, 3))


def test_the_longest_of_several_heads_is_copied() -> None:
    play = Player()
    for shared in (10, 40, 20):
        play.submit([*range(shared), *range(500, 520)], max_tokens=1)
        play.run()
    play.submit(range(60), max_tokens=1)
    play.run()
    assert play.leaf.steps[-2:] == [("copy", (0, 40)), ("prefill", (0, 40, 60))]


def test_a_page_of_a_running_request_is_copied_and_told_as_shared() -> None:
    play = Player()
    play.submit(range(100), max_tokens=60)
    play.step()
    play.submit([*range(40), *range(500, 520)], max_tokens=1)
    play.run()
    assert (play.admitted[1].cached_tokens, play.admitted[1].shared_tokens) == (40, 40)


def test_a_copy_that_fails_ends_its_request_and_keeps_its_source() -> None:
    play = Player()
    play.submit(range(100), max_tokens=1)
    play.run()
    used = play.scheduler.residency.num_used
    broken = play.submit(range(100), max_tokens=1)
    assert isinstance(play.scheduler.plan(play.now), CopyPage)
    play.tell(play.scheduler.fail([broken], "broke", play.now))
    play.scheduler.check()
    assert play.scheduler.residency.num_used == used
    again = play.submit(range(100), max_tokens=1)
    play.run()
    assert play.cached(again) == 99


def test_nothing_is_copied_where_the_only_page_left_is_the_one_to_copy() -> None:
    play = Player(num_pages=1)
    for _ in range(2):
        play.submit(range(10), max_tokens=1)
        play.run()
    assert play.leaf.steps == [("prefill", (0, 0, 10))] * 2


def test_a_bound_of_the_whole_pool_is_resumed_inside_a_page() -> None:
    play = Player(num_pages=4)
    for _ in range(2):
        play.submit(range(100), max_tokens=4 * 64 - 100)
        play.run(lambda: len(play.events) > 0)
        play.scheduler.cancel(len(play.admitted), play.now)
        play.run()
        play.events.clear()
    assert [admitted.cached_tokens for admitted in play.admitted] == [0, 99]


def test_pages_that_decode_filled_are_found_by_the_next_turn() -> None:
    play = Player()
    play.submit(range(60), max_tokens=140)
    play.run()
    turn = play.submit([*range(60), *answer_to(range(60), 140)], max_tokens=1)
    play.run()
    assert play.cached(turn) == 199


@pytest.mark.parametrize(("length", "answered"), [(30, 20), (60, 140), (64, 64), (100, 28), (100, 200)])
def test_an_answer_is_prefilled_again_where_decode_writes_other_bits(length: int, answered: int) -> None:
    play = Player(phases_agree=False)
    play.submit(range(length), max_tokens=answered)
    play.run()
    prompt = [*range(length), *answer_to(range(length), answered)]
    turn, again = play.submit([*prompt, 7], max_tokens=3), play.submit([*prompt, 7, 8], max_tokens=3)
    play.run()
    assert (play.cached(turn), play.tokens(turn)) == (length, answer_to([*prompt, 7], 3))
    # Prefilled once, it is found like any other prompt: in full pages while its request runs.
    assert (play.cached(again), play.tokens(again)) == (
        max(length, len(prompt) // 64 * 64),
        answer_to([*prompt, 7, 8], 3),
    )


def test_what_ends_within_its_prompt_is_kept_as_far_as_it_was_filled_in_either_way() -> None:
    for phases_agree in (True, False):
        play = Player(phases_agree=phases_agree)
        play.submit(range(300), max_tokens=50)
        play.step()
        play.scheduler.cancel(1, play.now)
        second = play.submit(range(300), max_tokens=1)
        play.run()
        assert play.cached(second) == 128


def test_live_requests_share_the_pages_of_their_head() -> None:
    play = Player()
    play.submit(range(200), max_tokens=50)
    play.run(lambda: play.scheduler.num_running == 1 and len(play.events) > 0)
    used = play.scheduler.residency.num_used
    play.submit(range(200), max_tokens=50)
    play.step()
    play.step()
    assert play.scheduler.residency.num_used == used + 1


def test_equal_pages_of_two_live_requests_become_one() -> None:
    play = Player()
    play.submit(range(10), max_tokens=200)
    play.submit(range(10), max_tokens=200)
    play.run()
    assert play.scheduler.residency.num_used == 4


def test_without_a_prefix_cache_nothing_is_kept() -> None:
    play = Player(has_prefix_cache=False)
    play.submit(range(200), max_tokens=1)
    play.run()
    second = play.submit(range(200), max_tokens=1)
    play.run()
    assert (play.cached(second), play.scheduler.residency.num_used) == (0, 0)


def test_the_oldest_cached_pages_go_first_when_pages_are_needed() -> None:
    play = Player(num_pages=8)
    ids = []
    for start in (0, 1000, 0, 2000, 0, 1000):
        ids.append(play.submit(range(start, start + 256), max_tokens=1))
        play.run()
    assert [play.cached(request_id) for request_id in ids] == [0, 0, 255, 0, 255, 0]


def test_the_round_has_every_lane_that_decodes() -> None:
    play = Player()
    for i in range(8):
        play.submit(range(i * 10, i * 10 + 5), max_tokens=30)
    play.run(lambda: play.scheduler.num_waiting == 0 and len(play.leaf.steps[-1:]) == 1 and len(play.leaf.steps) > 20)
    assert play.leaf.steps[-1] == ("decode", (0, 1, 2, 3, 4, 5, 6, 7))


@pytest.mark.parametrize(("share", "rounds"), [(0.0, 1), (0.25, 4), (0.5, 10)])
def test_lanes_keep_their_share_while_a_prompt_prefills(share: float, rounds: int) -> None:
    """A chunk takes 10 s here and a round 1 s, so the next chunk waits 10 s * s / (1 - s): 0, 3.3 and 10 rounds."""
    play = Player(decode_share=share)
    play.submit(range(5), max_tokens=100)
    play.step()
    play.submit(range(300, 600), max_tokens=1)
    play.step()
    kinds: list[str] = []
    while len([kind for kind in kinds if kind == "PrefillSpan"]) < 2:
        step = play.scheduler.plan(play.now)
        kinds.append(type(step).__name__)
        play.step(10.0 if isinstance(step, PrefillSpan) else 1.0)
    assert kinds == ["PrefillSpan"] + ["DecodeRound"] * rounds + ["PrefillSpan"]


def test_nothing_waits_when_no_lane_decodes() -> None:
    play = Player(decode_share=0.9)
    play.submit(range(1000), max_tokens=1)
    play.run()
    assert {kind for kind, _ in play.leaf.steps} == {"prefill"}


def test_a_row_of_short_prompts_starves_no_lane() -> None:
    play = Player()
    long = play.submit(range(5), max_tokens=100)
    play.step()
    for i in range(10):
        play.submit(range(i * 10 + 100, i * 10 + 107), max_tokens=1)
        play.step()
        play.step()
    assert len(play.tokens(long)) == 11


def test_interactive_goes_before_agent_and_else_arrival_decides() -> None:
    play = Player()
    play.submit(range(5), max_tokens=1)
    agent = play.submit(range(5), max_tokens=1, request_class=RequestClass.AGENT)
    person = play.submit(range(5), max_tokens=1)
    play.run()
    order = [event.request_id for event in play.events]
    assert order == [1, person, agent]


def test_a_request_whose_bound_does_not_fit_waits_and_is_not_passed() -> None:
    play = Player(num_pages=4)
    play.submit(range(100), max_tokens=60)
    play.step()
    large = play.submit(range(500, 600), max_tokens=60)
    small = play.submit(range(5), max_tokens=1)
    play.step()
    assert play.scheduler.num_waiting == 2
    play.run()
    order = list(dict.fromkeys(event.request_id for event in play.events))
    assert order == [1, large, small]


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_a_cancel_at_any_stage_gives_everything_back(steps: int) -> None:
    play = Player()
    one = play.submit(range(300), max_tokens=60)
    for _ in range(steps):
        play.step()
    play.scheduler.cancel(one, play.now)
    assert (play.scheduler.num_waiting, play.scheduler.num_running) == (0, 0)
    play.scheduler.check()
    play.run()
    assert play.last(one).finish is FinishReason.CANCELLED
    assert play.scheduler.residency.num_used == play.scheduler.residency.index.num_idle
    assert not play.scheduler.residency.reserved


def test_a_cancel_that_crosses_the_end_is_left_alone() -> None:
    play = Player()
    one = play.submit(range(5), max_tokens=1)
    play.run()
    play.scheduler.cancel(one, play.now)
    play.run()
    assert play.last(one).finish is FinishReason.LENGTH


def test_a_reader_that_has_seen_enough_ends_with_stop() -> None:
    play = Player()
    one = play.submit(range(5), max_tokens=50)
    play.step()
    play.scheduler.cancel(one, play.now, FinishReason.STOP)
    play.run()
    assert play.last(one).finish is FinishReason.STOP


def test_a_deadline_counts_from_submission_and_reaches_the_queue_too() -> None:
    play = Player(num_pages=4)
    running = play.submit(range(100), max_tokens=100)
    play.step()
    waiting = play.submit(range(500, 600), max_tokens=100, timeout_s=3.0)
    for _ in range(5):
        play.step()
    assert play.last(waiting).finish is FinishReason.EXPIRED
    assert play.usage(waiting).queued_s >= 3.0
    assert not [event for event in play.events if event.request_id == running and event.finish]


def test_a_deadline_of_the_only_request_comes_with_an_idle_step() -> None:
    play = Player()
    one = play.submit(range(5), max_tokens=50, timeout_s=2.0)
    play.run()
    assert play.last(one).finish is FinishReason.EXPIRED
    assert len(play.tokens(one)) == 2


def test_a_fault_ends_those_it_names_and_no_others() -> None:
    play = Player()
    one, two = play.submit(range(5), max_tokens=9), play.submit(range(9), max_tokens=9)
    play.step()
    play.tell(play.scheduler.fail([one], "broke", play.now))
    play.run()
    assert (play.last(one).finish, play.last(one).fault) == (FinishReason.FAULT, "broke")
    assert play.last(two).finish is FinishReason.LENGTH


def test_leaving_the_queue_is_told_with_the_first_span_and_not_with_the_first_token() -> None:
    play = Player(prefill_chunk=128)
    one, two = play.submit(range(300), max_tokens=2), play.submit(range(500, 505), max_tokens=1)
    play.step()
    assert play.admitted == [Admitted(one, lane=0, cached_tokens=0, shared_tokens=0, restored_tokens=0, queued_s=0.0)]
    assert play.events == []
    play.run()
    assert play.admitted[1:] == [
        Admitted(two, lane=1, cached_tokens=0, shared_tokens=0, restored_tokens=0, queued_s=4.0)
    ]


def test_a_prompt_leaves_the_queue_when_its_first_step_can_run_and_a_higher_rank_may_come_until_then() -> None:
    play = Player()
    agent = play.submit(range(5), max_tokens=1, request_class=RequestClass.AGENT)
    one = play.submit(range(5), max_tokens=9)
    play.step()
    play.step()  # the round that a span owes to those who decode
    two = play.submit(range(5), max_tokens=1)
    play.run()
    assert [admitted.request_id for admitted in play.admitted] == [one, two, agent]


def test_what_is_cached_is_told_apart_by_whether_its_owner_still_runs() -> None:
    play = Player()
    play.submit(range(128), max_tokens=60)
    play.run()
    play.submit(range(100), max_tokens=60)
    three = play.submit(range(200), max_tokens=1)
    play.run()
    assert play.admitted[1].shared_tokens == 0
    assert play.admitted[2] == Admitted(
        three, lane=1, cached_tokens=128, shared_tokens=64, restored_tokens=0, queued_s=2.0
    )


def test_log_probabilities_come_with_each_token_and_the_stop_token() -> None:
    play = Player(ScriptedLeaf(saying([5], last=0)))
    one = play.submit(range(3), sampling=SamplingParams(top_logprobs=1), stop_ids=frozenset({0}))
    play.run()
    logprobs = [logprob for event in play.events if event.request_id == one for logprob in event.logprobs]
    assert logprobs == [TokenLogprob(-0.5, ((5, -0.5),)), TokenLogprob(-0.5, ((0, -0.5),))]


def test_usage_comes_with_the_first_token_and_the_last_event() -> None:
    play = Player()
    one = play.submit(range(5), max_tokens=3)
    play.run()
    assert [event.usage is not None for event in play.events if event.request_id == one] == [True, False, True]
    usage = play.usage(one)
    assert (usage.queued_s, usage.prefill_s, usage.decode_s) == (0.0, 1.0, 2.0)


def test_a_request_is_the_same_alone_and_among_seven() -> None:
    alone = Player()
    one = alone.submit(range(130), max_tokens=70)
    alone.run()
    crowd = Player()
    ids = []
    for i in range(8):
        ids.append(crowd.submit(range(130) if i == 3 else range(i * 50, i * 50 + 90), max_tokens=70))
        crowd.step()
    crowd.run()
    assert crowd.tokens(ids[3]) == alone.tokens(one)


def test_a_scored_prompt_is_computed_whole_in_short_spans_and_its_scores_come_with_the_first_token() -> None:
    play = Player()
    play.submit(range(1, 201))
    play.run()
    play.leaf.steps.clear()
    scored = play.submit(range(1, 201), max_tokens=2, prompt_logprobs=0)
    play.run()
    spans = [("prefill", (0, start, min(start + 64, 200))) for start in range(0, 200, 64)]
    assert play.leaf.steps == [*spans, ("decode", (0,))]
    first = next(event for event in play.events if event.request_id == scored)
    assert [score.logprob for score in first.scores] == [-float(position) for position in range(1, 200)]
    assert first.tokens and play.cached(scored) == 0
    assert all(not event.scores for event in play.events if event is not first)


def test_scoring_changes_no_token_and_its_pages_serve_others() -> None:
    play = Player()
    scored = play.submit(range(1, 201), prompt_logprobs=2)
    play.run()
    plain = play.submit(range(1, 201))
    play.run()
    assert play.tokens(scored) == play.tokens(plain)
    assert play.cached(plain) > 0
