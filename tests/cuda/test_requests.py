"""Promise 1 on the card: a request's tokens and log probabilities are its own, however it is served, bit for bit."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.cuda import card

pytestmark = card.needs_card

_core = pytest.importorskip("ignis._core", reason="ignis._core was not built for this Python", exc_type=ImportError)

from ignis.config_fields import ModelKvFormat  # noqa: E402
from ignis.engine.leaf import Layout, NativeLeaf  # noqa: E402
from ignis.models.registry import open_weights  # noqa: E402
from ignis.scheduler.constraint import Constraint  # noqa: E402
from ignis.scheduler.request import RequestClass, SamplingParams  # noqa: E402
from tests.cuda import ahead  # noqa: E402
from tests.cuda.player import Answer, Player  # noqa: E402
from tests.fakes.constraint import Replacing, Rewinding, RuledConstraint  # noqa: E402
from tests.models import files, tiny  # noqa: E402

NUM_PAGES = 96
NUM_HOST_PAGES = 24
CONTEXT = 1024
GREEDY = SamplingParams(temperature=0.0, top_logprobs=3)
SEEDED = SamplingParams(
    temperature=0.9, top_k=50, top_p=0.95, repetition_penalty=1.1, presence_penalty=0.2, seed=42, top_logprobs=3
)
COUNT = 90
"""Tokens of an answer: it begins and ends inside pages and fills one."""
NEAR = 0.1
"""Nats. Between a prompt's phase and the rounds' only tolerance is promised, and a page stores float16."""
NEAR_FP8 = 0.4
"""What differs between the phases may fall on either side of a step of E4M3, the eighth part of a power of two."""


def permitted(config: tiny.TinyConfig, tokens: list[int]) -> Sequence[int] | None:
    """A rule that shows a mask of every kind: none, one token, a few in several words, half of them, all but a few."""
    vocab, place = config.vocab_size, len(tokens) + sum(tokens[-1:])
    some = sorted({(place * 37 + 61 * index) % vocab for index in range(5)})
    rules = (None, some[:1], some, range(place % 2, vocab, 2), range(3, vocab - 2))
    return rules[place % len(rules)]


def held(config: tiny.TinyConfig, *, is_slow: bool) -> RuledConstraint:
    """A constraint of that rule. Its take refuses what is not permitted."""
    return RuledConstraint(partial(permitted, config), is_slow=is_slow, vocab_size=config.vocab_size)


def prompt(config: tiny.TinyConfig, length: int, seed: int = 0) -> list[int]:
    return [int(token) for token in tiny.prompt(config, length, seed)]


@pytest.fixture(scope="module", params=[tiny.WIDE, tiny.WIDE_QWEN3], ids=lambda config: config.name)
def config(request: pytest.FixtureRequest) -> tiny.TinyConfig:
    found = request.param
    assert isinstance(found, tiny.TinyConfig)
    return found


@pytest.fixture(scope="module", params=["BF16-F16", "F32-F16", "BF16-FP8"])
def leaf(
    config: tiny.TinyConfig, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NativeLeaf]:
    """Of weights of a type, with pages of one."""
    weights, _, pages = request.param.partition("-")
    path: Path = tmp_path_factory.mktemp("model") / "model.gguf"
    checkpoint = open_weights(files.write_gguf(tiny.make(config), path, weights, context_tokens=CONTEXT))
    opened = NativeLeaf(card.CUDA_LEAF)
    opened.load(
        checkpoint,
        Layout(
            num_pages=NUM_PAGES,
            kv_format=ModelKvFormat[pages],
            max_context=CONTEXT,
            max_span=512,
            num_lanes=8,
            num_threads=1,
            num_host_pages=NUM_HOST_PAGES,
        ),
        _core.LoadProgress(),
    )
    yield opened
    opened.unload()
    checkpoint.close()


def among_seven(
    player: Player,
    config: tiny.TinyConfig,
    wanted: list[int],
    sampling: SamplingParams,
    *,
    count: int = COUNT,
    constraint: Constraint | None = None,
    prompt_logprobs: int | None = None,
) -> Answer:
    """Runs it while others start before, with and after it, and end before and after it."""
    others = [(prompt(config, 20 + 37 * i, seed=50 + i), 10 + 20 * i, SamplingParams(seed=i)) for i in range(7)]
    for other in others[:3]:
        player.submit(*other)
    for _ in range(9):
        player.step()
    request_id = player.submit(wanted, count, sampling, constraint=constraint, prompt_logprobs=prompt_logprobs)
    for index, other in enumerate(others[3:]):
        # Every other one is held too, and all of them late after each token.
        player.submit(*other, constraint=held(config, is_slow=True) if constraint and index % 2 else None)
        player.step()
    answer = player.run(request_id)
    player.rest()
    return answer


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
@pytest.mark.parametrize("length", [1, 64, 100, 333])
def test_a_request_has_one_digest_however_it_is_served(
    leaf: NativeLeaf, config: tiny.TinyConfig, length: int, sampling: SamplingParams
) -> None:
    wanted = prompt(config, length)
    player = Player(leaf, num_pages=NUM_PAGES)
    cold, cached = player.answer(wanted, COUNT, sampling), player.answer(wanted, COUNT, sampling)
    assert (cold.cached_tokens, cached.cached_tokens) == (0, length - 1)
    answers = {"cold": cold, "cached": cached, "cached, among seven": among_seven(player, config, wanted, sampling)}
    for chunk in (64, 128, 512):
        player = Player(leaf, num_pages=NUM_PAGES, chunk=chunk)
        answers[f"cold, among seven, chunk {chunk}"] = among_seven(player, config, wanted, sampling)
    # Pages in another order, since the pool's free list has been turned over.
    answers["other pages"] = player.answer(wanted, COUNT, sampling)
    player = Player(leaf, num_pages=NUM_PAGES, num_lanes=1, has_prefix_cache=False)
    answers["one lane"] = player.answer(wanted, COUNT, sampling)
    assert {name: answer.digest for name, answer in answers.items()} == dict.fromkeys(answers, cold.digest)


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
@pytest.mark.parametrize("chunk", [64, 256])
def test_a_prompt_whose_pages_were_in_host_memory_has_the_digest_of_a_cold_one(
    leaf: NativeLeaf, config: tiny.TinyConfig, sampling: SamplingParams, chunk: int
) -> None:
    wanted = prompt(config, 333)
    cold = Player(leaf, num_pages=NUM_PAGES).answer(wanted, COUNT, sampling)
    # Sixteen pages hold one long prompt: after it nothing of another one is left on the device.
    player = Player(leaf, num_pages=16, chunk=chunk, num_host_pages=NUM_HOST_PAGES)
    player.answer(wanted, COUNT, sampling)
    player.answer(prompt(config, 900, seed=1), COUNT, sampling)
    alone = player.answer(wanted, COUNT, sampling)
    assert alone.cached_tokens == 320
    player.answer(prompt(config, 900, seed=1), COUNT, sampling)
    other = player.submit(prompt(config, 20, seed=2), 200, SamplingParams(seed=3))
    for _ in range(20):
        player.step()
    beside = player.answer(wanted, COUNT, sampling)
    assert beside.cached_tokens == 320
    player.run(other)
    assert alone.digest == beside.digest == cold.digest


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
@pytest.mark.parametrize("after", [1, 30, 60])
def test_a_request_that_was_parked_has_the_digest_of_one_that_was_not(
    leaf: NativeLeaf, config: tiny.TinyConfig, sampling: SamplingParams, after: int
) -> None:
    wanted = prompt(config, 333)
    alone = Player(leaf, num_pages=NUM_PAGES).answer(wanted, COUNT, sampling)
    player = Player(leaf, num_pages=12, num_host_pages=NUM_HOST_PAGES)
    agent = player.submit(wanted, COUNT, sampling, request_class=RequestClass.AGENT)
    for seed in (1, 2):
        goal = after + 20 * (seed - 1)
        while player.num_tokens(agent) < goal:
            player.step()
        # Seven pages hold the agent, and nine the user.
        player.answer(prompt(config, 500, seed=seed), 40, SEEDED)
        assert player.num_parked == seed
    assert player.run(agent).digest == alone.digest


def test_eight_equal_requests_have_one_answer(leaf: NativeLeaf, config: tiny.TinyConfig) -> None:
    player = Player(leaf, num_pages=NUM_PAGES)
    ids = [player.submit(prompt(config, 150), COUNT, SEEDED) for _ in range(8)]
    answers = [player.run(request_id) for request_id in ids]
    assert [answer.digest for answer in answers] == [answers[0].digest] * 8
    assert [answer.cached_tokens for answer in answers[1:]] == [128] * 7


@pytest.mark.parametrize("shared", [5, 65, 100, 150, 190])
def test_a_prompt_that_turns_off_inside_a_page_is_the_prompt_prefilled(
    leaf: NativeLeaf, config: tiny.TinyConfig, shared: int
) -> None:
    """Its head is copied from a page whose rest another request's prompt or answer has filled."""
    player = Player(leaf, num_pages=NUM_PAGES)
    known = prompt(config, 150)
    known += player.answer(known, COUNT, GREEDY).tokens
    wanted = known[:shared] + prompt(config, 40, seed=9)
    warm = player.answer(wanted, COUNT, SEEDED)
    cold = Player(leaf, num_pages=NUM_PAGES).answer(wanted, COUNT, SEEDED)
    assert (warm.cached_tokens, cold.cached_tokens) == (min(shared, 150), 0)
    assert warm.digest == cold.digest


def test_the_next_turn_is_the_prompt_prefilled(leaf: NativeLeaf, config: tiny.TinyConfig) -> None:
    player = Player(leaf, num_pages=NUM_PAGES)
    opening = prompt(config, 100)
    turns = [*opening, *player.answer(opening, COUNT, GREEDY).tokens, *prompt(config, 10, seed=3)]
    second = player.answer(turns, COUNT, SEEDED)
    again = player.answer(turns, COUNT, SEEDED)
    cold = Player(leaf, num_pages=NUM_PAGES).answer(turns, COUNT, SEEDED)
    assert [answer.cached_tokens for answer in (second, again, cold)] == [100, len(turns) - 1, 0]
    assert second.digest == again.digest == cold.digest


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
def test_a_held_answer_has_one_digest_however_it_is_served(
    leaf: NativeLeaf, config: tiny.TinyConfig, sampling: SamplingParams
) -> None:
    wanted = prompt(config, 100)
    player = Player(leaf, num_pages=NUM_PAGES)
    cold = player.answer(wanted, COUNT, sampling, constraint=held(config, is_slow=False))
    answers = {
        "cached": player.answer(wanted, COUNT, sampling, constraint=held(config, is_slow=False)),
        "late": player.answer(wanted, COUNT, sampling, constraint=held(config, is_slow=True)),
    }
    for chunk in (64, 512):
        for is_slow in (False, True):
            player = Player(leaf, num_pages=NUM_PAGES, chunk=chunk)
            constraint = held(config, is_slow=is_slow)
            answers[f"chunk {chunk}, slow {is_slow}"] = among_seven(
                player, config, wanted, sampling, constraint=constraint
            )
    assert answers["cached"].cached_tokens == 99
    assert {name: answer.digest for name, answer in answers.items()} == dict.fromkeys(answers, cold.digest)
    for place, token in enumerate(cold.tokens):
        allowed = permitted(config, cold.tokens[:place])
        assert allowed is None or token in allowed
    assert cold.tokens != player.answer(wanted, COUNT, sampling).tokens


@pytest.mark.parametrize("surplus", [150, 100, 40])
@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
def test_what_follows_a_loop_never_saw_it(
    leaf: NativeLeaf, config: tiny.TinyConfig, sampling: SamplingParams, surplus: int
) -> None:
    """One answer gives up its end, in whole pages, and goes on with another token; the other had that token there."""
    wanted, place, token = prompt(config, 100), 190, 7
    kept = -(-(len(wanted) + place - surplus) // 64) * 64 - len(wanted)
    assert kept < place
    straight = Player(leaf, num_pages=NUM_PAGES).answer(
        wanted, kept + 1 + COUNT, sampling, constraint=Replacing({kept: token})
    )
    count = place + 1 + COUNT
    player = Player(leaf, num_pages=NUM_PAGES)
    answers = {
        "alone": player.answer(wanted, count, sampling, constraint=Rewinding(place, surplus, token)),
        "again": player.answer(wanted, count, sampling, constraint=Rewinding(place, surplus, token)),
        "among seven": among_seven(
            Player(leaf, num_pages=NUM_PAGES),
            config,
            wanted,
            sampling,
            count=count,
            constraint=Rewinding(place, surplus, token),
        ),
    }
    assert {name: answer.digest for name, answer in answers.items()} == dict.fromkeys(answers, answers["alone"].digest)
    looped = answers["alone"]
    assert looped.tokens[:kept] == straight.tokens[:kept]
    assert looped.tokens[place] == token
    assert looped.tokens[place + 1 :] == straight.tokens[kept + 1 :]
    assert looped.logprobs[place + 1 :] == straight.logprobs[kept + 1 :]


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
def test_a_request_has_the_same_tokens_where_rounds_are_begun_ahead(
    leaf: NativeLeaf, config: tiny.TinyConfig, sampling: SamplingParams
) -> None:
    """One with log probabilities is not in such rounds: so their tokens are what shows it, and there are many."""
    plain, wanted, count = replace(sampling, top_logprobs=None), prompt(config, 100, seed=3), 400
    one_by_one = Player(leaf, num_pages=NUM_PAGES, gains_ahead=False)
    alone = one_by_one.answer(wanted, count, plain)
    assert one_by_one.num_ahead == 0
    player = Player(leaf, num_pages=NUM_PAGES, gains_ahead=True)
    assert player.answer(wanted, count, plain).digest == alone.digest
    assert player.num_ahead > count // 2
    assert among_seven(player, config, wanted, plain, count=count).digest == alone.digest
    # Some leave while the next round has begun, and their lanes and pages are taken at once.
    before = player.num_ahead
    request_id = player.submit(wanted, count, plain)
    for index in range(12):
        left = player.submit(prompt(config, 30 + index, seed=index), 300, SamplingParams(seed=index))
        while player.num_tokens(left) < 5 + index:
            player.step()
        player.cancel(left)
    assert player.run(request_id).digest == alone.digest
    assert player.num_ahead > before + 50


def test_what_is_ahead_goes_with_its_model_and_is_no_other_round(tmp_path: Path) -> None:
    ahead.bear(card.CUDA_LEAF, tmp_path)


def test_the_log_probabilities_of_a_prompt_are_its_own_and_leave_its_answer_alone(
    leaf: NativeLeaf, config: tiny.TinyConfig, request: pytest.FixtureRequest
) -> None:
    # An answer as a prompt: what each of its tokens was drawn with is known.
    drawn = Player(leaf, num_pages=NUM_PAGES).answer(prompt(config, 1), 240, SEEDED)
    wanted = prompt(config, 1) + drawn.tokens
    player = Player(leaf, num_pages=NUM_PAGES)
    unscored = player.answer(wanted, COUNT, SEEDED)
    cold = player.answer(wanted, COUNT, SEEDED, prompt_logprobs=3)
    answers = {"again": player.answer(wanted, COUNT, SEEDED, prompt_logprobs=3)}
    for chunk in (64, 512):
        player = Player(leaf, num_pages=NUM_PAGES, chunk=chunk)
        answers[f"chunk {chunk}"] = among_seven(player, config, wanted, SEEDED, prompt_logprobs=3)
    assert {name: answer.digest for name, answer in answers.items()} == dict.fromkeys(answers, cold.digest)
    assert (cold.tokens, cold.logprobs) == (unscored.tokens, unscored.logprobs)
    near = NEAR_FP8 if "FP8" in request.node.name else NEAR
    for score, of_draw in zip(cold.scores, drawn.logprobs, strict=True):
        assert abs(score.logprob - of_draw.logprob) < near
