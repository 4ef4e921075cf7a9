"""The decode lanes: who holds which, how each draws, and the round that names those that decode and are not late."""

from collections.abc import Sequence

from ignis._core import SamplingTable
from ignis.scheduler.live import Live
from ignis.scheduler.plan import DecodeRound


class DecodeLanes:
    """1 to 8 lanes. One is reserved when a request comes, joins the rounds after its prompt, and is free at its end."""

    def __init__(self, num_lanes: int) -> None:
        self.sampling = SamplingTable(num_lanes)
        self._free = list(range(num_lanes - 1, -1, -1))
        self._decoding: list[Live] = []
        self._round: DecodeRound | None = None
        self._num_late = 0
        self._replaced: list[Live] = []
        """Whose last token took another one's place since they were in a round."""

    @property
    def num_free(self) -> int:
        return len(self._free)

    @property
    def num_decoding(self) -> int:
        return len(self._decoding)

    @property
    def decoding(self) -> Sequence[Live]:
        return self._decoding

    @property
    def num_late(self) -> int:
        """Of the decoding ones, those whose constraint is worked on."""
        return self._num_late

    @property
    def num_ready(self) -> int:
        return len(self._decoding) - self._num_late

    @property
    def has_free_lane(self) -> bool:
        """A decoding one has no constraint."""
        return any(live.constraint is None for live in self._decoding)

    def reserve(self) -> int:
        """Takes the lowest free lane; the caller has counted that there is one."""
        return self._free.pop()

    def open(self, live: Live) -> None:
        """Writes how a lane draws, before the last span of its prompt draws the first token."""
        self.sampling.write(live.lane, live.submission.sampling)
        if live.constraint is not None:
            self.sampling.permit(live.lane, live.constraint.permitted)

    def join(self, live: Live) -> None:
        """The prompt is done, or all pages are back: the next round has its row."""
        self._decoding.append(live)
        self._num_late += live.is_late
        self._decoding.sort(key=lambda decoding: decoding.lane)
        self._round = None

    def replace(self, live: Live) -> None:
        """The token that was drawn is not the one that the answer got: the next round counts it anew."""
        if live not in self._replaced:
            self._replaced.append(live)
        self._round = None

    def wait(self, live: Live) -> None:
        """Leaves a lane out of rounds: its constraint is late."""
        live.is_late = True
        self._num_late += 1
        self._round = None

    def permit(self, live: Live) -> None:
        """Takes what a constraint that is up to date permits the next draw."""
        assert live.constraint is not None
        if live.is_late:
            live.is_late = False
            if live in self._decoding:
                self._num_late -= 1
            self._round = None
        self.sampling.permit(live.lane, live.constraint.permitted)

    def park(self, live: Live) -> None:
        """Leaves a lane out of rounds that stays its request's, with all that the device has counted for it."""
        self._decoding.remove(live)
        self._num_late -= live.is_late
        self._round = None

    def leave(self, live: Live) -> None:
        """Frees the lane of a request that ended, whether it decoded or not."""
        if live in self._decoding:
            self.park(live)
        live.is_late = False
        if live in self._replaced:
            self._replaced.remove(live)
        self._free.append(live.lane)
        self._free.sort(reverse=True)

    def round(self) -> DecodeRound:
        """The round of all lanes that are ready. The same object until one joins, leaves, is late or no longer so."""
        if self._round is None:
            lives = tuple(live for live in self._decoding if not live.is_late)
            replaced = tuple(live for live in self._replaced if live in lives)
            self._round = DecodeRound(lives, tuple(live.row for live in lives), self.sampling, replaced)
        return self._round

    def end_round(self, step: DecodeRound) -> None:
        """The round is done, and what was replaced before it is counted."""
        if step.replaced:
            self._replaced = [live for live in self._replaced if live not in step.replaced]
            self._round = None
