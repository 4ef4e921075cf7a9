"""The metric families of spec/metrics.toml over a registry of their own. Safe to use from any thread; no globals."""

from collections.abc import Callable, Iterable

import prometheus_client
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ignis.metric_families import FAMILIES, Family

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Called at a scrape; gives an object with the snapshot fields of spec/metrics.toml, or None while nothing is loaded.
ReadSnapshot = Callable[[], object | None]


class Metrics:
    """Counts, observes and exposes. A name or label value that is not declared raises KeyError: always our bug."""

    def __init__(self, version: str) -> None:
        # The library's `_created` series double every family and no one reads them; it only has a process-wide switch.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # the library gives no types here
        self._registry = prometheus_client.CollectorRegistry(auto_describe=False)
        self._counters: dict[tuple[str, str], prometheus_client.Counter] = {}
        self._gauges: dict[tuple[str, str], prometheus_client.Gauge] = {}
        self._histograms: dict[str, prometheus_client.Histogram] = {}
        self._snapshots = _SnapshotCollector()
        for name, family in FAMILIES.items():
            self._add(name, family)
        self._registry.register(self._snapshots)
        info = prometheus_client.Gauge(
            "ignis_build_info", FAMILIES["ignis_build_info"].text, ("version",), registry=self._registry
        )
        info.labels(version).set(1)

    def read_snapshots_from(self, read: ReadSnapshot) -> None:
        """Sets where the gauges come from. Until then, and while it gives None, they are zero."""
        self._snapshots.read = read

    def count(self, name: str, amount: float = 1, label: str = "") -> None:
        """Adds to a counter."""
        self._counters[name, label].inc(amount)

    def observe(self, name: str, value: float) -> None:
        """Adds one observation to a histogram."""
        self._histograms[name].observe(value)

    def read_gauge_from(self, name: str, read: Callable[[], float], label: str = "") -> None:
        """Sets where a gauge comes from that is not in the snapshot."""
        self._gauges[name, label].set_function(read)

    def expose(self) -> bytes:
        """Returns the text exposition, CONTENT_TYPE."""
        return prometheus_client.generate_latest(self._registry)

    def _add(self, name: str, family: Family) -> None:
        if family.snapshot or name == "ignis_build_info":
            return
        labels = (family.label,) if family.label else ()
        if family.kind == "histogram":
            self._histograms[name] = prometheus_client.Histogram(
                name, family.text, buckets=family.buckets, registry=self._registry
            )
        elif family.kind == "counter":
            counter = prometheus_client.Counter(name, family.text, labels, registry=self._registry)
            # Asking for a labelled child makes it, so that zeros are exported.
            self._counters.update(
                {(name, value): counter.labels(value) for value in family.values} if labels else {(name, ""): counter}
            )
        else:
            gauge = prometheus_client.Gauge(name, family.text, labels, registry=self._registry)
            self._gauges.update(
                {(name, value): gauge.labels(value) for value in family.values} if labels else {(name, ""): gauge}
            )


class _SnapshotCollector(Collector):
    """Reads one snapshot a scrape, so that its gauges agree with each other."""

    def __init__(self) -> None:
        self.read: ReadSnapshot = lambda: None

    def collect(self) -> Iterable[Metric]:
        snapshot = self.read()
        for name, family in FAMILIES.items():
            if not family.snapshot:
                continue
            metric = GaugeMetricFamily(name, family.text, labels=(family.label,) if family.label else None)
            for value, field in family.snapshot:
                metric.add_metric([value] if value else [], 0 if snapshot is None else getattr(snapshot, field))
            yield metric
