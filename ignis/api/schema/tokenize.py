"""Bodies of POST /v1/tokenize and POST /v1/detokenize."""

from typing import Annotated, Literal

import msgspec

from ignis.api.schema.chat_completions import ChatFields, Conversation
from ignis.api.schema.fields import honoured, inert
from ignis.limits import MAX_TOKEN_IDS


class TokenizeRequest(ChatFields, kw_only=True):
    """A chat body, or a raw prompt. Fields that do not change the prompt are checked and change nothing."""

    messages: Conversation | None = None
    prompt: Annotated[str, honoured("Text to count as it stands, in place of messages.")] | None = None
    return_token_ids: Annotated[bool, honoured("Return the ids too.")] | None = None
    return_text: Annotated[bool, honoured("Return the text of the whole prompt too.")] | None = None
    stream: Annotated[Literal[False], inert("the count comes at once.", "false")] | None = None


class TokenizeAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The count equals usage.prompt_tokens of the same chat body."""

    count: int
    max_model_len: Annotated[int, msgspec.Meta(description="Tokens of one request, prompt and answer together.")]
    token_ids: list[int] | None = None
    text: str | None = None


class DetokenizeRequest(msgspec.Struct, kw_only=True):
    """Token ids."""

    token_ids: Annotated[list[int], honoured("Ids of the model's vocabulary.", max_length=MAX_TOKEN_IDS)]
    model: Annotated[str, honoured("Id of a served model; empty means the loaded one.")] | None = None


class DetokenizeAnswer(msgspec.Struct, kw_only=True):
    """Their text."""

    text: str
