"""An opened checkpoint in the native leaf, by the road that the engine takes: Checkpoint, LoadParams, Leaf."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ignis import bundle
from ignis._core import Leaf, LoadParams, PageTable, Row, SamplingTable, TokenLog
from ignis.models.base import Checkpoint, DType
from ignis.scheduler.request import SamplingParams

Floats = npt.NDArray[np.float32]
PAGES = (5, 1, 6, 3)


class OpenedModel:
    """One sequence at a time, with float32 pages. A context manager: unloads at the end."""

    def __init__(self, checkpoint: Checkpoint, max_context: int = 64 * len(PAGES)) -> None:
        self._vocab_size = checkpoint.shape.vocab_size
        self._capacity = max_context
        self._sampling = SamplingTable(1)
        self._sampling.write(0, SamplingParams(temperature=0.0))
        self._leaf = Leaf(str(bundle.library("libignis_cpu.so")))
        self._leaf.load(
            LoadParams(
                checkpoint,
                num_pages=8,
                kv_dtype=DType.F32,
                max_context=max_context,
                max_span=max_context,
                max_lanes=1,
                num_threads=2,
            )
        )
        self._table = PageTable(len(PAGES))
        for page in PAGES:
            self._table.append(page)

    def prefill(self, tokens: Sequence[int], sizes: Sequence[int]) -> Floats:
        """Logits [sum(sizes), V] of the first tokens, run in spans of those sizes."""
        log = TokenLog(tokens, self._capacity)
        logits = np.full((sum(sizes), self._vocab_size), np.nan, np.float32)
        start = 0
        for size in sizes:
            self._leaf.prefill(log, start, start + size, self._table, logits=logits[start : start + size])
            start += size
        return logits

    def decode(self, tokens: Sequence[int], start: int) -> Floats:
        """Logits [len(tokens) - start, V]: the tokens from start on, one a round, after the others were prefilled."""
        log = TokenLog(tokens[:start], self._capacity)
        self._leaf.open_lane(0, log)
        logits = np.full((len(tokens) - start, self._vocab_size), np.nan, np.float32)
        for index, token in enumerate(tokens[start:]):
            log.append(token)
            self._leaf.decode((Row(0, log, self._table),), self._sampling, logits=logits[index : index + 1])
        return logits

    def __enter__(self) -> "OpenedModel":
        return self

    def __exit__(self, *_: object) -> None:
        self._leaf.unload()
