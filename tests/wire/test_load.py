"""Many connections at once: idle ones cost nothing, and WebSockets beside them are served like any."""

import resource
import time

import trio

from tests.settings import server_limits
from tests.wire.frames import TEXT, frame, opening, read_frames
from tests.wire.test_server import HELLO, read_until, running, wait_until

NUM_IDLE = 500
NUM_SOCKETS = 50
NUM_MESSAGES = 20


async def test_fifty_websockets_are_served_beside_five_hundred_idle_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        async with running(server_limits(max_connections=NUM_IDLE + NUM_SOCKETS + 1, drain_timeout_s=10)) as it:
            idle = [await it.connect() for _ in range(NUM_IDLE)]
            for stream in idle:
                await stream.send_all(HELLO)
                await read_until(stream, b"hello\n")
            await wait_until(lambda: it.server.statistics().num_idle == NUM_IDLE)
            before_s = time.process_time()
            await trio.sleep(0.5)
            # No timer, no poll: an idle connection waits for its socket and one deadline.
            assert time.process_time() - before_s < 0.25

            answers: list[int] = []

            async def talk(number: int) -> None:
                async with await it.connect() as stream:
                    await stream.send_all(opening())
                    await read_until(stream, b"\r\n\r\n")
                    for message in range(NUM_MESSAGES):
                        await stream.send_all(frame(TEXT, b"%d %d" % (number, message)))
                        [answer] = read_frames(await stream.receive_some())
                        assert answer.payload.startswith(b"text ")
                    answers.append(NUM_MESSAGES)
                    await stream.send_all(frame(TEXT, b"return"))
                    [_close] = read_frames(await stream.receive_some())

            with trio.fail_after(60):
                async with trio.open_nursery() as clients:
                    for number in range(NUM_SOCKETS):
                        clients.start_soon(talk, number)
                    assert (await it.ask(b"GET /hello HTTP/1.0\r\n\r\n")).endswith(b"hello\n")
            assert sum(answers) == NUM_SOCKETS * NUM_MESSAGES
            await wait_until(lambda: it.server.statistics().num_websockets == 0)
            assert it.server.statistics().num_idle == NUM_IDLE
            for stream in idle:
                await stream.aclose()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
