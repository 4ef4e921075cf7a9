"""How much host memory this process could still take: what the kernel calls available, within its control groups."""

from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
# Version 2, in one tree, and version 1: limit, use, and what the kernel can take back of the use at once.
_FILES = {
    2: ("memory.max", "memory.current", ("active_file", "inactive_file")),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_active_file", "total_inactive_file")),
}


def available_bytes(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """Returns the least that any of them leaves; None where nobody says."""
    rooms = [*_kernels(proc), *_groups(proc, cgroups)]
    return max(0, min(rooms)) if rooms else None


def _kernels(proc: Path) -> Iterator[int]:
    kilobytes = _numbers(proc / "meminfo").get("MemAvailable:")
    if kilobytes is not None:
        yield kilobytes << 10


def _groups(proc: Path, cgroups: Path) -> Iterator[int]:
    """The room in each group of this process, its own and those above."""
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:  # number:controllers:path
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        version, top = (1, cgroups / "memory") if controllers else (2, cgroups)
        folder = top / path.lstrip("/")
        # A container may show its own group as the root, and name it by where the host has it.
        for group in (folder, *folder.parents):
            yield from _room(group, version)
            if group == top:
                break


def _room(group: Path, version: int) -> Iterator[int]:
    limit, used, files = _FILES[version]
    try:
        most, taken = (int((group / name).read_text(encoding="ascii")) for name in (limit, used))
    except (OSError, ValueError):  # "max", or no limit here
        return
    numbers = _numbers(group / "memory.stat")
    yield most - taken + sum(numbers.get(name, 0) for name in files)


def _numbers(path: Path) -> dict[str, int]:
    """Reads lines of a name and a number."""
    try:
        words = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except OSError:
        return {}
    return {word[0]: int(word[1]) for word in words if len(word) > 1 and word[1].isdigit()}
