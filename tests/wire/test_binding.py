"""Where a server listens: Unix sockets and their files, several addresses, and a port that is taken."""

import io
import socket
import stat
from pathlib import Path

import pytest
import trio

from ignis.errors import ConfigError
from ignis.log import LogFormat, open_log
from ignis.server.binding import Listen, bind
from ignis.server.listener import Server
from tests.settings import server_limits
from tests.wire.rig import ScriptedHandler
from tests.wire.test_server import running

HELLO = b"GET /hello HTTP/1.0\r\n\r\n"


async def test_a_unix_socket_serves_and_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "ignis.sock"
    async with running(address=f"unix:{path}", unix_mode=0o640) as it:
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert (await it.ask(HELLO)).endswith(b"hello\n")
    assert it.events("ignis.http.request")[0]["peer"] == "unix"
    assert not path.exists()


async def test_what_a_killed_server_left_behind_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ignis.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert path.exists()
    async with running(address=f"unix:{path}") as it:
        assert (await it.ask(HELLO)).endswith(b"hello\n")


async def test_a_socket_that_somebody_listens_on_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ignis.sock"
    async with running(address=f"unix:{path}") as it:
        with pytest.raises(
            ConfigError, match=r"ignis.sock: Address already in use; --server-bind names another address"
        ):
            await bind(Listen(f"unix:{path}", it.handler, "--server-bind"))
        assert (await it.ask(HELLO)).endswith(b"hello\n")


async def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("dear")
    with pytest.raises(ConfigError, match="it is no socket"):
        await bind(Listen(f"unix:{path}", ScriptedHandler()))
    assert path.read_text() == "dear"


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere/ignis.sock: No such file or directory"):
        await bind(Listen(f"unix:{tmp_path}/nowhere/ignis.sock", ScriptedHandler()))


async def test_a_file_that_is_another_server_s_by_now_stays(tmp_path: Path) -> None:
    path = tmp_path / "ignis.sock"
    first = await bind(Listen(f"unix:{path}", ScriptedHandler()))
    path.unlink()
    second = await bind(Listen(f"unix:{path}", ScriptedHandler()))
    first.close()
    assert path.exists()
    second.close()
    assert not path.exists()


async def test_several_addresses_are_served_and_drained_as_one(tmp_path: Path) -> None:
    handler = ScriptedHandler()
    server = Server(server_limits(), open_log(io.StringIO(), LogFormat.JSON, "debug"))
    async with trio.open_nursery() as nursery:
        addresses = ["127.0.0.1:0", f"unix:{tmp_path}/a.sock", "127.0.0.1:0"]
        bounds = await nursery.start(server.serve, [Listen(address, handler) for address in addresses])
        assert len({bound.address for bound in bounds}) == 3
        async with await trio.open_unix_socket(str(tmp_path / "a.sock")) as stream:
            await stream.send_all(HELLO)
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
        server.drain()
    assert not (tmp_path / "a.sock").exists()


async def test_a_host_keeps_its_name() -> None:
    bound = await bind(Listen("localhost:0", ScriptedHandler()))
    host, _, port = bound.address.rpartition(":")
    assert host == "localhost"
    assert int(port) == bound.listeners[0].socket.getsockname()[1]
    bound.close()


async def test_a_default_port_that_is_taken_moves_and_says_why() -> None:
    async with running() as it:
        moved = await bind(Listen(it.address, it.handler, is_movable=True))
        assert moved.address != it.address
        assert moved.fault is not None
        assert moved.fault.message == f"cannot listen on {it.address}: Address already in use"
        moved.close()


async def test_nothing_stays_open_where_one_address_cannot_be_had(tmp_path: Path) -> None:
    async with running() as it:
        server = Server(server_limits(), open_log(io.StringIO()))
        with pytest.raises(ConfigError):
            await server.serve([Listen(f"unix:{tmp_path}/a.sock", it.handler), Listen(it.address, it.handler)])
        assert not (tmp_path / "a.sock").exists()
