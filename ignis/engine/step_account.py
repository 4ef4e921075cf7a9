"""What the log and the metrics are told of the steps that run, and of the pages that requests use again."""

from dataclasses import replace

from ignis.engine.turn import Delivery, TurnTimes
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.scheduler.plan import CopyPage, DecodeRound, Idle, MovePages, PrefillSpan
from ignis.scheduler.reuse_counts import ReuseCounts
from ignis.scheduler.scheduler import Scheduler


class StepAccount:
    """Belongs to the event loop's thread."""

    def __init__(self, log: Log, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._num_steps = 0
        self._counted_reuse = ReuseCounts()
        self._logged_load = (0, 0)
        """(waiting, running)"""

    def note_attach(self) -> None:
        """A model was loaded: its steps are counted, and its scheduler counts, from nothing."""
        self._num_steps = 0
        self._counted_reuse = ReuseCounts()

    def note(self, delivery: Delivery, scheduler: Scheduler | None) -> None:
        """Counts a turn; `scheduler`: of the model that serves now, if one does."""
        for work_s in delivery.work_s:
            self._metrics.observe("ignis_mask_seconds", work_s)
        if delivery.num_late:
            self._metrics.count("ignis_late_lanes", delivery.num_late)
        if isinstance(delivery.step, DecodeRound):
            self._metrics.count("ignis_engine_steps", label="decode")
            if delivery.times is not None:
                self._note_round(delivery.times)
        elif isinstance(delivery.step, PrefillSpan):
            self._metrics.count("ignis_engine_steps", label="prefill")
            self._metrics.count("ignis_prefilled_tokens", delivery.step.stop - delivery.step.start)
        elif isinstance(delivery.step, CopyPage):
            self._metrics.count("ignis_engine_steps", label="copy")
        elif isinstance(delivery.step, MovePages):
            self._metrics.count("ignis_engine_steps", label="move")
        self._num_steps += not isinstance(delivery.step, Idle)
        if scheduler is not None:
            self._note_reuse(replace(scheduler.residency.counts))
            self._log_load(scheduler)

    def _note_round(self, times: TurnTimes) -> None:
        self._metrics.observe("ignis_decode_host_seconds", times.host_s)
        self._metrics.observe("ignis_decode_gap_seconds", max(0.0, times.gap_s))
        self._metrics.count("ignis_decode_seconds", times.plan_s, label="plan")
        self._metrics.count("ignis_decode_seconds", times.deliver_s, label="deliver")
        self._metrics.count("ignis_decode_seconds", times.leaf.launch_s, label="launch")
        self._metrics.count("ignis_decode_seconds", times.leaf.wait_s, label="wait")
        self._metrics.count("ignis_decode_seconds", times.commit_s, label="commit")
        self._metrics.count("ignis_decode_seconds", times.leaf.device_s, label="device")

    def _note_reuse(self, counts: ReuseCounts) -> None:
        """What became of retained pages since the last turn."""
        before, self._counted_reuse = self._counted_reuse, counts
        if counts == before:
            return
        count = self._metrics.count
        count("ignis_kv_cache_evictions", counts.evictions - before.evictions)
        count("ignis_retained_state_hits", counts.device_hits - before.device_hits, label="device")
        count("ignis_retained_state_misses", counts.device_misses - before.device_misses, label="device")
        count("ignis_retained_state_spills", counts.spills - before.spills, label="device")
        count("ignis_retained_state_discards", counts.discards - before.discards, label="device")
        count("ignis_retained_state_hits", counts.host_hits - before.host_hits, label="kv_ram")
        count("ignis_retained_state_misses", counts.host_misses - before.host_misses, label="kv_ram")
        count("ignis_retained_state_discards", counts.host_discards - before.host_discards, label="kv_ram")
        count("ignis_retained_state_restores", counts.restores - before.restores, label="kv_ram")

    def _log_load(self, scheduler: Scheduler) -> None:
        """Where it is another than it was."""
        load = scheduler.num_waiting, scheduler.num_running
        if load == self._logged_load:
            return
        self._logged_load = load
        residency = scheduler.residency
        self._log.emit(
            "ignis.scheduler.interval",
            tick=self._num_steps,
            waiting=load[0],
            running=load[1],
            kv_used_pct=round(100 * residency.num_used / residency.pool.num_pages, 1),
            kv_cache_evictions=residency.counts.evictions,
        )
