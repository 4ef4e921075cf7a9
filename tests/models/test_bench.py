"""The bench on the CPU leaf: a whole run through scheduler, engine and leaf, with random weights of a small shape."""

import json
import re
from pathlib import Path

import pytest

from ignis.bench.run import _Bench
from ignis.cli import main
from ignis.errors import EngineError, ModelFileError
from ignis.models.base import DType
from ignis.models.synthetic import synthetic_checkpoint

TINY = Path(__file__).resolve().parents[1] / "bench" / "shapes" / "tiny.json"
SYNTHETIC = ["bench", "--synthetic", str(TINY), "--device", "cpu"]
SHORT = ["--prompts", "70,200", "--contexts", "100", "--rounds", "4", "--repeats", "1"]


def test_fp8_weights_have_scales_and_a_head_in_bf16(capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = synthetic_checkpoint(TINY, DType.F8_E4M3, 3)
    for tensor in checkpoint.tensors:
        is_linear = tensor.rows > 1 and tensor.name not in ("token_embd.weight", "output.weight")
        assert (tensor.dtype is DType.F8_E4M3) is (tensor.scales is not None) is is_linear
    assert main([*SYNTHETIC, "--format", "fp8", *SHORT, "--widths", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "synthetic FP8"


def test_a_synthetic_model_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SYNTHETIC, "--format", "q8_0", *SHORT, "--widths", "1,3", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["format"] == "synthetic Q8_0"
    assert [row["lanes"] for row in figures["decode"]] == [1, 3]
    assert [row["prompt_tokens"] for row in figures["prompts"]] == [70, 200]
    for row in figures["decode"]:
        assert row["rounds"] == 4
        assert 0 < row["device_s"] < row["round_s"]
        assert row["tokens_s"] == pytest.approx(row["lanes"] / row["round_s"])
        assert row["gap_s"] == pytest.approx(row["round_s"] - row["device_s"])
        assert row["read_share"] > 0
    for row in figures["prompts"]:
        assert row["cached_s"] > 0
        assert row["cached_share"] == pytest.approx(row["cached_s"] / row["cold_s"])
    assert min(figures["ceilings"].values()) > 0
    assert figures["load_s"] > 0
    assert figures["left_out"] == []


def test_without_json_there_are_tables_and_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SYNTHETIC, "--format", "bf16", "--contexts", "64", "--rounds", "2", "--repeats", "1"]) == 0
    text = capsys.readouterr().out
    assert "Decode rounds" in text
    assert "Waiting for the first token" in text
    assert "--prompts 16384: more than the context holds" in text


def test_a_model_of_files_is_timed(real_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", str(real_model), "--device", "cpu", "--model-max-context", "256", "--widths", "2"]
    assert main([*words, "--prompts", "32", "--contexts", "32", "--rounds", "2", "--repeats", "1", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["format"] == "GGUF Q4_1"
    # The tied head is read whole in every round.
    assert figures["step_bytes"] == figures["weights_bytes"]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--format", "q4_k", "--prompts", "5000"], 2, "--prompts 5000: .* more than the context of 1024 tokens"),
        (["--format", "q4_k", "--contexts", "1024"], 2, "--contexts 1024"),
        (["--format", "q4_k", "--vram-kv-pool-bytes", "64tok"], 1, "vram.kv_pool_bytes 64tok holds 64 tokens"),
        (["--format", "q4_k", "--model-max-context", "64"], 2, "context of 64 tokens holds no prompt beside the 104"),
        (["--format", "q4_k", "--no-such-flag", "1"], 2, "unknown option --no-such-flag"),
        (["--format", "q4_k", "--model-decode-lanes", "2", "--widths", "4"], 2, "--widths: 4 is more than"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    words: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SYNTHETIC, *words]) == status
    assert re.search(message, capsys.readouterr().err)


def test_a_fault_among_lanes_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ask = _Bench._ask

    async def fail_in_rounds(bench: _Bench, prompt: tuple[int, ...], max_tokens: int) -> float:
        if max_tokens > 8:
            raise EngineError("the card is gone")
        return await ask(bench, prompt, max_tokens)

    monkeypatch.setattr(_Bench, "_ask", fail_in_rounds)
    assert main([*SYNTHETIC, "--format", "bf16", *SHORT, "--widths", "2"]) == 1
    *told, fault = capsys.readouterr().err.splitlines()
    assert fault == "ignis-server: the card is gone"
    assert all(line.startswith("ignis-server bench: ") for line in told)


@pytest.mark.parametrize("context_tokens", [16, 17])
def test_a_context_of_a_few_tokens_is_timed(
    context_tokens: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = json.loads(TINY.read_text(encoding="utf-8")) | {"max_position_embeddings": context_tokens}
    (tmp_path / "config.json").write_text(json.dumps(shape), encoding="utf-8")
    words = ["bench", "--synthetic", str(tmp_path), "--format", "bf16", "--device", "cpu", "--model-decode-lanes", "1"]
    assert main([*words, "--rounds", "2", "--repeats", "1", "--json"]) == 0
    assert [row["context_tokens"] for row in json.loads(capsys.readouterr().out)["decode"]] == [1 + context_tokens % 2]


def test_more_layers_than_can_be_are_refused_before_they_are_listed(tmp_path: Path) -> None:
    shape = json.loads(TINY.read_text(encoding="utf-8")) | {"num_hidden_layers": 1_000_000_000}
    (tmp_path / "config.json").write_text(json.dumps(shape), encoding="utf-8")
    with pytest.raises(ModelFileError, match="num_hidden_layers is 1000000000, 1 to 1024 is allowed"):
        synthetic_checkpoint(tmp_path, DType.BF16, 1)


def test_a_shape_that_does_not_fit_a_type_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = json.loads(TINY.read_text(encoding="utf-8")) | {"intermediate_size": 96}
    (tmp_path / "config.json").write_text(json.dumps(shape), encoding="utf-8")
    assert main(["bench", "--synthetic", str(tmp_path), "--format", "q6_k", "--device", "cpu"]) == 1
    assert "blk.0.ffn_down.weight has rows of 96 values" in capsys.readouterr().err


def test_a_file_that_is_no_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ModelFileError, match="JSON but not an object"):
        synthetic_checkpoint(tmp_path, DType.BF16, 1)


def test_a_synthetic_checkpoint_has_the_tensors_of_its_architecture() -> None:
    checkpoint = synthetic_checkpoint(TINY, DType.Q4_0, 3)
    assert checkpoint.seed == 3
    assert len({tensor.name for tensor in checkpoint.tensors}) == len(checkpoint.tensors) == 2 + 2 * 9
    assert checkpoint.size_bytes == sum(tensor.size_bytes for tensor in checkpoint.tensors)
    assert {tensor.dtype for tensor in checkpoint.tensors} == {DType.F32, DType.Q4_0}
