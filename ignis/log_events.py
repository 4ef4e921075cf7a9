"""Every event: level, fields. Generated from spec/events.toml by spec/generate.py: do not edit."""

EVENTS: dict[str, tuple[str, frozenset[str]]] = {
    "ignis.process.started": (
        "info",
        frozenset(
            {
                "version",
                "pid",
                "started_ms",
            }
        ),
    ),
    "ignis.process.listening": (
        "info",
        frozenset(
            {
                "url",
                "started_ms",
            }
        ),
    ),
    "ignis.process.key_generated": (
        "info",
        frozenset(
            {
                "key",
            }
        ),
    ),
    "ignis.process.ready": (
        "info",
        frozenset(
            {
                "id",
                "load_ms",
                "started_ms",
            }
        ),
    ),
    "ignis.process.draining": (
        "info",
        frozenset(
            {
                "signal",
                "requests",
                "connections",
            }
        ),
    ),
    "ignis.process.stopped": (
        "info",
        frozenset(
            {
                "reason",
            }
        ),
    ),
    "ignis.process.fault": (
        "error",
        frozenset(
            {
                "error",
            }
        ),
    ),
    "ignis.config.source": (
        "info",
        frozenset(
            {
                "path",
            }
        ),
    ),
    "ignis.model.load_started": (
        "info",
        frozenset(
            {
                "id",
                "artifact",
                "format",
            }
        ),
    ),
    "ignis.model.load_failed": (
        "error",
        frozenset(
            {
                "id",
                "error",
            }
        ),
    ),
    "ignis.runtime.device": (
        "info",
        frozenset(
            {
                "kind",
                "device",
                "isa",
                "cores",
                "total_bytes",
                "free_bytes",
                "reason",
            }
        ),
    ),
    "ignis.runtime.vram_plan": (
        "info",
        frozenset(
            {
                "weights_bytes",
                "workspace_bytes",
                "kv_pool_bytes",
                "total_bytes",
            }
        ),
    ),
    "ignis.runtime.kv_pool": (
        "info",
        frozenset(
            {
                "kv_pages",
                "kv_tokens",
                "kv_page_bytes",
                "kv_pool_bytes",
                "decode_lanes",
                "prefill_chunk",
            }
        ),
    ),
    "ignis.request.admitted": (
        "info",
        frozenset(
            {
                "request_id",
                "sequence",
                "lane",
                "class",
                "prompt_tokens",
                "cached_tokens",
                "queued_ms",
            }
        ),
    ),
    "ignis.request.ttft": (
        "debug",
        frozenset(
            {
                "request_id",
                "sequence",
                "lane",
                "class",
                "duration_ms",
                "tokens",
                "tok_s",
            }
        ),
    ),
    "ignis.request.done": (
        "info",
        frozenset(
            {
                "request_id",
                "sequence",
                "lane",
                "class",
                "finish_reason",
                "prompt_tokens",
                "cached_tokens",
                "completion_tokens",
                "queued_ms",
                "prefill_ms",
                "duration_ms",
                "tok_s",
                "itl_ms_mean",
                "itl_ms_max",
            }
        ),
    ),
    "ignis.request.rejected": (
        "info",
        frozenset(
            {
                "request_id",
                "reason",
                "code",
                "retry_after_s",
            }
        ),
    ),
    "ignis.request.field_ignored": (
        "warning",
        frozenset(
            {
                "request_id",
                "field",
                "path",
            }
        ),
    ),
    "ignis.request.fault": (
        "error",
        frozenset(
            {
                "request_id",
                "sequence",
                "error",
            }
        ),
    ),
    "ignis.scheduler.interval": (
        "debug",
        frozenset(
            {
                "tick",
                "waiting",
                "running",
                "kv_used_pct",
                "kv_cache_evictions",
            }
        ),
    ),
    "ignis.engine.fault": (
        "error",
        frozenset(
            {
                "error",
            }
        ),
    ),
    "ignis.http.request": (
        "debug",
        frozenset(
            {
                "request_id",
                "method",
                "path",
                "status",
                "duration_ms",
                "peer",
            }
        ),
    ),
    "ignis.http.fault": (
        "error",
        frozenset(
            {
                "request_id",
                "method",
                "path",
                "error",
            }
        ),
    ),
    "ignis.http.connection_cut": (
        "debug",
        frozenset(
            {
                "peer",
                "reason",
                "request_id",
            }
        ),
    ),
    "ignis.http.connections_full": (
        "warning",
        frozenset(
            {
                "peer",
                "connections",
            }
        ),
    ),
    "ignis.http.listener_fault": (
        "error",
        frozenset(
            {
                "url",
                "error",
            }
        ),
    ),
}
