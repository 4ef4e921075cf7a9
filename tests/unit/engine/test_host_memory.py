from pathlib import Path

import pytest

from ignis.engine.host_memory import available_bytes


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with 1,000 KiB available and no control groups."""
    write(tmp_path / "proc" / "meminfo", "MemTotal:       4000 kB\nMemAvailable:   1000 kB\n")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def told(machine: Path) -> int | None:
    return available_bytes(machine / "proc", machine / "cgroup")


def test_without_groups_it_is_what_the_kernel_calls_available(machine: Path) -> None:
    assert told(machine) == 1000 << 10


def test_where_nobody_says_it_is_not_known(tmp_path: Path) -> None:
    assert told(tmp_path) is None


def test_the_tightest_group_of_version_2_decides_and_files_in_its_cache_are_room(machine: Path) -> None:
    write(machine / "proc" / "self" / "cgroup", "0::/pod/box\n")
    write(machine / "cgroup" / "pod" / "box" / "memory.max", "max\n")
    write(machine / "cgroup" / "pod" / "box" / "memory.current", "5000\n")
    assert told(machine) == 1000 << 10
    write(machine / "cgroup" / "pod" / "memory.max", "90000\n")
    write(machine / "cgroup" / "pod" / "memory.current", "80000\n")
    assert told(machine) == 10000
    write(machine / "cgroup" / "pod" / "memory.stat", "anon 30000\nactive_file 400\ninactive_file 7000\nshmem 9\n")
    assert told(machine) == 17400


def test_a_container_s_own_group_is_found_at_the_root_that_it_sees(machine: Path) -> None:
    write(machine / "proc" / "self" / "cgroup", "0::/../host/name/of/it\n")
    write(machine / "cgroup" / "memory.max", "90000\n")
    write(machine / "cgroup" / "memory.current", "95000\n")
    assert told(machine) == 0


def test_version_1_has_a_tree_of_its_own_for_memory(machine: Path) -> None:
    write(machine / "proc" / "self" / "cgroup", "7:cpu,cpuacct:/elsewhere\n4:memory:/box\n1:name=systemd:/box\n")
    write(machine / "cgroup" / "memory" / "box" / "memory.limit_in_bytes", "90000\n")
    write(machine / "cgroup" / "memory" / "box" / "memory.usage_in_bytes", "60000\n")
    write(machine / "cgroup" / "memory" / "box" / "memory.stat", "inactive_file 1\ntotal_inactive_file 500\n")
    assert told(machine) == 30500
