"""What a row may draw, by ignis_sampling's words in float64: one token, or several where rounding decides."""

import itertools

import numpy as np
import numpy.typing as npt

from tests.kernels.simulated import Row

Floats = npt.NDArray[np.float32]

SLACK = 1e-5  # what float32 weights and their sums may be off by
LARGEST = np.float32(3.40282347e38)


def uniform(seed: int, position: int) -> float:
    """Philox4x32-10 (Salmon et al., SC11), keyed by the seed and counted by the position."""
    words = [position, 0, 0, 0]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [b >> 32 ^ words[1] ^ key[0], b & 0xFFFFFFFF, a >> 32 ^ words[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return (words[0] << 21 | words[1] >> 11) * 2.0**-53


def patched(logits: Floats, row: Row) -> Floats:
    """Logits after penalties, bias and mask: float32 at every step, and finite where they were."""

    def near(value: np.float32, raw: np.float32) -> np.float32:
        return raw if raw == -np.inf else np.clip(value, -LARGEST, LARGEST)

    values = logits.copy()
    repetition = np.float32(row.settings.get("repetition_penalty", 1))
    presence = np.float32(row.settings.get("presence_penalty", 0))
    frequency = np.float32(row.settings.get("frequency_penalty", 0))
    for token in {*row.prompt, *row.output}:
        raw = logits[token]
        values[token] = near(raw / repetition if raw > 0 else raw * repetition, raw)
        num = row.output.count(token)
        if num:
            values[token] = near(values[token] - presence, raw)
            values[token] = near(values[token] - near(frequency * np.float32(num), np.float32(0)), raw)
    for token, value in row.bias:
        values[token] = near(values[token] + np.float32(value), values[token])
    if row.permitted is not None:
        values[[token for token in range(len(values)) if token not in row.permitted]] = -np.inf
    return values


def possible_draws(logits: Floats, row: Row) -> set[int]:
    """Tokens that a draw may give; -1 is none."""
    with np.errstate(all="ignore"):
        values = patched(logits, row)
        if np.isnan(logits).any() or not np.isfinite(logits.max()) or values.max() == -np.inf:
            return {-1}
        temperature = np.float32(row.settings.get("temperature", 0))
        if temperature == 0:
            return {int(values.argmax())}
        scaled = (values - values.max()) / temperature
    order = np.lexsort((np.arange(len(values)), -scaled))
    weights = np.exp(scaled[order].astype(np.float64))
    if top_k := int(row.settings.get("top_k", 0)):
        weights = weights[:top_k]
    top_p, min_p = float(np.float32(row.settings.get("top_p", 1))), float(np.float32(row.settings.get("min_p", 0)))
    place = uniform(int(row.settings.get("seed", 0)), row.position)
    found = set()
    for part, least, at in itertools.product(around(top_p), around(min_p), (place - SLACK, place, place + SLACK)):
        sums = np.cumsum(weights)
        num = len(weights) if top_p >= 1 else min(int(np.searchsorted(sums, part * sums[-1])) + 1, len(weights))
        num = max(1, min(num, int((weights >= least).sum())))
        index = int(np.searchsorted(sums[:num], at * sums[num - 1], side="right"))
        found.add(int(order[min(max(index, 0), num - 1)]))
    return found


def around(value: float) -> tuple[float, float, float]:
    return value * (1 - SLACK), value, value * (1 + SLACK)
