"""From a file on disk to logits, each step as the server takes it: containers, rope scalings, heads, element types."""

import contextlib
from pathlib import Path

import numpy as np
import pytest

from ignis.models.registry import open_weights
from tests.abi import leaf
from tests.models import files, oracle, tiny
from tests.models.opened import OpenedModel

CONFIGS = (tiny.LLAMA, tiny.LLAMA3_ROPE, tiny.YARN_ROPE, tiny.QWEN3, tiny.QWEN3_UNTIED)


def check_file(path: Path, model: tiny.Tiny) -> None:
    """Prefill in one span, in uneven ones, and decode rounds all give the oracle's logits to 1e-4 of the largest."""
    tokens = tiny.prompt(model.config, 150)
    ids = tokens.tolist()
    expected = oracle.forward(model, tokens)
    with contextlib.closing(open_weights(path)) as checkpoint, OpenedModel(checkpoint) as opened:
        whole = opened.prefill(ids, (150,))
        uneven = opened.prefill(ids, (1, 70, 59))
        steps = opened.decode(ids, 130)
    assert oracle.relative_error(whole, expected) < 1e-4
    assert oracle.relative_error(np.concatenate((uneven, steps)), expected) < 1e-4


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_a_gguf_file_gives_the_oracles_logits(config: tiny.TinyConfig, tmp_path: Path) -> None:
    model = tiny.make(config)
    check_file(files.write_gguf(model, tmp_path / "model.gguf"), model)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_a_folder_gives_the_oracles_logits(config: tiny.TinyConfig, tmp_path: Path) -> None:
    model = tiny.make(config)
    check_file(files.write_folder(model, tmp_path / "model"), model)


def test_a_sharded_folder_gives_the_oracles_logits(tmp_path: Path) -> None:
    model = tiny.make(tiny.QWEN3_UNTIED)
    check_file(files.write_folder(model, tmp_path / "model", num_shards=3), model)


# The activations that meet sixteen-bit weights keep sixteen bits or more (ADR 5), so the bound is the same.
@pytest.mark.parametrize("dtype", ["F16", "BF16"])
@pytest.mark.parametrize("config", [tiny.LLAMA, tiny.QWEN3_UNTIED], ids=lambda config: config.name)
def test_sixteen_bit_files_give_the_logits_of_their_own_weights(
    config: tiny.TinyConfig, dtype: str, tmp_path: Path
) -> None:
    model = files.rounded(tiny.make(config), dtype)
    check_file(files.write_gguf(model, tmp_path / "model.gguf", dtype), model)
    check_file(files.write_folder(model, tmp_path / "model", dtype), model)


# Rows and columns of whole blocks, of parts of one, and of several with a part.
UNEVEN = tiny.TinyConfig("uneven", leaf.QWEN3, 2, 136, 400, 4, 2, 72, 97, rms_eps=1e-6, is_tied=False)


@pytest.mark.parametrize("scale_dtype", ["BF16", "F32"])
@pytest.mark.parametrize("config", [tiny.WIDE_QWEN3, tiny.QWEN3, UNEVEN], ids=lambda config: config.name)
def test_an_fp8_folder_gives_the_logits_of_its_own_weights(
    config: tiny.TinyConfig, scale_dtype: str, tmp_path: Path
) -> None:
    made = tiny.make(config)
    folder = files.write_fp8_folder(made, tmp_path / "model", scale_dtype)
    check_file(folder, files.as_fp8(made))
    with contextlib.closing(open_weights(folder)) as checkpoint:
        assert checkpoint.format == "safetensors FP8"
