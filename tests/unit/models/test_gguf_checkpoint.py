"""GGUF checkpoints: shape, rope, vocabulary, special ids; and what cannot be or be done is refused by its key."""

import re
import struct
from pathlib import Path

import pytest

from ignis.errors import ModelFileError
from ignis.models.base import Architecture, DType, GgufVocabulary, HfTokenizerFiles, RopePairs, VocabularyKind
from ignis.models.registry import open_checkpoint, open_weights
from tests.unit.models.writers import (
    BOOL,
    F32,
    HEAD_DIM,
    I32,
    Q4_0_TYPE,
    Q8_0_TYPE,
    TOKEN_TYPES,
    TOKENS,
    U32,
    VOCAB,
    Gguf,
    Tensor,
    Value,
    f32,
    flag,
    numbers,
    text,
    texts,
    tiny_gguf,
    u32,
)

PLAIN = [10000.0 ** (-2 * pair / HEAD_DIM) for pair in range(HEAD_DIM // 2)]


def write(tmp_path: Path, file: Gguf) -> Path:
    return file.write(tmp_path / "tiny.gguf")


def refuses(tmp_path: Path, file: Gguf, fault: str) -> None:
    with pytest.raises(ModelFileError, match=rf"^tiny\.gguf: .*{re.escape(fault)}"):
        open_checkpoint(write(tmp_path, file))


def vocabulary_of(path: Path) -> GgufVocabulary:
    vocabulary = open_checkpoint(path).vocabulary
    assert isinstance(vocabulary, GgufVocabulary)
    return vocabulary


def sentencepiece(**changes: Value | None) -> Gguf:
    kind = {
        "tokenizer__ggml__model": text("llama"),
        "tokenizer__ggml__pre": None,
        "tokenizer__ggml__merges": None,
        "tokenizer__ggml__scores": numbers(F32, [-float(index) for index in range(VOCAB)]),
    }
    return tiny_gguf().with_keys(**{**kind, **changes})


def test_a_llama_file_opens(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write(tmp_path, tiny_gguf(matrix_type=Q4_0_TYPE)))
    shape = checkpoint.shape
    assert (shape.architecture, shape.num_layers, shape.hidden_size, shape.ffn_size) == (Architecture.LLAMA, 2, 32, 64)
    assert (shape.num_heads, shape.num_kv_heads, shape.head_dim, shape.vocab_size) == (4, 2, 8, VOCAB)
    assert shape.rms_eps == pytest.approx(1e-5)
    assert shape.context_tokens == 128
    assert shape.rope.inv_freq == pytest.approx(PLAIN)
    assert (shape.rope.scale, shape.rope.pairs) == (1.0, RopePairs.ADJACENT)
    assert (checkpoint.name, checkpoint.format) == ("Tiny model", "GGUF Q4_0")
    assert checkpoint.num_parameters == sum(tensor.rows * tensor.cols for tensor in checkpoint.tensors)
    assert checkpoint.chat_template == "{{ messages[0].content }}"
    assert checkpoint.size_bytes == (tmp_path / "tiny.gguf").stat().st_size
    checkpoint.close()
    assert all(file.map.closed for file in checkpoint.files)


def test_every_tensor_is_listed_with_its_bytes(tmp_path: Path) -> None:
    file = tiny_gguf(has_head=True, matrix_type=Q8_0_TYPE)
    checkpoint = open_checkpoint(write(tmp_path, file))
    written = {tensor.name: tensor for tensor in file.tensors}
    assert {tensor.name for tensor in checkpoint.tensors} == written.keys()
    for tensor in checkpoint.tensors:
        data = checkpoint.files[tensor.file].map[tensor.offset : tensor.offset + tensor.size_bytes]
        assert data == written[tensor.name].content()
        assert (tensor.cols, tensor.rows) == (*written[tensor.name].dims, 1)[:2]
    gate = next(tensor for tensor in checkpoint.tensors if tensor.name == "blk.1.ffn_gate.weight")
    assert (gate.rows, gate.cols, gate.dtype) == (64, 32, DType.Q8_0)


def test_a_qwen3_file_opens_with_its_head_norms(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write(tmp_path, tiny_gguf("qwen3")))
    assert checkpoint.shape.architecture is Architecture.QWEN3
    assert checkpoint.shape.rope.pairs is RopePairs.HALVES
    assert "blk.1.attn_k_norm.weight" in {tensor.name for tensor in checkpoint.tensors}


def test_absent_keys_follow_from_others(tmp_path: Path) -> None:
    absent = dict.fromkeys(
        (
            "llama__attention__head_count_kv",
            "llama__attention__key_length",
            "llama__attention__value_length",
            "llama__rope__freq_base",
            "general__name",
            "tokenizer__chat_template",
        )
    )
    file = tiny_gguf().with_keys(**absent, llama__attention__head_count=u32(2))
    refuses(tmp_path, file, "blk.0.attn_k.weight has shape [16, 32], [32, 32] is expected")
    file = tiny_gguf().with_keys(**absent)
    for layer in range(2):
        for name in ("attn_k", "attn_v"):
            file = file.with_tensor(f"blk.{layer}.{name}.weight", dims=(32, 32))
    checkpoint = open_checkpoint(write(tmp_path, file))
    assert (checkpoint.shape.num_kv_heads, checkpoint.shape.head_dim) == (4, 8)
    assert checkpoint.shape.rope.inv_freq == pytest.approx(PLAIN)
    assert (checkpoint.name, checkpoint.chat_template) == ("tiny", None)


def test_rope_factors_divide_the_frequencies(tmp_path: Path) -> None:
    file = tiny_gguf()
    factors = Tensor("rope_freqs.weight", (4,), data=struct.pack("<4f", 1.0, 2.0, 8.0, 8.0))
    checkpoint = open_checkpoint(write(tmp_path, Gguf(file.keys, [*file.tensors, factors])))
    expected = [PLAIN[0], PLAIN[1] / 2, PLAIN[2] / 8, PLAIN[3] / 8]
    assert checkpoint.shape.rope.inv_freq == pytest.approx(expected)
    assert "rope_freqs.weight" not in {tensor.name for tensor in checkpoint.tensors}


@pytest.mark.parametrize(
    ("dims", "data"),
    [
        ((4,), struct.pack("<4f", 1.0, 0.0, 8.0, 8.0)),
        ((4,), struct.pack("<4f", 1.0, float("nan"), 8.0, 8.0)),
        ((8,), struct.pack("<8f", *[1.0] * 8)),
    ],
)
def test_rope_factors_that_cannot_be_are_refused(tmp_path: Path, dims: tuple[int, ...], data: bytes) -> None:
    file = tiny_gguf()
    broken = Gguf(file.keys, [*file.tensors, Tensor("rope_freqs.weight", dims, data=data)])
    refuses(tmp_path, broken, "tensor rope_freqs.weight ")


def test_linear_scaling_divides_and_none_does_not(tmp_path: Path) -> None:
    factor = {"llama__rope__scaling__factor": f32(4.0)}
    for kind in (text("linear"), None):
        scaling = factor if kind is None else {**factor, "llama__rope__scaling__type": kind}
        checkpoint = open_checkpoint(write(tmp_path, tiny_gguf().with_keys(**scaling)))
        assert checkpoint.shape.rope.inv_freq == pytest.approx([frequency / 4 for frequency in PLAIN])
    none = tiny_gguf().with_keys(**factor, llama__rope__scaling__type=text("none"))
    assert open_checkpoint(write(tmp_path, none)).shape.rope.inv_freq == pytest.approx(PLAIN)


def test_yarn_scales_and_lengthens_the_context(tmp_path: Path) -> None:
    yarn = {
        "llama__rope__scaling__type": text("yarn"),
        "llama__rope__scaling__factor": f32(4.0),
        "llama__rope__scaling__original_context_length": u32(128),
    }
    shape = open_checkpoint(write(tmp_path, tiny_gguf().with_keys(**yarn))).shape
    assert shape.context_tokens == 512
    assert shape.rope.scale == pytest.approx(1.1386294361)
    assert shape.rope.inv_freq[0] == pytest.approx(PLAIN[0])
    assert shape.rope.inv_freq[-1] == pytest.approx(PLAIN[-1] / 4)
    halved = tiny_gguf().with_keys(**yarn, llama__rope__scaling__attn_factor=f32(0.5))
    assert open_checkpoint(write(tmp_path, halved)).shape.rope.scale == pytest.approx(1.1386294361 / 2)


def test_byte_level_bpe_adds_nothing_by_itself(tmp_path: Path) -> None:
    vocabulary = vocabulary_of(write(tmp_path, tiny_gguf()))
    assert vocabulary.kind is VocabularyKind.BPE
    assert vocabulary.pre_tokenizer == "smollm"
    assert vocabulary.tokens == tuple(TOKENS)
    assert vocabulary.token_types == tuple(TOKEN_TYPES)
    assert vocabulary.merges == ("a b",)
    assert (vocabulary.adds_bos, vocabulary.adds_eos, vocabulary.adds_space_prefix) == (False, False, False)


def test_llama_3_pre_tokenizers_start_with_bos(tmp_path: Path) -> None:
    file = tiny_gguf().with_keys(tokenizer__ggml__pre=text("llama-bpe"))
    assert vocabulary_of(write(tmp_path, file)).adds_bos
    file = file.with_keys(tokenizer__ggml__add_bos_token=flag(False))
    assert not vocabulary_of(write(tmp_path, file)).adds_bos


def test_sentencepiece_adds_bos_and_a_space(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write(tmp_path, sentencepiece(tokenizer__ggml__bos_token_id=None)))
    vocabulary = checkpoint.vocabulary
    assert isinstance(vocabulary, GgufVocabulary)
    assert (vocabulary.kind, vocabulary.pre_tokenizer) == (VocabularyKind.SENTENCEPIECE, "")
    assert (vocabulary.adds_bos, vocabulary.adds_eos, vocabulary.adds_space_prefix) == (True, False, True)
    assert vocabulary.scores[3] == -3.0
    assert (checkpoint.special.bos, checkpoint.special.unk) == (1, 0)
    told = sentencepiece(
        tokenizer__ggml__add_bos_token=flag(False),
        tokenizer__ggml__add_eos_token=flag(True),
        tokenizer__ggml__add_space_prefix=flag(False),
    )
    vocabulary = vocabulary_of(write(tmp_path, told))
    assert (vocabulary.adds_bos, vocabulary.adds_eos, vocabulary.adds_space_prefix) == (False, True, False)


def test_every_end_of_a_turn_stops(tmp_path: Path) -> None:
    file = tiny_gguf().with_keys(
        tokenizer__ggml__eos_token_id=u32(4),
        tokenizer__ggml__eot_token_id=u32(5),
        tokenizer__ggml__eom_token_id=u32(6),
        tokenizer__ggml__padding_token_id=u32(8),
    )
    special = open_checkpoint(write(tmp_path, file)).special
    assert (special.bos, special.eos, special.pad, special.unk) == (1, 4, 8, None)
    # 2 is a control token spelled <|im_end|>.
    assert special.stop_ids == {2, 4, 5, 6}


def test_an_end_spelling_that_is_plain_text_does_not_stop(tmp_path: Path) -> None:
    kinds = [1 if kind == 3 else kind for kind in TOKEN_TYPES]
    file = tiny_gguf().with_keys(tokenizer__ggml__token_type=numbers(I32, kinds), tokenizer__ggml__eos_token_id=u32(4))
    assert open_checkpoint(write(tmp_path, file)).special.stop_ids == {4}


def test_recommended_sampling_is_read(tmp_path: Path) -> None:
    file = tiny_gguf().with_keys(general__sampling__temp=f32(0.25), general__sampling__top_k=Value(I32, b"\x14\0\0\0"))
    assert open_checkpoint(write(tmp_path, file)).sampling_defaults == {"temperature": 0.25, "top_k": 20}


def test_weights_without_a_vocabulary_open_as_weights_only(tmp_path: Path) -> None:
    file = tiny_gguf().with_keys(tokenizer__ggml__model=text("no_vocab"), tokenizer__ggml__tokens=None)
    refuses(tmp_path, file, "tokenizer.ggml.model is no_vocab")
    assert open_weights(write(tmp_path, file)).vocabulary == HfTokenizerFiles(None, None, {})
    assert isinstance(open_weights(write(tmp_path, tiny_gguf())).vocabulary, GgufVocabulary)


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("general.architecture", None, "general.architecture is missing"),
        ("general.architecture", text("mamba"), "general.architecture is mamba; llama, qwen3 are supported"),
        ("general.architecture", u32(1), "general.architecture is 1, text is expected"),
        ("general.architecture", text(b"\xff"), "general.architecture is not UTF-8"),
        ("general.type", text("adapter"), "general.type is adapter"),
        ("llama.block_count", None, "llama.block_count is missing"),
        ("llama.block_count", u32(0), "llama.block_count is 0"),
        ("llama.block_count", u32(3), "tensor blk.2.attn_norm.weight is missing"),
        ("llama.block_count", u32(2_000_000_000), "tensor blk.2.attn_norm.weight is missing"),
        (
            "llama.block_count",
            u32(1),
            "tensor blk.1.attn_norm.weight (and 8 more) is not one that llama of 1 layers has",
        ),
        ("llama.block_count", text("2"), "llama.block_count is 2, an integer is expected"),
        ("llama.block_count", flag(True), "llama.block_count is True, an integer is expected"),
        ("llama.block_count", numbers(U32, [2]), "llama.block_count is an array of 1 UINT32, an integer is expected"),
        ("llama.context_length", None, "llama.context_length is missing"),
        ("llama.embedding_length", u32(64), "token_embd.weight has shape [11, 32], [11, 64] is expected"),
        ("llama.attention.head_count", u32(0), "llama.attention.head_count is 0"),
        ("llama.attention.head_count_kv", u32(3), "llama.attention.head_count_kv is 3, which does not divide 4 heads"),
        ("llama.attention.key_length", u32(7), "llama.attention.key_length is 7, an even number is expected"),
        ("llama.attention.key_length", u32(2_000_000_000), "llama.attention.key_length is 2000000000, 1 to 4096"),
        ("llama.attention.value_length", u32(4), "llama.attention.value_length is 4, only the head's 8 dims"),
        ("llama.rope.dimension_count", u32(4), "llama.rope.dimension_count is 4, only the head's 8 dims"),
        ("llama.attention.layer_norm_rms_epsilon", f32(float("nan")), "layer_norm_rms_epsilon is nan"),
        ("llama.attention.layer_norm_rms_epsilon", f32(0.0), "layer_norm_rms_epsilon is 0"),
        ("llama.rope.freq_base", f32(float("inf")), "llama.rope.freq_base is inf"),
        ("llama.rope.freq_base", f32(0.0), "llama.rope.freq_base is 0.0"),
        ("llama.rope.scaling.type", text("longrope"), "llama.rope.scaling.type is longrope; none, linear and yarn are"),
        ("llama.rope.scaling.factor", f32(-1.0), "llama.rope.scaling.factor is -1.0"),
        ("llama.expert_count", u32(8), "llama.expert_count is 8, which this architecture's forward pass does not do"),
        ("llama.attention.sliding_window", u32(4096), "llama.attention.sliding_window is 4096, which"),
        ("llama.logit_scale", f32(0.5), "llama.logit_scale is 0.5, which"),
        ("tokenizer.ggml.model", text("t5"), "tokenizer.ggml.model is t5; gpt2 and llama are supported"),
        ("tokenizer.ggml.model", None, "tokenizer.ggml.model is missing"),
        ("tokenizer.ggml.tokens", None, "tokenizer.ggml.tokens is missing"),
        ("tokenizer.ggml.tokens", text("a"), "tokenizer.ggml.tokens is not an array"),
        ("tokenizer.ggml.tokens", numbers(U32, [1]), "tokenizer.ggml.tokens is an array of UINT32, STRING is expected"),
        (
            "tokenizer.ggml.tokens",
            texts(TOKENS[:-1]),
            "tokenizer.ggml.tokens has 10 entries, the embedding has 11 rows",
        ),
        ("tokenizer.ggml.tokens", texts([*TOKENS[:-1], "a"]), "tokenizer.ggml.tokens has a twice"),
        ("tokenizer.ggml.tokens", texts([*TOKENS[:-1], b"\xc3"]), "tokenizer.ggml.tokens is not UTF-8 at index 10"),
        ("tokenizer.ggml.token_type", numbers(BOOL, [1] * VOCAB), "token_type is an array of BOOL, INT32 or UINT32"),
        ("tokenizer.ggml.token_type", numbers(I32, TOKEN_TYPES[1:]), "token_type has 10 entries for 11 tokens"),
        ("tokenizer.ggml.token_type", numbers(I32, [7] * VOCAB), "token_type holds a type outside 0 to 6"),
        ("tokenizer.ggml.token_type", numbers(I32, [-1] * VOCAB), "token_type holds a type outside 0 to 6"),
        ("tokenizer.ggml.merges", None, "tokenizer.ggml.merges is missing"),
        ("tokenizer.ggml.merges", numbers(U32, [1]), "tokenizer.ggml.merges is an array of UINT32, STRING is expected"),
        ("tokenizer.ggml.merges", texts(["a b", "ab"]), "tokenizer.ggml.merges has no two pieces at index 1: ab"),
        ("tokenizer.ggml.merges", texts([" a"]), "tokenizer.ggml.merges has no two pieces at index 0"),
        ("tokenizer.ggml.merges", texts(["a "]), "tokenizer.ggml.merges has no two pieces at index 0"),
        ("tokenizer.ggml.bos_token_id", u32(VOCAB), f"tokenizer.ggml.bos_token_id is {VOCAB}, 0 to 10 is allowed"),
        ("tokenizer.ggml.eos_token_id", u32((1 << 32) - 1), "tokenizer.ggml.eos_token_id is 4294967295"),
        ("tokenizer.ggml.eot_token_id", text("x"), "tokenizer.ggml.eot_token_id is x, an integer is expected"),
        ("tokenizer.ggml.add_bos_token", u32(1), "tokenizer.ggml.add_bos_token is 1, true or false is expected"),
        ("tokenizer.chat_template", u32(1), "tokenizer.chat_template is 1, text is expected"),
        ("split.count", u32(2), "split.count is 2, so the name should end in -00001-of-00002.gguf"),
    ],
)
def test_keys_that_cannot_be_are_refused_by_name(tmp_path: Path, key: str, value: Value | None, fault: str) -> None:
    refuses(tmp_path, tiny_gguf().with_keys(**{key.replace(".", "__"): value}), fault)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (None, "tokenizer.ggml.scores is missing"),
        (numbers(I32, [1] * VOCAB), "tokenizer.ggml.scores is an array of INT32, FLOAT32 is expected"),
        (numbers(F32, [1.0]), "tokenizer.ggml.scores has 1 entries for 11 tokens"),
        (numbers(F32, [float("nan")] * VOCAB), "tokenizer.ggml.scores holds a value that is not finite"),
    ],
)
def test_scores_that_cannot_be_are_refused(tmp_path: Path, value: Value | None, fault: str) -> None:
    refuses(tmp_path, sentencepiece(tokenizer__ggml__scores=value), fault)


def test_tensors_missing_over_or_misshapen_are_refused_by_name(tmp_path: Path) -> None:
    file = tiny_gguf()
    refuses(tmp_path, file.without_tensor("token_embd.weight"), "tensor token_embd.weight is missing")
    refuses(tmp_path, file.without_tensor("blk.1.ffn_up.weight"), "tensor blk.1.ffn_up.weight is missing")
    bias = Gguf(file.keys, [*file.tensors, Tensor("blk.0.attn_q.bias", (32,))])
    refuses(tmp_path, bias, "tensor blk.0.attn_q.bias is not one that llama of 2 layers has")
    three_dims = file.with_tensor("blk.0.ffn_up.weight", dims=(32, 64, 1))
    refuses(tmp_path, three_dims, "tensor blk.0.ffn_up.weight has shape [1, 64, 32], [64, 32] is expected")
    refuses(
        tmp_path, file.with_tensor("output_norm.weight", type=Q4_0_TYPE), "tensor output_norm.weight is Q4_0, a norm"
    )
    refuses(tmp_path, tiny_gguf("llama", has_head=True).with_tensor("output.weight", dims=(32, 10)), "output.weight")
    keys = tiny_gguf("llama").with_keys(general__architecture=text("qwen3")).keys
    renamed = [(str(name).replace("llama.", "qwen3."), value) for name, value in keys]
    refuses(tmp_path, Gguf(renamed, file.tensors), "tensor blk.0.attn_q_norm.weight is missing")


def test_old_precomputed_rope_tables_are_ignored(tmp_path: Path) -> None:
    file = tiny_gguf()
    tables = Gguf(file.keys, [*file.tensors, Tensor("blk.0.attn_rot_embd", (4,))])
    assert len(open_checkpoint(write(tmp_path, tables)).tensors) == len(file.tensors)


def split(tmp_path: Path, file: Gguf, count: int = 2, **changes: Value | None) -> Path:
    """Writes the file in parts, tensors dealt out in turn; `changes` are of the last part's keys."""
    for part in range(count):
        keys = [*file.keys] if part == 0 else []
        keys += [("split.no", u32(part)), ("split.count", u32(count)), ("split.tensors.count", u32(len(file.tensors)))]
        piece = Gguf(keys, file.tensors[part::count])
        if part == count - 1:
            piece = piece.with_keys(**changes)
        piece.write(tmp_path / f"tiny-{part + 1:05}-of-{count:05}.gguf")
    return tmp_path / f"tiny-00001-of-{count:05}.gguf"


def test_a_split_file_opens_by_its_first_part_or_its_folder(tmp_path: Path) -> None:
    whole = tiny_gguf().with_keys(general__name=None)
    for path in (split(tmp_path, whole, count=3), tmp_path):
        checkpoint = open_checkpoint(path)
        assert checkpoint.name == "tiny"
        assert [file.path.name[-9:-5] for file in checkpoint.files] == ["0003"] * 3
        for tensor in checkpoint.tensors:
            data = checkpoint.files[tensor.file].map[tensor.offset : tensor.offset + tensor.size_bytes]
            assert data == next(each for each in whole.tensors if each.name == tensor.name).content()


def test_parts_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    def fails(path: Path, fault: str) -> None:
        with pytest.raises(ModelFileError, match=re.escape(fault)):
            open_checkpoint(path)

    first = split(tmp_path, tiny_gguf())
    second = first.with_name("tiny-00002-of-00002.gguf")
    fails(second, "tiny-00002-of-00002.gguf: is a later part of a split checkpoint")
    split(tmp_path, tiny_gguf(), split__no=u32(0))
    fails(first, "tiny-00002-of-00002.gguf: split.no is 0, 1 is expected")
    split(tmp_path, tiny_gguf(), split__count=u32(3))
    fails(first, "tiny-00002-of-00002.gguf: split.count is 3, 2 is expected")
    split(tmp_path, tiny_gguf())
    second.write_bytes(first.read_bytes())
    fails(first, "tiny-00002-of-00002.gguf: split.no is 0, 1 is expected")
    twice = Gguf([("split.no", u32(1)), ("split.count", u32(2))], [Tensor("token_embd.weight", (4,))])
    twice.write(second)
    fails(first, "tensor token_embd.weight is there, and in tiny-00001-of-00002.gguf")
    second.unlink()
    fails(first, "tiny-00002-of-00002.gguf: is missing")
    fewer = tiny_gguf().with_keys(split__no=u32(0), split__count=u32(2), split__tensors__count=u32(99)).write(first)
    Gguf([("split.no", u32(1)), ("split.count", u32(2))], []).write(second)
    fails(fewer, "split.tensors.count is 99, the parts have 20")


def test_paths_that_are_no_checkpoint_are_refused(tmp_path: Path) -> None:
    def fails(path: Path, fault: str) -> None:
        with pytest.raises(ModelFileError, match=re.escape(fault)):
            open_checkpoint(path)

    fails(tmp_path / "none.gguf", "none.gguf: is missing")
    fails(tmp_path / ("x" * 300), "cannot be opened: File name too long")
    fails(Path("a\0b"), "cannot be opened")
    (tmp_path / "empty.gguf").touch()
    fails(tmp_path / "empty.gguf", "empty.gguf: is empty")
    fails(Path("/dev/null"), "null: is not a regular file")
    fails(Path("/dev/zero"), "zero: is not a regular file")


def test_a_fault_leaves_no_file_open(tmp_path: Path) -> None:
    path = write(tmp_path, tiny_gguf().with_keys(llama__block_count=u32(3)))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(ModelFileError) as raised:
            open_checkpoint(path)
        del raised
    assert len(list(Path("/proc/self/fd").iterdir())) == before
