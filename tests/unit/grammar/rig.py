"""What tests of grammars share: a vocabulary of bytes, and an answerer that draws anything that is permitted."""

import random
from collections.abc import Sequence

from ignis.grammar.forms import CallTarget, ChoiceForm, Form, Freedom, JsonForm, RegexForm, SyntaxForm
from ignis.grammar.grammar import Calls, compile_grammar
from ignis.grammar.vocabulary import Vocabulary
from ignis.scheduler.constraint import Constraint
from ignis.stream.delta import TextOut
from ignis.stream.dialects import NONE, OutputDialect
from ignis.stream.parts import CallArguments, CallBegin, Content
from tests.fakes.engine import VOCAB_SIZE, byte_model

MODEL = byte_model()
BYTES = Vocabulary(MODEL.tokenizer, MODEL.special.stop_ids, VOCAB_SIZE)
"""Tokens are bytes, and one of two control tokens ends a turn."""

__all__ = [
    "BYTES",
    "CallTarget",
    "ChoiceForm",
    "Freedom",
    "JsonForm",
    "RegexForm",
    "SyntaxForm",
    "accepts",
    "calls_of",
    "draw",
    "held",
]


def held(
    form: Form | None = None,
    calls: Calls | None = None,
    freedom: Freedom = Freedom.NONE,
    *,
    vocabulary: Vocabulary = BYTES,
) -> Constraint:
    return compile_grammar(vocabulary, form, calls, freedom).start()


def draw(
    constraint: Constraint, seed: int, *, most: int = 4000, haste: float = 0.5, vocabulary: Vocabulary = BYTES
) -> tuple[bytes, bool]:
    """Draws until a stop token; returns the bytes and whether it came. haste: how likely an end is taken where it may
    come, and a quote or bracket where text could go on."""
    chance = random.Random(seed)
    drawn = bytearray()
    for _ in range(most):
        assert not constraint.is_late
        permitted = constraint.permitted
        assert permitted is not None
        ids = [token for token in range(vocabulary.vocab_size) if token in permitted]
        assert ids, "nothing is permitted"
        stops = [token for token in ids if token in vocabulary.stop_ids]
        closers = [token for token in ids if vocabulary.tokenizer.token_bytes(token) in (b'"', b"]", b"}", b"<")]
        hurries = chance.random() < haste
        token = chance.choice(stops if stops and hurries else closers if closers and hurries else ids)
        assert constraint.take(token) == token
        if token in vocabulary.stop_ids:
            return bytes(drawn), True
        drawn += vocabulary.tokenizer.token_bytes(token)
        constraint.work()
    return bytes(drawn), False


def accepts(constraint: Constraint, text: str) -> bool:
    """Whether an answer may be this text, and end there."""
    for byte in text.encode():
        permitted = constraint.permitted
        assert permitted is not None
        if byte not in permitted:
            return False
        constraint.take(byte)
        constraint.work()
    permitted = constraint.permitted
    assert permitted is not None
    return all(stop in permitted for stop in BYTES.stop_ids)


def calls_of(
    drawn: bytes, targets: Sequence[CallTarget], dialect: OutputDialect = NONE, max_calls: int | None = None
) -> tuple[list[tuple[str, str]], str, bool]:
    """What the splitter makes of an answer: calls, content, and whether the calls are complete."""
    schemas = {target.name: dict(target.schema or {}) for target in targets}
    out = TextOut(MODEL.tokenizer, (), dialect, tools=schemas, max_calls=max_calls)
    calls: list[tuple[str, str]] = []
    content = ""
    for part in (*out.push(list(drawn)).parts, *out.finish().parts):
        match part:
            case CallBegin(_, name):
                calls.append((name, ""))
            case CallArguments(index, text):
                calls[index] = (calls[index][0], calls[index][1] + text)
            case Content(text):
                content += text
    return calls, content, out.has_calls
