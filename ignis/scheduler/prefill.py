"""The one prefill lane: which span comes next, and whose turn it is while others decode.

Spans break at absolute multiples of the chunk, so that a prompt resumed from the prefix cache meets the same boundaries
as a cold one.
"""

from ignis._core import PAGE_TOKENS
from ignis.scheduler.live import Live


class PrefillLane:
    """At most one prompt at a time.

    After a chunk that took t the prompt's next chunk waits t * s / (1 - s) while lanes decode, so that decoding keeps
    the share s of the time. Between any two chunks lies one round at least: a row of short prompts starves no lane.
    """

    def __init__(self, chunk_tokens: int, decode_share: float) -> None:
        self._chunk_tokens = chunk_tokens
        self._wait_per_chunk_s = decode_share / (1.0 - decode_share)
        self.live: Live | None = None
        self._started_at_s = 0.0
        self._next_at_s = 0.0
        self._owes_round = False

    def may_run(self, now_s: float) -> bool:
        """Whether the next chunk may run although lanes decode."""
        return not self._owes_round and now_s >= self._next_at_s

    def start(self, now_s: float) -> tuple[int, int]:
        """Starts the prompt's next chunk now; returns its [start, stop)."""
        assert self.live is not None
        self.begin(now_s)
        start = self.live.filled
        # A scored span brings its logits to the host, a vocabulary for each position.
        is_scored = self.live.submission.prompt_logprobs is not None
        chunk_tokens = min(PAGE_TOKENS, self._chunk_tokens) if is_scored else self._chunk_tokens
        return start, min(self.live.prompt_tokens, (start // chunk_tokens + 1) * chunk_tokens)

    def begin(self, now_s: float) -> None:
        """Starts the prompt's next chunk now, or a chunk's pages that come back from host memory: lanes are held up by
        them in the same way."""
        self._started_at_s = now_s

    def end(self, now_s: float, *, is_last: bool) -> None:
        """The chunk is done. After a prompt's last one nothing waits but for the round."""
        self._owes_round = True
        self._next_at_s = now_s if is_last else now_s + (now_s - self._started_at_s) * self._wait_per_chunk_s
        if is_last:
            self.live = None

    def leave(self) -> None:
        """The prompt ended early: cancelled, expired or failed."""
        self.live = None
        self._next_at_s = 0.0

    def skip_round(self) -> None:
        """The next chunk may run at once."""
        self._owes_round = False
        self._next_at_s = 0.0

    def note_round(self) -> None:
        self._owes_round = False
