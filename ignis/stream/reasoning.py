"""Holds an answer's reasoning to its rules while tokens are drawn: a budget, and no end of the turn inside it.

It is a constraint (scheduler/constraint.py) around another one, which rules the answer once the reasoning is closed:

    START       the prompt opened no reasoning: the model opens it, or answers at once
    REASONING   any token. The end of the turn becomes the closing tag, and a spent budget forces the hand-off. A loop
                is cut back and talked out of, twice; the third one forces the hand-off
    FORCED      one token at a time: the rest of a tag, the hand-off, the blank line before what the inner one rules
    ANSWER      the inner constraint rules, or nothing. Where nothing does, the model may open reasoning again, with
                what is left of its budget; its turn may end there

Tags are found in the bytes of the text, so that it does not matter how a vocabulary cuts them.
"""

import codecs
import enum
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ignis import machine
from ignis.scheduler.constraint import Constraint, Mask
from ignis.scheduler.request import ReasoningRecord
from ignis.stream.detokenize import Detokenizer
from ignis.stream.dialects import OutputDialect
from ignis.stream.loop_guard import LoopGuard
from ignis.tokenizer import Tokenizer

_HAND_OFF = "\nI have to stop thinking here. I write the final answer now, from what I know, without more tool calls.\n"
"""In the model's own person, and saying what comes next: one that only breaks off is answered with one more tool call,
turn after turn (facts of the reference behaviour)."""
_HAND_OFF_TO_RULED = "\nI have to stop thinking here. I write the final answer now, from what I know.\n"
_NUDGE = "\n\n[loop cut]\nWait, I am going in circles. I drop this and go on in another way.\n\n"
_MAX_NUDGES = 2
_BLANK = "\n\n"
_MAX_BLANK_BYTES = 8
_UTF8 = codecs.getincrementaldecoder("utf-8")


class State(enum.Enum):
    START = enum.auto()
    REASONING = enum.auto()
    FORCED = enum.auto()
    ANSWER = enum.auto()


class Event(enum.Enum):
    OPEN = enum.auto()
    ANSWER = enum.auto()
    FORCE = enum.auto()
    RESUME = enum.auto()


TABLE: machine.Table[State, Event] = {
    State.START: {Event.OPEN: State.REASONING, Event.ANSWER: State.ANSWER},
    State.REASONING: {Event.FORCE: State.FORCED, Event.ANSWER: State.ANSWER},
    State.FORCED: {Event.ANSWER: State.ANSWER, Event.RESUME: State.REASONING},
    State.ANSWER: {Event.OPEN: State.REASONING},
}


@dataclass(frozen=True, slots=True)
class ReasoningForm:
    """How a model's vocabulary spells reasoning. One for all requests of a model."""

    vocab_size: int
    token_bytes: Callable[[int], bytes]
    encode: Callable[[str], Sequence[int]]
    """Text in which tags are the tokens that the model itself writes."""
    open_tag: bytes
    close_tag: bytes
    call_tag: bytes
    """A call begins: what looks like a tag in its arguments is none. Empty: calls have no tag."""
    open_id: int | None
    """Of the opening tag, where it is one token."""
    close_ids: tuple[int, ...]
    hand_off_ids: tuple[int, ...]
    ruled_hand_off_ids: tuple[int, ...]
    """Before an answer that an inner constraint rules."""
    blank_ids: tuple[int, ...]
    nudge_ids: tuple[int, ...]


def reasoning_form(tokenizer: Tokenizer, dialect: OutputDialect) -> ReasoningForm | None:
    """Makes the form of a model; None where its dialect has no reasoning."""
    if not dialect.think_open:
        return None

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, allow_special=True)

    close = dialect.think_close
    open_ids = encode(dialect.think_open)
    return ReasoningForm(
        vocab_size=tokenizer.vocab_size,
        token_bytes=Detokenizer(tokenizer, (dialect.think_open, close)).token_bytes,
        encode=encode,
        open_tag=dialect.think_open.encode(),
        close_tag=close.encode(),
        call_tag=dialect.call_open.encode(),
        open_id=open_ids[0] if len(open_ids) == 1 else None,
        close_ids=tuple(encode(close)),
        hand_off_ids=tuple(encode(_HAND_OFF + close + _BLANK)),
        ruled_hand_off_ids=tuple(encode(_HAND_OFF_TO_RULED + close + _BLANK)),
        blank_ids=tuple(encode(_BLANK)),
        nudge_ids=tuple(encode(_NUDGE)),
    )


def opens_reasoning(tokenizer: Tokenizer, dialect: OutputDialect, prompt: Sequence[int]) -> bool:
    """Whether a prompt ends inside reasoning: the template wrote the tag, so the model will not."""
    tag = dialect.think_open
    if not tag:
        return False
    # The tag and some white space: no token has less than a byte.
    end = tokenizer.decode(prompt[-len(tag.encode()) - _MAX_BLANK_BYTES :])
    return end.rstrip().endswith(tag)


class ReasoningConstraint:
    """Implements scheduler.constraint.Constraint, for one answer of a request that thinks."""

    def __init__(
        self,
        form: ReasoningForm,
        *,
        is_open: bool,
        budget: int | None = None,
        stop_ids: frozenset[int] = frozenset(),
        guard: LoopGuard | None = None,
        inner: Constraint | None = None,
    ) -> None:
        """`is_open`: the prompt ends inside reasoning. `budget`: tokens, at least one. `stop_ids`: those that become
        the closing tag inside reasoning. `guard`: looks for loops.
        """
        self.record = ReasoningRecord()
        self.surplus = 0
        self._form = form
        self._budget = budget
        self._stop_ids = stop_ids
        self._guard = guard
        self._inner = inner
        self._after_forced = Event.ANSWER
        self._may_open = inner is None
        """In ANSWER: no call has begun."""
        self._state = State.REASONING if is_open else State.START
        self._num_reasoning = 0
        self._tail = b""
        """The end of the text, as long as it can be the beginning of a tag; at the start all of it."""
        self._decoder = _UTF8("replace")
        self._forced: deque[int] = deque()
        self._mask: Mask | None = None
        self._renew_mask()

    @property
    def permitted(self) -> Mask | None:
        if self._state is State.ANSWER and self._inner is not None:
            return self._inner.permitted
        return self._mask

    @property
    def is_late(self) -> bool:
        return self._state is State.ANSWER and self._inner is not None and self._inner.is_late

    def work(self) -> None:
        assert self._inner is not None
        self._inner.work()

    def take(self, token: int) -> int:
        state = self._state
        self.surplus = 0
        if state is State.ANSWER:
            if self._inner is not None:
                return self._inner.take(token)
            if self._may_open:
                self._watch(token)
            return token
        if state is State.START:
            token = self._start(token)
        elif state is State.REASONING:
            token = self._reason(token)
        else:
            assert token == self._forced[0]
            self._forced.popleft()
            if not self._forced:
                self._move(self._after_forced)
        if state is not State.REASONING or self._state is not State.REASONING:
            self._renew_mask()
        return token

    def _start(self, token: int) -> int:
        form = self._form
        if self._inner is not None:
            # What the inner one rules begins at once, unless the tag is drawn: it is one token, or cannot be.
            if token == form.open_id:
                self._open(b"")
                return token
            self._move(Event.ANSWER)
            return self._inner.take(token)
        self._tail = (self._tail + form.token_bytes(token)).lstrip()
        if self._tail.startswith(form.open_tag):
            self._open(self._tail[len(form.open_tag) :])
        elif not form.open_tag.startswith(self._tail) or token in self._stop_ids:
            self._move(Event.ANSWER)
        return token

    def _watch(self, token: int) -> None:
        """Looks whether the answer opens reasoning again."""
        form = self._form
        text = self._tail + form.token_bytes(token)
        opening = text.find(form.open_tag)
        calling = text.find(form.call_tag) if form.call_tag else -1
        if opening >= 0 and not 0 <= calling < opening:
            self._open(text[opening + len(form.open_tag) :])
            return
        self._may_open = calling < 0
        self._tail = text[-max(len(form.open_tag), len(form.call_tag)) :]

    def _open(self, rest: bytes) -> None:
        self._move(Event.OPEN)
        self._tail = rest

    def _reason(self, token: int) -> int:
        form = self._form
        self._num_reasoning += 1
        if token in self._stop_ids:
            self.record.redirected_at = self._num_reasoning
            token, *rest = form.close_ids
            self._close([*rest, *self._blank()])
            return token
        data = form.token_bytes(token)
        text = self._tail + data
        at = text.find(form.close_tag)
        if at >= 0:
            after = text[at + len(form.close_tag) :]
            if self._inner is None or (after and not after.strip()):
                self._close([])
            elif not after:
                self._close(self._blank())
            else:
                # The token goes on with what is not the inner one's: the tag alone is taken of it.
                token, *rest = form.encode(data[: len(data) - len(after)].decode())
                self._close([*rest, *self._blank()])
            return token
        self._tail = text[-(len(form.close_tag) - 1) :]
        self._decoder.decode(data)
        repeated = 0 if self._guard is None else self._guard.push(token)
        if self._decoder.getstate()[0]:
            # Inside a character: what is forced would break it.
            return token
        if self._budget is not None and self._num_reasoning >= self._budget:
            self.record.forced_at = self._num_reasoning
            self._close(self._hand_off())
        elif repeated:
            return self._break_loop(repeated)
        return token

    def _break_loop(self, repeated: int) -> int:
        """The last token of a loop was drawn: what breaks it begins in its place."""
        record = self.record
        self.surplus = repeated - 1
        if record.num_nudges == _MAX_NUDGES:
            record.is_cut_short = True
            token, *rest = self._hand_off()
            self._close(rest)
            return token
        record.num_nudges += 1
        token, *rest = self._form.nudge_ids
        self._num_reasoning += len(rest)
        self._tail = b""
        self._decoder.reset()
        if self._guard is not None:
            self._guard.forget()
        self._forced.extend(rest)
        self._after_forced = Event.RESUME
        self._move(Event.FORCE)
        return token

    def _hand_off(self) -> Sequence[int]:
        return self._form.hand_off_ids if self._inner is None else self._form.ruled_hand_off_ids

    def _blank(self) -> Sequence[int]:
        """What stands between the tag and an answer that is ruled; an answer that is not begins as it likes."""
        return () if self._inner is None else self._form.blank_ids

    def _close(self, forced: Sequence[int]) -> None:
        self._forced.extend(forced)
        self._after_forced = Event.ANSWER
        self._tail = b""
        # One end of the turn is taken for the end of a thought; the next one is meant.
        self._stop_ids = frozenset()
        self._move(Event.FORCE if forced else Event.ANSWER)

    def _move(self, event: Event) -> None:
        self._state = machine.advance(TABLE, self._state, event)

    def _renew_mask(self) -> None:
        self._mask = None
        if self._state is State.FORCED:
            self._mask = Mask(self._form.vocab_size)
            self._mask.permit(self._forced[0])
        elif self._state is State.START and self._inner is not None and self._inner.permitted is not None:
            open_id, permitted = self._form.open_id, self._inner.permitted
            self._mask = permitted if open_id is None else permitted.with_token(open_id)
