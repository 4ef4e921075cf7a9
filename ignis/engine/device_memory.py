"""How much of the device's memory is in use, by whomever: the driver's account of a card, the kernel's of the host."""

from dataclasses import dataclass
from pathlib import Path

from ignis.engine.leaf import DeviceInfo

_MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Zero until a device was opened."""

    used_bytes: int = 0
    total_bytes: int = 0


def memory_of(device: DeviceInfo, meminfo: Path = _MEMINFO) -> DeviceMemory:
    """Reads it off a probe. The host's is what the kernel does not call available, which files in its cache are."""
    total = device.memory_bytes
    if device.has_own_memory:
        # What the driver has taken for this process is used, though a load finds it there.
        return DeviceMemory(total - (device.free_bytes - device.context_bytes), total)
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except OSError:
        # Where /proc is not mounted nobody knows.
        return DeviceMemory(0, total)
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return DeviceMemory(min((kilobytes["MemTotal"] - kilobytes["MemAvailable"]) << 10, total), total)
