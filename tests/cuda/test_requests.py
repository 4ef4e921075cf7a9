"""Promise 1 on the card: a request's tokens and log probabilities are its own, however it is served, bit for bit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cuda import card

pytestmark = card.needs_card

_core = pytest.importorskip("ignis._core", reason="ignis._core was not built for this Python", exc_type=ImportError)

from ignis.config_fields import ModelKvFormat  # noqa: E402
from ignis.engine.leaf import Layout, NativeLeaf  # noqa: E402
from ignis.models.registry import open_weights  # noqa: E402
from ignis.scheduler.request import SamplingParams  # noqa: E402
from tests.cuda.player import Answer, Player  # noqa: E402
from tests.models import files, tiny  # noqa: E402

NUM_PAGES = 96
CONTEXT = 1024
GREEDY = SamplingParams(temperature=0.0, top_logprobs=3)
SEEDED = SamplingParams(
    temperature=0.9, top_k=50, top_p=0.95, repetition_penalty=1.1, presence_penalty=0.2, seed=42, top_logprobs=3
)
COUNT = 90
"""Tokens of an answer: it begins and ends inside pages and fills one."""


def prompt(config: tiny.TinyConfig, length: int, seed: int = 0) -> list[int]:
    return [int(token) for token in tiny.prompt(config, length, seed)]


@pytest.fixture(scope="module", params=[tiny.WIDE, tiny.WIDE_QWEN3], ids=lambda config: config.name)
def config(request: pytest.FixtureRequest) -> tiny.TinyConfig:
    found = request.param
    assert isinstance(found, tiny.TinyConfig)
    return found


@pytest.fixture(scope="module", params=["BF16", "F32"])
def leaf(
    config: tiny.TinyConfig, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NativeLeaf]:
    path: Path = tmp_path_factory.mktemp("model") / "model.gguf"
    checkpoint = open_weights(files.write_gguf(tiny.make(config), path, request.param, context_tokens=CONTEXT))
    opened = NativeLeaf(card.CUDA_LEAF)
    opened.load(
        checkpoint,
        Layout(
            num_pages=NUM_PAGES,
            kv_format=ModelKvFormat.F16,
            max_context=CONTEXT,
            max_span=512,
            num_lanes=8,
            num_threads=1,
        ),
        _core.LoadProgress(),
    )
    yield opened
    opened.unload()
    checkpoint.close()


def among_seven(player: Player, config: tiny.TinyConfig, wanted: list[int], sampling: SamplingParams) -> Answer:
    """Runs it while others start before, with and after it, and end before and after it."""
    others = [(prompt(config, 20 + 37 * i, seed=50 + i), 10 + 20 * i, SamplingParams(seed=i)) for i in range(7)]
    for other in others[:3]:
        player.submit(*other)
    for _ in range(9):
        player.step()
    request_id = player.submit(wanted, COUNT, sampling)
    for other in others[3:]:
        player.submit(*other)
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
