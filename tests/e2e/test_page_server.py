"""The Server view in a browser: models fetched from a mirror, loaded and sent away; the configuration; the log."""

import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, Route, expect

from ignis.version import VERSION
from tests.e2e.axe import findings
from tests.e2e.browser import CHROMIUM, comes_to, opened_page, wait_until
from tests.e2e.playground import changed, paced
from tests.e2e.server import Server
from tests.e2e.small_folder import write_small_folder
from tests.fakes.mirror import Handler, Mirror, serving
from tests.ports import free_port

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

ROOT = Path(__file__).resolve().parents[2]
SLOW_MS = 30_000
HOSTILE = '<img src=x onerror="window.hasRun=1"><script>window.hasRun=1</script>'
NOTES = "# How we serve.\n[model]\nidle_unload = 900 # a quarter of an hour\n"


@dataclass
class Slowly:
    """Sends half of a file, and the rest once it may."""

    mirror: Mirror
    may_go_on: threading.Event = field(default_factory=threading.Event)

    def __call__(self, handler: Handler) -> None:
        body = self.mirror.files[handler.path]
        start = int((handler.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(body) - start))
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        handler.end_headers()
        middle = max(start, len(body) // 2)
        handler.wfile.write(body[start:middle])
        handler.wfile.flush()
        self.may_go_on.wait(120)
        handler.wfile.write(body[middle:])


@dataclass
class Rig:
    server: Server
    mirror: Mirror
    config: Path


@pytest.fixture(scope="module")
def rig(real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A server on the real model, whose catalog has four more at a mirror; one of them is not what it should be."""
    folder = tmp_path_factory.mktemp("served")
    write_small_folder(folder / "source" / "second")
    with serving() as mirror:
        sources = {
            "second": {file.name: file.read_bytes() for file in (folder / "source" / "second").iterdir()},
            "bent": {"bent.gguf": b"straight"},
            "long": {"long.gguf": bytes(16_000_000)},
            "distant": {"distant.gguf": bytes(16_000_000)},
        }
        entries = []
        for id, files in sources.items():
            mirror.files |= {f"/owner/{id}/resolve/v1/{name}": content for name, content in files.items()}
            pins = [
                {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                for name, content in files.items()
            ]
            entries.append({"id": id, "repo": f"owner/{id}", "revision": "v1", "files": pins, "licence": "MIT"})
        mirror.files["/owner/bent/resolve/v1/bent.gguf"] = b"crooked!"
        (folder / "catalog.json").write_text(json.dumps({"model": entries}))
        config = folder / "config.toml"
        config.write_text(NOTES)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "IGNIS_LOG_FORMAT": "json", "IGNIS_DEVICE": "cpu"}
        flags = {
            "--config": config,
            "--model-artifact": real_model,
            "--download-endpoint": mirror.url,
            "--download-catalog": folder / "catalog.json",
            "--download-path": folder / "models",
        }
        command = [sys.executable, "-m", "ignis", *(str(word) for pair in flags.items() for word in pair)]
        with Server(command, free_port(), free_port(), folder / "log", environment) as server:
            yield Rig(server, mirror, config)


@pytest.fixture
def page(browser: Browser, rig: Rig) -> Iterator[Page]:
    rig.mirror.answer = None
    origin = f"http://127.0.0.1:{rig.server.port}"
    with opened_page(browser, origin, "/ui/#/server", viewport={"width": 1440, "height": 900}) as page:
        expect(page.locator(".field-row").first).to_be_visible()
        yield page


def row(page: Page, name: str) -> Locator:
    return page.locator(".models tbody tr", has=page.locator("th", has_text=re.compile(f"^{re.escape(name)}")))


def field_row(page: Page, key: str) -> Locator:
    page.fill("#find-field", key)
    return page.locator(f"[data-key='{key}']")


def asked(rig: Rig) -> str:
    """Has the model answer; returns the name of the request."""
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
    status, headers, content = rig.server.client.request("POST", "/v1/chat/completions", body)
    assert status == 200, content
    return headers["x-request-id"]


def setting(rig: Rig, group: str, name: str) -> Any:
    return rig.server.client.json("GET", "/v1/config")[group][name]


def test_a_model_is_fetched_in_its_row_then_served_and_sent_away(page: Page, rig: Rig, real_model: Path) -> None:
    row(page, "second").get_by_role("button", name="Download second").click()
    expect(row(page, "second")).to_contain_text("on disk", timeout=SLOW_MS)
    page.get_by_role("button", name="Switch to second").click()
    now = page.get_by_label("Now serving", exact=True)
    expect(now.locator(".name")).to_have_text("second", timeout=SLOW_MS)
    expect(now).to_contain_text("serving", timeout=SLOW_MS)
    assert rig.server.client.json("GET", "/health")["model"] == "second"
    page.click("#unload")
    expect(now).to_contain_text("asleep", timeout=SLOW_MS)
    rig.server.wait_metric("ignis_model_state", 1, state="unloaded")
    page.click("#reload")
    expect(now.get_by_role("status")).to_have_text("serving", timeout=SLOW_MS)
    page.get_by_role("button", name=f"Switch to {real_model.stem}").click()
    expect(now.locator(".name")).to_have_text(real_model.stem, timeout=SLOW_MS)
    page.goto(page.url.replace("#/server", "#/monitor"))
    table = page.get_by_label("The last switches").locator("tbody tr")
    expect(table.first.locator("td").nth(1)).to_have_text("second")
    expect(table.first.locator("td").nth(2)).to_have_text(real_model.stem)
    expect(table.first.locator("td").nth(4)).to_have_text(re.compile(r"[\d.]+ m?s"))
    expect(table.filter(has_text="none, asked")).to_have_count(1)


def test_a_download_is_stopped_and_gone_on_with_in_its_row(page: Page, rig: Rig) -> None:
    rig.mirror.answer = slowly = Slowly(rig.mirror)
    wanted = row(page, "long")
    wanted.get_by_role("button", name="Download long").click()
    expect(wanted.get_by_role("progressbar")).to_be_visible()
    expect(wanted).to_contain_text(re.compile(r"[1-9]\d? %"))
    # The bar of every view says so, also of a page that was opened meanwhile.
    name = page.locator("#model-name").inner_text()
    for view in ("monitor", "chat"):
        page.click(f".rail a[href='#/{view}']")
        expect(page.locator(f".{view} #model .coming")).to_have_text(re.compile(r"long is being fetched, ?(49|50) %"))
        expect(page.locator("#model-name")).to_have_text(name)
    page.reload()
    expect(page.locator("#model .coming")).to_have_text(re.compile(r"(49|50) %"))
    page.click("#model")
    page.locator(".chip .menu a", has_text=re.compile(r"^longdownloading (49|50) %")).click()
    page.get_by_role("button", name="Pause the download of long").click()
    expect(page.locator("#model .coming")).to_have_count(0)
    slowly.may_go_on.set()
    expect(wanted).to_contain_text("begun")
    wanted.get_by_role("button", name="Go on long").click()
    expect(wanted).to_contain_text("on disk", timeout=SLOW_MS)
    assert any(asked.range for asked in rig.mirror.asked if asked.path.endswith("long.gguf"))


def test_what_another_client_fetches_is_told_in_the_bar_of_a_page_that_was_there_before(page: Page, rig: Rig) -> None:
    rig.mirror.answer = slowly = Slowly(rig.mirror)
    with page.expect_response("**/metrics"):
        page.click(".rail a[href='#/chat']")
    expect(page.locator(".chat #model-name")).to_be_visible()
    expect(page.locator("#model .coming")).to_have_count(0)
    status, _, content = rig.server.client.request("POST", "/v1/models/download", {"model": "distant"})
    assert status == 202, content
    expect(page.locator(".chat #model .coming")).to_have_text(re.compile(r"distant is being fetched, ?(49|50) %"))
    rig.server.client.request("DELETE", "/v1/models/download/distant")
    expect(page.locator("#model .coming")).to_have_count(0)
    slowly.may_go_on.set()


def test_a_download_that_fails_says_why(page: Page) -> None:
    page.get_by_role("button", name="Download bent").click()
    expect(row(page, "bent")).to_contain_text("failed", timeout=SLOW_MS)
    row(page, "bent").get_by_role("button", name="Why?").click()
    expect(page.locator(".models .why")).to_contain_text("SHA-256")


def test_one_on_the_disk_that_no_load_could_hold_says_so_and_why(page: Page) -> None:
    giant = {"id": "giant", "object": "model", "created": 1, "loaded": False, "size_bytes": 10**15}
    page.route("**/v1/models", changed(lambda body: body["data"].append(giant)))
    page.reload()
    expect(row(page, "giant").locator(".tag")).to_have_text("does not fit")
    row(page, "giant").get_by_role("button", name="Why?").click()
    expect(page.locator(".models .why")).to_have_text(
        re.compile(r"A load takes at least 1000 TB, and this device has [\d.]+ .B in all\.")
    )
    expect(page.get_by_role("button", name="Switch to giant")).to_be_enabled()
    page.unroute_all(behavior="ignoreErrors")


def test_the_bar_names_the_version_that_answers(page: Page) -> None:
    expect(page.locator(".bar .device")).to_have_text(re.compile(rf"^ignis {re.escape(VERSION)} · .+"))


def test_what_went_wrong_leaves_the_first_model_in_sight(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    words = "There is not enough memory: weights 4.7 GB, KV pages 1.1 GB, workspace 0.4 GB; 3.9 GB are free. " * 2
    page.evaluate("(words) => import('/ui/state/server.js').then(({ failure }) => { failure.value = words; })", words)
    expect(page.locator(".models > .note")).to_be_visible()
    row_box, table_box = (page.locator(one).first.bounding_box() for one in (".models tbody tr", ".models .scroll"))
    assert row_box and table_box
    assert row_box["y"] + row_box["height"] <= table_box["y"] + table_box["height"]


def test_on_a_phone_what_went_wrong_is_seen_whole(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    words = "There is not enough memory: weights 4.7 GB, KV pages 1.1 GB, workspace 0.4 GB; 3.9 GB are free. " * 3
    page.evaluate("(words) => import('/ui/state/server.js').then(({ failure }) => { failure.value = words; })", words)
    note = page.locator(".models > .note")
    note.get_by_text("Why", exact=True).click()
    expect(note).to_contain_text("workspace 0.4 GB")
    comes_to(lambda: note.evaluate("(place) => place.scrollHeight <= place.clientHeight"), True)


def test_a_change_is_applied_and_kept_in_the_file(page: Page, rig: Rig) -> None:
    wanted = field_row(page, "model.idle_unload")
    expect(wanted.locator(".tag.info")).to_have_text("file")
    page.fill("[id='field-model.idle_unload']", "1234")
    expect(page.locator(".foot")).to_contain_text("1 change. In effect at once.")
    page.click("#apply")
    expect(page.locator(".foot")).to_contain_text(f"One change applied, kept in {rig.config}")
    assert setting(rig, "model", "idle_unload") == 1234
    assert rig.config.read_text().startswith("# How we serve.\n[model]\nidle_unload = 1234")
    expect(page.get_by_label("Now serving", exact=True)).to_contain_text("1,234 s idle")


def test_what_a_field_does_not_take_is_said_as_it_is_left(page: Page, rig: Rig) -> None:
    wanted = field_row(page, "model.decode_share")
    page.fill("[id='field-model.decode_share']", "200")
    expect(wanted.locator(".problem")).to_have_count(0)
    page.keyboard.press("Tab")
    expect(wanted.locator(".problem")).to_have_text("It takes 0 to 99")
    expect(page.locator("[id='field-model.decode_share']")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#apply")).to_be_disabled()
    page.click("#discard")
    expect(page.locator("[id='field-model.decode_share']")).to_have_value("25")
    assert setting(rig, "model", "decode_share") == 25


def test_a_form_that_cannot_be_read_anew_keeps_its_shape(page: Page) -> None:
    page.click("[aria-label='Groups of fields'] >> text=log")
    rows = page.locator(".config .rows")
    before = rows.bounding_box()
    assert before is not None
    page.evaluate("async () => { (await import('/ui/state/config.js')).trouble.value = 'The server does not answer'; }")
    expect(page.locator(".config [role=alert]")).to_contain_text("The configuration cannot be had")
    alert, after = page.locator(".config [role=alert]").bounding_box(), rows.bounding_box()
    assert alert is not None and after is not None
    assert after["width"] == before["width"]
    assert alert["y"] + alert["height"] <= after["y"]


def test_a_refused_change_marks_its_field_and_applies_nothing(browser: Browser, rig: Rig) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"http://127.0.0.1:{rig.server.port}/ui/#/server/config")
    field_row(page, "server.idle_timeout")
    page.fill("[id='field-server.idle_timeout']", "44")
    wanted = field_row(page, "vram.kv_pool_bytes")
    page.fill("[id='field-vram.kv_pool_bytes']", "a lot")
    page.click("#apply")
    expect(page.locator(".foot")).to_contain_text("Nothing was applied")
    expect(wanted.locator(".problem")).to_contain_text("a lot")
    assert setting(rig, "server", "idle_timeout") == 75
    expect(page.locator(".groups")).to_have_count(0)
    page.fill("#find-field", "")
    expect(page.locator(".groups button", has_text="vram").locator("b")).to_have_text("1")
    page.close()


def test_a_reload_is_announced_with_its_cost_and_done(page: Page, rig: Rig) -> None:
    field_row(page, "server.write_timeout")
    page.fill("[id='field-server.write_timeout']", "61")
    field_row(page, "model.decode_lanes")
    page.fill("[id='field-model.decode_lanes']", "4")
    expect(page.locator(".foot")).to_contain_text(re.compile(r"2 changes. One reloads the model, about \d+ s."))
    page.click("#apply-live")
    expect(page.locator(".foot")).to_contain_text("One change applied")
    assert (setting(rig, "server", "write_timeout"), setting(rig, "model", "decode_lanes")) == (61, 8)
    expect(page.locator("[id='field-model.decode_lanes']")).to_have_value("4")
    page.click("#apply")
    expect(page.locator(".foot")).to_contain_text("One change applied, kept in", timeout=SLOW_MS)
    assert setting(rig, "model", "decode_lanes") == 4
    assert rig.server.metric("ignis_lanes", state="capacity") == 4


def test_a_family_of_models_gets_a_value_of_its_own(page: Page, rig: Rig) -> None:
    wanted = field_row(page, "model.max_context")
    wanted.get_by_label("Another value of model.max_context for one family").select_option("llama")
    page.fill("#find-field", "model.llama")
    page.fill("[id='field-model.llama.max_context']", "512")
    page.click("#apply")
    expect(page.locator(".foot")).to_contain_text("One change applied, kept in", timeout=SLOW_MS)
    expect(page.locator("[data-key='model.llama.max_context'] .tag.info")).to_have_text("file")
    assert setting(rig, "model", "llama") == {"max_context": 512}
    expect(page.get_by_label("Now serving", exact=True)).to_contain_text("512")


def test_the_address_of_a_field_leads_to_its_value(page: Page) -> None:
    page.evaluate("location.hash = '#/server/config/model.max_context'")
    expect(page.locator("[id='field-model.max_context']")).to_be_focused()


def test_what_a_flag_says_is_locked_and_says_so(page: Page) -> None:
    wanted = field_row(page, "model.artifact")
    expect(wanted.locator("input")).to_be_disabled()
    expect(wanted.locator(".lock")).to_contain_text("Set by --model-artifact")
    expect(wanted.locator(".tag.info")).to_have_text("flag")


def test_what_is_unseen_in_a_row_takes_no_line_of_it(page: Page) -> None:
    for width in (1440, 1280, 1152):
        page.set_viewport_size({"width": width, "height": 800})
        for key in ("model.max_context", "model.default_max_tokens"):
            gap = field_row(page, key).evaluate(
                """(row) => row.querySelector(".about p").getBoundingClientRect().top
                - row.querySelector("label").getBoundingClientRect().bottom"""
            )
            assert gap < 6, f"{key} at {width} px"


def test_on_a_phone_the_choice_of_a_family_is_read_whole(browser: Browser, rig: Rig) -> None:
    size = {"width": 360, "height": 740}
    origin = f"http://127.0.0.1:{rig.server.port}"
    path = "/ui/#/server/config/model.max_context"
    with opened_page(browser, origin, path, viewport=size, has_touch=True, is_mobile=True) as page:
        families = page.locator("[data-key='model.max_context'] .families")
        expect(families).to_be_visible()
        words = """(families) => {
          const pen = document.createElement("canvas").getContext("2d");
          pen.font = getComputedStyle(families).font;
          return pen.measureText(families.options[0].text).width;
        }"""
        assert families.evaluate(words) + 20 < families.evaluate("(families) => families.clientWidth")


def test_a_secret_is_replaced_and_never_shown(page: Page, rig: Rig) -> None:
    wanted = field_row(page, "download.token")
    expect(wanted).to_contain_text("not set")
    wanted.get_by_role("button", name="Set").click()
    page.fill("[id='field-download.token']", "hf_very_secret")
    page.click("#apply")
    expect(wanted).to_contain_text("set, not shown")
    expect(page.locator(".foot")).to_contain_text("One change applied")
    page.reload()
    expect(field_row(page, "download.token")).to_contain_text("set, not shown")
    page.click("#config-file")
    expect(page.locator(".file pre")).to_contain_text("token =")
    assert "hf_very_secret" not in page.content()
    assert "hf_very_secret" in rig.config.read_text()


def test_the_file_is_shown_with_what_is_changed_marked(page: Page) -> None:
    field_row(page, "model.idle_unload")
    page.fill("[id='field-model.idle_unload']", "77")
    page.click("#config-file")
    expect(page.locator(".file pre")).to_contain_text("# How we serve.")
    expect(page.locator(".file .line.changed")).to_have_text(re.compile(r"idle_unload = \d+.* → 77"))
    page.click("#config-differing")
    expect(page.locator("[data-key='model.idle_unload']")).to_be_visible()
    expect(page.locator("[data-key='model.loop_guard']")).to_have_count(0)
    page.click("#discard")


def test_changes_that_were_not_applied_are_asked_about_wherever_the_page_is_left(page: Page) -> None:
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", accept)
    expect(field_row(page, "model.idle_unload")).to_be_visible()
    page.fill("[id='field-model.idle_unload']", "77")
    page.click(".rail a[href='#/chat']")
    expect(page.locator("#prompt")).to_be_visible()
    page.reload()
    expect(page.locator("#prompt")).to_be_visible()
    assert asked == ["beforeunload"]
    # With the page they are gone, and what is discarded is not asked about either.
    page.click(".rail a[href='#/server']")
    expect(field_row(page, "model.idle_unload")).to_be_visible()
    page.fill("[id='field-model.idle_unload']", "77")
    page.click("#discard")
    expect(page.locator("#discard")).to_be_disabled()
    page.reload()
    expect(page.locator(".field-row").first).to_be_visible()
    assert asked == ["beforeunload"]


def test_the_log_is_followed_by_level_and_words_and_stands_still_when_paused(page: Page, rig: Rig) -> None:
    lines = page.locator(".log .line")
    expect(lines.filter(has_text="process.listening").first).to_be_attached()
    page.fill("#log-filter", "request.done")
    page.select_option("#log-level", "debug")
    expect(lines.last).to_contain_text(asked(rig))
    expect(lines.filter(has_not_text="request.done")).to_have_count(0)
    before = lines.count()
    page.click("#log-pause")
    expect(page.get_by_label("Log", exact=True)).to_contain_text("paused")
    request = asked(rig)
    # The page has it, and a frame in which it could have drawn it.
    wait_until(
        page,
        f"""async () => {{ const {{ linesAfter }} = await import("/ui/state/log.js");
        await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
        return linesAfter(-1).some(({{ fields }}) => fields.request_id === "{request}"); }}""",
    )
    assert lines.count() == before
    page.click("#log-pause")
    expect(lines.last).to_contain_text(request)
    expect(lines).to_have_count(before + 1)


def test_lines_that_stand_still_are_looked_through(page: Page, rig: Rig) -> None:
    lines = page.locator(".log .line")
    before = lines.filter(has_text=asked(rig)).first
    expect(before).to_be_attached()
    page.click("#log-pause")
    expect(page.get_by_label("Log", exact=True)).to_contain_text("paused")
    page.fill("#log-filter", "request.")
    expect(lines.filter(has_not_text="request.")).to_have_count(0)
    expect(before).to_be_attached()
    page.fill("#log-filter", "")
    expect(lines.filter(has_text="process.listening").first).to_be_attached()
    request = asked(rig)
    wait_until(
        page,
        f"""async () => (await import("/ui/state/log.js")).linesAfter(-1)
        .some(({{ fields }}) => fields.request_id === "{request}")""",
    )
    # A server that was started anew takes nothing away of what stands still.
    before.evaluate("(line) => line.setAttribute('data-old', '')")
    page.evaluate(
        """async () => { (await import("/ui/state/log.js")).beginning.value += 1;
        await new Promise((next) => requestAnimationFrame(() => setTimeout(next))); }"""
    )
    expect(page.locator(".log [data-old]")).to_have_count(1)
    expect(lines.filter(has_text=request)).to_have_count(0)
    page.click("#log-pause")
    expect(lines.filter(has_text=request).first).to_be_attached()
    expect(page.locator(".log [data-old]")).to_have_count(0)


def test_whoever_reads_above_in_the_log_stays_there(page: Page, rig: Rig) -> None:
    page.select_option("#log-level", "debug")
    place = page.get_by_label("Lines of the log")
    for _ in range(4):
        last = asked(rig)
    expect(place.locator(".line", has_text=last).first).to_be_attached()
    expect(page.get_by_label("Log", exact=True)).to_contain_text("following")
    at_end = "(place) => place.scrollHeight - place.scrollTop - place.clientHeight < 3"
    comes_to(lambda: place.evaluate(at_end), True)
    place.evaluate("(place) => { place.scrollTop = 0; }")
    expect(page.get_by_label("Log", exact=True)).not_to_contain_text("following")
    request = asked(rig)
    expect(place.locator(".line", has_text=request).first).to_be_attached()
    assert place.evaluate("(place) => place.scrollTop") == 0
    page.get_by_role("button", name="to the end").click()
    comes_to(lambda: place.evaluate(at_end), True)
    expect(page.get_by_label("Log", exact=True)).to_contain_text("following")


def test_arrows_go_through_the_tabs_of_the_configuration(page: Page) -> None:
    page.focus("#config-form")
    for key, name in (
        ("ArrowRight", "file"),
        ("ArrowRight", "differing"),
        ("ArrowRight", "form"),
        ("ArrowLeft", "differing"),
    ):
        page.keyboard.press(key)
        expect(page.locator(f"#config-{name}")).to_be_focused()
        expect(page.locator(f"#config-{name}")).to_have_attribute("aria-selected", "true")
        expect(page.locator("[role=tab][tabindex='0']")).to_have_count(1)


def test_the_log_wraps_where_that_is_wanted_and_can_be_copied(browser: Browser, rig: Rig) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{rig.server.port}/ui/#/server")
    page.fill("#log-filter", "vram_plan")
    line = page.locator(".log .line").first
    expect(line).to_contain_text("vram_plan")
    low = line.evaluate("(line) => line.offsetHeight")
    page.locator(".log").get_by_label("Wrap").check()
    comes_to(lambda: line.evaluate("(line, low) => line.offsetHeight >= 2 * low", low), True)
    page.locator(".log").get_by_role("button", name="Copy").click()
    expect(page.locator(".log").get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.count("vram_plan") == len(copied.splitlines()) > 0
    context.close()


def test_all_of_it_goes_by_keyboard(page: Page, rig: Rig) -> None:
    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"no way by Tab to {selector}")

    tab_to("#log-pause")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Log", exact=True)).to_contain_text("paused")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Log", exact=True)).to_contain_text("following")
    tab_to("#find-field")
    page.keyboard.type("server.header_timeout")
    expect(page.locator(".field-row")).to_have_count(1)
    tab_to("[id='field-server.header_timeout']")
    page.keyboard.press("Control+A")
    page.keyboard.type("21")
    # Until the page knows of a change, Tab goes past it.
    expect(page.locator("#apply")).to_be_enabled()
    tab_to("#apply")
    page.keyboard.press("Enter")
    expect(page.locator(".foot")).to_contain_text("One change applied")
    assert setting(rig, "server", "header_timeout") == 21
    page.keyboard.press("Alt+1")
    expect(page.locator("#prompt")).to_be_visible()


def test_names_values_and_lines_that_are_markup_are_text(browser: Browser, rig: Rig) -> None:
    def spoil(make: Callable[[Any], Any]) -> Callable[[Route], None]:
        def answer(route: Route) -> None:
            response = route.fetch()
            route.fulfill(response=response, json=make(response.json()))

        return answer

    def spoil_models(body: Any) -> Any:
        return body | {"data": [body["data"][0] | {"id": HOSTILE, "format": HOSTILE, "device": HOSTILE}]}

    def spoil_catalog(body: Any) -> Any:
        return body | {"data": [body["data"][0] | {"id": HOSTILE + "2", "licence": HOSTILE, "presence": "absent"}]}

    def spoil_config(body: Any) -> Any:
        body["switch"]["known_models"] = {HOSTILE: HOSTILE}
        return body

    line = {
        "number": 1,
        "timestamp": "2026-01-01T00:00:00Z",
        "level": "error",
        "event": HOSTILE,
        "fields": {HOSTILE: HOSTILE},
    }
    page = browser.new_context().new_page()
    page.route("**/v1/models", spoil(spoil_models))
    page.route("**/v1/models/catalog", spoil(spoil_catalog))
    page.route("**/v1/config", spoil(spoil_config))
    page.route(
        "**/ui/log*",
        lambda route: route.fulfill(body=f"data: {json.dumps(line)}\n\n", content_type="text/event-stream"),
    )
    page.goto(f"http://127.0.0.1:{rig.server.port}/ui/#/server/config/switch.known_models")
    expect(page.locator(".now .name")).to_have_text(HOSTILE)
    expect(page.locator("[id='field-switch.known_models']")).to_have_value(f"{HOSTILE}={HOSTILE}")
    expect(page.locator(".log .line").first).to_contain_text(HOSTILE)
    expect(row(page, HOSTILE + "2")).to_be_attached()
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert page.evaluate("window.hasRun ?? 0") == 0
    # One that the page asked for just now may still be on its way, and its end would be told in the next test.
    page.unroute_all(behavior="ignoreErrors")
    page.context.close()


def test_the_key_is_asked_for_once_and_then_all_of_it_comes(
    browser: Browser, start_server: Callable[..., Server]
) -> None:
    with start_server("--server-api-key", "sk-open-sesame", command=paced(100)) as server:
        page = browser.new_page()
        page.clock.install()
        page.goto(f"http://127.0.0.1:{server.port}/ui/#/server")
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.partition(str(server.port))[2]))
        page.clock.run_for(60_000)
        page.evaluate("fetch('/health')")
        assert "/v1/models" not in asked
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.evaluate("async () => (await import('/ui/state/session.js')).isKeyWanted.value = true")
        page.fill("#key-input", "sk-open-sesame")
        page.keyboard.press("Enter")
        expect(page.locator(".field-row").first).to_be_visible()
        expect(page.locator(".log .line").first).to_be_visible()
        expect(page.locator(".models tbody tr").first).to_be_visible()
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_axe_finds_nothing(browser: Browser, rig: Rig, axe: str, scheme: Any, width: int) -> None:
    page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    page.goto(f"http://127.0.0.1:{rig.server.port}/ui/#/server/models")
    expect(page.locator(".models tbody tr").first).to_be_visible()
    assert findings(page, axe) == []
    for part in ("config", "log"):
        if width < 1000:
            page.locator(".pages").get_by_role("link", name=re.compile(part, re.IGNORECASE)).click()
        expect(page.locator(f".{part}")).to_be_visible()
        assert findings(page, axe) == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        if part == "config":
            field_row(page, "model.decode_share")
            page.fill("[id='field-model.decode_share']", "200")
            page.keyboard.press("Tab")
            assert findings(page, axe) == []
            for tab in ("file", "differing"):
                page.click(f"#config-{tab}")
                assert findings(page, axe) == []
    page.context.close()
