"""A card that the leaf has no code for is no device, and the server takes the CPU and says why."""

import importlib.util
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ignis import bundle
from tests.abi import leaf
from tests.cuda import card

pytestmark = card.needs_card

FATBIN, ENTRY = struct.Struct("<IHHQ"), struct.Struct("<HHIQ")
MAGIC = 0xBA55ED50
ARCH_AT = 28
"""Of an entry: the architecture of its code."""
ANOTHER = 130
"""No card's that this leaf could have code for."""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The leaf with the code of each of its kernels marked as another architecture's."""
    content = bytearray(card.CUDA_LEAF.read_bytes())
    at, num_marked = -1, 0
    while (at := content.find(struct.pack("<I", MAGIC), at + 1)) >= 0:
        _, _, header_bytes, size_bytes = FATBIN.unpack_from(content, at)
        if header_bytes != FATBIN.size:
            continue
        entry, stop = at + header_bytes, at + header_bytes + size_bytes
        while entry < stop:
            _, _, entry_header_bytes, entry_bytes = ENTRY.unpack_from(content, entry)
            struct.pack_into("<I", content, entry + ARCH_AT, ANOTHER)
            entry += entry_header_bytes + entry_bytes
            num_marked += 1
    assert num_marked > 10
    path = tmp_path_factory.mktemp("foreign") / card.CUDA_LEAF.name
    path.write_bytes(content)
    return path


def told(code: str, path: Path) -> str:
    """What Python says of that leaf, in a process of its own."""
    command = [sys.executable, "-c", code, str(path)]
    ended = subprocess.run(command, cwd=bundle.ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_card_without_code_is_no_device(foreign: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.abi import leaf; from tests.cuda import card\n"
        "library = leaf.open_library(Path(sys.argv[1]))\n"
        "for _ in range(2): print(card.probe(library)[0], library.ignis_last_error().decode())"
    )
    for line in told(code, foreign).splitlines():
        assert line.startswith(f"{leaf.NO_DEVICE} ") and "which this build has no code for" in line, line


@pytest.mark.skipif(importlib.util.find_spec("ignis._core") is None, reason="ignis._core was not built for this Python")
@pytest.mark.skipif(importlib.util.find_spec("msgspec") is None, reason="this Python has no msgspec")
def test_auto_takes_the_cpu_then_and_says_why(foreign: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from ignis import bundle; from ignis.config_fields import DeviceKind\n"
        "from ignis.engine.device import open_leaf; from ignis.log import LogFormat, open_log\n"
        "library = bundle.library\n"
        "bundle.library = lambda name: Path(sys.argv[1]) if 'cuda' in name else library(name)\n"
        "open_leaf(DeviceKind.AUTO, open_log(sys.stdout, LogFormat.JSON))"
    )
    log = told(code, foreign)
    assert '"cpu"' in log
    assert "which this build has no code for" in log
