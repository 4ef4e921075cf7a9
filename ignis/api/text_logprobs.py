"""Log probabilities in the shape of text completions: four lists, and where each token begins in the text."""

import codecs
from collections.abc import Sequence

from ignis.api.generation import DrawnToken
from ignis.api.schema.completions import CompletionLogprobs
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
        spelled = CompletionLogprobs(tokens=[], token_logprobs=[], top_logprobs=[], text_offset=[])
        for token in tokens:
            text = self._spell(token.token_id)
            spelled.tokens.append(text)
            spelled.token_logprobs.append(token.logprob.logprob)
            best = {self._spell(token_id): logprob for token_id, logprob in token.logprob.top}
            best.setdefault(text, token.logprob.logprob)
            spelled.top_logprobs.append(best)
            spelled.text_offset.append(self._offset)
            self._offset += len(self._decoder.decode(self._tokenizer.token_bytes(token.token_id)))
        return spelled

    def _spell(self, token_id: int) -> str:
        data = self._tokenizer.token_bytes(token_id)
        try:
            return data.decode() or self._tokenizer.token_text(token_id)
        except UnicodeDecodeError:
            # Half characters would all be the same U+FFFD, and the keys of one object.
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
