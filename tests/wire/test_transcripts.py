"""Every *.http file beside this one, with its bytes cut in different ways."""

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ignis import errors
from ignis.api.schema import operations
from ignis.api.schema.operations import Operation
from ignis.chat.instructions import DeveloperPolicy, InstructionPolicies, SystemPolicy
from ignis.config_fields import DownloadConfig
from ignis.downloads import Downloads
from ignis.engine.lifecycle import EngineState
from ignis.scheduler.request import FinishReason
from tests.fakes.engine import byte_model, script
from tests.unit.api import rig as api_rig
from tests.wire.rig import Rig, rig
from tests.wire.transcript import Kind, read_transcript, with_stars

TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}<tool_call></think>{% endif %}"
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}\n{% endfor %}"
)
TRANSCRIPTS = sorted(Path(__file__).parent.glob("*.http"))
CODES = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")}
HELD_ELSEWHERE = {
    "config_not_written": "test_running: it takes a disk that fails",
    "connections_full": "test_server: it takes other connections",
    "header_too_large": "test_refusals: it takes kilobytes",
    "model_too_large": "test_catalog: it takes a model that is too large",
    "reload_failed": "test_running: it takes a device that fails",
    "switch_in_progress": "test_models: it takes a second model",
    "target_too_long": "test_refusals: it takes kilobytes",
    "websocket_stream_limit_reached": "test_response_socket: it takes 33 streams",
    "/v1/config/fields": "test_config: it is thirty kilobytes",
    "/v1/config/origins": "test_config: it changes with every field",
    "/v1/openapi.json": "test_openapi: it is half a megabyte",
    "/v1/docs/{file}": "test_ui: files as they are",
}
"""What no transcript has, and why."""


@pytest.mark.parametrize("piece_bytes", [1 << 20, 1, 7])
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
async def test_a_transcript_holds_however_its_bytes_are_cut(
    path: Path, piece_bytes: int, autojump_clock: trio.testing.MockClock
) -> None:
    async with rig() as opened:
        for step in read_transcript(path):
            match step.kind:
                case Kind.SEND:
                    await opened.send(step.data, piece_bytes)
                case Kind.RECEIVE:
                    assert with_stars(await opened.settle()).decode("latin-1") == step.data.decode("latin-1")
                case Kind.DO:
                    await _do(opened, step.data.decode())


def _api(text: str, finish: FinishReason = FinishReason.STOP, **settings: Any) -> api_rig.Rig:
    model = replace(byte_model(template=TEMPLATE), max_context=4096)
    return api_rig.Rig(script(text, finish), model=model, **settings)


def test_every_error_is_in_a_transcript() -> None:
    text = "".join(path.read_text() for path in TRANSCRIPTS)
    # In the error's own shape, or as the handler of the rig says it.
    missing = {code for code in CODES if f'"{code}"' not in text and f"{code}: " not in text}
    assert missing == HELD_ELSEWHERE.keys() & CODES


def test_every_route_is_in_a_transcript() -> None:
    lines = [line for path in TRANSCRIPTS for line in path.read_text().splitlines() if line.startswith("> ")]
    routes = {route for route in vars(operations).values() if isinstance(route, Operation)}
    missing = {route.path for route in routes if not any(map(_asks(route).match, lines))}
    assert missing == {path for path in HELD_ELSEWHERE if path.startswith("/")}


def _asks(route: Operation) -> re.Pattern[str]:
    """The request line of a route."""
    path = re.sub(r"\\\{\w+\\\}", "[^/ ?]+", re.escape(route.path))
    return re.compile(rf"> {route.method} {path}(\?\S*)? HTTP")


async def _do(opened: Rig, order: str) -> None:
    match order.split():
        case ["wait", seconds]:
            await trio.sleep(float(seconds))
        case ["leave"]:
            await opened.leave()
        case ["draws", *_]:
            opened.handler.router = _api(ast.literal_eval(f'"""{order.removeprefix("draws ")}"""')).router
        case ["breaks", finish, text]:
            opened.handler.router = _api(text, FinishReason(finish)).router
        case ["refuses", name]:
            api = _api("Hi")
            api.engine.refusal = getattr(errors, name)("the reason")
            opened.handler.router = api.router
        case ["guards", key, origin]:
            opened.handler.router = _api("Hi", api_key=key, origins=frozenset({origin})).router
        case ["loads"]:
            api = _api("Hi")
            api.engine.state = EngineState.LOADING
            opened.handler.router = api.router
        case ["forbids", "downloads"]:
            api = _api("Hi")
            config = DownloadConfig(enabled=False, path=Path("nowhere"))
            api.serve_with(Downloads(api.downloads.catalog, config, api.log, api.metrics))
            opened.handler.router = api.router
        case ["configures"]:
            api = _api("Hi")
            opened.handler.router = api.router
            opened.tasks.start_soon(opened.keep, api.running.run)
        case ["endless"]:
            api = _api("Hi")
            model = api.keeper.course.model
            assert model is not None
            api.keeper.course.model = replace(model, special=replace(model.special, stop_ids=frozenset()))
            opened.handler.router = api.router
        case ["policies", system, developer]:
            policies = InstructionPolicies(SystemPolicy(system), DeveloperPolicy(developer))
            opened.handler.router = _api("Hi", policies=policies).router
        case ["answered"]:
            await opened.answered()
        case ["told"]:
            await opened.told()
        case ["closed"]:
            assert await opened.settle() == b""
            assert opened.has_ended
        case ["open"]:
            assert await opened.settle() == b""
            assert not opened.has_ended
        case _:
            raise ValueError(f"{order!r} is no order")
