"""Hugging Face folders: shape, rope, files, special ids, template; and what cannot be is refused by file and field."""

import json
import re
from pathlib import Path

import pytest

from ignis.errors import ModelFileError
from ignis.models.base import DType, HfTokenizerFiles, RopePairs
from ignis.models.registry import open_checkpoint, open_weights
from tests.unit.models.writers import (
    HEAD_DIM,
    VOCAB,
    entries,
    safetensors_bytes,
    text,
    tiny_config,
    tiny_gguf,
    tiny_hf_shapes,
    tiny_shapes,
    write_folder,
    write_index,
    write_sharded,
)

PLAIN = [10000.0 ** (-2 * pair / HEAD_DIM) for pair in range(HEAD_DIM // 2)]


def refuses(folder: Path, fault: str) -> None:
    with pytest.raises(ModelFileError, match=re.escape(fault)):
        open_checkpoint(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "tiny")


def write_json(folder: Path, name: str, value: object) -> None:
    (folder / name).write_text(json.dumps(value))


@pytest.mark.parametrize("architecture", ["llama", "qwen3"])
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_a_folder_opens_under_gguf_names(tmp_path: Path, architecture: str, dtype: str) -> None:
    checkpoint = open_checkpoint(write_folder(tmp_path / "tiny", architecture, dtype=dtype))
    shapes = tiny_shapes(architecture, has_head=False)
    assert {tensor.name: (tensor.rows, tensor.cols) for tensor in checkpoint.tensors} == {
        name: shape if len(shape) == 2 else (1, shape[0]) for name, shape in shapes.items()
    }
    assert {tensor.dtype for tensor in checkpoint.tensors} == {DType[dtype]}
    assert (checkpoint.name, checkpoint.format) == ("tiny", f"safetensors {dtype}")
    assert checkpoint.shape.architecture.value == architecture
    assert checkpoint.shape.rope.pairs is RopePairs.HALVES
    assert checkpoint.shape.rope.inv_freq == pytest.approx(PLAIN)
    assert checkpoint.shape.context_tokens == 128
    assert checkpoint.num_parameters == sum(tensor.rows * tensor.cols for tensor in checkpoint.tensors)


def test_the_two_forms_of_a_model_have_one_shape(tmp_path: Path) -> None:
    ours = open_checkpoint(write_folder(tmp_path / "tiny", "qwen3"))
    theirs = open_checkpoint(tiny_gguf("qwen3").write(tmp_path / "tiny.gguf"))
    assert ours.shape.rope == theirs.shape.rope
    assert [(t.name, t.rows, t.cols) for t in ours.tensors] == [(t.name, t.rows, t.cols) for t in theirs.tensors]


def test_shards_open_as_one(tmp_path: Path) -> None:
    whole = open_checkpoint(write_folder(tmp_path / "whole"))
    parts = open_checkpoint(write_sharded(tmp_path / "parts", num_shards=3))
    assert len(parts.files) == 3
    assert [tensor.name for tensor in parts.tensors] == [tensor.name for tensor in whole.tensors]
    assert {tensor.file for tensor in parts.tensors} == {0, 1, 2}


def test_a_single_file_may_have_any_name(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "weights.safetensors")
    assert open_checkpoint(folder).files[0].path.name == "weights.safetensors"


def test_an_untied_head_must_be_there_and_a_tied_one_may(tmp_path: Path) -> None:
    untied = open_checkpoint(write_folder(tmp_path / "a", has_head=True, tie_word_embeddings=False))
    assert "output.weight" in {tensor.name for tensor in untied.tensors}
    tied = open_checkpoint(write_folder(tmp_path / "b", has_head=True))
    assert "output.weight" not in {tensor.name for tensor in tied.tensors}
    refuses(
        write_folder(tmp_path / "c", tie_word_embeddings=None),
        "model.safetensors: tensor lm_head.weight is missing, and config.json does not tie it to the embedding",
    )


def test_old_rotary_buffers_are_ignored(folder: Path) -> None:
    shapes = {**tiny_hf_shapes("llama", has_head=False), "model.layers.0.self_attn.rotary_emb.inv_freq": (4,)}
    (folder / "model.safetensors").write_bytes(safetensors_bytes(entries(shapes)))
    assert len(open_checkpoint(folder).tensors) == len(shapes) - 1


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"model_type": None}, "model_type is missing"),
        ({"model_type": "mixtral"}, "model_type is mixtral; llama, qwen3 are supported"),
        ({"model_type": 1}, "model_type is 1, text is expected"),
        (
            {"architectures": ["LlamaForSequenceClassification"]},
            "architectures is ['LlamaForSequenceClassification'], [\"",
        ),
        ({"architectures": "LlamaForCausalLM"}, "architectures is LlamaForCausalLM"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"hidden_size": "32"}, "hidden_size is 32, an integer is expected"),
        ({"hidden_size": 32.0}, "hidden_size is 32.0, an integer is expected"),
        ({"hidden_size": True}, "hidden_size is True, an integer is expected"),
        ({"hidden_size": -32}, "hidden_size is -32, 1 to 2147483647 is allowed"),
        ({"hidden_size": 1 << 100}, "hidden_size is 1267650600228229401496703205376, 1 to"),
        ({"hidden_size": [32]}, "hidden_size is [32], an integer is expected"),
        ({"hidden_size": 64}, "model.safetensors: tensor model.embed_tokens.weight has shape [11, 32], [11, 64] is"),
        ({"num_hidden_layers": 1 << 30}, "tensor model.layers.2.input_layernorm.weight is missing"),
        ({"num_hidden_layers": 1}, "is not one that llama of 1 layers has"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0"),
        ({"num_key_value_heads": 3}, "num_key_value_heads is 3, which does not divide 4 heads"),
        ({"head_dim": 7}, "head_dim is 7, an even number is expected"),
        ({"head_dim": 1 << 30}, "head_dim is 1073741824, 1 to 4096 is allowed"),
        ({"head_dim": None, "hidden_size": 1 << 30}, "head_dim is missing, and 1073741824 is not 4 heads of"),
        ({"head_dim": None, "num_attention_heads": 6}, "head_dim is missing, and 32 is not 6 heads of"),
        ({"vocab_size": 12}, "tensor model.embed_tokens.weight has shape [11, 32], [12, 32] is expected"),
        ({"rms_norm_eps": "1e-5"}, "rms_norm_eps is 1e-5, a number is expected"),
        ({"rms_norm_eps": 0}, "rms_norm_eps is 0"),
        ({"hidden_act": "gelu"}, "hidden_act is gelu, which this architecture's forward pass does not do"),
        ({"attention_bias": True}, "attention_bias is True, which"),
        ({"mlp_bias": True}, "mlp_bias is True, which"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5, which"),
        ({"num_local_experts": 8}, "num_local_experts is 8, which"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings is 1, true or false is expected"),
        ({"sliding_window": 4096}, "sliding_window is 4096, sliding windows are not supported"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types has sliding_attention, only"),
        ({"layer_types": "full_attention"}, "layer_types is full_attention, a list is expected"),
        ({"max_position_embeddings": None}, "max_position_embeddings is missing"),
        ({"rope_theta": "big", "rope_parameters": None}, "rope_theta is big, a number is expected"),
        (
            {"rope_theta": 1e400, "rope_parameters": None},
            "config.json: is not valid JSON: Infinity is not a JSON value",
        ),
        ({"rope_parameters": [1]}, "rope_parameters is [1], an object is expected"),
        (
            {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}},
            "rope_parameters.rope_type is dynamic; default,",
        ),
        ({"rope_scaling": {"type": "longrope"}}, "rope_scaling.rope_type is longrope; default,"),
        (
            {"rope_parameters": {"full_attention": {"rope_theta": 1e4}}},
            "settings for each layer type are not supported",
        ),
        ({"rope_parameters": {"partial_rotary_factor": 0.25}}, "rope_parameters.partial_rotary_factor is 0.25, which"),
        ({"rope_parameters": {"rope_type": "linear"}}, "rope_parameters.factor is missing"),
        ({"rope_parameters": {"rope_type": "linear", "factor": 0}}, "rope_parameters.factor is 0"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters.factor is missing"),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 8}}, "rope_parameters.low_freq_factor is missing"),
        (
            {"rope_parameters": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}},
            "rope_parameters.high_freq_factor is 4, more than low_freq_factor 4 is expected",
        ),
        ({"eos_token_id": VOCAB}, f"eos_token_id is {VOCAB}, ids from 0 to 10 are allowed"),
        ({"eos_token_id": [2, "3"]}, "eos_token_id is [2, '3'], a token id or a list of them is expected"),
        ({"bos_token_id": -1}, "bos_token_id is -1, ids from 0 to 10 are allowed"),
    ],
)
def test_fields_that_cannot_be_or_be_done_are_refused_by_name(
    tmp_path: Path, changes: dict[str, object], fault: str
) -> None:
    refuses(write_folder(tmp_path / "tiny", **changes), fault)


def test_windows_that_are_switched_off_are_fine(tmp_path: Path) -> None:
    off = {"sliding_window": 4096, "use_sliding_window": False}
    past_the_layers = {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 2}
    for index, changes in enumerate((off, past_the_layers)):
        assert open_checkpoint(write_folder(tmp_path / str(index), "qwen3", **changes))
    refuses(
        write_folder(tmp_path / "on", "qwen3", **{**past_the_layers, "max_window_layers": 1}), "sliding_window is 4096"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"rope_type": "default", "rope_theta": 1e4}),
        ({"rope_theta": 5e5}, {"rope_type": "default", "rope_theta": 5e5}),
        ({"rope_theta": 5e5, "rope_scaling": None}, {"rope_theta": 5e5}),
        (
            {"rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0}},
            {"rope_type": "linear", "rope_theta": 5e5, "factor": 2.0},
        ),
        (
            {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}},
            {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 64},
        ),
    ],
)
def test_old_and_new_rope_settings_mean_the_same(
    tmp_path: Path, old: dict[str, object], new: dict[str, object]
) -> None:
    before = open_checkpoint(write_folder(tmp_path / "old", rope_parameters=None, **old)).shape
    after = open_checkpoint(write_folder(tmp_path / "new", rope_parameters=new)).shape
    assert before == after


def test_yarn_lengthens_the_context_and_linear_does_not(tmp_path: Path) -> None:
    yarn = write_folder(tmp_path / "yarn", rope_parameters={"rope_type": "yarn", "factor": 4.0})
    assert open_checkpoint(yarn).shape.context_tokens == 512
    linear = write_folder(tmp_path / "linear", rope_parameters={"rope_type": "linear", "factor": 4.0})
    assert open_checkpoint(linear).shape.context_tokens == 128


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "config.json: is not valid JSON"),
        ("[]", "config.json: is JSON but not an object"),
        ('{"a": 1, "a": 1}', "config.json: is not valid JSON: the name a is there twice"),
        ('{"rms_norm_eps": NaN}', "config.json: is not valid JSON: NaN is not a JSON value"),
        ("[" * 100_000, "config.json: is JSON nested too deep"),
        (" " * (2 << 20), "config.json: has 2097152 bytes, at most 1048576 are read"),
    ],
)
def test_a_config_that_is_no_config_is_refused(folder: Path, text: str, fault: str) -> None:
    (folder / "config.json").write_text(text)
    refuses(folder, fault)


def test_config_bytes_that_are_not_utf8_are_refused(folder: Path) -> None:
    (folder / "config.json").write_bytes(json.dumps(tiny_config()).encode("utf-16"))
    refuses(folder, "config.json: is not UTF-8")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("config.json", "tiny: config.json is missing"),
        ("model.safetensors", "tiny: model.safetensors and model.safetensors.index.json are missing"),
        ("tokenizer.json", "tiny: tokenizer.json and tokenizer.model are missing, one of them is needed"),
    ],
)
def test_a_missing_file_is_named(folder: Path, name: str, fault: str) -> None:
    (folder / name).unlink()
    refuses(folder, fault)


def test_weights_without_a_tokenizer_open_as_weights_only(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    assert open_weights(folder).vocabulary == HfTokenizerFiles(None, None, {})


def test_pytorch_weights_are_named_in_the_refusal(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refuses(folder, "PyTorch .bin files are not read")


@pytest.mark.parametrize(
    "name",
    ["../tiny/model-00001-of-00002.safetensors", "/etc/passwd", "a/b", "..", ".", "", "a\\b", "nul\0", "./model", "~"],
)
def test_an_index_names_files_of_its_folder_only(tmp_path: Path, name: str) -> None:
    folder = write_sharded(tmp_path / "tiny")
    write_index(folder, dict.fromkeys(tiny_hf_shapes("llama", has_head=False), name))
    with pytest.raises(ModelFileError, match=r"^tiny: "):
        open_checkpoint(folder)


def test_a_shard_that_links_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = write_sharded(tmp_path / "tiny")
    shard = folder / "model-00001-of-00002.safetensors"
    shard.rename(tmp_path / "elsewhere.safetensors")
    shard.symlink_to(tmp_path / "elsewhere.safetensors")
    refuses(folder, "tiny: model-00001-of-00002.safetensors is a link that leaves the folder")
    shard.unlink()
    shard.symlink_to("nowhere")
    refuses(folder, "tiny: model-00001-of-00002.safetensors is a broken link")
    shard.unlink()
    shard.symlink_to(shard.name)
    refuses(folder, "tiny: model-00001-of-00002.safetensors is a broken link")
    (tmp_path / "elsewhere.safetensors").rename(folder / "other")
    shard.unlink()
    shard.symlink_to("other")
    assert open_checkpoint(folder)


def test_a_snapshot_of_the_hugging_face_cache_opens(tmp_path: Path) -> None:
    snapshot = tmp_path / "models--org--tiny" / "snapshots" / "0123abcd"
    snapshot.parent.mkdir(parents=True)
    write_sharded(snapshot)
    blobs = tmp_path / "models--org--tiny" / "blobs"
    blobs.mkdir()
    for index, path in enumerate(sorted(snapshot.iterdir())):
        path.rename(blobs / str(index))
        path.symlink_to(f"../../blobs/{index}")
    assert len(open_checkpoint(snapshot).files) == 2


def test_an_index_that_lies_is_refused(tmp_path: Path) -> None:
    folder = write_sharded(tmp_path / "tiny")
    shapes = tiny_hf_shapes("llama", has_head=False)
    first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    index = "model.safetensors.index.json"
    write_index(folder, dict.fromkeys(shapes, first) | {"model.norm.weight": second, "model.none": second})
    refuses(folder, f"{index}: says that tensor model.layers.0.self_attn.q_proj.weight")
    write_index(folder, dict.fromkeys(shapes, "model-00003-of-00003.safetensors"))
    refuses(folder, "tiny: model-00003-of-00003.safetensors is missing")
    write_index(folder, dict.fromkeys(shapes, 1))
    refuses(folder, f"{index}: puts tensor model.embed_tokens.weight into 1")
    write_index(folder, {})
    refuses(folder, f"{index}: has no weight_map")
    write_json(folder, index, {"weight_map": [1]})
    refuses(folder, f"{index}: has no weight_map")
    (folder / second).write_bytes((folder / first).read_bytes())
    write_index(folder, {"model.embed_tokens.weight": first, "model.norm.weight": second})
    refuses(folder, f"{second}: tensor model.embed_tokens.weight is there, and in {first}")


def test_a_folder_around_one_gguf_opens(tmp_path: Path) -> None:
    tiny_gguf().write(tmp_path / "tiny.gguf")
    (tmp_path / "config.json").write_text("{}")
    assert open_checkpoint(tmp_path).format == "GGUF F32"
    # An image encoder is no model: neither beside one, nor alone.
    projector = tiny_gguf().with_keys(general__type=text("mmproj"))
    projector.write(tmp_path / "mmproj-tiny.gguf")
    assert open_checkpoint(tmp_path).path == tmp_path / "tiny.gguf"
    (tmp_path / "alone").mkdir()
    projector.write(tmp_path / "alone" / "mmproj-tiny.gguf")
    refuses(tmp_path / "alone", "general.type is mmproj, not a model of its own")
    tiny_gguf().write(tmp_path / "other.gguf")
    refuses(tmp_path, "has 2 GGUF checkpoints, name one of them: other.gguf, tiny.gguf")


def test_a_folder_of_nothing_is_refused(tmp_path: Path) -> None:
    refuses(tmp_path, "config.json is missing")


def test_tokenizer_files_are_located(folder: Path) -> None:
    (folder / "tokenizer.model").write_bytes(b"x")
    write_json(folder, "tokenizer_config.json", {"add_bos_token": True})
    vocabulary = open_checkpoint(folder).vocabulary
    expected = HfTokenizerFiles(folder / "tokenizer.json", folder / "tokenizer.model", {"add_bos_token": True})
    assert vocabulary == expected


def test_the_chat_template_is_its_own_file_or_the_default_of_the_config(folder: Path) -> None:
    assert open_checkpoint(folder).chat_template is None
    write_json(folder, "tokenizer_config.json", {"chat_template": "one"})
    assert open_checkpoint(folder).chat_template == "one"
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
    write_json(folder, "tokenizer_config.json", {"chat_template": named})
    assert open_checkpoint(folder).chat_template == "plain"
    write_json(folder, "tokenizer_config.json", {"chat_template": named[:1]})
    assert open_checkpoint(folder).chat_template is None
    write_json(folder, "tokenizer_config.json", {"chat_template": {"default": "plain"}})
    refuses(folder, "tokenizer_config.json: chat_template is neither text nor a list")
    write_json(folder, "tokenizer_config.json", {"chat_template": [1]})
    refuses(folder, "tokenizer_config.json: chat_template is neither text nor a list")
    write_json(folder, "tokenizer_config.json", {})
    (folder / "chat_template.jinja").write_text("file")
    assert open_checkpoint(folder).chat_template == "file"


def test_every_eos_stops(folder: Path) -> None:
    assert open_checkpoint(folder).special.stop_ids == {2}
    write_json(folder, "generation_config.json", {"eos_token_id": [4, 5], "pad_token_id": 3})
    special = open_checkpoint(folder).special
    assert (special.bos, special.eos, special.pad, special.stop_ids) == (1, 2, 3, {2, 4, 5})


def test_tokenizer_config_names_special_tokens(folder: Path) -> None:
    config = {
        "eos_token": {"content": "<|im_end|>"},
        "unk_token": "<unk>",
        "pad_token": "<none>",
        "added_tokens_decoder": {
            "0": {"content": "<unk>", "special": True},
            "7": {"content": "<|im_end|>", "special": True},
            "8": {"content": "<|endoftext|>", "special": True},
            "9": {"content": "<|end|>", "special": False},
            "4000": {"content": "<far>", "special": True},
            "x": {"content": "<odd>"},
        },
    }
    write_json(folder, "tokenizer_config.json", config)
    special = open_checkpoint(folder).special
    assert (special.bos, special.eos, special.pad, special.unk) == (1, 7, None, 0)
    assert special.stop_ids == {2, 7, 8}


def test_a_padding_id_of_minus_one_is_none(tmp_path: Path) -> None:
    assert open_checkpoint(write_folder(tmp_path / "tiny", pad_token_id=-1)).special.pad is None


def test_recommended_sampling_is_read_and_held_to_its_ranges(folder: Path) -> None:
    recommended = {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0, "repetition_penalty": 1.05}
    write_json(folder, "generation_config.json", {**recommended, "do_sample": True})
    assert open_checkpoint(folder).sampling_defaults == recommended
    for name, value in (("temperature", -1), ("top_p", 1.5), ("top_k", "20"), ("repetition_penalty", 0)):
        write_json(folder, "generation_config.json", {name: value})
        refuses(folder, f"generation_config.json: {name} is {value}")


def test_a_fault_leaves_no_file_open(tmp_path: Path) -> None:
    folder = write_sharded(tmp_path / "tiny")
    (folder / "tokenizer.json").unlink()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(ModelFileError) as raised:
            open_checkpoint(folder)
        del raised
    assert len(list(Path("/proc/self/fd").iterdir())) == before
