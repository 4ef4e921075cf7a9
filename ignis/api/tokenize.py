"""POST /v1/tokenize and /v1/detokenize: the prompt of a chat body counted, and ids as text. Never submits anything."""

import msgspec

from ignis.api.body import read_body
from ignis.api.conversation import chat_conversation
from ignis.api.order import Orders
from ignis.api.prompt import Prompts
from ignis.api.schema.tokenize import DetokenizeAnswer, DetokenizeRequest, TokenizeAnswer, TokenizeRequest
from ignis.api.serving import Serving
from ignis.api.wish import Names
from ignis.errors import InvalidRequestError
from ignis.exchange import Exchange
from ignis.metrics import Metrics


class Tokenize:
    """The two endpoints."""

    def __init__(
        self, serving: Serving, orders: Orders, prompts: Prompts, metrics: Metrics, max_body_bytes: int
    ) -> None:
        self._serving = serving
        self._orders = orders
        self._prompts = prompts
        self._metrics = metrics
        self._max_body_bytes = max_body_bytes

    async def tokenize(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, TokenizeRequest)
        fields = read.fields
        self._orders.report_ignored(read.ignored, exchange)
        model = self._serving.require(fields.model)
        if (fields.messages is None) == (fields.prompt is None):
            raise InvalidRequestError("the body must hold either messages or prompt", "messages")
        if fields.messages is None:
            ids = await self._prompts.encode(model, fields.prompt or "")
        else:
            ids = await self._orders.prompt(model, chat_conversation(fields.messages, fields), Names())
        answer = TokenizeAnswer(
            count=len(ids),
            max_model_len=model.max_context,
            token_ids=list(ids) if fields.return_token_ids else None,
            text=await self._prompts.decode(model, ids) if fields.return_text else None,
        )
        self._metrics.count("ignis_tokenize_requests", label="tokenize")
        await exchange.respond(200, msgspec.json.encode(answer), headers=read.headers)

    async def detokenize(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, DetokenizeRequest)
        ids = read.fields.token_ids
        self._orders.report_ignored(read.ignored, exchange)
        model = self._serving.require(read.fields.model)
        for index, token_id in enumerate(ids):
            if not 0 <= token_id < model.vocab_size:
                name = f"token_ids[{index}]"
                raise InvalidRequestError(
                    f"{name} is {token_id}, but the ids of this model are 0 to {model.vocab_size - 1}", name
                )
        answer = DetokenizeAnswer(text=await self._prompts.decode(model, ids))
        self._metrics.count("ignis_tokenize_requests", label="detokenize")
        await exchange.respond(200, msgspec.json.encode(answer), headers=read.headers)
