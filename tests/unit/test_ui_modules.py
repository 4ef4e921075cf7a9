"""The Playground's modules: what Node can run of them, the types of all, and what no module of it may contain."""

import gzip
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ignis.api.ui import as_sent
from ignis.chat.thinking import Effort
from tests.e2e.npm import install, run

ROOT = Path(__file__).resolve().parents[2]
UI = ROOT / "ui"
VIEWS = ("chat", "compare", "agents", "decide", "images", "monitor", "server")
MAX_FIRST_MODULES = 40
MAX_LINES = 200
LAYERS = ("main.js", "views.js", *VIEWS, "shell", "router.js", "text", "parts", "state", "store", "api", "vendor")
# Markup or script from a string; the browser refuses most of it too, where it knows Trusted Types.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|DOMParser|\beval\b|Function\(|setAttribute\(['\"](on|style)"
    r"|javascript:"
)


def modules() -> list[Path]:
    return [
        file for file in UI.rglob("*.js") if not {"vendor", "docs", "node_modules"} & set(file.relative_to(UI).parts)
    ]


def test_no_module_makes_markup_or_script_from_a_string() -> None:
    assert len(modules()) > 40
    assert not [f"{file.name}: {found[0]}" for file in modules() if (found := FORBIDDEN.search(file.read_text()))]


def test_modules_import_only_from_layers_below() -> None:
    rank = {name: index for index, name in enumerate(LAYERS)}
    wrong = []
    for file in modules():
        own = file.relative_to(UI).parts[0]
        for name in re.findall(r'(?:from|import\(?)\s*["\'](\.[^"\']+)["\']', file.read_text()):
            other = (file.parent / name).resolve().relative_to(UI).parts[0]
            if own != "early.js" and rank[other] < rank[own]:
                wrong.append(f"{file.relative_to(UI)} imports {name}")
    assert not wrong


def test_a_file_is_one_part_and_no_longer_than_one_reads_at_once() -> None:
    assert not [file.name for file in modules() if len(file.read_text().splitlines()) > MAX_LINES]


def test_a_file_of_chats_may_say_each_effort() -> None:
    words = re.search(r'"effort", new Set\((\[.*?\])', (UI / "store" / "incoming.js").read_text())
    assert words and json.loads(words[1]) == [effort.value for effort in Effort]


def test_signals_are_made_where_state_is() -> None:
    makers = [file for file in modules() if re.search(r"(?<![\w.])signal\(", file.read_text())]
    assert {file.parent.name for file in makers} == {"state"}


@pytest.mark.parametrize(
    ("way", "owner"),
    [
        (r"\bfetch\b", "api/client.js"),
        (r"\bWebSocket\b", "api/socket.js"),
        (r"\bindexedDB\b", "store/database.js"),
        (r"\b(EventSource|XMLHttpRequest|sendBeacon|WebTransport)\b", None),
    ],
)
def test_each_way_out_of_the_page_has_one_module(way: str, owner: str | None) -> None:
    # What is shown of a request to copy is no call, and words of a comment or a text are none.
    users = {
        file.relative_to(UI).as_posix()
        for file in modules()
        for line in file.read_text().splitlines()
        if re.search(way, re.sub(r"//.*|^\s*/?\*.*|/\*.*?\*/|\"[^\"]*\"|const call = `.*", "", line))
    }
    assert users == ({owner} if owner else set())


@pytest.mark.skipif(shutil.which("node") is None, reason="this machine has no Node")
def test_what_needs_no_browser_holds_in_node() -> None:
    done = subprocess.run(
        ["node", "--test", "tests/ui"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout[-4000:]
    written = sum(
        len(re.findall(r"^test\(", file.read_text(), re.MULTILINE)) for file in (ROOT / "tests" / "ui").glob("*.mjs")
    )
    assert written > 8
    assert f"# pass {written}\n" in done.stdout


@pytest.fixture(scope="module")
def libraries(pytestconfig: pytest.Config) -> Path:
    """The compiler, and the types of what the page uses."""
    return install(
        pytestconfig.cache.mkdir("ui_types"),
        "typescript@7.0.2",
        "preact@11.2.0",
        "@preact/signals-core@1.14.5",
        "@preact/signals@2.11.4",
        "htm@3.1.1",
        "markdown-it@15.0.3",
        "katex@0.19.1",
        "uplot@1.6.32",
        "@highlightjs/cdn-assets@11.12.0",
    )


def copied(libraries: Path, folder: Path) -> Path:
    """A copy of the page's modules, so that the checkout keeps no node_modules."""
    shutil.copytree(UI, folder, ignore=shutil.ignore_patterns("node_modules", "fonts"))
    (folder / "node_modules").symlink_to(libraries)
    return folder


def compiled(libraries: Path, folder: Path) -> dict[Path, str]:
    """Each module without any comment, as the compiler writes it; whether types are right is no matter here."""
    written = folder.with_suffix(".out")
    words = ["-p", ".", "--noEmit", "false", "--removeComments", "--outDir", str(written)]
    subprocess.run([libraries / ".bin" / "tsc", *words], cwd=folder, capture_output=True, check=False, timeout=120)
    return {file.relative_to(written): file.read_text() for file in written.rglob("*.js")}


def test_the_modules_have_their_types(libraries: Path, tmp_path: Path) -> None:
    copy = copied(libraries, tmp_path / "ui")
    run([str(libraries / ".bin" / "tsc"), "-p", str(copy)], dict(os.environ), copy)


def test_a_module_without_its_comments_is_the_same_program(libraries: Path, tmp_path: Path) -> None:
    whole, sent = (copied(libraries, tmp_path / name) for name in ("whole", "sent"))
    for file in modules():
        place = file.relative_to(UI)
        content = as_sent(place.as_posix(), file.read_bytes())
        assert content.count(b"\n") == file.read_bytes().count(b"\n")
        assert not re.search(rb"^\s*(//|/\*\*?\s*$)", content, re.MULTILINE), place
        (sent / place).write_bytes(content)
    programs = compiled(libraries, whole)
    assert len(programs) == len(modules())
    assert compiled(libraries, sent) == programs


def imports(file: Path) -> set[Path]:
    """What a module needs before it runs; what it asks for later is not among it."""
    wanted = r'(?:^|[\n;}])(?:import|export)\b(?:[^;("\']*\bfrom\b)?\s*["\'](\.[^"\']+)["\']'
    return {(file.parent / name).resolve() for name in re.findall(wanted, file.read_text())}


def test_the_page_asks_at_once_for_every_module_of_its_first_view() -> None:
    needed, waiting = set(), [UI / "main.js"]
    while waiting:
        file = waiting.pop()
        if file not in needed:
            needed.add(file)
            waiting.extend(imports(file))
    assert len(needed) <= MAX_FIRST_MODULES
    preloaded = re.findall(r'rel="modulepreload" href="([^"]+)"', (UI / "index.html").read_text())
    assert {"main.js", *preloaded} == {file.relative_to(UI).as_posix() for file in needed}
    assert not {"markdown-it.js", "katex.js", "core.js"} & {file.name for file in needed}


def test_no_library_names_a_map_that_is_not_here() -> None:
    assert not [file.name for file in (UI / "vendor").rglob("*.js") if "sourceMappingURL" in file.read_text()]


def test_all_assets_together_are_under_600_kb() -> None:
    files = [file for file in UI.rglob("*") if file.suffix in {".js", ".css", ".html", ".svg", ".woff2"}]
    sent = [
        as_sent(file.relative_to(UI).as_posix(), file.read_bytes())
        for file in files
        if "node_modules" not in file.parts
    ]
    assert sum(len(gzip.compress(content)) for content in sent) < 600_000
