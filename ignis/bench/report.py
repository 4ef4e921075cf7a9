"""Spells figures for people, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from ignis.bench.figures import DecodeFigures, Figures, PromptFigures

_OVER = (
    "A share of more than 100 %: the rates above were measured in a slower moment than the steps, where others had\n"
    "the cores too, or, of bytes, the cache holds the model. Time it in quiet, or a larger one"
)


def as_json(figures: Figures) -> str:
    """One object; the names are those of the figures."""
    return json.dumps(asdict(figures), indent=2)


def as_text(figures: Figures) -> str:
    """Tables."""
    ceilings = figures.ceilings
    head = [
        f"{figures.device} ({figures.isa}): reads {_rate(ceilings.read_bytes_s, 'B')}, "
        f"copies {_rate(ceilings.copy_bytes_s, 'B')} (read and written), "
        f"multiplies {_rate(ceilings.matrix_flops_s, 'FLOP')}",
        f"{figures.model}, {figures.format}: {figures.num_parameters / 1e9:.3g}e9 parameters, "
        f"{figures.weights_bytes / 1e9:.4g} GB; a round reads {figures.step_bytes / 1e9:.4g} GB of them, "
        f"a prompt's token takes {figures.token_flops / 1e9:.4g} GFLOP in linear layers",
        f"loaded in {figures.load_s:.2f} s ({_rate(figures.weights_bytes / figures.load_s, 'B')}); "
        f"the KV pool holds {figures.kv_pool_tokens} tokens",
    ]
    parts = ["\n".join(head), _decode(figures.decode), _prompts(figures.prompts)]
    if max(_shares(figures), default=0.0) > 1:
        parts.append(_OVER)
    if figures.left_out:
        parts.append("Left out\n" + "\n".join(f"  {line}" for line in figures.left_out))
    return "\n\n".join(parts)


def _shares(figures: Figures) -> list[float]:
    """All that are shares of measured rates."""
    shares = [share for row in figures.decode for share in (row.read_share, row.device_read_share)]
    return shares + [share for row in figures.prompts for share in (row.matrix_share, row.device_matrix_share)]


def _decode(rows: Sequence[DecodeFigures]) -> str:
    titles = ["lanes", "context", "round us", "tok/s", "of reads", "device us", "of reads"]
    titles += ["gap us", "gap", "host us", "plan", "launch", "commit", "deliver"]
    cells = [
        [
            str(row.lanes),
            str(row.context_tokens),
            _us(row.round_s),
            f"{row.tokens_s:.0f}",
            _percent(row.read_share),
            _us(row.device_s),
            _percent(row.device_read_share),
            _us(row.gap_s),
            _percent(row.gap_share),
            *map(_us, (row.host_s, row.plan_s, row.launch_s, row.commit_s, row.deliver_s)),
        ]
        for row in rows
    ]
    return "Decode rounds, medians\n" + _table(titles, cells)


def _prompts(rows: Sequence[PromptFigures]) -> str:
    titles = ["prompt", "cold ms", "tok/s", "of matrices", "device alone", "cached ms", "device ms", "of cold"]
    cells = [
        [
            str(row.prompt_tokens),
            f"{row.cold_s * 1e3:.1f}",
            f"{row.tokens_s:.0f}",
            _percent(row.matrix_share),
            _percent(row.device_matrix_share),
            f"{row.cached_s * 1e3:.1f}",
            f"{row.cached_device_s * 1e3:.1f}",
            _percent(row.cached_share),
        ]
        for row in rows
    ]
    return "Waiting for the first token, medians\n" + _table(titles, cells)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(cells[place]) for cells in [titles, *rows]) for place in range(len(titles))]
    return "\n".join(
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        for cells in [titles, *rows]
    )


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f}"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _rate(value: float, unit: str) -> str:
    scale, prefix = (1e12, "T") if value >= 1e12 else (1e9, "G")
    return f"{value / scale:.4g} {prefix}{unit}/s"
