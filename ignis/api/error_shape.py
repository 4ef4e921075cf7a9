"""The shape of errors that a client reads: OpenAI's, or Anthropic's where it speaks that. Neither adds a fact."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from ignis import error_body
from ignis.api.schema.anthropic_answer import (
    AnthropicErrorBody,
    AnthropicErrorCause,
    AnthropicErrorDetail,
    AnthropicErrorType,
)
from ignis.errors import (
    BusyError,
    ContextLengthExceededError,
    CutOffError,
    IgnisError,
    InvalidApiKeyError,
    RequestError,
    RequestTimeoutError,
)
from ignis.exchange import Exchange

_ANTHROPIC_PATH = "/v1/messages"
_VERSION_HEADER = "anthropic-version"


@dataclass(frozen=True, slots=True)
class ErrorShape:
    encode: Callable[[IgnisError, str], bytes]
    """The body of an error; also takes the request id."""
    id_header: str | None = None
    """Where clients of this shape look for the request id, beside X-Request-Id."""

    def headers(self, exchange: Exchange) -> tuple[tuple[str, str], ...]:
        """What goes with every answer, error or not."""
        if self.id_header is None:
            return ()
        # The second one lets the scripts of a page read the first; it adds to what origins.cors says.
        return (self.id_header, exchange.request_id), ("Access-Control-Expose-Headers", self.id_header)


def shape_of(exchange: Exchange) -> ErrorShape:
    """Anthropic's below /v1/messages, and on every route for a client that names a version of their API."""
    path = exchange.path
    is_theirs = path == _ANTHROPIC_PATH or path.startswith(_ANTHROPIC_PATH + "/")
    return ANTHROPIC if is_theirs or _VERSION_HEADER in exchange.headers else OPENAI


def _encode_openai(error: IgnisError, _request_id: str) -> bytes:
    return error_body.encode(error)


def _encode_anthropic(error: IgnisError, request_id: str) -> bytes:
    said = error_body.detail(error)
    # Agents look for these words before they shorten their history.
    is_long = isinstance(error, ContextLengthExceededError)
    body = AnthropicErrorBody(
        error=AnthropicErrorDetail(
            type=_anthropic_type(error),
            message=f"prompt is too long: {said.message}" if is_long else said.message,
            details=AnthropicErrorCause(error_code=said.code, param=said.param),
        ),
        request_id=request_id,
    )
    return msgspec.json.encode(body)


def _anthropic_type(error: IgnisError) -> AnthropicErrorType:
    match error:
        case InvalidApiKeyError():
            return "authentication_error"
        case RequestTimeoutError():
            return "timeout_error"
        case CutOffError():
            # Nothing is overloaded, and a wait is not needed.
            return "api_error"
        case BusyError():
            return "overloaded_error"
        case RequestError(status=404):
            return "not_found_error"
        case RequestError(status=413):
            return "request_too_large"
        case RequestError():
            return "invalid_request_error"
        case _:
            return "api_error"


OPENAI = ErrorShape(_encode_openai)
ANTHROPIC = ErrorShape(_encode_anthropic, "request-id")
