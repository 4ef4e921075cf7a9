"""Routing: 404, 405, HEAD and OPTIONS, CORS, the key, and one shape for every error."""

import hmac
import json
import re
from typing import Any

import pytest
import trio

from ignis.api import auth
from ignis.api.auth import KeyGuard, generate_key
from ignis.api.router import Route, Router
from ignis.api.schema.operations import OPERATIONS
from ignis.errors import EngineError, InvalidRequestError, ModelFileError
from ignis.exchange import Exchange
from tests.fakes.exchange import FakeExchange
from tests.unit.api.rig import CHAT, HI, Rig, code_of

API_ROUTES = [operation for operation in OPERATIONS if operation.path.startswith("/v1")]
OPEN = {
    "/",
    "/health",
    "/ui",
    "/ui/{file}",
    "/v1",
    "/v1/docs",
    "/v1/docs/{file}",
    "/v1/openapi.json",
}
"""Each by its path, so that none is opened by a slip in its declaration."""
KEYED = [route for route in Rig().router.routes if route.path not in OPEN]


def concrete(path: str) -> str:
    return re.sub(r"\{\w+\}", "tiny", path)


def router_over(handler: Any, rig: Rig) -> Router:
    return Router([Route("GET", "/v1/x", handler)], KeyGuard(None), rig.metrics, rig.log)


@pytest.mark.parametrize("path", ["/v1/nothing", "/nothing", "/v1/embeddings", "/v1/models2", "/v1x", "/ui/\udcff"])
async def test_an_unknown_path_is_a_404_of_the_common_shape(path: str) -> None:
    answer = await Rig().answer("GET", path)
    error = answer.json()["error"]
    assert answer.status == 404
    assert (error["type"], error["code"]) == ("invalid_request_error", "not_found")
    assert path.replace("\udcff", "?") in error["message"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_a_wrong_method_is_a_405_that_names_the_right_ones(operation: Any) -> None:
    answer = await Rig().answer("PUT", concrete(operation.path))
    allowed = (answer.header("Allow") or "").split(", ")
    assert answer.status == 405
    assert code_of(answer.json()) == "method_not_allowed"
    assert operation.method in allowed
    assert "OPTIONS" in allowed
    assert ("HEAD" in allowed) == ("GET" in allowed)


@pytest.mark.parametrize("operation", API_ROUTES, ids=lambda operation: operation.name)
async def test_every_api_route_answers_a_preflight_without_a_key(operation: Any) -> None:
    rig = Rig(api_key="sk")
    headers = {"Origin": "http://elsewhere", "Access-Control-Request-Method": operation.method}
    answer = await rig.answer("OPTIONS", concrete(operation.path), headers=headers)
    assert answer.status == 200
    assert answer.header("Access-Control-Allow-Origin") == "*"
    assert operation.method in (answer.header("Access-Control-Allow-Methods") or "")
    assert answer.header("Access-Control-Allow-Headers") == "Content-Type, Authorization"


async def test_a_preflight_allows_the_headers_that_it_asks_for_if_they_are_sane() -> None:
    asked = {"Access-Control-Request-Headers": "authorization, x-stainless-lang"}
    answer = await Rig().answer("OPTIONS", CHAT, headers=asked)
    assert answer.header("Access-Control-Allow-Headers") == "authorization, x-stainless-lang"
    odd = {"Access-Control-Request-Headers": "a\u00e9"}
    answer = await Rig().answer("OPTIONS", CHAT, headers=odd)
    assert answer.header("Access-Control-Allow-Headers") == "Content-Type, Authorization"


async def test_answers_streams_and_errors_of_the_api_may_be_read_by_other_origins() -> None:
    rig = Rig()
    assert (await rig.answer("GET", "/v1/models")).header("Access-Control-Allow-Origin") == "*"
    assert (await rig.answer("GET", "/v1/nothing")).header("Access-Control-Allow-Origin") == "*"
    stream = (await rig.call("POST", CHAT, {"messages": HI, "stream": True})).stream
    assert stream.header("Access-Control-Allow-Origin") == "*"
    assert (await rig.answer("GET", "/ui/")).header("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize("route", KEYED, ids=lambda route: f"{route.method} {route.path}")
@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "bearer sk-test", "Basic sk-test", "Bearer \udce9"]
)
async def test_a_keyed_route_needs_the_key(route: Route, header: str | None) -> None:
    rig = Rig(api_key="sk-test")
    headers = {} if header is None else {"Authorization": header}
    # One that is a stream would never end.
    with trio.fail_after(20):
        answer = await rig.answer(route.method, concrete(route.path), {"messages": HI}, headers=headers)
    error = answer.json()["error"]
    assert answer.status == 401
    assert answer.header("WWW-Authenticate") == "Bearer"
    assert code_of(answer.json()) == "invalid_api_key"
    assert error["type"] in ("invalid_request_error", "authentication_error")
    assert rig.engine.submissions == []


async def test_the_key_lets_pass_with_space_around_it() -> None:
    rig = Rig(api_key="sk-test")
    for header in ("Bearer sk-test", "Bearer   sk-test "):
        assert (await rig.answer("GET", "/v1/models", headers={"Authorization": header})).status == 200


async def test_a_missing_and_a_wrong_key_are_told_apart() -> None:
    rig = Rig(api_key="sk-test")
    missing = await rig.answer("GET", "/v1/models")
    wrong = await rig.answer("GET", "/v1/models", headers={"Authorization": "Bearer no"})
    assert missing.json()["error"]["message"] != wrong.json()["error"]["message"]
    assert b"sk-test" not in missing.body + wrong.body


@pytest.mark.parametrize("path", ["/health", "/v1/openapi.json", "/v1/docs/", "/v1", "/ui/", "/"])
async def test_pages_document_and_health_are_open(path: str) -> None:
    assert (await Rig(api_key="sk-test").answer("GET", path)).status in (200, 302, 307)


async def test_the_page_reads_metrics_with_the_key_only() -> None:
    rig = Rig(api_key="sk-test")
    assert (await rig.answer("GET", "/ui/metrics")).status == 401
    answer = await rig.answer("GET", "/ui/metrics", headers={"Authorization": "Bearer sk-test"})
    assert answer.status == 200
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert (await Rig(has_metrics=False).answer("GET", "/ui/metrics")).status == 404
    assert (await Rig(has_ui=False).answer("GET", "/ui/metrics")).status == 404


async def test_the_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    really = hmac.compare_digest

    def compare(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return really(left, right)

    monkeypatch.setattr(auth.hmac, "compare_digest", compare)
    rig = Rig(api_key="sk-test")
    await rig.answer("GET", "/v1/models", headers={"Authorization": "Bearer s"})
    assert compared == [(b"s", b"sk-test")]


def test_a_generated_key_is_long_and_fresh() -> None:
    assert re.fullmatch(r"sk-ignis-[0-9a-f]{64}", generate_key())
    assert generate_key() != generate_key()


async def test_whatever_a_handler_raises_the_client_gets_a_generic_answer_and_the_log_the_reason() -> None:
    rig = Rig()

    async def broken(_exchange: Exchange) -> None:
        raise ZeroDivisionError("in /home/somebody/secret.py")

    exchange = FakeExchange("GET", "/v1/x")
    await router_over(broken, rig)(exchange)
    error = exchange.answer.json()["error"]
    assert exchange.answer.status == 500
    assert error["code"] == error["type"] == "internal_error"
    assert "home" not in error["message"]
    logged = rig.logged("ignis.http.fault")[0]
    assert logged["error"].startswith("ZeroDivisionError")
    assert "traceback" in logged


async def test_a_fault_of_ours_is_logged_and_shown_without_its_text() -> None:
    rig = Rig()

    async def broken(_exchange: Exchange) -> None:
        raise ModelFileError("/home/somebody/model.gguf is cut short")

    exchange = FakeExchange("GET", "/v1/x")
    await router_over(broken, rig)(exchange)
    assert "home" not in exchange.answer.body.decode()
    assert "cut short" in rig.logged("ignis.http.fault")[0]["error"]


async def test_an_error_after_the_answer_began_is_left_to_the_connection() -> None:
    rig = Rig()

    async def late(exchange: Exchange) -> None:
        events = await exchange.open_events()
        await events.send(b"{}")
        raise EngineError("late")

    with pytest.raises(EngineError):
        await router_over(late, rig)(FakeExchange("GET", "/v1/x"))


async def test_an_error_after_a_stream_was_opened_early_is_its_only_event() -> None:
    rig = Rig()

    async def refuse(exchange: Exchange) -> None:
        await exchange.open_events()
        raise InvalidRequestError("no", "x")

    exchange = FakeExchange("GET", "/v1/x")
    await router_over(refuse, rig)(exchange)
    [event] = exchange.events
    assert (event.event, event.json()["error"]["param"]) == ("error", "x") and exchange.stream.is_closed


async def test_a_stream_that_was_opened_early_is_the_one_that_is_answered_with() -> None:
    rig = Rig()

    async def answer(exchange: Exchange) -> None:
        early = await exchange.open_events()
        events = await exchange.open_events([("X-Late", "1")])
        assert events is early
        await events.send(b"1")
        await events.close()

    exchange = FakeExchange("GET", "/v1/x")
    await router_over(answer, rig)(exchange)
    assert [event.data for event in exchange.events] == [b"1"] and exchange.stream.is_closed


async def test_a_caller_s_mistake_is_not_logged_as_a_fault() -> None:
    rig = Rig()

    async def refuse(_exchange: Exchange) -> None:
        raise InvalidRequestError("no", "x")

    exchange = FakeExchange("GET", "/v1/x")
    await router_over(refuse, rig)(exchange)
    assert exchange.answer.json()["error"] == {
        "message": "no",
        "type": "invalid_request_error",
        "code": "invalid_request_error",
        "param": "x",
    }
    assert rig.logged("ignis.http.fault") == []


async def test_answers_are_counted_by_the_class_of_their_status() -> None:
    rig = Rig()
    await rig.answer("GET", "/v1/models")
    await rig.answer("GET", "/nothing")
    exposed = rig.metrics.expose().decode()
    assert 'ignis_http_requests_total{status="2xx"} 1.0' in exposed
    assert 'ignis_http_requests_total{status="4xx"} 1.0' in exposed


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 200),
        ({"Content-Type": "text/plain"}, 200),
        ({"Content-Type": "Multipart/Form-Data; boundary=x"}, 415),
    ],
)
async def test_json_is_read_whatever_the_content_type_calls_it(headers: dict[str, str], status: int) -> None:
    assert (await Rig().answer("POST", CHAT, json.dumps({"messages": HI}), headers=headers)).status == status


async def test_a_body_over_the_limit_is_a_413() -> None:
    answer = await Rig(max_body_bytes=10).answer("POST", CHAT, {"messages": HI})
    error = answer.json()["error"]
    assert answer.status == 413
    assert error["type"] == error["code"] == "request_too_large"


async def test_no_error_shows_a_folder_of_this_machine() -> None:
    rig = Rig()
    for body in ({}, {"messages": HI, "model": "/home/somebody/x.gguf"}, {"messages": HI, "temperature": 9}, b"{"):
        answer = await rig.answer("POST", CHAT, body)
        found = answer.json()["error"]["message"].replace("/home/somebody/x.gguf", "")
        assert not re.search(r"/(home|root|tmp|Users|work)/", found)


@pytest.mark.parametrize(
    ("origin", "is_served", "allowed"),
    [
        (None, True, None),
        ("https://good.example", True, "https://good.example"),
        ("https://GOOD.example", True, "https://GOOD.example"),
        ("http://ignis.local:8000", True, None),
        ("https://evil.example", False, None),
        ("null", False, None),
    ],
)
async def test_a_list_of_origins_says_whose_pages_may_use_the_api(
    origin: str | None, is_served: bool, allowed: str | None
) -> None:
    rig = Rig(origins=frozenset({"https://good.example"}))
    headers = {"Host": "ignis.local:8000", **({} if origin is None else {"Origin": origin})}
    for method in ("GET", "OPTIONS"):
        answer = await rig.answer(method, "/v1/models", headers=headers)
        assert answer.status == (200 if is_served else 403)
        assert answer.header("Access-Control-Allow-Origin") == allowed
        assert answer.header("Vary") == "Origin"
    if not is_served:
        chat = await rig.answer("POST", CHAT, {"messages": HI}, headers=headers)
        assert chat.json()["error"]["code"] == "origin_not_allowed"
        assert rig.engine.submissions == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/chat/completions", "; did you mean /v1/chat/completions?"),
        ("/v1/v1/chat/completions", "; did you mean /v1/chat/completions?"),
        ("/v1/chat/completions/", "; did you mean /v1/chat/completions?"),
        ("//v1/models", "; did you mean /v1/models?"),
        ("/V1/Models", "; did you mean /v1/models?"),
        ("/models", "; did you mean /v1/models?"),
        ("/openai/v1/chat/completions", "; did you mean /v1/chat/completions?"),
        ("/v1/chat/completion", "; did you mean /v1/chat/completions?"),
        ("/messages", "; did you mean /v1/messages?"),
        ("/metrics", "; metrics have a listener of their own, at server.metrics_bind"),
        ("/api/chat", "; did you mean /v1/chat/completions?"),
        ("/api/generate", "; did you mean /v1/completions?"),
        ("/api/tags", "; did you mean /v1/models?"),
        ("/healthz", "; did you mean /health?"),
        ("/v1/embeddings", "; embeddings are not served"),
        ("/api/embeddings", "; embeddings are not served"),
        ("/v1/audio/speech", "; audio is not served"),
        ("/v1/realtime", "; the realtime API is not served"),
        ("/index.php", ""),
        ("/", ""),
        ("/" + "v1/" * 1000, ""),
    ],
)
async def test_a_wrong_path_is_told_which_one_was_meant(path: str, said: str) -> None:
    answer = await Rig(has_ui=False).answer("POST", path, {"messages": HI})
    assert answer.status == 404
    assert answer.json()["error"]["message"] == f"nothing is served at {path[:200]}{said}"
