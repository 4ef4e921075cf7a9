"""The whole server with a leaf that costs nothing, for tests of clients: it tells a story, word after word, at a pace.

    python -m tests.e2e.paced TOKENS_S [--load-s SECONDS] flags of ignis-server ...

Another seed is another story. To a last message `Say exactly: ...` it answers just that. Tokenizer, template, scheduler
and routes are the real ones, with the real model's file.

Two files in the folder where it runs command it, so that no test has to hurry: while HELD is there, no answer gets
longer than the number of tokens in it, and no load comes to its end; while ENDED is there, each answer ends.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ignis import app
from ignis._core import Draw, LoadProgress, Row
from ignis.config import load_config
from ignis.engine.leaf import Layout, StepTimes
from ignis.models.base import Checkpoint
from ignis.scheduler.plan import CopyPage, DecodeRound, PrefillSpan
from ignis.tokenizer import load_tokenizer
from tests.fakes.leaf import ScriptedLeaf

WORDS = (
    "harbour",
    "lantern",
    "storm",
    "keeper",
    "stairs",
    "morning",
    "rope",
    "letter",
    "gull",
    "window",
    "island",
    "tide",
)
VERBS = ("finds", "forgets", "carries", "follows", "hears", "paints", "opens", "answers")
EXACTLY = "Say exactly: "
HELD, ENDED = Path("held"), Path("ended")
LOOK_S = 0.01


def story(seed: int) -> str:
    """Four hundred sentences, in paragraphs; what each says depends on the seed and on its place."""
    state, sentences = seed % 999_983 + 17, []
    for number in range(400):
        picks = []
        for choices in (WORDS, VERBS, WORDS):
            state = (state * 31 + 11) % 999_983
            picks.append(choices[state % len(choices)])
        end = "\n\n" if number % 4 == 3 else " "
        sentences.append(f"The {picks[0]} {picks[1]} the {picks[2]}.{end}")
    return "".join(sentences)


class PacedLeaf(ScriptedLeaf):
    """Draws the tokens of a text, a round every so often; its wait frees the interpreter's lock, as a device's does."""

    def __init__(self, tokens_s: float, load_s: float) -> None:
        super().__init__(page_bytes=1 << 10)
        self._period_s = 1 / tokens_s
        self._load_s = load_s
        self._next_at = 0.0
        self._answers: dict[int, Sequence[int]] = {}

    def load(self, checkpoint: Checkpoint, layout: Layout, progress: LoadProgress) -> None:
        shape = checkpoint.shape
        self._tokenizer = load_tokenizer(checkpoint.vocabulary, checkpoint.special, shape.vocab_size)
        self._end = min(checkpoint.special.stop_ids)
        time.sleep(self._load_s)
        while HELD.exists():
            time.sleep(LOOK_S)
        super().load(checkpoint, layout, progress)

    def copy_page(self, step: CopyPage) -> None:
        """Has no pages."""

    def prefill(self, span: PrefillSpan) -> Sequence[Draw]:
        if not span.is_last:
            return ()
        row = span.live.row
        self._answers[row.lane] = self._answer(row, span.sampling.row(row.lane))
        return [self._draw_at(row, span.stop)]

    def decode(
        self, step: DecodeRound, meanwhile: Callable[[], None] = lambda: None, *, goes_on: bool = False
    ) -> Sequence[Draw]:
        meanwhile()
        while longest_held() <= max(len(row.tokens) - row.tokens.num_prompt for row in step.rows):
            time.sleep(LOOK_S)
        now = time.perf_counter()
        self._next_at = max(self._next_at + self._period_s, now - self._period_s)
        if self._next_at > now:
            time.sleep(self._next_at - now)
        return [self._draw_at(row, len(row.tokens)) for row in step.rows]

    def last_step(self) -> StepTimes:
        return StepTimes(0.0, self._period_s, self._period_s)

    def _answer(self, row: Row, sampling: dict[str, Any]) -> Sequence[int]:
        prompt = self._tokenizer.decode(row.tokens.slice(0, row.tokens.num_prompt))
        last = prompt.rpartition("<|im_start|>user\n")[2].partition("<|im_end|>")[0]
        text = last.partition(EXACTLY)[2] if last.startswith(EXACTLY) else story(sampling["seed"])
        return self._tokenizer.encode(text)

    def _draw_at(self, row: Row, num_tokens: int) -> Draw:
        answer, at = self._answers[row.lane], num_tokens - row.tokens.num_prompt
        return Draw(answer[at] if at < len(answer) and not ENDED.exists() else self._end)


def longest_held() -> float:
    """Tokens of the longest answer that may be drawn now."""
    try:
        return int(HELD.read_text())
    except FileNotFoundError:
        return math.inf


def main() -> int:
    tokens_s, load_s, flags = float(sys.argv[1]), 0.0, sys.argv[2:]
    if flags[:1] == ["--load-s"]:
        load_s, flags = float(flags[1]), flags[2:]
    # The one place where the server learns of a device.
    app.open_leaf = lambda _kind, _log: PacedLeaf(tokens_s, load_s)  # type: ignore[assignment, attr-defined, return-value]
    return app.run(load_config(flags, os.environ, Path.cwd()))


if __name__ == "__main__":
    sys.exit(main())
