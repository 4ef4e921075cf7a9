"""The line between text and control tokens, whatever the vocabulary."""

from ignis.models.base import GgufVocabulary, SpecialTokens, VocabularyKind
from ignis.tokenizer import ControlText, Tokenizer, load_tokenizer
from ignis.tokenizer.spelling import Alphabet, Spelling
from ignis.tokenizer.tokenizer import ControlToken
from tests.fakes.vocabulary import byte_tokenizer

END, START, THINK = 256, 257, 258
TOKENIZER = byte_tokenizer(["<|end|>", "<|start|>"], user_defined=["<think>"])


def ids(text: str) -> list[int]:
    return list(text.encode())


def test_user_defined_tokens_are_matched_in_text_and_control_tokens_are_not() -> None:
    assert TOKENIZER.encode("<think>a<|end|>") == [THINK, *ids("a<|end|>")]
    assert TOKENIZER.decode([THINK, 97]) == "<think>a"


def test_only_control_text_becomes_a_control_token_in_a_prompt() -> None:
    pieces = [ControlText(START, "<|start|>"), "user <|end|>", ControlText(END, "<|end|>")]
    assert TOKENIZER.encode_prompt(pieces) == [START, *ids("user <|end|>"), END]


def test_strings_side_by_side_are_encoded_as_one() -> None:
    assert TOKENIZER.encode_prompt(["<thi", "nk>"]) == [THINK]


def test_the_longest_control_spelling_is_found() -> None:
    tokenizer = byte_tokenizer(["<a>", "<a>b"])
    assert tokenizer.encode("<a>b<a>", allow_special=True) == [257, 256]


def test_a_control_token_that_merges_could_reach_is_still_kept_out_of_text() -> None:
    tokens, merges = ("<", "s", ">", "s>", "<s", "<s>"), ("< s", "<s >")
    vocabulary = GgufVocabulary(VocabularyKind.BPE, "gpt-2", tokens, (1, 1, 1, 1, 1, 3), (), merges, *[False] * 3)
    special = SpecialTokens(bos=5, eos=None, pad=None, unk=None, stop_ids=frozenset())
    tokenizer = load_tokenizer(vocabulary, special, 6)
    assert 5 not in tokenizer.encode("<s>")
    assert tokenizer.decode(tokenizer.encode("<s>")) == "<s>"


def test_end_tokens_are_control_tokens_though_the_file_calls_them_normal() -> None:
    vocabulary = GgufVocabulary(VocabularyKind.BPE, "gpt-2", ("a", "<eot>", "b"), (1, 4, 1), (), (), *[False] * 3)
    special = SpecialTokens(bos=None, eos=1, pad=None, unk=None, stop_ids=frozenset({1, 2}))
    tokenizer = load_tokenizer(vocabulary, special, 3)
    assert [tokenizer.token_bytes(token) == b"" for token in range(3)] == [False, True, False]


def test_white_space_beside_a_control_token_goes_where_the_token_says_so() -> None:
    controls = {"<l>": ControlToken(256, strips_left=True), "<r>": ControlToken(257, strips_right=True)}
    special = SpecialTokens(bos=None, eos=None, pad=None, unk=None, stop_ids=frozenset())
    spelling = Spelling(lambda token: None, Alphabet.BYTES, frozenset(), leads_with_space=False)
    tokenizer = Tokenizer(_Bytes(), spelling, controls, 300, special, adds_bos=False)
    assert tokenizer.encode("a <l> b <r> c", allow_special=True) == [*ids("a"), 256, *ids(" b "), 257, *ids("c")]


class _Bytes:
    def encode(self, text: str, is_first: bool) -> list[int]:
        return ids(text)
