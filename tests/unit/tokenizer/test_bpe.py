"""Byte-level BPE vocabularies of GGUF files, against ids of the reference (tests/data/tokenizer/record.py)."""

import json
import time
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignis.errors import ModelFileError
from ignis.models.base import GgufVocabulary, SpecialTokens, VocabularyKind
from ignis.models.registry import open_checkpoint
from ignis.tokenizer import Tokenizer, load_tokenizer
from ignis.tokenizer.pretokenizers import RULES, build_pre_tokenizer

DATA = Path(__file__).parents[2] / "data" / "tokenizer"
CORPUS: list[str] = json.loads((DATA / "corpus.json").read_text())
RECORDED = json.loads((DATA / "pre_tokenizers.json").read_text())
NO_SPECIAL = SpecialTokens(bos=None, eos=None, pad=None, unk=None, stop_ids=frozenset())


def vocabulary(pre_tokenizer: str, **changes: object) -> GgufVocabulary:
    fields: dict[str, object] = {
        "kind": VocabularyKind.BPE,
        "pre_tokenizer": pre_tokenizer,
        "tokens": tuple(RECORDED["tokens"]),
        "token_types": (1,) * len(RECORDED["tokens"]),
        "scores": (),
        "merges": tuple(RECORDED["merges"]),
        "adds_bos": False,
        "adds_eos": False,
        "adds_space_prefix": False,
    }
    return GgufVocabulary(**{**fields, **changes})  # type: ignore[arg-type]


@cache
def small(pre_tokenizer: str) -> Tokenizer:
    return load_tokenizer(vocabulary(pre_tokenizer), NO_SPECIAL, len(RECORDED["tokens"]))


def is_approximated(name: str, text: str) -> bool:
    """Where the reference departs from the tokenizer.json that it stands for."""
    if RECORDED["same_as"][name] in ("tekken", "gpt-4o"):
        return any(unicodedata.category(character)[0] in "LM" and not character.isascii() for character in text)
    return name == "deepseek-coder" and "\u2029" in text


@pytest.fixture(scope="module")
def smollm2(real_model: Path) -> Tokenizer:
    checkpoint = open_checkpoint(real_model)
    try:
        return load_tokenizer(checkpoint.vocabulary, checkpoint.special, checkpoint.shape.vocab_size)
    finally:
        checkpoint.close()


def test_the_real_vocabulary_gives_the_reference_ids(smollm2: Tokenizer) -> None:
    assert [smollm2.encode(text) for text in CORPUS] == json.loads((DATA / "smollm2.json").read_text())


def test_the_real_vocabulary_gives_every_text_back(smollm2: Tokenizer) -> None:
    assert [smollm2.decode(smollm2.encode(text)) for text in CORPUS] == CORPUS


def test_a_control_token_comes_from_its_author_only(smollm2: Tokenizer) -> None:
    end = smollm2.encode("<|im_end|>", allow_special=True)
    assert (end, smollm2.token_bytes(2)) == ([2], b"")
    assert all(map(smollm2.token_bytes, smollm2.encode("<|im_start|>user <|im_end|><|endoftext|>")))


def test_a_control_token_adds_no_bytes_and_is_spelled_only_when_asked_for(smollm2: Tokenizer) -> None:
    ids = [1, *smollm2.encode("hi"), 2]
    assert smollm2.token_bytes(2) == b""
    assert smollm2.token_text(2) == "<|im_end|>"
    assert smollm2.decode(ids) == "<|im_start|>hi<|im_end|>"
    assert smollm2.decode(ids, skip_special=True) == "hi"


def test_bytes_that_are_no_text_decode_to_replacements(smollm2: Tokenizer) -> None:
    euro = smollm2.encode("\U0001f9ff")
    assert len(euro) > 1
    assert smollm2.decode(euro[:1]) == "\ufffd"
    assert smollm2.decode([10**9, -1]) == ""


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_named_pre_tokenizer_cuts_as_the_reference_does(name: str) -> None:
    recorded = RECORDED["ids"][RECORDED["same_as"][name]]
    pairs = [(text, ids) for text, ids in zip(CORPUS, recorded, strict=True) if not is_approximated(name, text)]
    assert [small(name).encode(text) for text, _ in pairs] == [ids for _, ids in pairs]


def test_combining_marks_stay_with_their_letters_where_the_model_was_trained_so() -> None:
    marked = "e\u0301" * 3
    assert [
        build_pre_tokenizer(RULES[name]).pre_tokenize_str(marked)[0][1] for name in ("tekken", "gpt-4o", "qwen35")
    ] == [(0, 6)] * 3


@given(text=st.text(max_size=60))
@pytest.mark.parametrize("name", ["smollm", "llama-bpe", "gpt-4o", "qwen2"])
def test_decoding_gives_the_text_back(name: str, text: str) -> None:
    expected = unicodedata.normalize("NFC", text) if RULES[name].composes else text
    ids = small(name).encode(text)
    assert small(name).decode(ids) == expected
    assert b"".join(map(small(name).token_bytes, ids)) == expected.encode()


def test_halves_of_a_surrogate_pair_are_one_character_and_a_lone_one_is_replaced() -> None:
    tokenizer = small("gpt-2")
    assert tokenizer.encode("\ud83d\ude00") == tokenizer.encode("\U0001f600")
    assert tokenizer.encode("a\ud800b") == tokenizer.encode("a\ufffdb")


def test_an_unknown_pre_tokenizer_is_refused_by_name() -> None:
    with pytest.raises(
        ModelFileError, match=r"tokenizer\.ggml\.pre names the pre-tokenizer 'elvish', which is not known"
    ):
        load_tokenizer(vocabulary("elvish"), NO_SPECIAL, 10_000)


def test_a_vocabulary_without_a_pre_tokenizer_is_refused() -> None:
    with pytest.raises(ModelFileError, match="names no pre-tokenizer"):
        load_tokenizer(vocabulary(""), NO_SPECIAL, 10_000)


def test_merges_that_do_not_fit_the_tokens_are_refused() -> None:
    with pytest.raises(ModelFileError, match=r"tokenizer\.ggml\.merges does not fit"):
        load_tokenizer(vocabulary("gpt-2", merges=("nothere a",)), NO_SPECIAL, 10_000)


def test_more_tokens_than_embedding_rows_are_refused() -> None:
    with pytest.raises(ModelFileError, match="has 2000 entries, but the embedding has 1999 rows"):
        load_tokenizer(vocabulary("gpt-2"), NO_SPECIAL, 1999)


def test_token_types_of_another_number_are_refused() -> None:
    with pytest.raises(ModelFileError, match=r"token_type has 1 entries"):
        load_tokenizer(vocabulary("gpt-2", token_types=(1,)), NO_SPECIAL, 2000)


def test_a_special_id_outside_the_vocabulary_is_refused() -> None:
    special = SpecialTokens(bos=None, eos=2000, pad=None, unk=None, stop_ids=frozenset())
    with pytest.raises(ModelFileError, match="the eos token id 2000 is outside"):
        load_tokenizer(vocabulary("gpt-2"), special, 2000)


def test_a_text_far_over_a_limit_is_known_without_encoding_it_all(smollm2: Tokenizer) -> None:
    words = "harbour lantern meadow " * 400_000
    started = time.process_time()
    assert smollm2.has_more_tokens(words, 1000)
    whole = time.process_time() - started
    started = time.process_time()
    smollm2.encode(words[: 1 << 20])
    assert whole < time.process_time() - started


@pytest.mark.parametrize("text", ["harbour lantern meadow " * 3000, "a" * 300_000, " " * 500_000, "数える" * 30_000])
def test_a_text_is_never_over_a_limit_that_it_keeps(smollm2: Tokenizer, text: str) -> None:
    assert not smollm2.has_more_tokens(text, len(smollm2.encode(text)))
