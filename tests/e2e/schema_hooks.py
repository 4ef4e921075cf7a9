"""What schemathesis is told about the bodies that it makes up: short answers of the loaded model, most of them served.

The document cannot say everything that a body must keep to (a user's message has content, a prompt's ids are those of
the model). Left alone, nearly every body would end at the first such rule.
"""

from typing import Any

import schemathesis

MOST_TOKENS = 6
_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_STREAMING = ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses")
_VOCABULARY = 1000
_UNFELT = (
    "model.loop_guard",
    "model.thinking_budget",
    "server.response_store_ttl",
    "server.ui",
    "switch.drain_timeout",
)
_NOT_OF_THIS_MODEL = (
    *("tools", "tool_choice", "chat_template_kwargs", "suffix"),
    *("enable_thinking", "reasoning_effort", "reasoning", "thinking", "thinking_budget"),
    *("guided_json", "guided_choice", "guided_grammar", "json_schema", "grammar", "structured_outputs"),
    *("top_logprobs", "previous_response_id"),
)


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Every other body stays as it is, but for what would only cost time."""
    if not isinstance(body, dict):
        return body
    if context.operation.path == "/v1/config":
        return {group: _harmless(group, fields) for group, fields in body.items()}
    for name in _CAPS:
        # A float without a fraction is an integer to JSON Schema, and to the server.
        if isinstance(body.get(name), float) or _is_integer(body.get(name)):
            body[name] = min(body[name], MOST_TOKENS)
    if isinstance(body.get("model"), str) and len(body["model"]) % 2 == 0:
        body["model"] = ""
    if len(body) % 2:
        _mend(body, context.operation.path)
    return body


def _harmless(group: str, fields: Any) -> Any:
    """Leaves the fields that another request does not feel; without that the next bodies would meet another server."""
    if not isinstance(fields, dict):
        return fields
    return {name: value for name, value in fields.items() if f"{group}.{name}" in _UNFELT or value is None}


def _mend(body: dict[str, Any], path: str) -> None:
    """Makes of a body one that is probably served."""
    for name in _NOT_OF_THIS_MODEL:
        body.pop(name, None)
    for message in _dicts(body.get("messages")):
        if message.get("content") is None:
            message["content"] = "Hi"
        if message.get("role") != "assistant":
            message.pop("tool_calls", None)
        for part in _dicts(message.get("content")):
            if part.get("type") in ("text", "refusal") and not isinstance(part.get(part["type"]), str):
                part[part["type"]] = "Hi"
    if isinstance(body.get("logit_bias"), dict):
        body["logit_bias"] = {str(index): value for index, value in enumerate(body["logit_bias"].values())}
    if isinstance(body.get("token_ids"), list):
        body["token_ids"] = [abs(item) % _VOCABULARY if _is_integer(item) else item for item in body["token_ids"]]
    if body.get("messages") is not None:
        body.pop("prompt", None)
    if body.get("prompt") in ("", []):
        body["prompt"] = "Hi"
    if path.startswith("/v1/responses"):
        body["input"] = body.get("input") or "Hi"
    if path in _STREAMING:
        body["stream"] = len(body) % 4 != 3


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
