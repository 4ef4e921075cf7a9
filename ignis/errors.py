"""Every error raised on purpose. Generated from spec/errors.toml by spec/generate.py: do not edit.

Three families, by who can mend it. Raise the leaf at the place that knows; `error_body.py` spells it for clients.
"""

from typing import ClassVar


class IgnisError(Exception):
    """Root of all of them; raise a leaf."""

    status: ClassVar[int]
    type: ClassVar[str]
    code: ClassVar[str]
    public: ClassVar[str | None] = None
    """What clients read in place of the message."""
    default_param: ClassVar[str | None] = None
    default_retry_after_s: ClassVar[int | None] = None

    def __init__(
        self, message: str, param: str | None = None, retry_after_s: int | None = None, told: str | None = None
    ) -> None:
        """told: what clients read of this one, where the place that raises it knows more than `public` says."""
        super().__init__(message)
        self.message = message
        self.told = told
        self.param = self.default_param if param is None else param
        self.retry_after_s = self.default_retry_after_s if retry_after_s is None else retry_after_s


class RequestError(IgnisError):
    """The caller can mend it."""


class BusyError(IgnisError):
    """Time mends it."""


class Fault(IgnisError):
    """Ours to mend."""


class InvalidRequestError(RequestError):
    """The request is malformed: not JSON, a missing field, a wrong type, or values that contradict each other."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_request_error"


class InvalidSamplingParameterError(RequestError):
    """A sampling value is out of its range or of the wrong type."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_sampling_parameter"


class UnsupportedValueError(RequestError):
    """A known field asks for something that is not served. `param` names it and the message says what is allowed."""

    status = 400
    type = "invalid_request_error"
    code = "unsupported_value"


class ReasoningEffortUnsupportedError(RequestError):
    """The request asks for a reasoning effort that the loaded model does not take; "none" is always taken."""

    status = 400
    type = "invalid_request_error"
    code = "reasoning_effort_unsupported"
    default_param = "reasoning_effort"


class ToolChoiceUnsupportedError(RequestError):
    """A call is asked for, and the loaded model cannot be held to one: it has no token that ends an answer."""

    status = 400
    type = "invalid_request_error"
    code = "tool_choice_unsupported"
    default_param = "tool_choice"


class SystemMessagePositionError(RequestError):
    """A system message stands where server.system_message_policy allows none. `param` names it."""

    status = 400
    type = "invalid_request_error"
    code = "system_message_position"


class DeveloperMessagePositionError(RequestError):
    """A developer message stands where server.developer_message_policy allows none. `param` names it."""

    status = 400
    type = "invalid_request_error"
    code = "developer_message_position"


class VisionDisabledError(RequestError):
    """A message holds an image and the loaded model reads text only."""

    status = 400
    type = "invalid_request_error"
    code = "vision_disabled"


class VideoUnsupportedError(RequestError):
    """A message holds a video."""

    status = 400
    type = "invalid_request_error"
    code = "video_unsupported"


class ContextLengthExceededError(RequestError):
    """The prompt, or the prompt and the asked-for cap together, do not fit the context."""

    status = 400
    type = "invalid_request_error"
    code = "context_length_exceeded"
    default_param = "messages"


class TemplateError(RequestError):
    """The model's chat template refused the conversation; the message is the template's own."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_request_error"
    default_param = "messages"


class InvalidApiKeyError(RequestError):
    """The API key is missing or wrong."""

    status = 401
    type = "invalid_request_error"
    code = "invalid_api_key"


class OriginNotAllowedError(RequestError):
    """A page of an origin that `server.origins` does not list asked."""

    status = 403
    type = "invalid_request_error"
    code = "origin_not_allowed"


class ModelNotFoundError(RequestError):
    """No model of that name is served."""

    status = 404
    type = "model_not_found"
    code = "model_not_found"
    default_param = "model"


class PreviousResponseNotFoundError(RequestError):
    """The response to go on from was never kept, is kept no longer, or has not ended."""

    status = 400
    type = "invalid_request_error"
    code = "previous_response_not_found"
    default_param = "previous_response_id"


class ResponseNotFoundError(RequestError):
    """No response of this id is kept or under way."""

    status = 404
    type = "invalid_request_error"
    code = "response_not_found"
    default_param = "response_id"


class InvalidStreamIdError(RequestError):
    """The name of a stream is empty, too long, or has other characters than letters, digits, points, _ and -."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_stream_id"
    default_param = "stream_id"


class StreamLimitError(RequestError):
    """The connection has as many named streams as it may have."""

    status = 400
    type = "invalid_request_error"
    code = "websocket_stream_limit_reached"
    default_param = "stream_id"


class SteeringNotSupportedError(RequestError):
    """A response takes no input once it has begun."""

    status = 400
    type = "invalid_request_error"
    code = "steering_not_supported"


class RouteNotFoundError(RequestError):
    """Nothing is served at this path."""

    status = 404
    type = "invalid_request_error"
    code = "not_found"


class MethodNotAllowedError(RequestError):
    """The path is served, but not with this method; `Allow` lists those that are."""

    status = 405
    type = "invalid_request_error"
    code = "method_not_allowed"


class RequestTooLargeError(RequestError):
    """The body is over the byte limit, or the request is larger than the whole KV pool."""

    status = 413
    type = "request_too_large"
    code = "request_too_large"


class UnsupportedMediaTypeError(RequestError):
    """The body is of a kind that this route does not read, such as a form."""

    status = 415
    type = "invalid_request_error"
    code = "unsupported_media_type"


class UnsupportedEncodingError(RequestError):
    """The body's Content-Encoding is another than gzip; `Accept-Encoding` says so."""

    status = 415
    type = "invalid_request_error"
    code = "unsupported_content_encoding"


class SlowRequestError(RequestError):
    """The header or the body did not come in time."""

    status = 408
    type = "invalid_request_error"
    code = "slow_request"


class TargetTooLongError(RequestError):
    """The request target, path and query, is too long."""

    status = 414
    type = "invalid_request_error"
    code = "target_too_long"


class ExpectationError(RequestError):
    """The request carries an Expect header other than 100-continue."""

    status = 417
    type = "invalid_request_error"
    code = "expectation_failed"


class WebSocketVersionError(RequestError):
    """The WebSocket is asked for in another version than 13, which `Sec-WebSocket-Version` names."""

    status = 426
    type = "invalid_request_error"
    code = "websocket_version"


class HeaderTooLargeError(RequestError):
    """The request's header has too many fields or bytes."""

    status = 431
    type = "invalid_request_error"
    code = "header_too_large"


class UnsupportedHttpError(RequestError):
    """The request uses a part of HTTP that is not served: CONNECT, or a transfer coding other than chunked."""

    status = 501
    type = "invalid_request_error"
    code = "not_implemented"


class HttpVersionError(RequestError):
    """The request is not HTTP/1.1 or HTTP/1.0."""

    status = 505
    type = "invalid_request_error"
    code = "http_version_not_supported"


class ConfigError(RequestError):
    """A configuration field is unknown or out of its range. Raised at start; the message names the field."""

    status = 400
    type = "invalid_request_error"
    code = "config_invalid"


class ConfigFieldNotPatchableError(RequestError):
    """A configuration field that clients may not change, or that would be the old one again at the next start."""

    status = 400
    type = "invalid_request_error"
    code = "config_field_not_patchable"


class ReloadFailedError(RequestError):
    """The model could not be loaded with the changed configuration, and the old one is in effect again."""

    status = 409
    type = "invalid_request_error"
    code = "reload_failed"


class DownloadDisabledError(RequestError):
    """`download.enabled` is false, so clients start no downloads."""

    status = 403
    type = "invalid_request_error"
    code = "download_disabled"


class ModelTooLargeError(RequestError):
    """The model takes more memory than a load may have here, so it is not fetched."""

    status = 409
    type = "invalid_request_error"
    code = "model_too_large"


class DownloadNotFoundError(RequestError):
    """No download of that model is under way."""

    status = 404
    type = "invalid_request_error"
    code = "download_not_found"
    default_param = "model"


class SwitchInProgressError(RequestError):
    """An order to load or unload a model is not done yet, as the message says; `Retry-After` is an estimate of when."""

    status = 409
    type = "invalid_request_error"
    code = "switch_in_progress"
    default_retry_after_s = 1


class EngineFullError(BusyError):
    """All places are taken. `Retry-After` is an estimate of when one is free."""

    status = 503
    type = "engine_full"
    code = "engine_full"
    default_retry_after_s = 1


class ServerNotReadyError(BusyError):
    """The model is still being loaded, or it failed; the message says why."""

    status = 503
    type = "server_not_ready"
    code = "server_not_ready"
    default_retry_after_s = 1


class ModelSwitchingError(BusyError):
    """Another model is being loaded. `Retry-After` is an estimate of when it serves."""

    status = 503
    type = "model_switching"
    code = "model_switching"
    default_retry_after_s = 1


class DrainingError(BusyError):
    """The server is shutting down and takes no new requests."""

    status = 503
    type = "server_draining"
    code = "server_draining"
    default_retry_after_s = 5


class RequestTimeoutError(BusyError):
    """The request passed its deadline before it was done."""

    status = 504
    type = "request_timeout"
    code = "request_timeout"


class ConnectionsFullError(BusyError):
    """Too many connections are open. None of them is idle, so that none could be closed for this one."""

    status = 503
    type = "connections_full"
    code = "connections_full"
    default_retry_after_s = 1


class CutOffError(BusyError):
    """The answer was cut off, because its model was sent away or loaded anew. The message says what to do."""

    status = 500
    type = "engine_error"
    code = "engine_error"


class EngineError(Fault):
    """The answer was cut off by a fault. The message says what to do; the log has the reason."""

    status = 500
    type = "engine_error"
    code = "engine_error"
    public = "The answer was cut off by a fault at this request alone; sent again, it may go well"


class InternalError(Fault):
    """A fault of the server's own. The log has the reason under the request id."""

    status = 500
    type = "internal_error"
    code = "internal_error"
    public = "An internal error occurred"


class ModelLoadError(Fault):
    """The engine could not load the model."""

    status = 500
    type = "model_load_failed"
    code = "model_load_failed"
    public = "The model could not be loaded"


class LoadPlanError(Fault):
    """What the configuration allows does for no load: too little memory for a full context, or no such device."""

    status = 500
    type = "model_load_failed"
    code = "model_load_failed"
    public = "The model could not be loaded"


class SwitchFailedError(BusyError):
    """The model that the request names could not be loaded, and the one before serves again; the message says why."""

    status = 503
    type = "model_load_failed"
    code = "model_load_failed"
    default_retry_after_s = 5


class ConfigNotWrittenError(Fault):
    """A change that only the file could keep, and the file cannot be written; nothing was changed."""

    status = 500
    type = "config_not_written"
    code = "config_not_written"
    public = "The configuration file cannot be written, and nothing was changed"


class DeviceLoadError(Fault):
    """The device failed while it took the model: out of memory, or broken. Nothing is held; the server stays up."""

    status = 500
    type = "model_load_failed"
    code = "model_load_failed"
    public = "The model could not be loaded"


class ModelFileError(Fault):
    """A model file is malformed or of a kind that is not served. The message names the file and the fault."""

    status = 500
    type = "model_load_failed"
    code = "model_load_failed"
    public = "The model could not be loaded"


class DownloadError(Fault):
    """A model could not be fetched. The message names each place that was asked, and why it failed."""

    status = 500
    type = "model_load_failed"
    code = "model_load_failed"
    public = "The model could not be loaded"
