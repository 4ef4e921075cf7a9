"""The sampling kernels under Numba's simulator against the CPU leaf: the same operations, the same random numbers."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuda.numba import arithmetic, choose, codes, rows
from tests.cuda import card
from tests.cuda.operators import Operators
from tests.kernels import simulated
from tests.kernels.drawing import possible_draws
from tests.kernels.simulated import Row

Floats = npt.NDArray[np.float32]

pytestmark = [
    # Threads of the simulator do not inherit numpy's errstate.
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


@pytest.fixture(scope="module")
def host() -> Iterator[Operators]:
    with Operators(card.host(), memory_bytes=1 << 24, num_threads=1) as operators:
        yield operators


@pytest.fixture(params=["as shipped", "crowded"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Crowded: so few bins, tokens of a slice and codes at once that a small vocabulary fills them."""
    if request.param == "crowded":
        crowd(monkeypatch)
    return str(request.param)


def crowd(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated.resize(monkeypatch.setattr, own_tokens=2, num_bins=2 * simulated.THREADS)
    monkeypatch.setattr(arithmetic, "BINS_A_UNIT", np.float32(0.5))
    for module in (choose, codes):
        monkeypatch.setattr(module, "MEMBERS", rows.MAX_TOP_LOGPROBS)
        monkeypatch.setattr(module, "DIGITS", 16)


def of_host(host: Operators, logits: Floats, row: Row) -> simulated.Drawn:
    """The CPU leaf's draw. Its lane's counts are not told."""
    prompt, output = np.array(row.prompt, np.int32), np.array(row.output, np.int32)
    sampling = row.sampling(len(logits))
    (draw,) = host.sample(logits[None], [sampling], [row.position], [prompt], [output])
    num = draw.num_top
    return simulated.Drawn(draw.token, draw.logprob, list(draw.top_ids)[:num], list(draw.top_logprobs)[:num], [], set())


def check(host: Operators, logits: Floats, *wanted: Row) -> list[simulated.Drawn]:
    """Draws with each row from the same logits, and holds every draw to the CPU leaf's and to the definition."""
    draws = simulated.sample(np.tile(logits, (len(wanted), 1)), wanted)
    for row, draw in zip(wanted, draws, strict=True):
        expected = of_host(host, logits, row)
        possible = possible_draws(logits, row)
        assert expected.token in possible
        assert draw.token in possible
        assert draw.top_ids == expected.top_ids
        assert draw.top_logprobs == pytest.approx(expected.top_logprobs, rel=1e-5, abs=1e-5)
        if draw.token == expected.token:
            assert draw.logprob == pytest.approx(expected.logprob, rel=1e-5, abs=1e-5)
        drawn = [draw.token] * (draw.token >= 0)
        assert draw.seen == {*row.prompt, *row.output, *drawn}
        assert draw.counts == np.bincount([*row.output, *drawn], minlength=len(logits)).tolist()
    return draws


FINITE = st.floats(-30, 30, width=32) | st.sampled_from([0.0, -0.0, 1.0, 1.0, 3e38, -3e38, -np.inf])


@st.composite
def rows_to_draw(draw: st.DrawFn) -> tuple[Floats, Row]:
    vocab_size = draw(st.integers(1, 70))
    logits = np.array(draw(st.lists(FINITE, min_size=vocab_size, max_size=vocab_size)), np.float32)
    if draw(st.integers(0, 15)) == 0:
        logits[draw(st.integers(0, vocab_size - 1))] = draw(st.sampled_from([np.nan, np.inf]))
    tokens = st.integers(0, vocab_size - 1)
    fields = {
        "temperature": st.floats(0, 3, width=32) | st.sampled_from([0.0, 1.0, np.float32(1e-40)]),
        "top_k": st.integers(0, vocab_size + 1),
        "top_p": st.floats(np.float32(0.01), 1, width=32),
        "min_p": st.floats(0, 1, width=32),
        "repetition_penalty": st.floats(np.float32(0.1), 10, width=32) | st.just(np.float32(3e38)),
        "presence_penalty": st.floats(-2, 2, width=32),
        "frequency_penalty": st.floats(-2, 2, width=32) | st.just(np.float32(3e38)),
        "top_logprobs": st.integers(-1, 20),
    }
    chosen = {name: draw(field) for name, field in fields.items() if draw(st.booleans())}
    row = Row(
        chosen | {"seed": draw(st.integers(0, 2**64 - 1))},
        position=draw(st.integers(0, 2**32 - 1)),
        prompt=draw(st.lists(tokens, max_size=8)),
        output=draw(st.lists(tokens, max_size=8)),
        bias=draw(st.lists(st.tuples(tokens, st.floats(-100, 100, width=32) | st.just(np.float32(3e38))), max_size=5)),
        permitted=draw(st.none() | st.lists(tokens, max_size=vocab_size)),
    )
    return logits, row


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(case=rows_to_draw())
def test_the_kernels_draw_what_the_cpu_leaf_draws(host: Operators, sizes: str, case: tuple[Floats, Row]) -> None:
    logits, row = case
    check(host, logits, row)


def test_every_processor_alone_draws_what_the_cpu_leaf_draws(host: Operators, sizes: str) -> None:
    logits = (3 * np.random.default_rng(1).standard_normal(90)).astype(np.float32)
    best = np.argsort(-logits)[:4].tolist()
    alone: list[dict[str, float]] = [
        {"temperature": 0, "repetition_penalty": 2},
        {"temperature": 0, "presence_penalty": 3},
        {"temperature": 0, "frequency_penalty": 3},
        {"temperature": 1},
        {"temperature": 1, "top_k": 3},
        {"temperature": 1, "top_p": 0.5},
        {"temperature": 1, "min_p": 0.3},
        {"temperature": 1, "top_logprobs": 20},
    ]
    wanted = [Row(own | {"seed": 9}, position=5, prompt=best[:1], output=best[1:] * 2) for own in alone]
    check(host, logits, *wanted)


def test_the_slices_of_a_vocabulary_make_one_row(host: Operators) -> None:
    logits = np.random.default_rng(2).standard_normal(4 * rows.SLICE + 3).astype(np.float32)
    logits[[5, rows.SLICE + 5, 4 * rows.SLICE]] = 9
    drawing = {"temperature": 1, "top_k": 40, "top_logprobs": 3}
    first, *_ = check(host, logits, Row(drawing))
    assert first.top_ids == [5, rows.SLICE + 5, 4 * rows.SLICE]


def test_ties_are_kept_and_drawn_by_their_ids(host: Operators, sizes: str) -> None:
    logits = np.zeros(50, np.float32)
    wanted = [Row({"temperature": 1, "top_k": 3, "seed": seed}) for seed in range(2)]
    assert {draw.token for draw in check(host, logits, *wanted)} <= {0, 1, 2}
    check(host, logits, Row({"temperature": 1, "top_p": 0.51, "top_logprobs": 20}))


def test_biases_of_one_id_are_added_in_their_order(host: Operators) -> None:
    logits = np.zeros(40, np.float32)
    bias = [(7, 3e38), (9, 1.0), (7, 3e38), (7, -3e38), (9, 1.0)]
    (draw,) = check(host, logits, Row({"top_logprobs": 0}, bias=[*bias, (7, -3e38)]))
    assert draw.token == 9


@pytest.mark.parametrize(("permitted", "token"), [((), -1), ((33,), 33), ((2, 33), 2)])
def test_a_mask_leaves_what_it_permits(host: Operators, permitted: tuple[int, ...], token: int) -> None:
    logits = np.arange(40, 0, -1).astype(np.float32)
    wanted = [Row({"temperature": heat, "top_k": 1}, permitted=permitted) for heat in (0, 1)]
    assert [draw.token for draw in check(host, logits, *wanted)] == [token, token]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_logits_without_a_token_give_none(host: Operators, value: float) -> None:
    logits = np.zeros(20, np.float32)
    logits[7] = value
    check(host, logits, Row({"top_logprobs": 3}), Row({"temperature": 1}), Row({}, permitted=[3]))
    check(host, np.full(20, -np.inf, np.float32), Row({"temperature": 1, "top_logprobs": 2}))


def test_a_row_is_drawn_alone_as_among_others() -> None:
    logits = (3 * np.random.default_rng(4).standard_normal((3, 50))).astype(np.float32)
    wanted = [Row({"temperature": 1, "top_p": 0.9, "top_logprobs": 4, "seed": seed}) for seed in range(3)]
    together = simulated.sample(logits, wanted)
    alone = [simulated.sample(logits[i : i + 1], wanted[i : i + 1])[0] for i in range(3)]
    assert together == alone
