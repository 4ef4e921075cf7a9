"""What a submission is refused for before it reaches the scheduler. Each check raises, and changes nothing."""

from collections.abc import Callable, Sequence

from ignis.engine.leaf import Layout
from ignis.engine.lifecycle import EngineState
from ignis.errors import (
    ContextLengthExceededError,
    DrainingError,
    EngineFullError,
    IgnisError,
    InvalidRequestError,
    RequestTooLargeError,
    ServerNotReadyError,
)
from ignis.scheduler.live import pages_of
from ignis.scheduler.request import Submission

_REJECTIONS: dict[type[IgnisError], str] = {
    EngineFullError: "full",
    ServerNotReadyError: "not_ready",
    DrainingError: "not_ready",
}


def check_state(state: EngineState) -> None:
    """Refuses while no model serves.

    Raises:
        DrainingError, ServerNotReadyError
    """
    if state is EngineState.DRAINING:
        raise DrainingError("the server is shutting down")
    if state is not EngineState.SERVING:
        is_failed = state is EngineState.FAILED
        raise ServerNotReadyError("the model could not be loaded" if is_failed else "the model is being loaded")


def check_bounds(submissions: Sequence[Submission], layout: Layout) -> None:
    """Refuses what fits on no day.

    Raises:
        InvalidRequestError: nothing to read or nothing to draw.
        ContextLengthExceededError: prompt and cap are past the context.
        RequestTooLargeError: they are past the whole pool.
    """
    for submission in submissions:
        bound_tokens = len(submission.prompt) + submission.max_tokens
        if not submission.prompt or submission.max_tokens < 1:
            raise InvalidRequestError("a request needs a token of prompt and a cap of one token at least")
        if bound_tokens > layout.max_context:
            raise ContextLengthExceededError(
                f"{len(submission.prompt)} tokens of prompt and {submission.max_tokens} of answer are more than the "
                f"context of {layout.max_context} tokens"
            )
        if pages_of(bound_tokens) > layout.num_pages:
            raise RequestTooLargeError(f"{bound_tokens} tokens are more than the KV pool holds")


def check_lanes(count: int, num_lanes: int, num_held: int, retry_after_s: Callable[[], int]) -> None:
    """Refuses while too few lanes are free.

    Raises:
        InvalidRequestError: there are more answers than lanes, so they never fit.
        EngineFullError: with an estimate of when they do.
    """
    if count > num_lanes:
        raise InvalidRequestError(
            f"{count} answers at once are more than the {num_lanes} lanes of this server", param="n"
        )
    if num_held + count > num_lanes:
        free = num_lanes - num_held
        message = f"all {num_lanes} lanes are taken" if not free else f"{free} lanes are free, and {count} are needed"
        raise EngineFullError(message, retry_after_s=retry_after_s())


def rejection(error: IgnisError) -> str:
    """The reason of ignis_requests_rejected for a refusal."""
    return _REJECTIONS.get(type(error), "oversized")
