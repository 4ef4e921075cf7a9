"""Reasoning under its rules: budget, end of the turn, and what another constraint rules after it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignis._core import Mask
from ignis.scheduler.constraint import Constraint
from ignis.stream.dialects import NONE, QWEN_JSON
from ignis.stream.loop_guard import LoopGuard
from ignis.stream.reasoning import ReasoningConstraint, ReasoningForm, opens_reasoning, reasoning_form
from ignis.tokenizer import Tokenizer
from tests.fakes.vocabulary import byte_tokenizer

TAGS = ("<think>", "</think>")
OPEN, CLOSE = 256, 257
END = 300
"""The end of a turn, in both vocabularies."""
TAGGED = byte_tokenizer(TAGS)
SPELLED = byte_tokenizer()
"""Here a tag is seven or eight tokens."""


class Ruled:
    """An inner constraint that permits the letters of a word, one after another, and then the end."""

    def __init__(self, word: str, vocab_size: int) -> None:
        self._left = list(word.encode())
        self._vocab_size = vocab_size
        self.is_late = False
        self.surplus = 0

    @property
    def permitted(self) -> Mask:
        mask = Mask(self._vocab_size)
        mask.permit(self._left[0] if self._left else 0)
        return mask

    def take(self, token: int) -> int:
        assert token == (self._left.pop(0) if self._left else 0)
        self.is_late = True
        return token

    def work(self) -> None:
        self.is_late = False


def form(tokenizer: Tokenizer) -> ReasoningForm:
    made = reasoning_form(tokenizer, QWEN_JSON)
    assert made is not None
    return made


def play(
    constraint: Constraint, drawn: Sequence[int], limit: int = 1000, stop: frozenset[int] = frozenset({END})
) -> list[int]:
    """The tokens that the answer gets of a model that would draw these, and after them "x"; a forced draw takes the
    place of what it wants."""
    wanted = [*drawn]
    kept: list[int] = []
    while len(kept) < limit:
        if constraint.is_late:
            constraint.work()
        permitted = constraint.permitted
        want = wanted[0] if wanted else ord("x")
        if permitted is not None and (permitted.count == 1 or want not in permitted):
            want = next(token for token in range(permitted.vocab_size) if token in permitted)
        elif wanted:
            wanted.pop(0)
        kept.append(constraint.take(want))
        if kept[-1] in stop:
            break
    return kept


def text(tokenizer: Tokenizer, tokens: Sequence[int]) -> str:
    return tokenizer.decode([token for token in tokens if token != END])


@pytest.mark.parametrize("tokenizer", [TAGGED, SPELLED])
def test_a_spent_budget_forces_the_hand_off_and_the_answer_is_free(tokenizer: Tokenizer) -> None:
    constraint = ReasoningConstraint(form(tokenizer), is_open=True, budget=5)
    said = text(tokenizer, play(constraint, [*b"thinking on and on", END], 400))
    reasoning, _, answer = said.partition("</think>")
    assert reasoning.startswith("think\nI have to stop")
    assert "final answer" in reasoning
    assert answer == "\n\ning on and on"
    assert constraint.record.forced_at == 5


@pytest.mark.parametrize("tokenizer", [TAGGED, SPELLED])
def test_reasoning_that_ends_by_itself_is_left_alone(tokenizer: Tokenizer) -> None:
    drawn = [*tokenizer.encode("hm</think>yes", allow_special=True), END]
    constraint = ReasoningConstraint(form(tokenizer), is_open=True, budget=50, stop_ids=frozenset({END}))
    assert play(constraint, drawn) == drawn
    assert (constraint.record.forced_at, constraint.record.redirected_at) == (None, None)


@pytest.mark.parametrize("tokenizer", [TAGGED, SPELLED])
def test_the_end_of_the_turn_inside_reasoning_becomes_the_tag(tokenizer: Tokenizer) -> None:
    constraint = ReasoningConstraint(form(tokenizer), is_open=True, stop_ids=frozenset({END}))
    kept = play(constraint, [*b"hm", END, *b"yes", END])
    assert text(tokenizer, kept) == "hm</think>yes" and kept[-1] == END
    assert constraint.record.redirected_at == 3


def test_without_stop_tokens_nothing_is_redirected() -> None:
    constraint = ReasoningConstraint(form(TAGGED), is_open=True)
    assert play(constraint, [*b"hm", END]) == [*b"hm", END]


@pytest.mark.parametrize("tokenizer", [TAGGED, SPELLED])
def test_a_model_that_opens_reasoning_itself_is_held_to_the_budget(tokenizer: Tokenizer) -> None:
    drawn = [*tokenizer.encode("\n<think>abcdef", allow_special=True), END]
    constraint = ReasoningConstraint(form(tokenizer), is_open=False, budget=3, stop_ids=frozenset({END}))
    assert text(tokenizer, play(constraint, drawn)).startswith("\n<think>abc\nI have to stop")
    assert constraint.record.forced_at == 3


@pytest.mark.parametrize("said", ["plain", "<thing", "  <b>", ""])
def test_an_answer_without_reasoning_is_free_and_may_end(said: str) -> None:
    constraint = ReasoningConstraint(form(SPELLED), is_open=False, budget=1, stop_ids=frozenset({END}))
    drawn = [*said.encode(), *b" and </think> more", END] if said else [END]
    assert play(constraint, drawn) == drawn


@pytest.mark.parametrize("tokenizer", [TAGGED, SPELLED])
def test_reasoning_that_is_opened_again_has_what_is_left_of_the_budget_and_may_end(tokenizer: Tokenizer) -> None:
    again = tokenizer.encode("ab</think>yes <think>cdefghijklmno", allow_special=True)
    constraint = ReasoningConstraint(form(tokenizer), is_open=True, budget=20, stop_ids=frozenset({END}))
    said = text(tokenizer, play(constraint, [*again, *b"x" * 40], 200))
    assert said.count("I have to stop thinking here.") == 1
    assert said.index("<think>") < said.index("I have to stop")
    constraint = ReasoningConstraint(form(tokenizer), is_open=True, budget=90, stop_ids=frozenset({END}))
    assert play(constraint, [*again, END]) == [*again, END]


def test_a_tag_inside_a_call_opens_nothing() -> None:
    drawn = TAGGED.encode('ab</think><tool_call>{"a": "<think>' + "x" * 50, allow_special=True)
    constraint = ReasoningConstraint(form(TAGGED), is_open=True, budget=10, stop_ids=frozenset({END}))
    assert play(constraint, [*drawn, END]) == [*drawn, END]


def test_after_the_close_the_turn_ends_as_always() -> None:
    constraint = ReasoningConstraint(form(TAGGED), is_open=True, budget=9, stop_ids=frozenset({END}))
    assert play(constraint, [CLOSE, END]) == [CLOSE, END]


@pytest.mark.parametrize("tokenizer", [TAGGED, SPELLED])
@pytest.mark.parametrize("ending", ["own", "budget", "turn"])
def test_what_rules_the_answer_begins_after_the_blank_line(tokenizer: Tokenizer, ending: str) -> None:
    inner = Ruled("{}", tokenizer.vocab_size)
    constraint = ReasoningConstraint(form(tokenizer), is_open=True, budget=4, stop_ids=frozenset({END}), inner=inner)
    thought = {"own": tokenizer.encode("h</think>", allow_special=True), "budget": [*b"hhhh"], "turn": [*b"h", END]}
    if ending == "own" and tokenizer is SPELLED:
        constraint = ReasoningConstraint(form(tokenizer), is_open=True, budget=40, inner=inner)
    kept = play(constraint, [*thought[ending], *b"prose"], 400, frozenset({0}))
    assert tokenizer.decode(kept[:-1]).partition("</think>")[2] == "\n\n{}"


def test_an_answer_that_another_rules_may_begin_with_the_tag_or_at_once() -> None:
    def made() -> ReasoningConstraint:
        inner = Ruled("ab", TAGGED.vocab_size)
        return ReasoningConstraint(form(TAGGED), is_open=False, budget=9, inner=inner)

    constraint = made()
    permitted = constraint.permitted
    assert permitted is not None
    assert [token for token in range(TAGGED.vocab_size) if token in permitted] == [ord("a"), OPEN]
    assert TAGGED.decode(play(constraint, [OPEN, *b"h", CLOSE], 7)) == "<think>h</think>\n\nab"
    assert TAGGED.decode(play(made(), [*b"a"], 2)) == "ab"


def test_the_hand_off_breaks_no_character() -> None:
    constraint = ReasoningConstraint(form(TAGGED), is_open=True, budget=2)
    kept = play(constraint, "é😀é".encode(), 12)
    assert constraint.record.forced_at == 2
    constraint = ReasoningConstraint(form(TAGGED), is_open=True, budget=3)
    kept = play(constraint, "é😀é".encode(), 12)
    assert constraint.record.forced_at == 6
    assert TAGGED.decode(kept).startswith("é😀\nI h")


def test_a_token_that_goes_on_after_the_tag_is_cut_to_it_where_another_rules() -> None:
    """A vocabulary may have one token for the end of the tag and what follows."""
    long = byte_tokenizer(user_defined=("k>prose", "k>"))
    inner = Ruled("{}", long.vocab_size)
    constraint = ReasoningConstraint(form(long), is_open=True, inner=inner)
    kept = play(constraint, [*b"h</thin", 256], 12)
    assert long.decode(kept) == "h</think>\n\n{}"


def test_a_dialect_without_tags_has_no_reasoning() -> None:
    assert reasoning_form(TAGGED, NONE) is None
    assert not opens_reasoning(TAGGED, NONE, [OPEN])


@pytest.mark.parametrize("tokenizer", [TAGGED, SPELLED])
def test_a_prompt_that_ends_with_the_tag_is_open(tokenizer: Tokenizer) -> None:
    for spelled, is_open in (
        ("a<think>\n", True),
        ("a<think>", True),
        ("<think>\n\n</think>\n\n", False),
        ("a", False),
    ):
        assert opens_reasoning(tokenizer, QWEN_JSON, tokenizer.encode(spelled, allow_special=True)) is is_open


def test_a_loop_is_cut_and_talked_out_of_twice_and_then_closed() -> None:
    constraint = ReasoningConstraint(form(TAGGED), is_open=True, guard=LoopGuard())
    cycle = [*b"and so "] * 400
    kept, surpluses = [], []
    for token in cycle:
        permitted = constraint.permitted
        forced = permitted is not None and permitted.count == 1
        kept.append(
            constraint.take(
                next(t for t in range(258) if t in permitted) if forced and permitted is not None else token
            )
        )
        surpluses.append(constraint.surplus)
        if CLOSE in kept:
            break
    assert len(kept) < 2000 and kept[-1] == CLOSE
    assert (constraint.record.num_nudges, constraint.record.is_cut_short) == (2, True)
    said = TAGGED.decode(kept)
    assert said.count("[loop cut]\nWait, I am going in circles.") == 2
    assert "I have to stop thinking here." in said
    # Each time nearly all of it goes, and one round of it stays.
    assert [surplus for surplus in surpluses if surplus] == [surplus for surplus in surpluses if surplus > 250]
    assert constraint.record.forced_at is None


def test_a_budget_counts_what_is_said_against_loops_too() -> None:
    constraint = ReasoningConstraint(form(TAGGED), is_open=True, budget=400, guard=LoopGuard())
    kept = play(constraint, [*b"and so "] * 400, 460)
    assert constraint.record.num_nudges == 1
    assert constraint.record.forced_at == 400
    assert TAGGED.decode(kept[:402]).endswith("\nI")


@given(
    st.lists(st.one_of(st.integers(0, 255), st.sampled_from([OPEN, CLOSE, END])), max_size=40),
    st.integers(1, 20),
    st.booleans(),
)
def test_whatever_is_drawn_reasoning_ends_within_its_budget(drawn: list[int], budget: int, is_open: bool) -> None:
    constraint = ReasoningConstraint(
        form(TAGGED), is_open=is_open, budget=budget, stop_ids=frozenset({END}), inner=Ruled("{}", TAGGED.vocab_size)
    )
    kept = play(constraint, drawn, 250, frozenset())
    if CLOSE in kept:
        at = kept.index(CLOSE)
        # A character that is not whole lets three more tokens through; the hand-off has its own.
        assert at <= budget + 3 + len(form(TAGGED).ruled_hand_off_ids) + (not is_open)
        assert bytes(kept[at + 1 : at + 5]) == b"\n\n{}"
    else:
        assert not is_open
