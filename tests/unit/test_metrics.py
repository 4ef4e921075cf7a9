"""The metric families: all of them from the start, as zeros, and gauges that read one snapshot."""

from dataclasses import make_dataclass
from threading import Thread

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ignis.engine.snapshot import EngineSnapshot
from ignis.metric_families import FAMILIES
from ignis.metrics import Metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.expose().decode())
        for sample in family.samples
    }


def test_every_declared_family_is_exposed_as_zero_from_the_start() -> None:
    found = samples(Metrics("1.2.3"))
    assert found.pop(("ignis_build_info", (("version", "1.2.3"),))) == 1
    assert set(found.values()) == {0.0}
    families = {family.name for family in text_string_to_metric_families(Metrics("1").expose().decode())}
    assert families == set(FAMILIES)
    assert not any(name.endswith("_created") for name, _ in found)


def test_every_value_of_a_label_is_exposed() -> None:
    found = samples(Metrics("1"))
    for name, family in FAMILIES.items():
        suffix = "_total" if family.kind == "counter" else ""
        for value in family.values:
            assert (name + suffix, ((str(family.label), value),)) in found


def test_counting_observing_and_setting_show() -> None:
    metrics = Metrics("1")
    metrics.count("ignis_requests_accepted")
    metrics.count("ignis_requests_rejected", 2, label="full")
    metrics.observe("ignis_request_ttft_seconds", 0.2)
    metrics.read_gauge_from("ignis_http_connections", lambda: 3)
    found = samples(metrics)
    assert found["ignis_requests_accepted_total", ()] == 1
    assert found["ignis_requests_rejected_total", (("reason", "full"),)] == 2
    assert found["ignis_request_ttft_seconds_bucket", (("le", "0.1"),)] == 0
    assert found["ignis_request_ttft_seconds_bucket", (("le", "0.25"),)] == 1
    assert found["ignis_request_ttft_seconds_sum", ()] == 0.2
    assert found["ignis_http_connections", ()] == 3


def test_what_is_not_declared_is_refused() -> None:
    metrics = Metrics("1")
    with pytest.raises(KeyError):
        metrics.count("ignis_no_such")
    with pytest.raises(KeyError):
        metrics.count("ignis_requests_rejected", label="bad mood")
    with pytest.raises(KeyError):
        metrics.count("ignis_requests_rejected")


def test_gauges_read_the_engines_snapshot_and_are_zero_without_one() -> None:
    metrics = Metrics("1")
    fields = [field for family in FAMILIES.values() for _, field in family.snapshot]
    assert set(fields) <= set(EngineSnapshot.__dataclass_fields__)
    snapshot = make_dataclass("Snapshot", [(field, float) for field in fields])(*range(1, len(fields) + 1))
    reads = []

    def read() -> object:
        reads.append(1)
        return snapshot

    metrics.read_snapshots_from(read)
    found = samples(metrics)
    assert found["ignis_scheduler_requests", (("state", "waiting"),)] == snapshot.waiting
    assert found["ignis_vram_reserved_bytes", (("line", "kv_pool"),)] == snapshot.kv_pool_bytes
    assert len(reads) == 1
    metrics.read_snapshots_from(lambda: None)
    assert samples(metrics)["ignis_kv_pool_pages", ()] == 0


def test_two_registries_share_nothing() -> None:
    one, other = Metrics("1"), Metrics("1")
    one.count("ignis_decoded_tokens", 5)
    assert samples(other)["ignis_decoded_tokens_total", ()] == 0


def test_counting_from_threads_loses_nothing() -> None:
    metrics = Metrics("1")

    def count() -> None:
        for _ in range(1000):
            metrics.count("ignis_decoded_tokens")

    threads = [Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert samples(metrics)["ignis_decoded_tokens_total", ()] == 4000
