"""One answer of a text completion: its pieces, for a stream as they come or kept as one choice of a body."""

from collections.abc import Sequence

from ignis.api.generation import Delta
from ignis.api.order import Order
from ignis.api.schema.completions import CompletionChoice, CompletionFinish, CompletionPiece
from ignis.api.text_logprobs import TextLogprobs, joined
from ignis.scheduler.request import FinishReason
from ignis.stream.parts import Content

_FINISH: dict[FinishReason, CompletionFinish] = {FinishReason.STOP: "stop", FinishReason.LENGTH: "length"}


class CompletionAnswer:
    """The text of one answer, with its echo and its log probabilities."""

    def __init__(self, order: Order, echo: str, *, is_silent: bool) -> None:
        """`is_silent`: the prompt is all that is wanted; what is drawn is not told."""
        self._order = order
        self._echo = echo
        self._is_silent = is_silent
        self._lists = TextLogprobs(order.model.tokenizer, len(echo))
        self._pieces: list[CompletionPiece] = []
        self._sum_logprobs, self._num_tokens = 0.0, 0

    def begin(self, index: int) -> CompletionPiece | None:
        """The echo; where its log probabilities are wanted it comes with them."""
        if not self._echo or self._order.prompt_logprobs is not None:
            return None
        return CompletionPiece(text=self._echo, index=index)

    def piece(self, delta: Delta) -> CompletionPiece | None:
        """What a delta adds; None where that is nothing."""
        if delta.scores is not None:
            logprobs = self._lists.prompt(self._order.prompt, delta.scores, self._echo)
            return CompletionPiece(text=self._echo, index=delta.answer, logprobs=logprobs)
        text = "".join(part.text for part in delta.parts if isinstance(part, Content))
        if self._is_silent or not (text or delta.tokens):
            return None
        drawn = self._lists.take(delta.tokens) if delta.tokens else None
        return CompletionPiece(text=text, index=delta.answer, logprobs=drawn)

    def end(self, delta: Delta) -> CompletionPiece | None:
        """How a last delta ends the answer."""
        if delta.finish is None:
            return None
        finish = "length" if self._is_silent else _FINISH[delta.finish]
        return CompletionPiece(text="", index=delta.answer, finish_reason=finish)

    def keep(self, delta: Delta) -> None:
        self._sum_logprobs += sum(token.logprob.logprob for token in delta.tokens)
        self._num_tokens += len(delta.tokens)
        self._pieces += [piece for piece in (self.piece(delta), self.end(delta)) if piece is not None]

    def mean_logprob(self) -> float:
        """Of the drawn tokens; one without any is as likely as can be."""
        return self._sum_logprobs / self._num_tokens if self._num_tokens else 0.0

    def choice(self, index: int, *, has_logprobs: bool) -> CompletionChoice:
        """The kept pieces as one."""
        echo = self.begin(index)
        pieces = self._pieces if echo is None else [echo, *self._pieces]
        lists = [piece.logprobs for piece in pieces if piece.logprobs is not None]
        return CompletionChoice(
            text="".join(piece.text for piece in pieces),
            index=index,
            logprobs=joined(lists) if has_logprobs else None,
            finish_reason=next(piece.finish_reason for piece in pieces if piece.finish_reason is not None),
        )


def best_answers(answers: Sequence[CompletionAnswer], num_drawn: int, num_kept: int) -> list[CompletionAnswer]:
    """Keeps of each prompt's answers the best ones, in the order in which they were drawn."""
    kept: list[CompletionAnswer] = []
    for start in range(0, len(answers), num_drawn):
        own = answers[start : start + num_drawn]
        best = sorted(range(num_drawn), key=lambda place: -own[place].mean_logprob())[:num_kept]
        kept += [own[place] for place in sorted(best)]
    return kept
