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
    "ignis.process.open_to_all": (
        "warning",
        frozenset(
            {
                "url",
            }
        ),
    ),
    "ignis.process.metrics_moved": (
        "warning",
        frozenset(
            {
                "url",
                "error",
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
    "ignis.config.changed": (
        "info",
        frozenset(
            {
                "fields",
                "path",
                "reason",
            }
        ),
    ),
    "ignis.config.not_written": (
        "warning",
        frozenset(
            {
                "path",
                "error",
            }
        ),
    ),
    "ignis.config.fault": (
        "error",
        frozenset(
            {
                "error",
            }
        ),
    ),
    "ignis.config.moves_instructions": (
        "warning",
        frozenset(
            {
                "policy",
            }
        ),
    ),
    "ignis.model.none_yet": (
        "info",
        frozenset(
            {
                "id",
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
    "ignis.model.load_progress": (
        "info",
        frozenset(
            {
                "phase",
                "done_bytes",
                "total_bytes",
                "duration_ms",
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
    "ignis.model.download_ended": (
        "info",
        frozenset(
            {
                "id",
                "outcome",
                "done_bytes",
                "duration_ms",
                "error",
            }
        ),
    ),
    "ignis.model.loaded": (
        "info",
        frozenset(
            {
                "id",
                "load_ms",
                "warm_up_ms",
                "total_bytes",
            }
        ),
    ),
    "ignis.model.unloaded": (
        "info",
        frozenset(
            {
                "id",
                "reason",
                "duration_ms",
            }
        ),
    ),
    "ignis.model.switch_started": (
        "info",
        frozenset(
            {
                "from",
                "to",
            }
        ),
    ),
    "ignis.model.switched": (
        "info",
        frozenset(
            {
                "from",
                "to",
                "prepare_ms",
                "drain_ms",
                "teardown_ms",
                "load_ms",
                "warm_up_ms",
                "waited",
            }
        ),
    ),
    "ignis.model.switch_called_off": (
        "info",
        frozenset(
            {
                "from",
                "to",
            }
        ),
    ),
    "ignis.model.switch_failed": (
        "error",
        frozenset(
            {
                "from",
                "to",
                "error",
            }
        ),
    ),
    "ignis.model.ping_pong": (
        "warning",
        frozenset(
            {
                "from",
                "to",
                "switches",
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
                "mode",
                "free_at_start_bytes",
                "headroom_bytes",
                "allow_oversubscription",
                "budget_bytes",
                "weights_bytes",
                "embedding_bytes",
                "mapped_files_bytes",
                "cuda_context_bytes",
                "workspace_bytes",
                "sampling_bytes",
                "decode_graph_bytes",
                "lane_state_bytes",
                "kv_pool_bytes",
                "kv_pages",
                "kv_pool_policy",
                "total_bytes",
                "allocated_at_load_bytes",
                "oversubscribed",
            }
        ),
    ),
    "ignis.runtime.vram_loaded": (
        "info",
        frozenset(
            {
                "allocated_at_load_bytes",
                "free_memory_delta_bytes",
                "unplanned_bytes",
                "free_after_load_bytes",
            }
        ),
    ),
    "ignis.runtime.vram_oversubscribed": (
        "warning",
        frozenset(
            {
                "budget_bytes",
                "free_at_start_bytes",
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
                "thinking_forced",
                "reasoning_redirected_at",
                "rewound_tokens",
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
    "ignis.request.only_reasoning": (
        "warning",
        frozenset(
            {
                "request_id",
                "cause",
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
    "ignis.http.websocket": (
        "debug",
        frozenset(
            {
                "request_id",
                "path",
                "close_code",
                "reason",
                "received",
                "sent",
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
    "ignis.http.tls_failed": (
        "debug",
        frozenset(
            {
                "peer",
                "error",
            }
        ),
    ),
    "ignis.http.certificate_renewed": (
        "info",
        frozenset(
            {
                "path",
            }
        ),
    ),
    "ignis.http.certificate_refused": (
        "warning",
        frozenset(
            {
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
