"""How a bench spells what it found."""

from dataclasses import replace

from ignis.bench.figures import Figures, PromptFigures
from ignis.bench.report import as_text
from ignis.engine.leaf import Ceilings

PROMPT = PromptFigures(
    prompt_tokens=200,
    repeats=1,
    cold_s=0.1,
    tokens_s=2000.0,
    matrix_share=0.5,
    device_matrix_share=0.99,
    cached_s=0.01,
    cached_device_s=0.01,
    cached_share=0.1,
)
FIGURES = Figures(
    device="card",
    isa="sm_90",
    ceilings=Ceilings(1e12, 1e12, 1e14),
    model="m",
    format="BF16",
    num_parameters=1000,
    weights_bytes=2000,
    step_bytes=2000,
    token_flops=2000,
    load_s=1.0,
    kv_pool_tokens=64,
    decode=(),
    prompts=(PROMPT,),
    left_out=(),
)


def test_a_share_past_the_whole_is_said_to_be_the_yardsticks_fault() -> None:
    assert "more than 100 %" not in as_text(FIGURES)
    over = replace(FIGURES, prompts=(PROMPT, replace(PROMPT, device_matrix_share=1.79)))
    assert "179.0 %" in as_text(over)
    assert "measured in a slower moment than the steps" in as_text(over)
