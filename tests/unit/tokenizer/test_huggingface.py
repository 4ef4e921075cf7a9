"""tokenizer.json, in the two forms that models have: byte-level BPE, and BPE over SentencePiece's pieces."""

import json
import os
from pathlib import Path

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

from ignis.errors import ModelFileError
from ignis.models.base import HfTokenizerFiles, SpecialTokens
from ignis.tokenizer import Tokenizer, load_tokenizer

CORPUS: list[str] = json.loads((Path(__file__).parents[2] / "data" / "tokenizer" / "corpus.json").read_text())


def byte_level() -> tokenizers.Tokenizer:
    """Like the Qwen and Llama 3 families."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens(["<|bos|>", "<|im_end|>", AddedToken("<|strip|>", lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("<think>", normalized=False)])
    bos = tokenizer.token_to_id("<|bos|>")
    tokenizer.post_processor = processors.TemplateProcessing("<|bos|> $A", special_tokens=[("<|bos|>", bos)])
    return tokenizer


def pieces(prepend_scheme: str) -> tokenizers.Tokenizer:
    """Like the Llama 2 and Mistral families."""
    tokenizer = tokenizers.Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend_scheme, split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
        limit_alphabet=100,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    # The trainer makes its special tokens added tokens. The bytes are none in real files.
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = state["added_tokens"][:3]
    return tokenizers.Tokenizer.from_str(json.dumps(state))


def load(
    folder: Path, tokenizer: tokenizers.Tokenizer, bos: int, vocab_size: int = 1000, **config: object
) -> Tokenizer:
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    special = SpecialTokens(bos=bos, eos=None, pad=None, unk=None, stop_ids=frozenset())
    return load_tokenizer(HfTokenizerFiles(path, None, config), special, vocab_size)


def test_ids_and_texts_are_the_library_s_with_special_tokens_off(tmp_path: Path) -> None:
    reference = byte_level()
    tokenizer = load(tmp_path, reference, bos=500)
    reference.encode_special_tokens = True
    ids = [reference.encode(text, add_special_tokens=False).ids for text in CORPUS]
    assert [tokenizer.encode(text) for text in CORPUS] == ids
    assert [tokenizer.decode(row) for row in ids] == [reference.decode(row, skip_special_tokens=False) for row in ids]


def test_control_tokens_split_text_as_the_library_does_where_they_are_meant(tmp_path: Path) -> None:
    reference = byte_level()
    tokenizer = load(tmp_path, reference, bos=500)
    for text in ("<|bos|>hi <think><|im_end|>\n", "a <|strip|> b<|im_end|> <|strip|>", "<|strip|><|im_end|>"):
        assert tokenizer.encode(text, allow_special=True) == reference.encode(text, add_special_tokens=False).ids


def test_special_tokens_of_the_file_do_not_come_from_text(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, byte_level(), bos=500)
    assert tokenizer.control_spellings == ("<|bos|>", "<|im_end|>", "<|strip|>")
    assert all(map(tokenizer.token_bytes, tokenizer.encode("<|bos|> <|im_end|>")))
    assert tokenizer.token_bytes(tokenizer.encode("<think>")[0]) == b"<think>"


def test_a_token_that_only_the_config_calls_special_does_not_come_from_text(tmp_path: Path) -> None:
    reference = byte_level()
    think = reference.token_to_id("<think>")
    config = {"added_tokens_decoder": {str(think): {"content": "<think>", "special": True}}}
    tokenizer = load(tmp_path, reference, bos=think, **config)
    assert tokenizer.decode(tokenizer.encode("a<think>b")) == "a<think>b"
    assert think not in tokenizer.encode("a<think>b")


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_pieces_are_encoded_as_the_library_does_it(tmp_path: Path, scheme: str) -> None:
    reference = pieces(scheme)
    tokenizer = load(tmp_path, reference, bos=1)
    text = "<s>hello <s> world"
    assert tokenizer.encode(text, allow_special=True) == reference.encode(text, add_special_tokens=False).ids
    reference.encode_special_tokens = True
    ids = [reference.encode(text, add_special_tokens=False).ids for text in CORPUS]
    assert [tokenizer.encode(text) for text in CORPUS] == ids


def test_pieces_are_decoded_as_the_library_does_it(tmp_path: Path) -> None:
    reference = pieces("always")
    tokenizer = load(tmp_path, reference, bos=1)
    ids = [tokenizer.encode(text) for text in CORPUS]
    assert [tokenizer.decode(row) for row in ids] == [reference.decode(row, skip_special_tokens=False) for row in ids]


def test_bos_is_wanted_where_the_file_puts_it_and_the_config_does_not_object(tmp_path: Path) -> None:
    reference = byte_level()
    bos = reference.token_to_id("<|bos|>")
    assert load(tmp_path, reference, bos).adds_bos
    assert not load(tmp_path, reference, bos, add_bos_token=False).adds_bos
    assert load(tmp_path, pieces("first"), 1, add_bos_token=True).adds_bos
    assert not load(tmp_path, pieces("first"), 1).adds_bos


def test_more_tokens_than_embedding_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"tokenizer\.json has token \d+, but the embedding has 400 rows"):
        load(tmp_path, byte_level(), bos=1, vocab_size=400)


def test_a_file_that_is_no_tokenizer_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text('{"model": 1}')
    with pytest.raises(ModelFileError, match=r"tokenizer\.json is no tokenizer that can be read"):
        load_tokenizer(HfTokenizerFiles(path, None, {}), SpecialTokens(None, None, None, None, frozenset()), 10)


def test_a_way_of_decoding_that_is_not_known_is_refused(tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(ModelFileError, match="decodes by WordPiece, which is not served"):
        load(tmp_path, tokenizer, bos=1)


def test_a_folder_without_a_tokenizer_is_refused() -> None:
    with pytest.raises(ModelFileError, match=r"neither tokenizer\.json nor tokenizer\.model"):
        load_tokenizer(HfTokenizerFiles(None, None, {}), SpecialTokens(None, None, None, None, frozenset()), 10)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model"])
@pytest.mark.parametrize(
    ("kind", "words"), [("fifo", "is not a regular file"), ("device", "is not a regular file"), ("sparse", "at most")]
)
def test_a_file_that_never_ends_is_refused_at_once(tmp_path: Path, name: str, kind: str, words: str) -> None:
    path = tmp_path / name
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(20 << 30)
    is_json = name == "tokenizer.json"
    files = HfTokenizerFiles(path if is_json else None, None if is_json else path, {})
    with pytest.raises(ModelFileError, match=f"{name}: .*{words}"):
        load_tokenizer(files, SpecialTokens(None, None, None, None, frozenset()), 10)
