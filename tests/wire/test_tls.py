"""HTTPS: what a browser's TLS meets, what a client without any does, and which certificates are refused at start."""

import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from ignis.errors import ConfigError
from ignis.server.tls import Certificate, load_tls
from tests.settings import server_limits
from tests.wire.frames import TEXT, frame, opening, read_frames
from tests.wire.test_server import Running, read_until, running, wait_until

FILES = Path(__file__).parents[1] / "data" / "tls"
CERTIFICATE, KEY = FILES / "certificate.pem", FILES / "key.pem"
HELLO = b"GET /hello HTTP/1.1\r\nhost: a\r\n\r\n"


@asynccontextmanager
async def serving(**limits: Any) -> AsyncIterator[Running]:
    async with running(server_limits(drain_timeout_s=2, **limits), tls=load_tls(CERTIFICATE, KEY)) as it:
        yield it


async def connect(it: Running, context: ssl.SSLContext | None = None) -> trio.SSLStream[trio.SocketStream]:
    context = context or client_context()
    return trio.SSLStream(await it.connect(), context, server_hostname="localhost", https_compatible=True)


def client_context(**options: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(CERTIFICATE))
    context.set_alpn_protocols(options.pop("alpn", ["h2", "http/1.1"]))
    for name, value in options.items():
        setattr(context, name, value)
    return context


async def ask(stream: Any, request: bytes, end: bytes) -> bytes:
    await stream.send_all(request)
    return await read_until(stream, end)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_requests_streams_and_large_answers_pass_through(version: ssl.TLSVersion) -> None:
    async with serving() as it:
        stream = await connect(it, client_context(maximum_version=version))
        assert (await ask(stream, HELLO, b"hello\n")).startswith(b"HTTP/1.1 200 OK\r\n")
        assert stream.selected_alpn_protocol() == "http/1.1"
        events = await ask(stream, b"GET /events?n=3 HTTP/1.1\r\nhost: a\r\n\r\n", b"0\r\n\r\n")
        assert events.count(b"data: ") == 3
        await stream.send_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n")
        large = bytearray()
        while len(large) < 5_000_000 or len(large) < large.index(b"\r\n\r\n") + 4 + 5_000_000:
            large += await stream.receive_some()
        assert large.endswith(b"\r\n\r\n" + b"x" * 5_000_000)
        body = b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: 900\r\n\r\n" + b"\x01" * 900
        assert (await ask(stream, body, b"\n")).endswith(b"900 900\n")
        await stream.aclose()


async def test_a_websocket_passes_through() -> None:
    async with serving() as it:
        stream = await connect(it)
        head = await ask(stream, opening(), b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        await stream.send_all(frame(TEXT, b"hi"))
        assert read_frames(await stream.receive_some())[0].payload.startswith(b"text 2 ")
        await stream.aclose()


async def test_the_end_of_the_last_answer_is_told() -> None:
    async with serving() as it:
        stream = trio.SSLStream(await it.connect(), client_context(), server_hostname="localhost")
        await stream.send_all(b"GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        received = b""
        # Without the server's close_notify this would be taken for an answer that was cut.
        while data := await stream.receive_some():
            received += data
        assert received.endswith(b"hello\n")
        await stream.aclose()


async def test_a_client_that_leaves_cancels_its_handler() -> None:
    async with serving() as it:
        stream = await connect(it)
        await stream.send_all(b"GET /hang HTTP/1.1\r\nhost: a\r\n\r\n")
        await wait_until(lambda: it.server.statistics().num_exchanges == 1)
        await stream.aclose()
        await wait_until(lambda: it.handler.ends == ["cancelled"])


async def test_a_client_without_tls_is_told_in_plain_words() -> None:
    async with serving() as it:
        answer = await it.ask(HELLO)
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"this port speaks TLS, use https://" in answer
        assert it.handler.begun == []


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x00\x05hello", b"\x16", b"\x16\x03\x01\xff\xff" + b"x" * 70000])
async def test_what_only_begins_like_tls_is_ended(sent: bytes) -> None:
    async with serving(header_timeout_s=0.3) as it:
        async with await it.connect() as stream:
            await stream.send_all(sent)
            with trio.fail_after(10), contextlib.suppress(trio.BrokenResourceError):
                while await stream.receive_some():
                    pass
        await wait_until(lambda: it.server.statistics().num_connections == 0)


async def test_a_handshake_that_does_not_come_is_not_waited_for() -> None:
    async with serving(header_timeout_s=0.2) as it:
        stream = await it.connect()
        with trio.fail_after(10):
            assert await stream.receive_some() == b""
        await stream.aclose()


async def test_a_client_that_refuses_the_certificate_is_logged() -> None:
    def refuse(it: Running) -> None:
        host, _, port = it.address.rpartition(":")
        with socket.create_connection((host, int(port))) as plain, pytest.raises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")

    async with serving() as it:
        await trio.to_thread.run_sync(refuse, it)
        await wait_until(lambda: bool(it.events("ignis.http.tls_failed")))


async def test_a_newcomer_over_the_cap_is_told_through_tls() -> None:
    async with serving(max_connections=1) as it:
        first = await connect(it)
        await first.send_all(b"GET /hang HTTP/1.1\r\nhost: a\r\n\r\n")
        await wait_until(lambda: it.server.statistics().num_exchanges == 1)
        second = await connect(it)
        await second.do_handshake()
        assert (await second.receive_some()).startswith(b"HTTP/1.1 503 ")
        await second.aclose()
        await first.aclose()


@pytest.mark.parametrize(
    ("certificate", "key", "message"),
    [
        (FILES / "none.pem", KEY, "server.tls_cert .*none.pem cannot be read: No such file or directory"),
        (CERTIFICATE, FILES / "none.pem", "server.tls_key .*none.pem cannot be read"),
        (KEY, KEY, "server.tls_cert .*key.pem holds no certificate in PEM"),
        (CERTIFICATE, CERTIFICATE, "server.tls_key .*certificate.pem holds no private key in PEM"),
        (CERTIFICATE, FILES / "other_key.pem", "server.tls_key .*other_key.pem is not the key of server.tls_cert"),
        (CERTIFICATE, FILES / "locked_key.pem", "a key with a password is not read"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_refused_by_its_field(certificate: Path, key: Path, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_tls(certificate, key)


def test_a_certificate_that_is_garbage_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    with pytest.raises(ConfigError, match=r"server.tls_cert .*bad.pem and server.tls_key .* cannot be used"):
        load_tls(bad, KEY)


async def test_a_renewed_certificate_is_taken_and_a_bad_one_is_not(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_bytes(CERTIFICATE.read_bytes())
    key.write_bytes(KEY.read_bytes())
    pair = Certificate(certificate, key)
    assert not pair.refresh()
    async with running(server_limits(drain_timeout_s=2), tls=pair.context) as it:
        key.write_bytes((FILES / "other_key.pem").read_bytes())
        with pytest.raises(ConfigError, match="is not the key of"):
            pair.refresh()
        assert not pair.refresh()
        stream = await connect(it)
        assert (await ask(stream, HELLO, b"hello\n")).startswith(b"HTTP/1.1 200")
        certificate.write_bytes((FILES / "other_certificate.pem").read_bytes())
        assert pair.refresh()
        assert (await ask(stream, HELLO, b"hello\n")).startswith(b"HTTP/1.1 200")
        await stream.aclose()
        context = ssl.create_default_context(cafile=str(FILES / "other_certificate.pem"))
        renewed = await connect(it, context)
        assert (await ask(renewed, HELLO, b"hello\n")).startswith(b"HTTP/1.1 200")
        await renewed.aclose()
        certificate.unlink()
        with pytest.raises(ConfigError, match="cannot be read"):
            pair.refresh()
