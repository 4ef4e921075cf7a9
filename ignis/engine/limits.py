"""What a submission is refused for before it reaches the scheduler. Each check raises, and changes nothing."""

from collections.abc import Callable, Sequence

from ignis.engine.leaf import Layout
from ignis.engine.lifecycle import EngineState
from ignis.error_body import without_folders
from ignis.errors import (
    BusyError,
    ContextLengthExceededError,
    DrainingError,
    EngineFullError,
    IgnisError,
    InvalidRequestError,
    ModelNotFoundError,
    ModelSwitchingError,
    RequestTooLargeError,
    ServerNotReadyError,
)
from ignis.scheduler.live import pages_of
from ignis.scheduler.request import Submission

REJECTIONS: dict[type[IgnisError], str] = {
    EngineFullError: "full",
    ModelNotFoundError: "unknown_model",
    ContextLengthExceededError: "oversized",
    RequestTooLargeError: "oversized",
    InvalidRequestError: "invalid",
    ServerNotReadyError: "not_ready",
    ModelSwitchingError: "switching",
    DrainingError: "draining",
}
"""The reason of ignis_requests_rejected for every refusal of a well-formed body."""


def not_serving(state: EngineState, reason: str, retry_after_s: int | None = None) -> BusyError:
    """The refusal of whoever wants the model in a state in which none serves; its message is for clients.

    Args:
        reason: why it FAILED, or why nothing was ever loaded.
        retry_after_s: when that may be otherwise; None: soon.
    """
    match state:
        case EngineState.DRAINING:
            return DrainingError("the server is shutting down")
        case EngineState.FAILED:
            return ServerNotReadyError(f"the model failed: {without_folders(reason)}", None, retry_after_s)
        case EngineState.UNLOADED | EngineState.UNLOADING:
            return ServerNotReadyError(without_folders(reason) or "no model is loaded", None, retry_after_s)
        case _:
            return ServerNotReadyError("the model is being loaded")


def check_state(state: EngineState, reason: str) -> None:
    """Refuses while no model serves. One that is to go serves whoever began with it before.

    Raises:
        DrainingError, ServerNotReadyError: as not_serving says.
    """
    if state not in (EngineState.SERVING, EngineState.LEAVING):
        raise not_serving(state, reason)


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
