"""A grammar as a constraint: llguidance's matcher, told of each token, and its mask for the next one."""

from llguidance import LLMatcher

from ignis.grammar.vocabulary import Vocabulary
from ignis.scheduler.constraint import ConstraintError, Mask

_MAX_ERROR_CHARACTERS = 200
_NO_TOKEN = "the grammar permits nothing at this place of the answer"


class GrammarConstraint:
    """Implements scheduler.constraint.Constraint. Wherever the text may end, a stop token is permitted."""

    surplus = 0

    def __init__(self, matcher: LLMatcher, vocabulary: Vocabulary) -> None:
        """Works out the first mask: for a worker.

        Raises:
            ConstraintError: nothing may come, or the bounds are reached at once.
        """
        self._matcher = matcher
        self._vocabulary = vocabulary
        self._token: int | None = None
        self._mask = Mask(vocabulary.vocab_size)
        self._fill()

    @property
    def permitted(self) -> Mask:
        return self._mask

    @property
    def is_late(self) -> bool:
        return self._token is not None

    def take(self, token: int) -> int:
        # A stop token ends the answer: what would come after it nobody asks.
        if token not in self._vocabulary.stop_ids:
            self._token = token
        return token

    def work(self) -> None:
        token = self._token
        assert token is not None
        if not self._matcher.consume_token(token):
            raise ConstraintError(_bounds(self._matcher))
        self._fill()
        self._token = None

    def _fill(self) -> None:
        mask, matcher = self._mask, self._matcher
        # Releases the interpreter meanwhile.
        matcher.unsafe_compute_mask_ptr(mask.address, mask.size_bytes)
        if matcher.is_error():
            raise ConstraintError(_bounds(matcher))
        stop_ids = self._vocabulary.stop_ids
        if any(stop in mask for stop in stop_ids):
            for stop in stop_ids:
                mask.permit(stop)
        elif mask.is_empty:
            raise ConstraintError(_NO_TOKEN)


def _bounds(matcher: LLMatcher) -> str:
    reason = matcher.stop_reason()
    if reason in ("NoExtension", "NoExtensionBias"):
        return _NO_TOKEN
    said = " ".join(matcher.get_error().split())[:_MAX_ERROR_CHARACTERS]
    return f"the grammar takes more than its bounds allow at this place of the answer: {reason}, {said}"
