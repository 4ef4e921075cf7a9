"""What the kernel knows of this process, and allows it."""

import os
import resource
import time
from pathlib import Path


def raise_file_limit() -> None:
    """Takes all the descriptors that the system allows: two listeners at their cap need more than the usual 1,024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def resident_bytes() -> float:
    """Returns what it has of the memory; 0 where /proc is not mounted."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def age_ms() -> float | None:
    """Returns the milliseconds since it began, by the kernel's clock; None where /proc is not mounted."""
    try:
        stat = Path("/proc/self/stat").read_text(encoding="ascii")
    except OSError:
        return None
    started_ticks = int(stat.rpartition(")")[2].split()[19])
    started_s = started_ticks / os.sysconf("SC_CLK_TCK")
    return round((time.clock_gettime(time.CLOCK_BOOTTIME) - started_s) * 1e3, 1)
