"""Finds the route of an exchange, checks its key, and turns every error into an answer. Knows no endpoint's inside."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ignis.api.auth import KeyGuard
from ignis.api.error_shape import shape_of
from ignis.api.hints import hint
from ignis.api.reply import Reply
from ignis.error_body import headers
from ignis.errors import (
    IgnisError,
    InternalError,
    MethodNotAllowedError,
    OriginNotAllowedError,
    RouteNotFoundError,
)
from ignis.exchange import Exchange
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.origins import cors, may_use

Handler = Callable[[Exchange], Awaitable[None]]

API = "/v1"
_ALLOWED_HEADERS = "Content-Type, Authorization"
_PREFLIGHT_S = 86400


@dataclass(frozen=True, slots=True)
class Route:
    """What serves a path. A part in braces takes any one part; a last one takes everything behind it, slashes too."""

    method: str
    path: str
    handler: Handler
    is_open: bool = False
    """Served without a key."""

    @property
    def is_exact(self) -> bool:
        """The path is meant as it is."""
        return "{" not in self.path

    def takes(self, path: str) -> bool:
        """Whether a path that has no route of its own is this one's."""
        before, _, rest = self.path.partition("{")
        after = rest.partition("}")[2]
        if not after:
            return path.startswith(before)
        middle = path[len(before) : -len(after)]
        return path.startswith(before) and path.endswith(after) and middle != "" and "/" not in middle


class Router:
    """The handler of a listener: `await router(exchange)` always answers, whatever an endpoint raises."""

    def __init__(
        self,
        routes: Sequence[Route],
        guard: KeyGuard,
        metrics: Metrics,
        log: Log,
        origins: frozenset[str] | None = None,
    ) -> None:
        """`origins`: whose pages may use the API, beside the server's own; None: any page's."""
        self._origins = origins
        self._routes = tuple(routes)
        self._exact: dict[str, dict[str, Route]] = {}
        for route in routes:
            if route.is_exact:
                self._exact.setdefault(route.path, {})[route.method] = route
        # The longest first, for it says most about what it takes.
        self._patterns = sorted((route for route in routes if not route.is_exact), key=lambda route: -len(route.path))
        self._guard = guard
        self._metrics = metrics
        self._log = log

    @property
    def routes(self) -> tuple[Route, ...]:
        """All routes, for the document."""
        return self._routes

    async def __call__(self, exchange: Exchange) -> None:
        is_api = exchange.path == API or exchange.path.startswith(API + "/")
        origin = exchange.headers.get("origin")
        extra = (*shape_of(exchange).headers(exchange), *cors(origin, self._origins)) if is_api else ()
        reply = Reply(exchange, extra)
        try:
            await self._serve(reply, is_api)
        except IgnisError as error:
            if error.public is not None:
                self._report(exchange, error)
            await self._answer(reply, error)
        except Exception as error:
            # The border: whatever went wrong, the client gets an answer and the log the reason.
            self._report(exchange, error)
            await self._answer(reply, InternalError("a handler failed"))
        finally:
            if reply.status:
                self._metrics.count("ignis_http_requests", label=f"{reply.status // 100}xx")

    async def _serve(self, reply: Reply, is_api: bool) -> None:
        methods = self._find(reply.path)
        if not methods:
            raise RouteNotFoundError(f"nothing is served at {reply.path[:200]}{hint(reply.path, self._exact)}")
        if is_api and not may_use(reply.headers.get("origin"), reply.headers.get("host", ""), self._origins):
            raise OriginNotAllowedError(f"pages of {reply.headers['origin'][:200]} may not use this API")
        if reply.method == "OPTIONS":
            await reply.respond(200, headers=_preflight(reply, methods) if is_api else [("Allow", _allow(methods))])
            return
        route = methods.get(reply.method)
        if route is None:
            await self._answer(
                reply,
                MethodNotAllowedError(f"{reply.path[:200]} is served with {_allow(methods)}, not {reply.method[:20]}"),
                [("Allow", _allow(methods))],
            )
            return
        if not route.is_open:
            self._guard.check(reply)
        await route.handler(reply)

    def _find(self, path: str) -> dict[str, Route]:
        if found := self._exact.get(path):
            return found
        pattern = next((route.path for route in self._patterns if route.takes(path)), None)
        return {route.method: route for route in self._patterns if route.path == pattern}

    async def _answer(self, reply: Reply, error: IgnisError, extra: Sequence[tuple[str, str]] = ()) -> None:
        if not reply.is_undecided:
            # The answer has begun: all that is left is to cut it, so that the client sees a broken body.
            raise error
        body = shape_of(reply).encode(error, reply.request_id)
        await reply.respond(error.status, body, headers=[*headers(error), *extra])

    def _report(self, exchange: Exchange, error: Exception) -> None:
        self._log.emit(
            "ignis.http.fault",
            request_id=exchange.request_id,
            method=exchange.method,
            path=exchange.path,
            error=error,
        )


def _allow(methods: dict[str, Route]) -> str:
    names = sorted({*methods, "OPTIONS"} | ({"HEAD"} if "GET" in methods else set()))
    return ", ".join(names)


def _preflight(reply: Reply, methods: dict[str, Route]) -> list[tuple[str, str]]:
    asked = reply.headers.get("access-control-request-headers", "")
    is_sane = len(asked) <= 1024 and all(c.isalnum() or c in "-_, " for c in asked) and asked.isascii()
    return [
        ("Allow", _allow(methods)),
        ("Access-Control-Allow-Methods", _allow(methods)),
        # SDKs in a browser send headers of their own, and a wildcard would not cover Authorization.
        ("Access-Control-Allow-Headers", asked if asked and is_sane else _ALLOWED_HEADERS),
        ("Access-Control-Max-Age", str(_PREFLIGHT_S)),
    ]
