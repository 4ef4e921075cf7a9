"""From a file on disk to logits, each step as the server takes it: containers, rope scalings, heads, element types."""

import contextlib
from pathlib import Path

import numpy as np
import pytest

from ignis.models.registry import open_weights
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
