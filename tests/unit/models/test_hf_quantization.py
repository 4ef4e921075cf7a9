"""FP8 folders: read with their block scales; every other scheme, and a scale that does not fit, refused by name."""

import json
import re
from pathlib import Path

import pytest

from ignis.errors import ModelFileError
from ignis.models.base import DType
from ignis.models.registry import open_checkpoint
from tests.unit.models.writers import FP8, entries, safetensors_bytes, write_folder, write_fp8

Q_PROJ = "model.layers.1.self_attn.q_proj.weight"
UP_PROJ = "model.layers.0.mlp.up_proj.weight"


def refuses(folder: Path, fault: str) -> None:
    with pytest.raises(ModelFileError, match=re.escape(fault)):
        open_checkpoint(folder)


def test_an_fp8_folder_opens_with_its_scales(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write_fp8(tmp_path / "tiny"))
    assert checkpoint.format == "safetensors FP8"
    plain = open_checkpoint(write_folder(tmp_path / "plain", "qwen3"))
    assert checkpoint.num_parameters == plain.num_parameters
    assert [(t.name, t.rows, t.cols) for t in checkpoint.tensors] == [(t.name, t.rows, t.cols) for t in plain.tensors]
    for tensor in checkpoint.tensors:
        is_linear = tensor.rows > 1 and tensor.name != "token_embd.weight"
        assert tensor.dtype is (DType.F8_E4M3 if is_linear else DType.BF16)
        assert (tensor.scales is not None) is is_linear
        if tensor.scales is not None:
            assert (tensor.size_bytes, tensor.scales.size_bytes) == (tensor.rows * tensor.cols, 2)
            assert (tensor.scales.dtype, tensor.scales.file) == (DType.BF16, 0)


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_scales_may_have_any_float_type(tmp_path: Path, dtype: str) -> None:
    folder = write_fp8(tmp_path / "tiny", dtypes={Q_PROJ + "_scale_inv": dtype})
    scales = {tensor.name: tensor.scales for tensor in open_checkpoint(folder).tensors}["blk.1.attn_q.weight"]
    assert scales is not None
    assert scales.dtype is DType[dtype]


def test_what_was_not_converted_stays_as_it_is(tmp_path: Path) -> None:
    folder = write_fp8(tmp_path / "tiny", shapes={UP_PROJ + "_scale_inv": None}, dtypes={UP_PROJ: "BF16"})
    by_name = {tensor.name: tensor for tensor in open_checkpoint(folder).tensors}
    assert (by_name["blk.0.ffn_up.weight"].dtype, by_name["blk.0.ffn_up.weight"].scales) == (DType.BF16, None)


@pytest.mark.parametrize(
    ("shapes", "dtypes", "fault"),
    [
        (
            {Q_PROJ + "_scale_inv": None},
            {},
            f"tensor {Q_PROJ} is F8_E4M3, and its scales {Q_PROJ}_scale_inv are missing",
        ),
        (
            {Q_PROJ + "_scale_inv": None, Q_PROJ.replace("weight", "weight_scale"): (1,)},
            {},
            f"tensor {Q_PROJ} is F8_E4M3, and its scales {Q_PROJ}_scale_inv are missing",
        ),
        (
            {Q_PROJ + "_scale_inv": (1, 2)},
            {},
            f"tensor {Q_PROJ}_scale_inv has shape [1, 2], [1, 1] is expected: one for 128 x 128 weights",
        ),
        ({Q_PROJ + "_scale_inv": (1,)}, {}, f"tensor {Q_PROJ}_scale_inv has shape [1], [1, 1] is expected"),
        (
            {},
            {Q_PROJ + "_scale_inv": "F8_E4M3"},
            f"tensor {Q_PROJ}_scale_inv is F8_E4M3, scales are expected as F32, F16",
        ),
        ({}, {Q_PROJ: "BF16"}, f"tensor {Q_PROJ}_scale_inv is not one that qwen3 of 2 layers has"),
        ({"model.norm.weight_scale_inv": (1, 1)}, {}, "tensor model.norm.weight_scale_inv is not one that qwen3"),
        ({}, {"model.norm.weight": "F8_E4M3"}, "tensor model.norm.weight is F8_E4M3, a norm is expected as"),
        (
            {"model.embed_tokens.weight_scale_inv": (1, 1)},
            {"model.embed_tokens.weight": "F8_E4M3"},
            "tensor model.embed_tokens.weight is F8_E4M3, which an embedding may not be",
        ),
        (
            {Q_PROJ.replace("weight", "input_scale"): (1,)},
            {},
            "tensor model.layers.1.self_attn.q_proj.input_scale is not one that qwen3",
        ),
        ({}, {Q_PROJ: "U8"}, f"tensor {Q_PROJ} is U8, which is not read; F32, F16, BF16, F8_E4M3 are"),
    ],
)
def test_tensors_that_do_not_fit_are_refused_by_name(
    tmp_path: Path, shapes: dict[str, tuple[int, ...] | None], dtypes: dict[str, str], fault: str
) -> None:
    refuses(write_fp8(tmp_path / "tiny", shapes=shapes, dtypes=dtypes), f"model.safetensors: {fault}")


def test_fp8_tensors_that_the_config_does_not_speak_of_are_refused(tmp_path: Path) -> None:
    refuses(
        write_fp8(tmp_path / "tiny", None),
        "config.json: quantization_config is missing, and tensor model.layers.0.self_attn.q_proj.weight is F8_E4M3",
    )


SUPPORTED = "fp8 (E4M3 with weight_block_size [128, 128]) is supported, and quantised GGUF files"


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"quant_method": "awq", "bits": 4, "version": "gemm"}, f"quant_method is awq; {SUPPORTED}"),
        ({"quant_method": "gptq", "bits": 4, "desc_act": False}, f"quant_method is gptq; {SUPPORTED}"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, f"quant_method is bitsandbytes; {SUPPORTED}"),
        ({"load_in_8bit": True}, f"quant_method is missing (there are: load_in_8bit); {SUPPORTED}"),
        (
            {"quant_method": "compressed-tensors", "format": "float-quantized"},
            f"quant_method is compressed-tensors (float-quantized); {SUPPORTED}",
        ),
        (
            {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"},
            "quant_method is compressed-tensors (nvfp4-pack-quantized); fp8",
        ),
        ({"quant_method": "mxfp4"}, f"quant_method is mxfp4; {SUPPORTED}"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, f"quant_method is modelopt (NVFP4); {SUPPORTED}"),
        ({"quant_method": "fbgemm_fp8"}, f"quant_method is fbgemm_fp8; {SUPPORTED}"),
        ({"quant_method": "torchao"}, f"quant_method is torchao; {SUPPORTED}"),
        ({"group_size": 64, "bits": 4}, f"quant_method is missing (there are: group_size, bits); {SUPPORTED}"),
        ({**FP8, "weight_block_size": [64, 64]}, f"weight_block_size is [64, 64]; {SUPPORTED}"),
        ({**FP8, "weight_block_size": [1, 128]}, f"weight_block_size is [1, 128]; {SUPPORTED}"),
        ({**FP8, "weight_block_size": [128.0, 128]}, "weight_block_size is [128.0, 128]"),
        ({**FP8, "weight_block_size": 128}, "weight_block_size is 128"),
        (
            {**FP8, "weight_block_size": None},
            f"weight_block_size is missing, which means one scale a tensor; {SUPPORTED}",
        ),
        ({**FP8, "fmt": "e5m2"}, f"fmt is e5m2; {SUPPORTED}"),
        ({**FP8, "activation_scheme": "static"}, "activation_scheme is static; dynamic is supported"),
        ({**FP8, "quant_method": 8}, "quant_method is 8, text is expected"),
    ],
)
def test_other_schemes_are_refused_by_name(tmp_path: Path, settings: dict[str, object], fault: str) -> None:
    refuses(write_fp8(tmp_path / "tiny", settings), f"config.json: quantization_config.{fault}")


def test_settings_that_are_no_object_are_refused(tmp_path: Path) -> None:
    refuses(write_fp8(tmp_path / "tiny", "fp8"), "quantization_config is fp8, an object is expected")


def test_another_scheme_is_named_before_its_tensors_are_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny", quantization_config={"quant_method": "gptq"})
    (folder / "model.safetensors").write_bytes(safetensors_bytes(entries({"a.qweight": (4, 4)}, "I64")))
    refuses(folder, "config.json: quantization_config.quant_method is gptq")


def test_mlx_weights_are_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny", quantization={"group_size": 64, "bits": 4})
    refuses(folder, f"config.json: quantization is MLX's; {SUPPORTED}")
    config = json.loads((folder / "config.json").read_text())
    assert config["quantization"]["bits"] == 4
