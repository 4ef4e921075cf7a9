"""SentencePiece vocabularies: out of a model file, and out of the pieces that a GGUF file holds of it."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from ignis.errors import ModelFileError
from ignis.models.base import GgufVocabulary, HfTokenizerFiles, SpecialTokens, VocabularyKind
from ignis.tokenizer import Tokenizer, load_tokenizer

CORPUS: list[str] = json.loads((Path(__file__).parents[2] / "data" / "tokenizer" / "corpus.json").read_text())
USER_DEFINED = ("<think>", "\n\n", "▁▁")
SPECIAL = SpecialTokens(bos=1, eos=2, pad=None, unk=0, stop_ids=frozenset({2}))


def train() -> bytes:
    model = io.BytesIO()
    SentencePieceTrainer.Train(
        sentence_iterator=iter([text for text in CORPUS if text.strip() and "\n" not in text and "\0" not in text] * 2),
        model_writer=model,
        model_type="bpe",
        vocab_size=800,
        byte_fallback=True,
        user_defined_symbols=list(USER_DEFINED),
        control_symbols=["<ctl>"],
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        character_coverage=0.98,
        minloglevel=2,
    )
    return model.getvalue()


MODEL = train()
REFERENCE = SentencePieceProcessor(model_proto=MODEL)
NUM_PIECES = REFERENCE.GetPieceSize()


def token_type(token: int) -> int:
    if REFERENCE.IsUnknown(token):
        return 2
    if REFERENCE.IsControl(token):
        return 3
    if REFERENCE.IsByte(token):
        return 6
    return 4 if REFERENCE.IdToPiece(token) in USER_DEFINED else 1


def gguf(adds_space_prefix: bool = True, **changes: object) -> GgufVocabulary:
    types = tuple(map(token_type, range(NUM_PIECES)))
    # As makers of GGUF files do: the spaces of user-defined pieces are written out.
    tokens = [REFERENCE.IdToPiece(token).replace("▁", " " if types[token] == 4 else "▁") for token in range(NUM_PIECES)]
    fields: dict[str, object] = {
        "kind": VocabularyKind.SENTENCEPIECE,
        "pre_tokenizer": "default",
        "tokens": tuple(tokens),
        "token_types": types,
        "scores": tuple(map(REFERENCE.GetScore, range(NUM_PIECES))),
        "merges": (),
        "adds_bos": True,
        "adds_eos": False,
        "adds_space_prefix": adds_space_prefix,
    }
    return GgufVocabulary(**{**fields, **changes})  # type: ignore[arg-type]


FROM_PIECES = load_tokenizer(gguf(), SPECIAL, NUM_PIECES)


def from_file(folder: Path, **config: object) -> Tokenizer:
    path = folder / "tokenizer.model"
    path.write_bytes(MODEL)
    return load_tokenizer(HfTokenizerFiles(None, path, config), SPECIAL, NUM_PIECES + 8)


def test_the_pieces_alone_give_the_ids_of_the_model_file() -> None:
    assert [FROM_PIECES.encode(text) for text in CORPUS] == [REFERENCE.EncodeAsIds(text) for text in CORPUS]


def test_the_model_file_gives_the_ids_of_the_library(tmp_path: Path) -> None:
    tokenizer = from_file(tmp_path)
    assert [tokenizer.encode(text) for text in CORPUS] == [REFERENCE.EncodeAsIds(text) for text in CORPUS]


def test_decoding_takes_away_the_space_that_encoding_put_there() -> None:
    assert FROM_PIECES.token_bytes(FROM_PIECES.encode("hello")[0]).startswith(b" ")
    assert FROM_PIECES.decode(FROM_PIECES.encode(" two  spaces")) == " two  spaces"


def test_without_the_prefix_nothing_is_taken_away() -> None:
    tokenizer = load_tokenizer(gguf(adds_space_prefix=False), SPECIAL, NUM_PIECES)
    assert [tokenizer.decode(tokenizer.encode(text)) for text in (" a", "a")] == [" a", "a"]


@given(text=st.text(max_size=40).filter(lambda text: "▁" not in text))
def test_decoding_gives_the_text_back(text: str) -> None:
    ids = FROM_PIECES.encode(text)
    assert FROM_PIECES.decode(ids) == text
    assert b"".join(map(FROM_PIECES.token_bytes, ids)).removeprefix(b" ") == text.encode()


def test_control_pieces_do_not_come_from_text() -> None:
    assert FROM_PIECES.control_spellings == ("<unk>", "<s>", "</s>", "<ctl>")
    assert all(map(FROM_PIECES.token_bytes, FROM_PIECES.encode("<s>[INST] <ctl><unk></s>")))
    assert FROM_PIECES.encode("<s>", allow_special=True) == [1]


def test_the_prefix_stands_after_a_control_token_too() -> None:
    hello = REFERENCE.EncodeAsIds("hello")
    assert FROM_PIECES.encode("<s>hello", allow_special=True) == [1, *hello]


def test_newer_folders_put_the_prefix_before_the_first_text_only(tmp_path: Path) -> None:
    tokenizer = from_file(tmp_path, legacy=False)
    after = tokenizer.encode("<s>hello", allow_special=True)[1:]
    assert tokenizer.encode("hello") == REFERENCE.EncodeAsIds("hello")
    assert after != REFERENCE.EncodeAsIds("hello")
    assert b"".join(map(tokenizer.token_bytes, after)) == b"hello"


def test_tokens_that_the_folder_adds_are_known(tmp_path: Path) -> None:
    added = {
        str(NUM_PIECES): {"content": "<|im_end|>", "special": True},
        str(NUM_PIECES + 1): {"content": "<tool_call>", "special": False},
    }
    tokenizer = from_file(tmp_path, added_tokens_decoder=added)
    ids = tokenizer.encode("a<tool_call>b<|im_end|>")
    assert NUM_PIECES + 1 in ids
    assert NUM_PIECES not in ids
    assert tokenizer.decode(ids).startswith("a<tool_call>")
    assert tokenizer.encode("<|im_end|>", allow_special=True) == [NUM_PIECES]


def test_bos_is_wanted_unless_the_folder_says_otherwise(tmp_path: Path) -> None:
    assert from_file(tmp_path).adds_bos
    assert not from_file(tmp_path, add_bos_token=False).adds_bos


@pytest.mark.parametrize("key", ["scores", "token_types"])
def test_columns_of_another_length_are_refused(key: str) -> None:
    with pytest.raises(ModelFileError, match="has 1 entries"):
        load_tokenizer(gguf(**{key: (1,)}), SPECIAL, NUM_PIECES)


def test_two_pieces_of_one_spelling_are_refused() -> None:
    tokens = (*gguf().tokens[:-1], gguf().tokens[-2])
    with pytest.raises(ModelFileError, match="is no SentencePiece model"):
        load_tokenizer(gguf(tokens=tokens), SPECIAL, NUM_PIECES)


def test_a_file_that_is_no_model_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"no model")
    with pytest.raises(ModelFileError, match=r"tokenizer\.model is no SentencePiece model"):
        load_tokenizer(HfTokenizerFiles(None, path, {}), SPECIAL, 1000)
