"""The guide's pictures: all that are shown are there, and all that are there are shown and can be taken anew."""

import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

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
