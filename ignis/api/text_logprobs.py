"""Log probabilities in the shape of text completions: four lists, and where each token begins in the text."""

import codecs
from collections.abc import Sequence

from ignis.api.generation import DrawnToken
from ignis.api.schema.completions import CompletionLogprobs
from ignis.scheduler.request import TokenLogprob
from ignis.tokenizer import Tokenizer

_UTF8 = codecs.getincrementaldecoder("utf-8")


class TextLogprobs:
    """The log probabilities of one answer while it comes."""

    def __init__(self, tokenizer: Tokenizer, start: int) -> None:
        """`start`: characters of the text before the first drawn one."""
        self._tokenizer = tokenizer
        self._decoder = _UTF8("replace")
        self._offset = start

    def take(self, tokens: Sequence[DrawnToken]) -> CompletionLogprobs:
        """Gives the lists of the next tokens. A token that goes on with a character begins where that one does."""
        spelled = _empty()
        for token in tokens:
            self._add(spelled, token.token_id, token.logprob, self._offset)
            self._offset += len(self._decoder.decode(self._tokenizer.token_bytes(token.token_id)))
        return spelled

    def prompt(self, ids: Sequence[int], scores: Sequence[TokenLogprob], echo: str) -> CompletionLogprobs:
        """Gives the lists of a prompt's tokens, the first of which has no score. A token that the text does not show,
        such as a BOS that was added, is as long as nothing."""
        spelled = _empty()
        decoder, offset = _UTF8("replace"), 0
        drops_space = self._tokenizer.leads_with_space
        for place, token_id in enumerate(ids):
            self._add(spelled, token_id, scores[place - 1] if place else None, offset)
            data = self._tokenizer.token_bytes(token_id)
            if data and drops_space:
                data, drops_space = data.removeprefix(b" "), False
            text = decoder.decode(data) if data else self._tokenizer.token_text(token_id)
            if data or echo.startswith(text, offset):
                offset = min(offset + len(text), len(echo))
        return spelled

    def _add(self, spelled: CompletionLogprobs, token_id: int, score: TokenLogprob | None, offset: int) -> None:
        text = self._spell(token_id)
        spelled.tokens.append(text)
        spelled.text_offset.append(offset)
        if score is None:
            spelled.token_logprobs.append(None)
            spelled.top_logprobs.append(None)
            return
        best = {self._spell(best_id): logprob for best_id, logprob in score.top}
        best.setdefault(text, score.logprob)
        spelled.token_logprobs.append(score.logprob)
        spelled.top_logprobs.append(best)

    def _spell(self, token_id: int) -> str:
        data = self._tokenizer.token_bytes(token_id)
        try:
            return data.decode() or self._tokenizer.token_text(token_id)
        except UnicodeDecodeError:
            # Half characters would all be the same U+FFFD, and the keys of one object.
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)


def joined(lists: Sequence[CompletionLogprobs]) -> CompletionLogprobs:
    """Gives the lists of several pieces as those of one."""
    whole = _empty()
    for piece in lists:
        whole.tokens += piece.tokens
        whole.token_logprobs += piece.token_logprobs
        whole.top_logprobs += piece.top_logprobs
        whole.text_offset += piece.text_offset
    return whole


def _empty() -> CompletionLogprobs:
    return CompletionLogprobs(tokens=[], token_logprobs=[], top_logprobs=[], text_offset=[])
