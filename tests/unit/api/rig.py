"""What tests of the routes share: a router over the scripted engine, and calls for whole answers and for streams."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ignis.api.orders import OrderSettings
from ignis.api.prompt import Prompts
from ignis.api.router import Router
from ignis.api.routes import ApiSettings, build_router
from ignis.api.serving import Serving
from ignis.catalog import load_catalog
from ignis.config import Config, load_config
from ignis.config_fields import ConfigFields, DownloadConfig
from ignis.downloads import Downloads
from ignis.engine.gate import KeeperSettings
from ignis.engine.keeper import ModelKeeper
from ignis.engine.lifecycle import LoadedModel
from ignis.log import LogFormat, open_log
from ignis.metrics import Metrics
from ignis.models.local import LocalModels
from ignis.running import RunningConfig
from tests.fakes.engine import Script, ScriptedEngine, byte_model
from tests.fakes.exchange import FakeAnswer, FakeExchange

HI = [{"role": "user", "content": "Hi"}]
CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"


class Rig:
    """A router with everything around it in reach."""

    def __init__(
        self,
        *scripts: Script,
        model: LoadedModel | None = None,
        is_held: bool = False,
        shipped: Path | None = None,
        folder: Path | None = None,
        config: Config | None = None,
        **settings: Any,
    ) -> None:
        self.engine = ScriptedEngine(scripts, is_held=is_held)
        self.metrics = Metrics("test")
        self.log_stream = io.StringIO()
        self.log = open_log(self.log_stream, LogFormat.JSON, "debug")
        self.models = LocalModels(folder or Path("nowhere"))
        prompts = Prompts()
        # mypy is not asked: the scripted engine is as much of an Engine as the routes touch.
        self.keeper = ModelKeeper(
            self.engine,  # type: ignore[arg-type]
            self.models,
            KeeperSettings.from_config(ConfigFields()),
            self.log,
            self.metrics,
            prepare=_prepare_nothing,
        )
        self.keeper.course.model = model or byte_model()
        self.serving = Serving(self.engine, self.keeper, self.metrics, 10)  # type: ignore[arg-type]
        self._options: dict[str, Any] = {} if shipped is None else {"shipped": shipped}
        self.running = RunningConfig(config or load_config([], {}, Path("/srv")), self.keeper, self.log)
        self.prompts = prompts
        orders = {name: settings.pop(name) for name in OrderSettings.__dataclass_fields__ if name in settings}
        plain = ApiSettings.from_config(ConfigFields(), None)
        self._settings = replace(plain, orders=replace(plain.orders, **orders), **settings)
        self.serve_with(
            Downloads(load_catalog(), DownloadConfig(path=folder or Path("nowhere")), self.log, self.metrics)
        )

    def serve_with(self, downloads: Downloads) -> None:
        """Makes the router, with these downloads behind it; their `run` is the test's to start."""
        self.downloads = downloads
        self.router: Router = build_router(
            self.serving,
            self.prompts,
            downloads,
            self.running,
            self._settings,
            self.metrics,
            self.log,
            **self._options,
        )

    async def call(self, method: str, path: str, body: Any = b"", **options: Any) -> FakeExchange:
        exchange = FakeExchange(method, path, body=body, **options)
        await self.router(exchange)
        return exchange

    async def answer(self, method: str, path: str, body: Any = b"", **options: Any) -> FakeAnswer:
        return (await self.call(method, path, body, **options)).answer

    async def chat(self, **fields: Any) -> Any:
        """A whole completion, which must succeed."""
        answer = await self.answer("POST", CHAT, {"messages": HI, **fields})
        assert answer.status == 200, answer.body
        return answer.json()

    async def refusal(self, **fields: Any) -> tuple[int, str, str | None]:
        """The status, code and param of a chat request that must fail."""
        answer = await self.answer("POST", CHAT, {"messages": HI, **fields})
        assert answer.status >= 400, answer.body
        error = answer.json()["error"]
        return answer.status, error["code"], error.get("param")

    async def stream(self, **fields: Any) -> list[Any]:
        """The data of every event of a stream; [DONE] as text."""
        exchange = await self.call("POST", CHAT, {"messages": HI, "stream": True, **fields})
        assert exchange.stream.is_closed
        return [e.data.decode() if e.data == b"[DONE]" else json.loads(e.data) for e in exchange.events]

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = (json.loads(line) for line in self.log_stream.getvalue().splitlines())
        return [line for line in lines if line["event"] == event]


def code_of(body: Any) -> str:
    """The stable code of an error, in either shape."""
    error = body["error"]
    return str(error["details"]["error_code"] if body.get("type") == "error" else error["code"])


def param_of(body: Any) -> str | None:
    """The field that an error names, in either shape."""
    error = body["error"]
    param: str | None = (error["details"] if body.get("type") == "error" else error).get("param")
    return param


async def _prepare_nothing(_model: LoadedModel) -> None:
    """The routes compile the template when they need it."""


def text_of(events: list[Any], index: int = 0) -> str:
    """The joined content of one choice of a stream."""
    return "".join(
        choice["delta"].get("content", "")
        for event in events
        if isinstance(event, dict)
        for choice in event.get("choices", [])
        if choice["index"] == index
    )
