"""The table of routes: what is served where, with which bodies and errors. spec/openapi.json is made of it."""

from dataclasses import dataclass
from typing import Any

import msgspec

from ignis import errors
from ignis.api.schema.anthropic_answer import AnthropicErrorBody, AnthropicMessage, MessageEvent, TokenCount
from ignis.api.schema.anthropic_request import CountTokensRequest, MessagesRequest
from ignis.api.schema.chat_completions import ChatCompletion, ChatCompletionChunk, ChatCompletionRequest
from ignis.api.schema.completions import Completion, CompletionChunk, CompletionRequest
from ignis.api.schema.config import ConfigDocument, ConfigFieldList, ConfigOrigins, ConfigPatch, ConfigPatched
from ignis.api.schema.models import (
    DownloadProgress,
    DownloadRequest,
    Health,
    ModelCatalog,
    ModelEntry,
    ModelList,
    ModelState,
    SwitchAnswer,
    SwitchRequest,
    UnloadAnswer,
    UnloadRequest,
)
from ignis.api.schema.response_events import AnyResponseEvent, SocketError
from ignis.api.schema.responses import (
    CancelEvent,
    CreateEvent,
    DeletedResponse,
    InputItemList,
    InputTokens,
    InputTokensRequest,
    Response,
    ResponseRequest,
)
from ignis.api.schema.tokenize import DetokenizeAnswer, DetokenizeRequest, TokenizeAnswer, TokenizeRequest
from ignis.error_body import ErrorBody

_BODY = (
    errors.InvalidRequestError,
    errors.InvalidSamplingParameterError,
    errors.UnsupportedValueError,
    errors.VisionDisabledError,
    errors.VideoUnsupportedError,
    errors.TemplateError,
    errors.ModelNotFoundError,
    errors.RequestTooLargeError,
    errors.UnsupportedMediaTypeError,
    errors.UnsupportedEncodingError,
    errors.ServerNotReadyError,
    errors.ModelSwitchingError,
    errors.SwitchFailedError,
    errors.RequestTimeoutError,
    errors.DrainingError,
    errors.InternalError,
)
TRANSPORT = (
    errors.InvalidRequestError,
    errors.OriginNotAllowedError,
    errors.SlowRequestError,
    errors.TargetTooLongError,
    errors.ExpectationError,
    errors.HeaderTooLargeError,
    errors.UnsupportedHttpError,
    errors.HttpVersionError,
    errors.ConnectionsFullError,
    errors.InternalError,
)
"""What any request may be answered, before its route has seen it."""
_GENERATION = (
    *_BODY,
    errors.ContextLengthExceededError,
    errors.EngineFullError,
    errors.RequestTimeoutError,
    errors.CutOffError,
    errors.EngineError,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One documented route."""

    method: str
    path: str
    """A part in braces takes any one part; a last one takes everything behind it, slashes too."""
    name: str
    summary: str
    text: str = ""
    request: type[msgspec.Struct] | None = None
    needs_body: bool = True
    """Where there is a request."""
    answer: type[msgspec.Struct] | None = None
    chunk: Any = None
    """The type of an event of the stream that the route can answer with; None: it never streams."""
    has_done: bool = False
    """A stream that ends in order says so with `data: [DONE]`."""
    error: type[msgspec.Struct] = ErrorBody
    query: tuple[tuple[str, str], ...] = ()
    """Its query parameters and what they do."""
    messages: tuple[Any, ...] = ()
    """What goes over the WebSocket that the route becomes; it answers 101 then."""
    statuses: tuple[int, ...] = (200,)
    """Of an answer that is no error."""
    answer_type: str = "application/json"
    refusals: tuple[type[errors.IgnisError], ...] = ()
    is_open: bool = False
    """Served without a key."""


CHAT_COMPLETIONS = Operation(
    "POST",
    "/v1/chat/completions",
    "createChatCompletion",
    "Answer a conversation",
    "With `stream` the answer is a stream of server-sent events: a chunk with the role, chunks with text, a chunk with "
    "the finish reason, a chunk with the usage where it was asked for, then `data: [DONE]`. A stream that fails ends "
    'with an event `{"error": ...}` and without `[DONE]`. Unknown fields are ignored and listed in the header '
    "`X-Ignis-Ignored`; one that looks like a slip of a known field is refused.",
    request=ChatCompletionRequest,
    answer=ChatCompletion,
    chunk=ChatCompletionChunk,
    has_done=True,
    refusals=_GENERATION,
)
COMPLETIONS = Operation(
    "POST",
    "/v1/completions",
    "createCompletion",
    "Go on with a text",
    "The prompt is not rendered by a template. With `stream` the answer is a stream of server-sent events as that of "
    "`/v1/chat/completions`. Each prompt of a list is answered as if it came alone.",
    request=CompletionRequest,
    answer=Completion,
    chunk=CompletionChunk,
    has_done=True,
    refusals=_GENERATION,
)
MESSAGES = Operation(
    "POST",
    "/v1/messages",
    "createMessage",
    "Answer a conversation as Anthropic's Messages API does",
    "With `stream` the answer is a stream of server-sent events, named by their types: `message_start`; for each block "
    "`content_block_start`, `content_block_delta` and `content_block_stop`; `message_delta` with the stop reason and "
    "the figures; `message_stop`. There is a `ping` after the first event of the first block. A stream that "
    "fails ends with an event `error`. The headers `anthropic-version` and `anthropic-beta` may hold anything. Fields "
    "that are not listed are ignored and named in the header `X-Ignis-Ignored`; one that looks like a slip of a known "
    "field is refused.",
    request=MessagesRequest,
    answer=AnthropicMessage,
    chunk=MessageEvent,
    error=AnthropicErrorBody,
    refusals=_GENERATION,
)
COUNT_MESSAGE_TOKENS = Operation(
    "POST",
    "/v1/messages/count_tokens",
    "countMessageTokens",
    "Count the tokens of a conversation as Anthropic's Messages API does",
    request=CountTokensRequest,
    answer=TokenCount,
    error=AnthropicErrorBody,
    refusals=_BODY,
)
_STORED = (errors.ResponseNotFoundError, errors.InternalError)
CREATE_RESPONSE = Operation(
    "POST",
    "/v1/responses",
    "createResponse",
    "Make a response",
    "With `stream` the answer is a stream of server-sent events, each with its name in `event` and numbered from 0: "
    "`response.created` and `response.in_progress`, the events of each item between its `response.output_item.added` "
    "and its `response.output_item.done`, then `response.completed`, `response.incomplete` or `response.failed` with "
    "the whole response, which is the body of an answer without `stream`. Unknown fields are ignored and listed in the "
    "header `X-Ignis-Ignored`; one that looks like a slip of a known field is refused.",
    request=ResponseRequest,
    answer=Response,
    chunk=AnyResponseEvent,
    refusals=(*_GENERATION, errors.PreviousResponseNotFoundError),
)
OPEN_RESPONSES = Operation(
    "GET",
    "/v1/responses",
    "openResponses",
    "Make responses over a WebSocket",
    "The client sends `response.create` (`CreateEvent`) and `response.cancel` (`CancelEvent`), a message each; the "
    "server sends the events of the HTTP stream, and `error` (`SocketError`) for what it refuses. Responses of one "
    "`stream_id` come in order, those of others beside them. A response that finds every lane taken is `queued`. The "
    "latest response of each stream can be gone on from while the connection is open, others where they were stored. A "
    "page may send its key as a subprotocol: `openai-insecure-api-key.<key>`.",
    messages=(CreateEvent, CancelEvent, AnyResponseEvent, SocketError),
    refusals=(
        errors.InvalidRequestError,
        errors.WebSocketVersionError,
        errors.OriginNotAllowedError,
        errors.DrainingError,
    ),
)
COUNT_RESPONSE_INPUT = Operation(
    "POST",
    "/v1/responses/input_tokens",
    "countResponseInput",
    "Count the input tokens of a response",
    request=InputTokensRequest,
    answer=InputTokens,
    refusals=(*_BODY, errors.PreviousResponseNotFoundError),
)
SHOW_RESPONSE = Operation(
    "GET",
    "/v1/responses/{response_id}",
    "showResponse",
    "Show a response that is kept or under way",
    answer=Response,
    refusals=(*_STORED, errors.UnsupportedValueError),
)
DELETE_RESPONSE = Operation(
    "DELETE",
    "/v1/responses/{response_id}",
    "deleteResponse",
    "Forget a response",
    answer=DeletedResponse,
    refusals=_STORED,
)
CANCEL_RESPONSE = Operation(
    "POST",
    "/v1/responses/{response_id}/cancel",
    "cancelResponse",
    "Give a response up while it is made",
    "Its own request is answered with what came until then, and the status `cancelled`.",
    answer=Response,
    refusals=(*_STORED, errors.InvalidRequestError),
)
LIST_RESPONSE_INPUT = Operation(
    "GET",
    "/v1/responses/{response_id}/input_items",
    "listResponseInput",
    "List what the model read for a response",
    answer=InputItemList,
    query=(
        ("order", "desc: the newest item first; asc: the oldest. Absent: desc."),
        ("limit", "Items of a page, 1 to 100. Absent: 20."),
        ("after", "Id of the item before the first of the page."),
    ),
    refusals=(*_STORED, errors.InvalidRequestError),
)
LIST_MODELS = Operation(
    "GET", "/v1/models", "listModels", "List the models that are here, and the state of the server", answer=ModelList
)
SWITCH_MODEL = Operation(
    "POST",
    "/v1/models/switch",
    "switchModel",
    "Have another model loaded",
    "Answered at once with 202; the list and its events say how it goes. The old model is unloaded once the files of "
    "the new one were found sound, and running answers have had `switch.drain_timeout` to end. A load that fails "
    "brings the old model back. 200: the model serves already. Naming a model in any request does the same, and the "
    "request waits.",
    request=SwitchRequest,
    answer=SwitchAnswer,
    statuses=(200, 202),
    refusals=(
        errors.InvalidRequestError,
        errors.ModelNotFoundError,
        errors.SwitchInProgressError,
        errors.DrainingError,
        errors.InternalError,
    ),
)
UNLOAD_MODEL = Operation(
    "POST",
    "/v1/models/unload",
    "unloadModel",
    "Give the model's memory back",
    "Answered at once with 202; running answers may end first. The next request that needs the model loads it again. "
    "Whoever means one model names it, for another may serve by now: that one stays, and the answer is a 200.",
    request=UnloadRequest,
    needs_body=False,
    answer=UnloadAnswer,
    statuses=(200, 202),
    refusals=(
        errors.InvalidRequestError,
        errors.ModelNotFoundError,
        errors.SwitchInProgressError,
        errors.DrainingError,
        errors.InternalError,
    ),
)
SHOW_CATALOG = Operation(
    "GET",
    "/v1/models/catalog",
    "showCatalog",
    "List the models that can be fetched",
    answer=ModelCatalog,
    refusals=(errors.ModelFileError,),
)
START_DOWNLOAD = Operation(
    "POST",
    "/v1/models/download",
    "startDownload",
    "Fetch a model of the catalog",
    "Answered at once with 202; GET /v1/models/events says how it goes. Whence is the operator's to say. A "
    "download under way is joined, and one that was broken off is gone on with.",
    request=DownloadRequest,
    answer=DownloadProgress,
    statuses=(202,),
    refusals=(
        errors.InvalidRequestError,
        errors.ModelNotFoundError,
        errors.DownloadDisabledError,
        errors.ModelTooLargeError,
        errors.RequestTooLargeError,
        errors.UnsupportedMediaTypeError,
        errors.UnsupportedEncodingError,
        errors.InternalError,
    ),
)
STOP_DOWNLOAD = Operation(
    "DELETE",
    "/v1/models/download/{model}",
    "stopDownload",
    "Stop a download",
    "What has come is kept, and the next download of the model goes on there.",
    answer=DownloadProgress,
    statuses=(202,),
    refusals=(errors.ModelNotFoundError, errors.DownloadNotFoundError),
)
MODEL_EVENTS = Operation(
    "GET",
    "/v1/models/events",
    "watchModels",
    "Watch the state of the server",
    "A stream of server-sent events named `status`: the state now, and again whenever it has changed.",
    chunk=ModelState,
    answer_type="text/event-stream",
)
SHOW_MODEL = Operation(
    "GET",
    "/v1/models/{model}",
    "showModel",
    "Show one model",
    answer=ModelEntry,
    refusals=(errors.ModelNotFoundError,),
)
SHOW_CONFIG = Operation(
    "GET",
    "/v1/config",
    "showConfig",
    "Show the configuration in effect",
    "Secrets are left out. An unset field is null. A family of models has an object of its own in a group where a "
    "value differs for it.",
    answer=ConfigDocument,
    query=(
        (
            "format",
            "toml: the configuration file's own text, its secrets hidden; without a file, what differs from the "
            "defaults. json, yaml: what is in effect. Absent: json.",
        ),
    ),
    refusals=(errors.InvalidRequestError,),
)
PATCH_CONFIG = Operation(
    "PATCH",
    "/v1/config",
    "patchConfig",
    "Change the configuration while the server runs",
    "All of it is checked before anything is done. 200: it is in effect, or will be at the next start. 202: the model "
    "is being loaded anew; with `Prefer: wait=<seconds>` the answer waits so long for the outcome. A reload that fails "
    "brings the old configuration and the old model back. What took effect is written into the configuration file, "
    "whose comments are kept. Changes are made one after the other.",
    request=ConfigPatch,
    answer=ConfigPatched,
    statuses=(200, 202),
    refusals=(
        errors.InvalidRequestError,
        errors.ConfigError,
        errors.ConfigFieldNotPatchableError,
        errors.ReloadFailedError,
        errors.SwitchInProgressError,
        errors.ConfigNotWrittenError,
        errors.RequestTooLargeError,
        errors.UnsupportedMediaTypeError,
        errors.UnsupportedEncodingError,
        errors.DrainingError,
        errors.InternalError,
    ),
)
SHOW_CONFIG_FIELDS = Operation(
    "GET",
    "/v1/config/fields",
    "showConfigFields",
    "List the fields of the configuration, and what they take",
    answer=ConfigFieldList,
)
SHOW_CONFIG_ORIGINS = Operation(
    "GET",
    "/v1/config/origins",
    "showConfigOrigins",
    "List where the values in effect came from",
    answer=ConfigOrigins,
)
TOKENIZE = Operation(
    "POST",
    "/v1/tokenize",
    "tokenize",
    "Count the tokens of a conversation or a text",
    request=TokenizeRequest,
    answer=TokenizeAnswer,
    refusals=_BODY,
)
DETOKENIZE = Operation(
    "POST",
    "/v1/detokenize",
    "detokenize",
    "Turn token ids into text",
    request=DetokenizeRequest,
    answer=DetokenizeAnswer,
    refusals=_BODY,
)
HEALTH = Operation(
    "GET",
    "/health",
    "health",
    "Tell whether a model serves and the step loop turns",
    answer=Health,
    refusals=(errors.ServerNotReadyError, errors.DrainingError),
    is_open=True,
)
OPENAPI = Operation("GET", "/v1/openapi.json", "openapi", "This document", is_open=True)
DOCS = Operation(
    "GET",
    "/v1/docs/{file}",
    "docs",
    "The reference as a page",
    answer_type="text/html; charset=utf-8",
    refusals=(errors.RouteNotFoundError,),
    is_open=True,
)
DOCS_REDIRECT = Operation("GET", "/v1", "docsRedirect", "Redirect to the reference", is_open=True)

OPERATIONS = (
    CHAT_COMPLETIONS,
    CREATE_RESPONSE,
    OPEN_RESPONSES,
    COUNT_RESPONSE_INPUT,
    SHOW_RESPONSE,
    DELETE_RESPONSE,
    CANCEL_RESPONSE,
    LIST_RESPONSE_INPUT,
    COMPLETIONS,
    MESSAGES,
    COUNT_MESSAGE_TOKENS,
    LIST_MODELS,
    SWITCH_MODEL,
    UNLOAD_MODEL,
    SHOW_CATALOG,
    START_DOWNLOAD,
    STOP_DOWNLOAD,
    MODEL_EVENTS,
    SHOW_MODEL,
    SHOW_CONFIG,
    PATCH_CONFIG,
    SHOW_CONFIG_FIELDS,
    SHOW_CONFIG_ORIGINS,
    TOKENIZE,
    DETOKENIZE,
    HEALTH,
    OPENAPI,
    DOCS,
    DOCS_REDIRECT,
)
