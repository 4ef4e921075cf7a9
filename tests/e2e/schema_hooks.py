"""What schemathesis is told about the bodies that it makes up: short answers of the loaded model, most of them served.

The document cannot say everything that a body must keep to (a user's message has content, a prompt's ids are those of
the model). Left alone, nearly every body would end at the first such rule.
"""

from typing import Any

import schemathesis

MOST_TOKENS = 6
_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_VOCABULARY = 1000


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Every other body stays as it is, but for what would only cost time."""
    if not isinstance(body, dict):
        return body
    for name in _CAPS:
        if _is_integer(body.get(name)):
            body[name] = min(body[name], MOST_TOKENS)
    if isinstance(body.get("model"), str) and len(body["model"]) % 2 == 0:
        body["model"] = ""
    if len(body) % 2:
        _mend(body)
    return body


def _mend(body: dict[str, Any]) -> None:
    for message in _dicts(body.get("messages")):
        if message.get("content") is None:
            message["content"] = "Hi"
        for part in _dicts(message.get("content")):
            if part.get("type") in ("text", "refusal") and not isinstance(part.get(part["type"]), str):
                part[part["type"]] = "Hi"
    if isinstance(body.get("logit_bias"), dict):
        body["logit_bias"] = {str(index): value for index, value in enumerate(body["logit_bias"].values())}
    if isinstance(body.get("token_ids"), list):
        body["token_ids"] = [abs(item) % _VOCABULARY if _is_integer(item) else item for item in body["token_ids"]]
    if body.get("prompt") is not None and body.get("messages") is not None:
        del body["prompt"]
    for name in ("tools", "chat_template_kwargs"):
        # The model's template mentions neither tools nor variables.
        body.pop(name, None)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
