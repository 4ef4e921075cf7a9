"""The bench's own words are read, and everything else is the server's."""

from pathlib import Path

import pytest

from ignis.bench.options import help_text, read_options
from ignis.errors import ConfigError
from ignis.models.base import DType
from ignis.quant.registry import known_as

SYNTHETIC = ["--synthetic", "shape.json", "--format", "bf16"]
HERE = Path("/somewhere")


def test_the_defaults_are_what_the_help_says() -> None:
    options, others = read_options(SYNTHETIC, HERE)
    assert others == []
    assert options.model is None
    assert options.config == HERE / "shape.json"
    assert (options.dtype, options.seed) == (DType.BF16, 1)
    assert options.widths == (1, 2, 3, 4, 5, 6, 7, 8)
    assert options.contexts is None
    assert options.prompts is None
    assert (options.rounds, options.repeats, options.temperature, options.is_json) == (64, 3, 0.0, False)


def test_a_model_of_files_needs_no_format() -> None:
    options, _ = read_options(["models/some.gguf", "--json"], HERE)
    assert options.model == HERE / "models/some.gguf"
    assert options.config is None
    assert options.is_json


def test_options_of_the_server_are_left_to_it() -> None:
    words = ["--device", "cpu", *SYNTHETIC, "--model-max-context=512", "--widths=1,8", "--reuse-prompt"]
    options, others = read_options(words, HERE)
    assert options.widths == (1, 8)
    assert others == ["--device", "cpu", "--model-max-context=512", "--reuse-prompt"]


@pytest.mark.parametrize("dtype", DType)
def test_every_stored_type_has_a_name(dtype: DType) -> None:
    name = known_as(dtype)
    options, _ = read_options(["--synthetic", "shape.json", "--format", name.lower()], HERE)
    assert options.dtype is dtype
    assert name in help_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "one model"),
        (["a.gguf", "b.gguf"], "one model"),
        (["a.gguf", *SYNTHETIC], "one model"),
        (["--synthetic", "shape.json"], "--synthetic needs --format"),
        (["a.gguf", "--format", "bf16"], "--format is of synthetic weights"),
        (["a.gguf", "--seed", "3"], "--seed is of synthetic weights"),
        (["--synthetic"], "--synthetic needs a value"),
        (["--synthetic", "--json"], "--synthetic needs a value"),
        (["--synthetic", "shape.json", "--format", "bf61"], "--format 'bf61'.*did you mean BF16"),
        ([*SYNTHETIC, "--seed", "0"], "--seed '0': must be 1 to"),
        ([*SYNTHETIC, "--seed", "x"], "--seed 'x'"),
        ([*SYNTHETIC, "--widths", "0-8"], "--widths '0-8': must be numbers from 1 to 8"),
        ([*SYNTHETIC, "--widths", "8-1"], "--widths '8-1'"),
        ([*SYNTHETIC, "--widths", "9"], "--widths '9'"),
        ([*SYNTHETIC, "--widths", "1,5-2"], "--widths '1,5-2'"),
        ([*SYNTHETIC, "--widths", "9" * 5000], "--widths '9999"),
        ([*SYNTHETIC, "--seed", "9" * 5000], "--seed '9999"),
        ([*SYNTHETIC, "--prompts", "512-1024"], "--prompts '512-1024'"),
        ([*SYNTHETIC, "--contexts", ""], "--contexts ''"),
        ([*SYNTHETIC, "--rounds", "0"], "--rounds '0'"),
        ([*SYNTHETIC, "--temperature", "nan"], "--temperature 'nan'"),
        ([*SYNTHETIC, "--temperature", "hot"], "--temperature 'hot'"),
    ],
)
def test_a_word_that_breaks_its_rule_is_refused_by_name(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_options(words, HERE)
