"""Every *.http file beside this one, with its bytes cut in different ways."""

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ignis.api.router import Router
from ignis.chat.instructions import DeveloperPolicy, InstructionPolicies, SystemPolicy
from tests.fakes.engine import byte_model, script
from tests.unit.api import rig as api_rig
from tests.wire.rig import Rig, rig
from tests.wire.transcript import Kind, read_transcript, with_stars

TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}<tool_call></think>{% endif %}"
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}\n{% endfor %}"
)
TRANSCRIPTS = sorted(Path(__file__).parent.glob("*.http"))


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


def _router(text: str, **settings: Any) -> Router:
    model = replace(byte_model(template=TEMPLATE), max_context=4096)
    return api_rig.Rig(script(text), model=model, **settings).router


async def _do(opened: Rig, order: str) -> None:
    match order.split():
        case ["wait", seconds]:
            await trio.sleep(float(seconds))
        case ["leave"]:
            await opened.leave()
        case ["draws", *_]:
            opened.handler.router = _router(ast.literal_eval(f'"""{order.removeprefix("draws ")}"""'))
        case ["policies", system, developer]:
            policies = InstructionPolicies(SystemPolicy(system), DeveloperPolicy(developer))
            opened.handler.router = _router("Hi", policies=policies)
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
