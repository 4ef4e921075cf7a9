"""Promise 1 at the engine, on the real model: a request's tokens are a function of the request alone, bit for bit."""

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from ignis import bundle
from ignis._core import Draw, Mask
from ignis.engine.engine import Engine
from ignis.engine.leaf import DeviceInfo, NativeLeaf
from ignis.engine.mailbox import Mailbox
from ignis.log import open_log
from ignis.metrics import Metrics
from ignis.models.base import Checkpoint
from ignis.models.registry import open_checkpoint
from ignis.scheduler.plan import DecodeRound
from ignis.scheduler.request import ReasoningRecord, RequestClass, SamplingParams, Submission, TokenLogprob
from ignis.tokenizer import Tokenizer, load_tokenizer
from ignis.units import PoolSize
from tests.settings import engine_settings

GREEDY = SamplingParams(temperature=0.0)
SEEDED = SamplingParams(
    temperature=0.9,
    top_k=50,
    top_p=0.95,
    repetition_penalty=1.1,
    presence_penalty=0.2,
    seed=42,
    logit_bias=((260, 1.0),),
    top_logprobs=3,
)
TURN = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
PLACES = ", ".join(f"the town of number {number} by the river" for number in range(60))

Answer = tuple[tuple[int, ...], tuple[TokenLogprob, ...], int]
"""Tokens, their log probabilities, and how many prompt tokens came from the cache."""


@pytest.fixture(scope="module")
def checkpoint(real_model: Path) -> Iterator[Checkpoint]:
    checkpoint = open_checkpoint(real_model)
    yield checkpoint
    checkpoint.close()


@pytest.fixture(scope="module")
def tokenizer(checkpoint: Checkpoint) -> Tokenizer:
    return load_tokenizer(checkpoint.vocabulary, checkpoint.special, checkpoint.shape.vocab_size)


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    """The engine's thread gets the GIL back at once after a step, as in the server."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    yield
    sys.setswitchinterval(before)


class AheadLeaf(NativeLeaf):
    """Says that it gains by rounds that are begun ahead, which the CPU does not: what is drawn is the same."""

    num_ahead = 0
    """Of all of them."""

    def probe(self) -> DeviceInfo:
        return replace(super().probe(), gains_ahead=True)

    def decode(self, step: DecodeRound, meanwhile: Callable[[], None], *, goes_on: bool = False) -> Sequence[Draw]:
        AheadLeaf.num_ahead += goes_on
        return super().decode(step, meanwhile, goes_on=goes_on)


class Bench:
    """Engines on the real model, one after the other, and what is asked of them."""

    def __init__(self, checkpoint: Checkpoint, tokenizer: Tokenizer, nursery: trio.Nursery) -> None:
        self.checkpoint = checkpoint
        self.tokenizer = tokenizer
        self.nursery = nursery
        self.metrics = Metrics("test")
        """Of the engine that started last."""

    async def start(self, kind: type[NativeLeaf] = NativeLeaf, **settings: Any) -> Engine:
        self.metrics = Metrics("test")
        engine = Engine(
            engine_settings(max_context=2048, **settings),
            lambda: kind(bundle.library("libignis_cpu.so")),
            open_log(io.StringIO()),
            self.metrics,
        )
        await self.nursery.start(engine.run)
        await engine.load(self.checkpoint)
        return engine

    def ask(self, text: str, sampling: SamplingParams, max_tokens: int) -> Submission:
        prompt = self.tokenizer.encode(TURN.format(text), allow_special=True)
        return Submission(tuple(prompt), max_tokens, sampling, self.checkpoint.special.stop_ids)


@pytest.fixture
async def bench(checkpoint: Checkpoint, tokenizer: Tokenizer, nursery: trio.Nursery) -> Bench:
    return Bench(checkpoint, tokenizer, nursery)


async def read(mailbox: Mailbox) -> Answer:
    tokens: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    while True:
        event = await mailbox.receive()
        tokens += event.tokens
        logprobs += event.logprobs
        if event.finish is not None:
            assert event.usage is not None
            return tokens, logprobs, event.usage.cached_tokens


async def answer(engine: Engine, submission: Submission) -> Answer:
    (mailbox,) = engine.submit([submission])
    return await read(mailbox)


async def answer_among(engine: Engine, submission: Submission, others: Sequence[Submission]) -> Answer:
    """The answer while others start before and after it, each when the one before has its first tokens."""
    async with trio.open_nursery() as nursery:
        half = len(others) // 2
        for other in others[:half]:
            (mailbox,) = engine.submit([other])
            await mailbox.receive()
            nursery.start_soon(read, mailbox)
        (mailbox,) = engine.submit([submission])
        for other in others[half:]:
            (later,) = engine.submit([other])
            nursery.start_soon(read, later)
            await trio.lowlevel.checkpoint()
        return await read(mailbox)


async def test_the_capital_of_france_is_paris(bench: Bench) -> None:
    engine = await bench.start()
    tokens, _, _ = await answer(engine, bench.ask("What is the capital of France?", GREEDY, 48))
    assert "Paris" in bench.tokenizer.decode(tokens)


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
async def test_a_request_has_the_same_tokens_however_it_is_served(bench: Bench, sampling: SamplingParams) -> None:
    wanted = bench.ask(f"Write a story about {PLACES}.", sampling, 72)
    others = [
        bench.ask(f"Tell me about {'a very ' * (i * 9)}small thing", SamplingParams(temperature=0.3 * i, seed=i), 32)
        for i in range(7)
    ]
    engine = await bench.start()
    cold = await answer(engine, wanted)
    cached = await answer(engine, wanted)
    assert (cold[2], cached[2]) == (0, len(wanted.prompt) - 1)
    answers = {"cold": cold, "cached": cached}
    answers["cached, among seven"] = await answer_among(engine, wanted, others)
    for chunk in (64, 192, 512):
        engine = await bench.start(prefill_chunk=chunk)
        answers[f"cold, among seven, chunk {chunk}"] = await answer_among(engine, wanted, others)
    engine = await bench.start(decode_lanes=1, num_threads=1)
    answers["one lane, one thread"] = await answer(engine, wanted)
    assert {name: (tokens, logprobs) for name, (tokens, logprobs, _) in answers.items()} == dict.fromkeys(
        answers, cold[:2]
    )


@pytest.mark.parametrize("sampling", [GREEDY, replace(SEEDED, top_logprobs=None)], ids=["greedy", "seeded"])
async def test_a_request_has_the_same_tokens_where_rounds_are_begun_ahead(
    bench: Bench, sampling: SamplingParams
) -> None:
    wanted = bench.ask(f"Write a story about {PLACES}.", sampling, 150)
    others = [
        bench.ask(f"Tell me of {i} things.", SamplingParams(temperature=0.3 * i, seed=i), 12 * i + 8) for i in range(7)
    ]
    alone = await answer(await bench.start(), wanted)
    engine = await bench.start(AheadLeaf)
    assert (await answer(engine, wanted))[:2] == alone[:2]
    before = AheadLeaf.num_ahead
    assert before > 100
    assert (await answer_among(engine, wanted, others))[:2] == alone[:2]
    # A reader that leaves, while the next round has begun.
    (left,) = engine.submit([others[-1]])
    with left:
        await left.receive()
        (mailbox,) = engine.submit([wanted])
        await mailbox.receive()
    assert (await read(mailbox))[0] == alone[0][1:]
    assert AheadLeaf.num_ahead > before + 20


async def test_eight_identical_requests_have_one_answer(bench: Bench) -> None:
    engine = await bench.start()
    mailboxes = engine.submit([bench.ask("Name a colour and say why.", SEEDED, 40)] * 8)
    answers = [(await read(mailbox))[:2] for mailbox in mailboxes]
    assert answers == [answers[0]] * 8


async def test_a_prompt_resumed_from_generated_pages_is_the_prompt_prefilled(bench: Bench) -> None:
    """The next turn of a chat finds pages that decode rounds wrote; a cold engine prefills the same tokens."""
    engine = await bench.start()
    first = bench.ask("Count as far as you can.", SamplingParams(temperature=0.7, seed=3), 200)
    first = Submission(first.prompt, first.max_tokens, first.sampling, frozenset())
    tokens, _, _ = await answer(engine, first)
    turn = bench.tokenizer.encode("<|im_end|>\n" + TURN.format("Go on."), allow_special=True)
    second = Submission((*first.prompt, *tokens, *turn), 60, SEEDED, frozenset())
    warm = await answer(engine, second)
    cold = await answer(await bench.start(), second)
    # The last token of an answer is drawn and never filled in.
    assert (warm[2], cold[2]) == (len(first.prompt) + len(tokens) - 1, 0)
    assert warm[:2] == cold[:2]


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
async def test_a_prompt_whose_pages_were_in_host_memory_is_the_prompt_prefilled(
    bench: Bench, sampling: SamplingParams
) -> None:
    wanted = bench.ask(f"Write a story about {PLACES}.", sampling, 40)
    long = bench.ask(f"Write a poem about {PLACES} and {PLACES}.", GREEDY, 8)
    engine = await bench.start(kv_pool=PoolSize(tokens=2048), kv_host_bytes=256 << 20)
    cold = await answer(engine, wanted)
    on_device = await answer(engine, wanted)
    for _ in range(2):
        await answer(engine, Submission((*long.prompt[::-1], *wanted.prompt[:1]), 8, GREEDY, frozenset()))
        await answer(engine, long)
    came_back = await answer(engine, wanted)
    assert (cold[2], on_device[2]) == (0, len(wanted.prompt) - 1)
    assert came_back[2] == (len(wanted.prompt) - 1) // 64 * 64
    assert cold[:2] == on_device[:2] == came_back[:2]


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
async def test_a_prompt_resumed_inside_a_page_is_the_prompt_prefilled(bench: Bench, sampling: SamplingParams) -> None:
    """It turns off from a cached one at any place of a page; that page is copied, and what follows is its own."""
    known = bench.ask(f"Write a story about {PLACES}.", GREEDY, 20)
    turn = bench.tokenizer.encode("no, a poem.<|im_end|>\n<|im_start|>assistant\n", allow_special=True)
    engine = await bench.start()
    await answer(engine, known)
    for shared in (65, 100, 126, 320, 351):
        prompt = (*known.prompt[:shared], *turn)
        wanted = Submission(prompt, 24, sampling, frozenset())
        warm = await answer(engine, wanted)
        cold = await answer(await bench.start(), wanted)
        again = await answer(engine, wanted)
        assert (warm[2], cold[2], again[2]) == (shared, 0, len(prompt) - 1)
        assert warm[:2] == cold[:2] == again[:2]


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
async def test_a_request_that_was_parked_has_the_tokens_of_one_that_was_not(
    bench: Bench, sampling: SamplingParams
) -> None:
    asked = bench.ask(f"Write a story about {PLACES}.", sampling, 100)
    asked = replace(asked, request_class=RequestClass.AGENT, stop_ids=frozenset())
    alone = await answer(await bench.start(), asked)
    engine = await bench.start(kv_pool=PoolSize(tokens=2048), kv_host_bytes=256 << 20)
    tokens: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    # With its bound beside it there is no room for a user's prompt.
    (agent,) = engine.submit([replace(asked, max_tokens=1200)])
    with agent:
        for place in (30, 70, 100):
            while len(tokens) < place:
                event = await agent.receive()
                tokens, logprobs = tokens + event.tokens, logprobs + event.logprobs
            user = bench.ask(f"Now {place} other things.", SamplingParams(seed=place), 12)
            await answer(engine, replace(user, prompt=user.prompt * 30))
    assert "ignis_kv_lane_parks_total 3.0" in bench.metrics.expose().decode()
    assert (tokens[:100], logprobs[:100]) == alone[:2]


class _At:
    """At one place an answer gets a token: by a mask that leaves nothing else, or in place of the drawn one."""

    is_late = False
    surplus = 0

    def __init__(self, place: int, token: int, vocab_size: int, *, is_masked: bool) -> None:
        self._left, self._token = place, token
        self._is_masked = is_masked
        self._mask = Mask(vocab_size)
        self._mask.permit(token)

    @property
    def permitted(self) -> Mask | None:
        return self._mask if self._is_masked and self._left == 0 else None

    def take(self, token: int) -> int:
        self._left -= 1
        return self._token if self._left == -1 else token

    def work(self) -> None:
        raise AssertionError("it is never late")


async def test_a_token_in_anothers_place_counts_as_if_it_had_been_drawn(bench: Bench) -> None:
    """Penalties look at what the answer holds, not at what was drawn and thrown away."""
    engine = await bench.start()
    sampling = replace(SEEDED, presence_penalty=2.0, frequency_penalty=2.0, repetition_penalty=1.5, top_logprobs=None)
    asked = bench.ask("Name three rivers.", sampling, 24)
    drawn, _, _ = await answer(engine, asked)
    (token,) = bench.tokenizer.encode(" sea")
    for place in (0, 5):
        assert drawn[place] != token
        answers = [
            await answer(
                engine,
                replace(asked, constraint=_At(place, token, bench.tokenizer.vocab_size, is_masked=is_masked)),
            )
            for is_masked in (True, False)
        ]
        assert answers[0] == answers[1]
        assert answers[0][0][: place + 1] == (*drawn[:place], token)


class _Forcing:
    """Gives the answer these tokens first, each by a mask that leaves nothing else."""

    is_late = False
    surplus = 0

    def __init__(self, tokens: Sequence[int], vocab_size: int) -> None:
        self._tokens = [*tokens]
        self._vocab_size = vocab_size

    @property
    def permitted(self) -> Mask | None:
        if not self._tokens:
            return None
        mask = Mask(self._vocab_size)
        mask.permit(self._tokens[0])
        return mask

    def take(self, token: int) -> int:
        if self._tokens:
            assert token == self._tokens.pop(0)
        return token

    def work(self) -> None:
        raise AssertionError("it is never late")


class _GivingUp(_At):
    """In the place of one token another one comes, and those before it may leave the context."""

    def __init__(self, place: int, token: int, vocab_size: int, surplus: int) -> None:
        super().__init__(place, token, vocab_size, is_masked=False)
        self._surplus = surplus

    def take(self, token: int) -> int:
        kept = super().take(token)
        self.surplus = self._surplus if self._left == -1 else 0
        return kept


async def test_what_left_the_context_has_no_part_in_what_follows(bench: Bench) -> None:
    """The answer goes on as one that never had it: logits, penalties and draws."""
    engine = await bench.start()
    sampling = replace(SEEDED, presence_penalty=1.0, repetition_penalty=1.3, top_logprobs=2)
    asked = bench.ask("Tell me a long story of the sea.", sampling, 200)
    stopless = replace(asked, stop_ids=frozenset())
    vocab_size, num_prompt = bench.tokenizer.vocab_size, len(asked.prompt)
    record = ReasoningRecord()
    cut, logprobs, _ = await answer(
        engine, replace(stopless, constraint=_GivingUp(150, 777, vocab_size, 100), reasoning=record)
    )
    num_kept = 150 - record.rewound_tokens
    assert record.rewound_tokens > 30 and (num_prompt + num_kept) % 64 == 0
    forced = [*cut[:num_kept], 777]
    never, expected, _ = await answer(engine, replace(stopless, constraint=_Forcing(forced, vocab_size)))
    num_after = len(cut) - 151
    assert never[num_kept + 1 :][:num_after] == cut[151:]
    assert expected[num_kept + 1 :][:num_after] == logprobs[151:]
