"""A model's vocabulary under a grammar: which tokens may come at all, and where an answer may end."""

import unicodedata

from ignis.grammar.grammar import Calls
from ignis.grammar.vocabulary import Vocabulary
from ignis.models.base import SpecialTokens
from ignis.stream.dialects import HERMES
from ignis.tokenizer import Tokenizer
from ignis.tokenizer.spelling import Alphabet, Spelling
from ignis.tokenizer.tokenizer import ControlToken
from tests.fakes.vocabulary import byte_tokenizer
from tests.unit.grammar.rig import BYTES, CallTarget, RegexForm, SyntaxForm, held

ANY = SyntaxForm("g", "start: /(?s:.*)/")


def test_control_tokens_and_ids_without_a_token_never_come_out_of_text() -> None:
    tokenizer = byte_tokenizer(["<|a|>", "<|end|>"], user_defined=["<think>"])
    vocabulary = Vocabulary(tokenizer, [257], 300)
    permitted = held(ANY, vocabulary=vocabulary).permitted
    assert permitted is not None and permitted.vocab_size == 300
    assert [token for token in range(256, 300) if token in permitted] == [257, 258]


def test_every_token_that_ends_a_turn_may_end_the_answer() -> None:
    vocabulary = Vocabulary(byte_tokenizer(["<|a|>", "<|b|>", "<|c|>"]), [256, 258], 259)
    constraint = held(RegexForm("r", "x"), vocabulary=vocabulary)
    assert constraint.permitted is not None and constraint.permitted.count == 1
    constraint.take(ord("x"))
    constraint.work()
    assert [token for token in range(259) if token in constraint.permitted] == [256, 258]


def test_a_space_that_encoding_puts_before_a_text_is_not_forced() -> None:
    vocabulary = Vocabulary(byte_tokenizer(["<|end|>"], leads_with_space=True), [256], 257)
    assert (vocabulary.can_force, BYTES.can_force) == (False, True)
    constraint = held(SyntaxForm("g", 'start: "abc" /[0-9]/ "xyz"'), vocabulary=vocabulary)
    for byte in b"abc5xyz":
        assert constraint.permitted is not None and byte in constraint.permitted
        constraint.take(byte)
        constraint.work()
    assert constraint.permitted is not None and 256 in constraint.permitted


def test_a_call_opens_with_the_control_token_that_is_its_tag() -> None:
    vocabulary = Vocabulary(byte_tokenizer(["<tool_call>", "<|end|>"]), [257], 258)
    assert (vocabulary.control_id("<tool_call>"), vocabulary.control_id("<think>")) == (256, None)


def test_calls_whose_tags_are_control_tokens_are_held_between_them() -> None:
    vocabulary = Vocabulary(byte_tokenizer(["<tool_call>", "</tool_call>", "<|end|>"]), [258], 259)
    calls = Calls((CallTarget("now", "p"),), HERMES, is_single=True)
    constraint = held(None, calls, vocabulary=vocabulary)
    for token in (256, *b'\n{"name": "now", "arguments": {}}\n', 257):
        assert constraint.permitted is not None and token in constraint.permitted
        constraint.take(token)
        constraint.work()
    assert constraint.permitted is not None and 258 in constraint.permitted


class Composing:
    """Encodes a text as others do that bring it to Unicode's form C first."""

    def encode(self, text: str, is_first: bool) -> list[int]:
        return list(unicodedata.normalize("NFC", text).encode())


def test_a_text_that_encoding_would_change_is_forced_as_the_grammar_has_it() -> None:
    special = SpecialTokens(None, 256, None, None, frozenset({256}))
    spelling = Spelling(lambda token: f"<0x{token:02X}>" if token < 256 else None, Alphabet.PIECES, frozenset(), False)
    tokenizer = Tokenizer(Composing(), spelling, {"<|end|>": ControlToken(256)}, 257, special, adds_bos=False)
    constraint = held(SyntaxForm("g", 'start: "e\u0301!"'), vocabulary=Vocabulary(tokenizer, [256], 257))
    for byte in "e\u0301!".encode():
        assert constraint.permitted is not None and byte in constraint.permitted
        constraint.take(byte)
        constraint.work()
    assert constraint.permitted is not None and 256 in constraint.permitted
