"""The routes of the catalog over a mirror: downloads that clients start, watch and stop."""

import hashlib
import itertools
import json
import math
import re
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ignis.catalog import load_catalog
from ignis.clock import Clock, monotonic_s
from ignis.config_fields import DownloadConfig
from ignis.downloads import Download, Downloads, Note
from ignis.engine.settings import LoadSettings
from ignis.metrics import Metrics
from ignis.progress import Rate
from tests.fakes.exchange import FakeExchange
from tests.fakes.mirror import Handler, Mirror, reply, serving
from tests.settings import engine_settings
from tests.unit.api.rig import Rig

CATALOG, DOWNLOAD, EVENTS = "/v1/models/catalog", "/v1/models/download", "/v1/models/events"
CONTENT = bytes(range(256)) * 8192
ADDRESS = "/owner/one/resolve/abc/one.gguf"


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serving() as mirror:
        mirror.files[ADDRESS] = CONTENT
        yield mirror


@asynccontextmanager
async def running(
    mirror: Mirror,
    folder: Path,
    *,
    enabled: bool = True,
    entries: Sequence[dict[str, Any]] | None = None,
    clock: Clock = monotonic_s,
) -> AsyncIterator[Rig]:
    """A rig whose catalog has one more model, at the mirror."""
    pin = {"name": "one.gguf", "bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
    entry = {"id": "one", "repo": "owner/one", "revision": "abc", "files": [pin], "licence": "MIT"}
    (folder / "catalog.json").write_text(json.dumps({"model": [entry] if entries is None else entries}))
    config = DownloadConfig(enabled=enabled, endpoint=mirror.url, path=folder / "models")
    rig = Rig(folder=folder / "models")
    downloads = Downloads(load_catalog(folder / "catalog.json"), config, rig.log, rig.metrics, clock=clock)
    rig.serve_with(downloads)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(downloads.run)
        yield rig
        nursery.cancel_scope.cancel()


async def row_of(rig: Rig) -> dict[str, Any]:
    rows = (await rig.answer("GET", CATALOG)).json()["data"]
    return next(row for row in rows if row["id"] == "one")


async def over(rig: Rig) -> dict[str, Any]:
    """Waits for the download to end; returns what the catalog says of it then."""
    with trio.fail_after(20):
        await rig.downloads.known["one"].over.wait()
    return (await row_of(rig))["download"]


async def came(rig: Rig) -> None:
    """Waits until something of the model is on the disk."""
    await until(lambda: rig.downloads.known["one"].done_bytes > 0)


async def until(is_so: Callable[[], bool]) -> None:
    """Waits for what threads do."""

    def wait() -> None:
        end = time.monotonic() + 20
        while not is_so():
            assert time.monotonic() < end
            time.sleep(0.005)

    await trio.to_thread.run_sync(wait)


async def over_at_once(rig: Rig) -> None:
    with trio.fail_after(20):
        await rig.downloads.known["one"].over.wait()


class Half:
    """Sends half of the content, and the rest when it is let."""

    def __init__(self) -> None:
        self.is_reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[: len(CONTENT) // 2])
        handler.wfile.flush()
        self.is_reached.set()
        self.go_on.wait(20)
        handler.wfile.write(CONTENT[len(CONTENT) // 2 :])


async def test_a_model_that_could_never_be_loaded_is_not_fetched(mirror: Mirror, tmp_path: Path) -> None:
    async with running(mirror, tmp_path) as rig:
        rig.engine.most_bytes = len(CONTENT) - 1
        answer = await rig.answer("POST", DOWNLOAD, {"model": "one"})
        error = answer.json()["error"]
        assert (answer.status, error["code"], error["param"]) == (409, "model_too_large", "model")
        assert mirror.asked == [] and rig.downloads.known == {}
        rig.engine.most_bytes = len(CONTENT)
        assert (await rig.answer("POST", DOWNLOAD, {"model": "one"})).status == 202
        assert (await over(rig))["state"] == "complete"


async def test_what_could_be_loaded_is_asked_of_the_settings_that_the_next_load_goes_by(
    mirror: Mirror, tmp_path: Path
) -> None:
    async with running(mirror, tmp_path) as rig:
        for budget_bytes, status in ((len(CONTENT) - 1, 409), (None, 202)):
            # Nothing was loaded since.
            rig.keeper.ask_reload(LoadSettings(engine_settings(budget_bytes=budget_bytes)))
            assert (await rig.answer("POST", DOWNLOAD, {"model": "one"})).status == status


async def test_the_catalog_says_what_is_here(mirror: Mirror, tmp_path: Path) -> None:
    async with running(mirror, tmp_path) as rig:
        body = (await rig.answer("GET", CATALOG)).json()
        assert body["can_download"] is True
        default = next(row for row in body["data"] if row["is_default"])
        assert (default["id"], default["presence"]) == ("smollm2-135m-instruct", "absent")
        row = await row_of(rig)
        assert (row["licence"], row["origin"], row["size_bytes"]) == ("MIT", "owner/one@abc", len(CONTENT))
        assert "download" not in row


async def test_what_nobody_has_hashed_is_not_verified(mirror: Mirror, tmp_path: Path) -> None:
    async with running(mirror, tmp_path) as rig:
        path = tmp_path / "models" / "one.gguf"
        assert (await row_of(rig))["is_verified"] is False
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(len(CONTENT)))
        # Its size is right, and that is all that anybody knows.
        row = await row_of(rig)
        assert (row["presence"], row["is_verified"]) == ("complete", False)
        path.unlink()
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        await over(rig)
        row = await row_of(rig)
        assert (row["presence"], row["is_verified"]) == ("complete", True)
        path.write_bytes(bytes(len(CONTENT)))
        assert (await row_of(rig))["is_verified"] is False


async def test_a_download_brings_the_model_among_those_that_serve(mirror: Mirror, tmp_path: Path) -> None:
    async with running(mirror, tmp_path) as rig:
        answer = await rig.answer("POST", DOWNLOAD, {"model": "one"})
        assert (answer.status, answer.json()["model"], answer.json()["state"]) == (202, "one", "waiting")
        ended = await over(rig)
        assert (ended["state"], ended["done_bytes"], ended["total_bytes"]) == ("complete", len(CONTENT), len(CONTENT))
        assert (await row_of(rig))["presence"] == "complete"
        assert "one" in [entry["id"] for entry in (await rig.answer("GET", "/v1/models")).json()["data"]]
        assert [line["outcome"] for line in rig.logged("ignis.model.download_ended")] == ["complete"]


async def test_a_row_that_was_found_to_be_wrong_is_not_complete(mirror: Mirror, tmp_path: Path) -> None:
    async with running(mirror, tmp_path) as rig:
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        await over(rig)
        (tmp_path / "models" / "one.gguf").write_bytes(bytes(len(CONTENT)))
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        assert "is not the catalog's file: it has SHA-256" in (await over(rig))["reason"]
        assert (await row_of(rig))["presence"] == "foreign"


async def test_a_second_order_joins_the_first(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = half = Half()
    async with running(mirror, tmp_path) as rig:
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        await trio.to_thread.run_sync(half.is_reached.wait, 20)
        answer = await rig.answer("POST", DOWNLOAD, {"model": "one"})
        assert (answer.status, answer.json()["state"]) == (202, "running")
        half.go_on.set()
        assert (await over(rig))["state"] == "complete"
    assert len(mirror.asked) == 1


async def test_a_download_that_is_stopped_is_gone_on_with(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers = [half := Half()]
    async with running(mirror, tmp_path) as rig:
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        await trio.to_thread.run_sync(half.is_reached.wait, 20)
        await came(rig)
        assert (await rig.answer("DELETE", f"{DOWNLOAD}/one")).status == 202
        assert (await rig.answer("DELETE", f"{DOWNLOAD}/one")).status == 404
        half.go_on.set()
        assert (await over(rig))["state"] == "stopped"
        assert (await row_of(rig))["presence"] == "partial"
        again = await rig.answer("DELETE", f"{DOWNLOAD}/one")
        assert (again.status, again.json()["error"]["code"]) == (404, "download_not_found")
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        assert (await over(rig))["state"] == "complete"
    start = mirror.asked[-1].range
    assert start is not None and int(start.removeprefix("bytes=").removesuffix("-")) > 0


async def test_a_new_order_takes_up_what_is_being_stopped(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers = [half := Half()]
    async with running(mirror, tmp_path) as rig:
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        await trio.to_thread.run_sync(half.is_reached.wait, 20)
        stopped = (await rig.answer("DELETE", f"{DOWNLOAD}/one")).json()
        assert stopped["state"] == "stopped"
        # The mirror is silent: the thread of the first one has not seen that it is stopped, and nobody waits for it.
        await over_at_once(rig)
        again = (await rig.answer("POST", DOWNLOAD, {"model": "one"})).json()
        assert again["state"] == "waiting"
        half.go_on.set()
        assert (await over(rig))["state"] == "complete"
        outcomes = [line["outcome"] for line in rig.logged("ignis.model.download_ended")]
        assert outcomes == ["stopped", "complete"]


async def test_a_download_that_waits_says_for_what_and_no_longer_when_it_goes_on(
    mirror: Mirror, tmp_path: Path
) -> None:
    mirror.answers = [lambda handler: reply(handler, 503, b"")]
    async with running(mirror, tmp_path) as rig:
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        await until(lambda: rig.downloads.known["one"].reason != "")
        waiting = (await row_of(rig))["download"]
        assert waiting["state"] == "running"
        assert "HTTP 503" in waiting["reason"] and waiting["reason"].endswith("tried again in 1 s")
        assert "reason" not in await over(rig)
    (logged,) = rig.logged("ignis.model.download_waits")
    assert logged["reason"] == waiting["reason"]


async def test_a_download_that_fails_says_why(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = lambda handler: reply(handler, 401, b"")
    async with running(mirror, tmp_path) as rig:
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        ended = await over(rig)
        assert ended["state"] == "failed"
        assert "HTTP 401" in ended["reason"] and "set download.token" in ended["reason"]
        assert str(tmp_path) not in json.dumps(ended)


@pytest.mark.parametrize(
    "name",
    ["two", "owner/one", "http://evil.test/x", "../one", "hf.co/owner/one", "one\x00", "ONE"],
)
async def test_only_ids_of_the_catalog_are_fetched(mirror: Mirror, tmp_path: Path, name: str) -> None:
    async with running(mirror, tmp_path) as rig:
        answer = await rig.answer("POST", DOWNLOAD, {"model": name})
        assert (answer.status, answer.json()["error"]["param"]) == (404, "model")
        assert "it has smollm2-135m-instruct, one" in answer.json()["error"]["message"]
        assert rig.downloads.known == {}
    assert mirror.asked == []


async def test_a_body_without_a_model_is_refused(mirror: Mirror, tmp_path: Path) -> None:
    async with running(mirror, tmp_path) as rig:
        for body in ({}, {"model": ""}, {"model": 7}):
            answer = await rig.answer("POST", DOWNLOAD, body)
            assert (answer.status, answer.json()["error"]["param"]) == (400, "model")


async def test_the_room_for_downloads_is_measured(mirror: Mirror, tmp_path: Path) -> None:
    async with running(mirror, tmp_path) as rig:
        text = rig.metrics.expose().decode()
    (found,) = re.findall(r"^ignis_model_disk_free_bytes (\S+)$", text, re.MULTILINE)
    assert abs(float(found) - shutil.disk_usage(tmp_path).free) < 1e9
    assert not (tmp_path / "models").exists()


async def test_an_operator_that_allows_no_downloads_is_heeded(mirror: Mirror, tmp_path: Path) -> None:
    async with running(mirror, tmp_path, enabled=False) as rig:
        answer = await rig.answer("POST", DOWNLOAD, {"model": "one"})
        assert (answer.status, answer.json()["error"]["code"]) == (403, "download_disabled")
        assert (await rig.answer("GET", CATALOG)).json()["can_download"] is False
    assert mirror.asked == []


async def test_the_events_follow_a_download(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = half = Half()
    async with running(mirror, tmp_path) as rig:
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        await trio.to_thread.run_sync(half.is_reached.wait, 20)
        exchange = FakeExchange("GET", EVENTS)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.router, exchange)
            stream = await exchange.wait_opened()
            states: list[str] = []
            while states[-1:] != ["complete"]:
                with trio.fail_after(20):
                    await stream.wait_sent(len(states) + 1)
                states = [event.json()["downloads"][0]["state"] for event in exchange.events]
                half.go_on.set()
            nursery.cancel_scope.cancel()
        assert states[0] == "running"


async def test_the_rate_of_a_download_is_told_while_it_runs_and_counts_what_came(
    mirror: Mirror, tmp_path: Path
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "one.gguf.part").write_bytes(CONTENT[: len(CONTENT) // 4])
    go_on, half_came = threading.Event(), threading.Event()

    def slow(handler: Handler) -> None:
        start = len(CONTENT) // 4
        handler.send_response(206)
        handler.send_header("Content-Length", str(len(CONTENT) - start))
        handler.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        handler.end_headers()
        for position in range(start, len(CONTENT), 1 << 18):
            if position >= len(CONTENT) // 2:
                half_came.set()
                go_on.wait(20)
            handler.wfile.write(CONTENT[position : position + (1 << 18)])

    mirror.answer = slow
    # A second goes by with each look at the clock: what comes between two looks is the rate, as the last five have it.
    times = itertools.count()
    async with running(mirror, tmp_path, clock=lambda: float(next(times))) as rig:
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        await trio.to_thread.run_sync(half_came.wait, 20)
        download = rig.downloads.known["one"]
        await until(lambda: download.done_bytes >= len(CONTENT) // 2)
        row = (await row_of(rig))["download"]
        # Two quarters are here, and one has come, in at least two looks; with the one that was here it would be more.
        assert 0 < row["bytes_per_second"] <= len(CONTENT) // 4
        # Each further look takes a second, and the mirror is silent.
        rates = [download.bytes_per_second for _ in range(8)]
        assert rates == sorted(rates, reverse=True) and rates[-1] == 0
        go_on.set()
        ended = await over(rig)
    assert (ended["state"], ended["bytes_per_second"]) == ("complete", 0)


def test_the_rate_and_the_count_are_of_what_came_not_of_what_was_there() -> None:
    metrics, times = Metrics("1"), iter((1.0, 3.0, 3.0))
    catalog = load_catalog()
    download = Download(catalog.models[catalog.default], rate=Rate(lambda: next(times)))
    assert download.rate is not None
    note = Note(download, metrics, None, download.rate, Rate(lambda: 1.0))
    note(100, 2000, 100)
    # A file that was there is found to be right meanwhile.
    note(1900, 2000, 700)
    assert (download.done_bytes, download.bytes_per_second) == (1900, 300.0)
    assert "ignis_model_download_bytes_total 700.0" in metrics.expose().decode()


def test_the_time_left_is_by_what_comes_whoever_brings_it() -> None:
    now_s = 0.0
    catalog, rate, growth = load_catalog(), Rate(lambda: now_s), Rate(lambda: now_s)
    download = Download(catalog.models[catalog.default], rate=rate, growth=growth)
    note = Note(download, Metrics("1"), None, rate, growth)
    # Another process fetches it, and is waited for.
    note(100, 2000, 0)
    now_s = 2.0
    note(300, 2000, 0)
    assert (download.bytes_per_second, download.seconds_left) == (0.0, 17.0)
    now_s = 20.0
    assert download.seconds_left == math.inf


async def test_of_three_models_two_come_at_a_time(mirror: Mirror, tmp_path: Path) -> None:
    go_on = threading.Event()

    def wait(handler: Handler) -> None:
        go_on.wait(20)
        mirror.serve(handler)

    mirror.answer = wait
    pin = {"bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
    entries = [
        {"id": id, "repo": "owner/one", "revision": "abc", "files": [{"name": f"{id}.gguf", **pin}]}
        for id in ("first", "second", "third")
    ]
    for entry in entries:
        mirror.files[f"/owner/one/resolve/abc/{entry['id']}.gguf"] = CONTENT
    async with running(mirror, tmp_path, entries=entries) as rig:
        for entry in entries:
            await rig.answer("POST", DOWNLOAD, {"model": entry["id"]})
        known = rig.downloads.known
        await until(lambda: len(mirror.asked) == 2)
        with trio.fail_after(20):
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert sorted(download.state.value for download in known.values()) == ["running", "running", "waiting"]
            assert len(mirror.asked) == 2
            go_on.set()
            for download in known.values():
                await download.over.wait()
        assert {download.state.value for download in known.values()} == {"complete"}
    assert mirror.most_open == 2


async def test_what_has_come_is_counted(mirror: Mirror, tmp_path: Path) -> None:
    async with running(mirror, tmp_path) as rig:
        await rig.answer("POST", DOWNLOAD, {"model": "one"})
        await over(rig)
        exposed = rig.metrics.expose().decode()
    assert f"ignis_model_download_bytes_total {len(CONTENT):.6e}" in exposed
    assert 'ignis_model_downloads_total{outcome="complete"} 1.0' in exposed
