"""What became of retained pages and of those who looked for them, as plain numbers."""

from dataclasses import dataclass

from ignis.scheduler.live import Live


@dataclass(slots=True)
class ReuseCounts:
    """Since the load."""

    evictions: int = 0
    """Pages that the device gave up."""
    spills: int = 0
    """Of them, those that went to host memory; the others were there already, or discarded."""
    discards: int = 0
    host_discards: int = 0
    """Pages that host memory gave up."""
    restores: int = 0
    """Pages that came back."""
    device_hits: int = 0
    """Requests that went on from pages of the device."""
    device_misses: int = 0
    """Requests that looked for such pages and found none."""
    host_hits: int = 0
    host_misses: int = 0

    def note(self, live: Live, *, has_kv_ram: bool) -> None:
        """Counts an admission."""
        is_hit = live.cached_tokens > live.restored_tokens
        self.device_hits += is_hit
        self.device_misses += not is_hit
        if has_kv_ram:
            self.host_hits += live.restored_tokens > 0
            self.host_misses += live.restored_tokens == 0
