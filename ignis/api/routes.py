"""Puts endpoints and routes together: the handler of the API listener, and that of the metrics listener."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ignis import bundle
from ignis.api.answering import Answering
from ignis.api.auth import KeyGuard
from ignis.api.catalog import CatalogRoutes
from ignis.api.chat_completions import ChatCompletions
from ignis.api.completions import Completions
from ignis.api.config import ConfigRoutes
from ignis.api.health import Health
from ignis.api.log import LogPage
from ignis.api.messages import Messages
from ignis.api.metrics import MetricsPage
from ignis.api.models import Models
from ignis.api.orders import Orders, OrderSettings
from ignis.api.own_pages import OwnPages
from ignis.api.prompt import Prompts
from ignis.api.response_run import ResponseRuns
from ignis.api.response_socket import ResponseSocket
from ignis.api.response_store import ResponseStore
from ignis.api.responses import Responses
from ignis.api.router import Handler, Route, Router
from ignis.api.schema import operations
from ignis.api.schema.operations import Operation
from ignis.api.serving import Serving
from ignis.api.tokenize import Tokenize
from ignis.api.ui import Document, Page, Redirect, StaticFiles
from ignis.clock import monotonic_s
from ignis.config import ByFamily, Config
from ignis.config_fields import ConfigFields
from ignis.downloads import Downloads
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.running import RunningConfig

_DOCS = "/v1/docs/"
_UI = "/ui/"
_FOUND = 302
_TEMPORARY_REDIRECT = 307


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """What the routes read of the configuration."""

    api_key: str | None
    """The key itself; None: every route is open."""
    max_body_bytes: int
    orders: OrderSettings
    response_store_bytes: int
    response_store_ttl_s: float | None
    """None: for ever."""
    has_ui: bool
    has_metrics: bool
    origins: frozenset[str] | None
    """Whose pages may use the API; None: any page's."""

    @classmethod
    def from_config(cls, config: ConfigFields, api_key: str | None) -> Self:
        """`api_key`: the configured one, `auto` already replaced."""
        return cls(
            api_key=api_key,
            max_body_bytes=config.server.max_body_bytes,
            orders=OrderSettings.from_config(config),
            response_store_bytes=config.server.response_store_bytes,
            response_store_ttl_s=config.server.response_store_ttl or None,
            has_ui=config.server.ui,
            has_metrics=config.server.metrics,
            origins=config.server.origins,
        )


def build_router(
    serving: Serving,
    prompts: Prompts,
    downloads: Downloads,
    running: RunningConfig,
    settings: ApiSettings,
    metrics: Metrics,
    log: Log,
    *,
    shipped: Path = bundle.ROOT,
) -> Router:
    """Makes the handler of the API listener. `shipped` holds spec/openapi.json and ui/."""
    own = {family: OrderSettings.from_config(fields) for family, fields in running.config.families.items()}
    orders = Orders(serving, prompts, ByFamily(settings.orders, own), metrics, log)
    answering = Answering(serving, log)
    limit = settings.max_body_bytes
    messages = Messages(orders, answering, metrics, limit)
    models = Models(serving, downloads, orders, shipped / "ui", limit)
    catalog = CatalogRoutes(downloads, serving.keeper.check_need, limit)
    config = ConfigRoutes(running, limit)
    pages = OwnPages(settings.origins, has_key=settings.api_key is not None)
    store = ResponseStore(settings.response_store_bytes, settings.response_store_ttl_s, monotonic_s)
    runs = ResponseRuns(orders, store)
    responses = Responses(orders, answering, runs, limit)
    response_socket = ResponseSocket(serving, orders, answering, runs, log, limit)
    tokenize = Tokenize(orders, prompts, metrics, limit)

    def apply(config: Config) -> None:
        orders.settings = ByFamily.make(config, OrderSettings.from_config)
        store.limit(config.server.response_store_bytes, config.server.response_store_ttl or None)

    async def check(config: Config) -> None:
        model = serving.model or await serving.sleeping()
        if model is not None:
            await orders.check(model, ByFamily.make(config, OrderSettings.from_config))

    running.on_change(apply)
    running.check_with(check)
    routes = [
        _route(operations.CHAT_COMPLETIONS, ChatCompletions(orders, answering, limit).create),
        _route(operations.COMPLETIONS, Completions(orders, prompts, answering, limit).create),
        _route(operations.MESSAGES, messages.create),
        _route(operations.COUNT_MESSAGE_TOKENS, messages.count_tokens),
        _route(operations.CREATE_RESPONSE, responses.create),
        _route(operations.OPEN_RESPONSES, response_socket.serve),
        _route(operations.COUNT_RESPONSE_INPUT, responses.count_input),
        _route(operations.SHOW_RESPONSE, responses.show),
        _route(operations.DELETE_RESPONSE, responses.delete),
        _route(operations.CANCEL_RESPONSE, responses.cancel),
        _route(operations.LIST_RESPONSE_INPUT, responses.list_input),
        _route(operations.LIST_MODELS, models.list),
        _route(operations.SWITCH_MODEL, pages.only(models.switch)),
        _route(operations.UNLOAD_MODEL, pages.only(models.unload)),
        _route(operations.SHOW_CATALOG, catalog.show),
        _route(operations.START_DOWNLOAD, pages.only(catalog.start)),
        _route(operations.STOP_DOWNLOAD, pages.only(catalog.stop)),
        _route(operations.MODEL_EVENTS, models.events),
        _route(operations.SHOW_MODEL, models.show),
        _route(operations.SHOW_CONFIG, config.show),
        _route(operations.PATCH_CONFIG, pages.only(config.patch)),
        _route(operations.SHOW_CONFIG_FIELDS, config.fields),
        _route(operations.SHOW_CONFIG_ORIGINS, config.origins),
        _route(operations.TOKENIZE, tokenize.tokenize),
        _route(operations.DETOKENIZE, tokenize.detokenize),
        _route(operations.HEALTH, Health(serving).show),
        _route(operations.OPENAPI, Document(shipped / "spec" / "openapi.json", "application/json").show),
        _route(operations.DOCS, StaticFiles(_DOCS, shipped / "ui" / "docs").show),
        _route(operations.DOCS_REDIRECT, Redirect(_TEMPORARY_REDIRECT, _DOCS).show),
        Route("GET", _DOCS.rstrip("/"), Redirect(_TEMPORARY_REDIRECT, _DOCS).show, is_open=True),
    ]
    if settings.has_ui:
        routes += [
            Route("GET", "/", Redirect(_FOUND, _UI).show, is_open=True),
            Route("GET", _UI.rstrip("/"), Redirect(_FOUND, _UI).show, is_open=True),
            Route("GET", _UI + "log", LogPage(log.tail).watch),
            Route("GET", _UI + "{file}", Page(_UI, shipped / "ui").show, is_open=True),
        ]
    if settings.has_ui and settings.has_metrics:
        routes.append(Route("GET", _UI + "metrics", MetricsPage(metrics, serving.look_at_memory).show))
    return Router(routes, KeyGuard(settings.api_key), metrics, log, settings.origins)


def build_metrics_router(serving: Serving, metrics: Metrics, log: Log) -> Router:
    """Makes the handler of the metrics listener, which has no key and nothing else."""
    page = MetricsPage(metrics, serving.look_at_memory)
    return Router([Route("GET", "/metrics", page.show, is_open=True)], KeyGuard(None), metrics, log)


def _route(operation: Operation, handler: Handler) -> Route:
    return Route(operation.method, operation.path, handler, operation.is_open)
