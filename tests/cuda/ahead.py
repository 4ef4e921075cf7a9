"""What a leaf that has begun a round ahead must bear: on the card, and on the CPU, which begins it with its end."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ignis import _core
from ignis._core import Draw
from ignis.config_fields import ModelKvFormat
from ignis.engine.leaf import Layout, NativeLeaf
from ignis.errors import InternalError
from ignis.models.registry import open_weights
from ignis.scheduler.plan import DecodeRound
from ignis.scheduler.request import SamplingParams
from tests.cuda.player import Player
from tests.models import files, tiny

CONFIG = tiny.WIDE
NUM_PAGES, CONTEXT = 24, 512
LAYOUT = Layout(
    num_pages=NUM_PAGES, kv_format=ModelKvFormat.F16, max_context=CONTEXT, max_span=256, num_lanes=8, num_threads=1
)
PROMPT = [int(token) for token in tiny.prompt(CONFIG, 40, 1)]
SEEDED = SamplingParams(temperature=0.9, seed=42)


class Seen(NativeLeaf):
    """Keeps the last round."""

    last: DecodeRound

    def decode(self, step: DecodeRound, meanwhile: Callable[[], None], *, goes_on: bool = False) -> Sequence[Draw]:
        self.last = step
        return super().decode(step, meanwhile, goes_on=goes_on)


def bear(library: Path, folder: Path) -> None:
    """A model is unloaded, and loaded anew, while a round is ahead; another round than that is refused, and so is one
    ahead that needs a page."""
    checkpoint = open_weights(files.write_gguf(tiny.make(CONFIG), folder / "m.gguf", "BF16", context_tokens=CONTEXT))
    leaf = Seen(library)

    def load() -> Player:
        leaf.load(checkpoint, LAYOUT, _core.LoadProgress())
        return Player(leaf, num_pages=NUM_PAGES, gains_ahead=True)

    alone = load().answer(PROMPT, 150, SEEDED)
    for count in (5, 9):
        leaf.unload()
        player = load()
        request_id = player.submit(PROMPT, 150, SEEDED)
        while player.num_tokens(request_id) < count:
            player.step()
        assert player.num_ahead >= count - 2
        other = DecodeRound(leaf.last.lives, (*leaf.last.rows,), leaf.last.sampling)
        with pytest.raises(ValueError, match="another round"):
            leaf.decode(other, lambda: None)
    leaf.unload()
    player = load()
    assert player.answer(PROMPT, 150, SEEDED).digest == alone.digest
    # The round under way is of the last position of a page: the one ahead of it would be of the next.
    request_id = player.submit(PROMPT, 150, SEEDED)
    while player.num_tokens(request_id) < 64 - len(PROMPT):
        player.step()
    with pytest.raises(InternalError, match="of the next page"):
        leaf.decode(leaf.last, lambda: None, goes_on=True)
    leaf.unload()
    checkpoint.close()
