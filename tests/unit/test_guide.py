"""The guide's pictures are those that are taken, its links lead somewhere, and its examples do as they stand."""

import ast
import builtins
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from ignis.metric_families import FAMILIES
from tests.bench._camera import paletted
from tests.bench.bench_pictures import PICTURES

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "spec" / "guide"


def test_each_picture_is_there_and_shown_and_one_that_the_bench_makes() -> None:
    shown = {
        (page.parent / address).resolve()
        for page in (ROOT / "README.md", *GUIDE.glob("*.md"))
        for address in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    made = {GUIDE / f"{view}-{kind}.png" for view, kinds in PICTURES.items() for kind in kinds}
    assert shown == made
    assert set(GUIDE.glob("*.png")) == made


def anchors_of(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_each_link_leads_to_a_file_and_a_heading() -> None:
    for page in (ROOT / "README.md", *ROOT.glob("spec/**/*.md")):
        for address in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            name, _, anchor = address.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), (page, address)
            assert not anchor or anchor in anchors_of(target), (page, address)


def spread(pattern: str) -> list[str]:
    """The paths that `a/{b,c}` means."""
    before, brace, rest = pattern.partition("{")
    inner, _, after = rest.partition("}")
    return [before + word + after for word in inner.split(",")] if brace else [pattern]


def test_the_map_has_every_part_and_no_other() -> None:
    page = (ROOT / "spec" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", page.partition("## The parts")[2].partition("\n## ")[0], re.MULTILINE)
    patterns = [pattern for row in rows for word in re.findall(r"`([^`]+)`", row) for pattern in spread(word)]
    found = {pattern: {*ROOT.glob(pattern), *ROOT.glob(f"{pattern}.py")} for pattern in patterns}
    assert [pattern for pattern, paths in found.items() if not paths] == []
    parts = {
        path for path in (ROOT / "ignis").iterdir() if path.suffix in (".py", ".pyx") or (path / "__init__.py").exists()
    }
    parts |= {path.parent for path in (ROOT / "cuda").glob("*/*") if path.suffix in (".cpp", ".cu", ".h", ".py")}
    unmapped = {path.relative_to(ROOT).as_posix() for path in parts - set().union(*found.values())}
    assert unmapped == {"ignis/__init__.py", "ignis/__main__.py"}


def test_a_file_is_called_as_it_lies() -> None:
    folders = ("ignis", "cuda", "ui", "tests", "spec", "packaging")
    lie = [
        path.as_posix()
        for path in (*ROOT.glob("*.py"), *(file for name in folders for file in (ROOT / name).rglob("*.*")))
    ]
    for page in (ROOT / "README.md", *ROOT.glob("spec/**/*.md")):
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"`([\w./-]+\.(?:pyx?|m?js|css|cpp|cuh?|h))`", text):
            assert any(path.endswith(f"/{name}") for path in lie), (page, name)


def test_a_metric_is_called_as_it_is_served() -> None:
    served = {name + ("_total" if family.kind == "counter" else "") for name, family in FAMILIES.items()}
    for page in (ROOT / "README.md", *GUIDE.glob("*.md"), *ROOT.glob("spec/reference/*.md")):
        named = set(re.findall(r"`(ignis_[a-z0-9_]+)[`{]", page.read_text(encoding="utf-8")))
        assert named <= served, page


def test_the_examples_of_a_page_can_be_run_one_after_the_other() -> None:
    for page in GUIDE.glob("*.md"):
        meant: dict[str, int] = {}
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)):
            names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
            bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
            bound |= set(re.findall(r"^(?:from .* import|class) (\w+)", code, re.MULTILINE))
            taken = {node.id for node in names} - bound - set(dir(builtins))
            # A name of another example means what it meant when it was first given.
            assert all(meant.get(name) == 0 for name in taken), (page, number, taken)
            for name in bound:
                meant[name] = meant.get(name, -1) + 1


def points_of(png: bytes) -> list[list[tuple[int, ...]]]:
    """Reads what `paletted` writes."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        name, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", png, at + 8 + length) == (zlib.crc32(name + content),)
        chunks[name], at = content, at + 12 + length
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert kind == [8, 3, 0, 0, 0]
    palette = [tuple(chunks[b"PLTE"][start : start + 3]) for start in range(0, len(chunks[b"PLTE"]), 3)]
    rows = zlib.decompress(chunks[b"IDAT"])
    assert len(rows) == height * (1 + width)
    return [[palette[each] for each in rows[y * (1 + width) + 1 :][:width]] for y in range(height)]


@pytest.mark.parametrize("num_colours", [3, 256])
def test_a_picture_of_few_colours_keeps_each(num_colours: int) -> None:
    points = [[(9, 8, 7), (255, 255, 255), (9, 8, 7)], [(9, 8, 7), (9, 8, 7), (0, 0, 0)]]
    assert points_of(paletted(np.array(points, np.uint8), num_colours)) == points


def test_what_is_not_in_the_palette_becomes_what_is_nearest() -> None:
    points = [[(250, 250, 250)] * 4, [(20, 20, 20)] * 3 + [(22, 22, 22)], [(249, 250, 250)] * 2 + [(20, 20, 20)] * 2]
    found = points_of(paletted(np.array(points, np.uint8), 2))
    assert found == [[(250, 250, 250)] * 4, [(20, 20, 20)] * 4, [(250, 250, 250)] * 2 + [(20, 20, 20)] * 2]
