import os
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from ignis import bundle
from ignis.config_fields import DeviceKind
from ignis.engine.device import open_leaf
from ignis.engine.device_memory import DeviceMemory, memory_of
from ignis.errors import LoadPlanError
from ignis.log import LogFormat, open_log
from tests.fakes.leaf import ScriptedLeaf


@pytest.fixture
def no_cuda_leaf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = bundle.library
    monkeypatch.setattr(bundle, "library", lambda name: tmp_path / name if "cuda" in name else library(name))


def opened(kind: DeviceKind) -> str:
    """Opens the leaf and returns the log."""
    stream = StringIO()
    open_leaf(kind, open_log(stream, LogFormat.JSON))
    return stream.getvalue()


@pytest.mark.usefixtures("no_cuda_leaf")
def test_auto_takes_the_cpu_and_says_why_it_has_no_card() -> None:
    log = opened(DeviceKind.AUTO)
    assert '"kind": "cpu"' in log or '"kind":"cpu"' in log
    assert "this build has no CUDA leaf" in log


def test_the_cpu_as_wanted_needs_no_reason() -> None:
    assert "reason" not in opened(DeviceKind.CPU)


@pytest.mark.usefixtures("no_cuda_leaf")
def test_a_card_that_is_wanted_and_cannot_be_used_is_refused() -> None:
    with pytest.raises(
        LoadPlanError, match=r"--device cuda: this build has no CUDA leaf; build\.py makes one where"
    ) as refused:
        opened(DeviceKind.CUDA)
    assert refused.value.param == "device.kind"


def test_a_leaf_of_the_host_is_no_card_whatever_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu = bundle.library("libignis_cpu.so")
    monkeypatch.setattr(bundle, "library", lambda name: on_cpu)
    with pytest.raises(LoadPlanError, match=r"--device cuda: .* another kind of device"):
        opened(DeviceKind.CUDA)
    assert "another kind of device" in opened(DeviceKind.AUTO)


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_an_instruction_set_that_is_not_there_is_refused_with_those_that_are(device: str) -> None:
    # In a process of its own: a leaf decides once.
    code = (
        "import sys; from ignis import bundle; from pathlib import Path; from ignis.config_fields import DeviceKind\n"
        "from ignis.engine.device import open_leaf; from ignis.log import LogFormat, open_log\n"
        "library = bundle.library\n"
        "bundle.library = lambda name: Path('/nowhere') if 'cuda' in name else library(name)\n"
        f"open_leaf(DeviceKind({device!r}), open_log(sys.stdout, LogFormat.JSON))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "IGNIS_ISA": "avx1024"},
        capture_output=True,
        text=True,
        cwd=bundle.ROOT,
        check=False,
    )
    assert f"LoadPlanError: --device {device}: IGNIS_ISA is avx1024; this machine has portable" in ended.stderr


def probed_card() -> subprocess.CompletedProcess[str]:
    """In a process of its own: this one may hold more leaves than the loader has room for their thread-local text."""
    code = "import ignis.bundle as b, ignis.engine.leaf as e; e.NativeLeaf(b.library('libignis_cuda.so')).probe()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=bundle.ROOT, check=False)


def test_the_cuda_leaf_loads_without_a_driver_and_says_what_is_missing() -> None:
    if not bundle.library("libignis_cuda.so").exists():
        # Asked now and not when tests are collected: a build in between that finds no nvcc any more takes it away.
        pytest.skip("no CUDA leaf was built here")
    ended = probed_card()
    if ended.returncode == 0:
        pytest.skip("there is a card")
    assert any(text in ended.stderr for text in ("no NVIDIA driver", "driver is too old", "shows no card")), (
        ended.stderr
    )


def test_who_wants_a_card_and_has_none_hears_it_before_anything_else_is_done(tmp_path: Path) -> None:
    if probed_card().returncode == 0:
        pytest.skip("there is a card")
    binds = ["--server-bind", f"unix:{tmp_path / 'api'}", "--server-metrics", "false"]
    command = [sys.executable, "-m", "ignis", "serve", "--device", "cuda", *binds, "--download-path", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=bundle.ROOT, check=False, timeout=60)
    assert ended.returncode == 1
    assert "--device auto takes the processor" in ended.stderr
    assert "listening" not in ended.stdout + ended.stderr
    assert "download" not in ended.stdout + ended.stderr


def test_the_hosts_memory_in_use_is_what_the_kernel_does_not_call_available(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(
        "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\nHugePages_Total:   0\n"
    )
    device = replace(ScriptedLeaf(memory_bytes=800 << 10).probe(), has_own_memory=False)
    assert memory_of(device, meminfo) == DeviceMemory(600 << 10, 800 << 10)
    assert memory_of(device, tmp_path / "no such") == DeviceMemory(0, 800 << 10)


def test_this_machines_memory_can_be_read() -> None:
    memory = memory_of(open_leaf(DeviceKind.CPU, open_log(StringIO())).probe())
    assert 0 < memory.used_bytes <= memory.total_bytes
