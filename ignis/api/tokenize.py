"""POST /v1/tokenize and /v1/detokenize: the prompt of a chat body counted, and ids as text. Never submits anything."""

from collections.abc import Sequence

import msgspec

from ignis.api.body import read_body
from ignis.api.conversation import chat_conversation
from ignis.api.orders import Orders
from ignis.api.prompt import Prompts
from ignis.api.schema.tokenize import DetokenizeAnswer, DetokenizeRequest, TokenizeAnswer, TokenizeRequest
from ignis.api.wish import Names
from ignis.engine.lifecycle import LoadedModel
from ignis.errors import InvalidRequestError
from ignis.exchange import Exchange
from ignis.metrics import Metrics


class Tokenize:
    """The two endpoints."""

    def __init__(self, orders: Orders, prompts: Prompts, metrics: Metrics, max_body_bytes: int) -> None:
        self._orders = orders
        self._prompts = prompts
        self._metrics = metrics
        self._max_body_bytes = max_body_bytes

    async def tokenize(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, TokenizeRequest)
        fields = read.fields
        self._orders.report_ignored(read.ignored, exchange)
        if (fields.messages is None) == (fields.prompt is None):
            raise InvalidRequestError("the body must hold either messages or prompt", "messages")
        async with self._orders.use(fields.model) as use:
            answer = await self._tokenize(use.model, fields)
        self._metrics.count("ignis_tokenize_requests", label="tokenize")
        await exchange.respond(200, msgspec.json.encode(answer), headers=read.headers)

    async def _tokenize(self, model: LoadedModel, fields: TokenizeRequest) -> TokenizeAnswer:
        if fields.messages is None:
            ids = await self._prompts.encode(model, fields.prompt or "")
        else:
            ids = await self._orders.prompt(model, chat_conversation(fields.messages, fields), Names())
        return TokenizeAnswer(
            count=len(ids),
            max_model_len=model.max_context,
            token_ids=list(ids) if fields.return_token_ids else None,
            text=await self._prompts.decode(model, ids) if fields.return_text else None,
        )

    async def detokenize(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, DetokenizeRequest)
        ids = read.fields.token_ids
        self._orders.report_ignored(read.ignored, exchange)
        async with self._orders.use(read.fields.model) as use:
            _check_ids(ids, use.model.vocab_size)
            answer = DetokenizeAnswer(text=await self._prompts.decode(use.model, ids))
        self._metrics.count("ignis_tokenize_requests", label="detokenize")
        await exchange.respond(200, msgspec.json.encode(answer), headers=read.headers)


def _check_ids(ids: Sequence[int], vocab_size: int) -> None:
    for index, token_id in enumerate(ids):
        if not 0 <= token_id < vocab_size:
            name = f"token_ids[{index}]"
            raise InvalidRequestError(
                f"{name} is {token_id}, but the ids of this model are 0 to {vocab_size - 1}", name
            )
