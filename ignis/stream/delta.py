"""Token ids to the text that a client may see: detokenised, and cut at the first stop string."""

from collections.abc import Sequence
from dataclasses import dataclass

from ignis.stream.detokenize import Detokenizer
from ignis.stream.stop import StopMatcher
from ignis.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    stopped: bool
    """A stop string is complete: the text has ended and the request can be cancelled."""
    tokens: int
    """How many of the pushed ids count: up to and with the one that completed the stop string."""


class TextOut:
    """The text of one answer. Texts, end and token count are the same however the ids are grouped."""

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str]) -> None:
        self._detokenizer = Detokenizer(tokenizer)
        self._stops = StopMatcher(stops)
        self._has_stops = bool(stops)
        self._stopped = False

    def push(self, ids: Sequence[int]) -> Piece:
        """After the end nothing comes and nothing counts."""
        if self._stopped:
            return Piece("", stopped=True, tokens=0)
        if not self._has_stops:
            return Piece(self._detokenizer.push(ids), stopped=False, tokens=len(ids))
        texts: list[str] = []
        for index, token_id in enumerate(ids):
            text, self._stopped = self._stops.push(self._detokenizer.push((token_id,)))
            texts.append(text)
            if self._stopped:
                return Piece("".join(texts), stopped=True, tokens=index + 1)
        return Piece("".join(texts), stopped=False, tokens=len(ids))

    def finish(self) -> Piece:
        """Returns what was held back. The last character, broken off, can still complete a stop string."""
        if self._stopped:
            return Piece("", stopped=True, tokens=0)
        text, self._stopped = self._stops.push(self._detokenizer.finish())
        return Piece(text + self._stops.finish(), stopped=self._stopped, tokens=0)
