"""What the pictures are taken of: the real server on its default model and without any, a mirror, clients that ask."""

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ignis.catalog import load_catalog
from tests.e2e.mirrored import offer
from tests.e2e.server import Server
from tests.e2e.small_folder import write_small_folder
from tests.fakes.mirror import Handler, Mirror, reply, serving
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
SMALL, LARGE = "small-llama", "story-teller"
NOTES = """# How we serve.
[model]
idle_unload = 900 # a quarter of an hour

[vram]
budget_bytes = "1G"
"""
STORIES = ("a harbour", "bread", "the moon", "a clock")


@contextmanager
def served(port: int) -> Iterator[Server]:
    """The default model serves, the small one can be fetched at once, the large one in some twenty seconds."""
    catalog = load_catalog()
    model = catalog.models[catalog.default].verified(ROOT / "models")
    if model is None:
        sys.exit(
            "the default model is not in models/; `python3 build.py test` and `ignis-server model download` fetch it"
        )
    with tempfile.TemporaryDirectory(prefix="ignis-") as place, serving() as mirror:
        folder = Path(place)
        (folder / "models").mkdir()
        shutil.copy2(model, folder / "models")
        (folder / "config.toml").write_text(NOTES)
        write_small_folder(folder / "source" / SMALL)
        small = {file.name: file.read_bytes() for file in (folder / "source" / SMALL).iterdir()}
        offer(mirror, folder, {SMALL: small, LARGE: {f"{LARGE}.gguf": bytes(64_000_000)}})
        mirror.answer = partial(send, mirror)
        flags = f"--config config.toml --download-endpoint {mirror.url} --download-catalog catalog.json"
        with started(folder, port, *flags.split()) as server:
            yield server


@contextmanager
def without_model(port: int) -> Iterator[Server]:
    """Nothing is on the disk, and whoever was asked whether to fetch the default model has said no."""
    default = load_catalog().default
    with tempfile.TemporaryDirectory(prefix="ignis-") as place, serving() as mirror:
        is_over = threading.Event()
        mirror.answer = lambda handler: reply(handler, 404, b"no") if is_over.wait(60) else None
        flags = ("--download-package-index", mirror.url, "--download-endpoint", mirror.url)
        try:
            with started(Path(place), port, *flags).at_once() as server:
                await_catalog(server, "running")
                server.client.request("DELETE", f"/v1/models/download/{default}")
                await_catalog(server, "stopped")
                yield server
        finally:
            is_over.set()


def started(folder: Path, port: int, *flags: str) -> Server:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "IGNIS_DEVICE": "cpu", "no_proxy": "127.0.0.1"}
    command = [sys.executable, "-m", "ignis", *flags, "--download-path", "models"]
    return Server(command, port, free_port(), folder / "log", environment)


def await_catalog(server: Server, state: str) -> None:
    """Waits until that is the state of the only download."""
    end = time.monotonic() + 60
    while not any(
        entry.get("download", {}).get("state") == state
        for entry in server.client.json("GET", "/v1/models/catalog")["data"]
    ):
        assert time.monotonic() < end, server.log_text()
        time.sleep(0.05)


def send(mirror: Mirror, handler: Handler) -> None:
    """Sends a file whole, a quarter of a megabyte at a time."""
    body = mirror.files[handler.path]
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    for start in range(0, len(body), 250_000):
        handler.wfile.write(body[start : start + 250_000])
        time.sleep(0.08)


def switch(server: Server) -> None:
    """Has the small model fetched, then serve for one answer."""
    server.client.request("POST", "/v1/models/download", {"model": SMALL})
    end = time.monotonic() + 60
    while SMALL not in [model["id"] for model in server.client.json("GET", "/v1/models")["data"]]:
        assert time.monotonic() < end, "the small model did not come"
        time.sleep(0.2)
    for name in (SMALL, load_catalog().default):
        server.client.chat(model=name, messages=[{"role": "user", "content": "Hi"}], max_tokens=4)


@contextmanager
def held(server: Server) -> Iterator[None]:
    """Nothing comes meanwhile: an answer stands where it is."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


@contextmanager
def traffic(server: Server) -> Iterator[None]:
    """Six clients ask meanwhile, each with its own pauses."""
    is_over = threading.Event()

    def go_on(client: int) -> None:
        number = client
        while not is_over.wait(number * 7 % 11 / 5):
            number += 1
            question = f"Tell a short story about {STORIES[number % len(STORIES)]}."
            body = {"messages": [{"role": "user", "content": question}], "max_tokens": 30 + number * 37 % 120}
            server.client.request("POST", "/v1/chat/completions", body)

    clients = [threading.Thread(target=go_on, args=(client,)) for client in range(6)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        is_over.set()
        for client in clients:
            client.join()
