"""Every metric family. Generated from spec/metrics.toml by spec/generate.py: do not edit."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Family:
    """One declared family."""

    kind: Literal["counter", "gauge", "histogram"]
    text: str
    label: str | None = None
    values: tuple[str, ...] = ()
    """Of the label; each is exported from the start."""
    buckets: tuple[float, ...] = ()
    snapshot: tuple[tuple[str, str], ...] = ()
    """(label value, snapshot field) pairs; the value is empty where the family has no label."""


FAMILIES: dict[str, Family] = {
    "ignis_build_info": Family(
        kind="gauge",
        text="Always 1; the label is the version.",
        label="version",
        values=(),
    ),
    "ignis_scheduler_requests": Family(
        kind="gauge",
        text="Requests by state.",
        label="state",
        values=("waiting", "running"),
        snapshot=(
            ("waiting", "waiting"),
            ("running", "running"),
        ),
    ),
    "ignis_lanes": Family(
        kind="gauge",
        text="Lanes of the model that serves: all, those whose prompt is computed, and those that decode.",
        label="state",
        values=("capacity", "prefill", "decode"),
        snapshot=(
            ("capacity", "lanes"),
            ("prefill", "lanes_prefilling"),
            ("decode", "lanes_decoding"),
        ),
    ),
    "ignis_oldest_waiting_seconds": Family(
        kind="gauge",
        text="How long that request has waited that waits longest: for its admission, or for its model.",
        label="for",
        values=("admission", "model"),
    ),
    "ignis_responses_queued_requests": Family(
        kind="gauge",
        text="Responses of WebSockets, and further prompts of a batch, that wait until a lane is free.",
    ),
    "ignis_requests_accepted": Family(
        kind="counter",
        text="Requests accepted: completed, cancelled and those under way.",
    ),
    "ignis_requests_completed": Family(
        kind="counter",
        text="Requests whose client stayed to their end: stop, length, expired, blocked, cut_off or fault.",
    ),
    "ignis_requests_cancelled": Family(
        kind="counter",
        text="Requests whose client left.",
    ),
    "ignis_requests_rejected": Family(
        kind="counter",
        text="Well-formed requests that were refused; invalid: nothing to read, or more answers than lanes.",
        label="reason",
        values=("full", "unknown_model", "oversized", "invalid", "not_ready", "switching", "draining"),
    ),
    "ignis_prompt_tokens": Family(
        kind="counter",
        text="Prompt tokens of requests whose prompt is done, the cached ones included.",
    ),
    "ignis_prefilled_tokens": Family(
        kind="counter",
        text="Prompt tokens that were computed, as they are.",
    ),
    "ignis_prefix_reused_tokens": Family(
        kind="counter",
        text="Prompt tokens that were claimed out of pages of running requests.",
    ),
    "ignis_retained_reused_tokens": Family(
        kind="counter",
        text="Prompt tokens that were claimed out of pages that finished requests left.",
        label="tier",
        values=("device", "kv_ram"),
    ),
    "ignis_retained_state_hits": Family(
        kind="counter",
        text="Requests whose prompt went on from pages of the tier; of the device, running requests' pages too.",
        label="tier",
        values=("device", "kv_ram"),
    ),
    "ignis_retained_state_misses": Family(
        kind="counter",
        text="Requests whose prompt was looked for in the tier and found nothing there.",
        label="tier",
        values=("device", "kv_ram"),
    ),
    "ignis_retained_state_spills": Family(
        kind="counter",
        text="Retained pages that went from the tier to the one below.",
        label="tier",
        values=("device",),
    ),
    "ignis_retained_state_discards": Family(
        kind="counter",
        text="Retained pages that the tier gave up and no tier below took.",
        label="tier",
        values=("device", "kv_ram"),
    ),
    "ignis_retained_state_restores": Family(
        kind="counter",
        text="Retained pages that came back to the device from the tier.",
        label="tier",
        values=("kv_ram",),
    ),
    "ignis_generated_tokens": Family(
        kind="counter",
        text="Tokens drawn by completed requests.",
    ),
    "ignis_thinking_forced_closes": Family(
        kind="counter",
        text="Answers whose reasoning was closed because its budget was spent.",
    ),
    "ignis_reasoning_loops": Family(
        kind="counter",
        text="Loops in the reasoning of ended answers: cut back and talked out of, or ended with the reasoning.",
        label="action",
        values=("nudged", "closed"),
    ),
    "ignis_rewound_tokens": Family(
        kind="counter",
        text="Tokens of ended answers that were drawn and taken back out of the context.",
    ),
    "ignis_decoded_tokens": Family(
        kind="counter",
        text="Tokens drawn, as they are drawn.",
    ),
    "ignis_request_ttft_seconds": Family(
        kind="histogram",
        text="From submission to the first token.",
        buckets=(0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
    ),
    "ignis_request_queue_seconds": Family(
        kind="histogram",
        text="From submission to admission.",
        buckets=(0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
    ),
    "ignis_inter_token_seconds": Family(
        kind="histogram",
        text="From one token of an answer to its next.",
        buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0),
    ),
    "ignis_request_duration_seconds": Family(
        kind="histogram",
        text="From submission to the last token.",
        buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0),
    ),
    "ignis_kv_pool_pages": Family(
        kind="gauge",
        text="KV pages of the pool.",
        snapshot=(("", "kv_pages"),),
    ),
    "ignis_kv_pool_used_pages": Family(
        kind="gauge",
        text="KV pages in use, those retained for reuse included.",
        snapshot=(("", "kv_used_pages"),),
    ),
    "ignis_kv_pool_retained_pages": Family(
        kind="gauge",
        text="KV pages in use that ended requests left for reuse; given up where one is needed.",
        snapshot=(("", "kv_retained_pages"),),
    ),
    "ignis_kv_page_bytes": Family(
        kind="gauge",
        text="Bytes of one KV page.",
        snapshot=(("", "kv_page_bytes"),),
    ),
    "ignis_kv_cache_evictions": Family(
        kind="counter",
        text="Retained pages that the device gave up for new ones.",
    ),
    "ignis_kv_lane_parks": Family(
        kind="counter",
        text="Requests that gave their pages up for one of a higher class and waited in host memory.",
    ),
    "ignis_kv_ram_arena_bytes": Family(
        kind="gauge",
        text="Host memory for KV pages that the device gives up.",
        label="state",
        values=("capacity", "used"),
        snapshot=(
            ("capacity", "kv_ram_bytes"),
            ("used", "kv_ram_used_bytes"),
        ),
    ),
    "ignis_vram_reserved_bytes": Family(
        kind="gauge",
        text="Bytes that the load reserved, by line of the plan.",
        label="line",
        values=(
            "weights",
            "embedding",
            "mapped_files",
            "cuda_context",
            "workspace",
            "sampling",
            "decode_graph",
            "lane_state",
            "kv_ram",
            "kv_pool",
        ),
        snapshot=(
            ("weights", "weights_bytes"),
            ("embedding", "embedding_bytes"),
            ("mapped_files", "mapped_files_bytes"),
            ("cuda_context", "cuda_context_bytes"),
            ("workspace", "workspace_bytes"),
            ("sampling", "sampling_bytes"),
            ("decode_graph", "decode_graph_bytes"),
            ("lane_state", "lane_state_bytes"),
            ("kv_ram", "kv_ram_line_bytes"),
            ("kv_pool", "kv_pool_bytes"),
        ),
    ),
    "ignis_vram_budget_bytes": Family(
        kind="gauge",
        text="Bytes that the load may hold in all.",
        snapshot=(("", "budget_bytes"),),
    ),
    "ignis_vram_unplanned_bytes": Family(
        kind="gauge",
        text="Bytes that the load took of a card beyond its plan, by the driver's account; below 0 where it took less.",
        snapshot=(("", "unplanned_bytes"),),
    ),
    "ignis_vram_free_after_load_bytes": Family(
        kind="gauge",
        text="Bytes of a card that were free when the load was done.",
        snapshot=(("", "free_after_load_bytes"),),
    ),
    "ignis_device_memory_bytes": Family(
        kind="gauge",
        text="Memory of the device that models run on: all, and what any process has of it. From the first load on.",
        label="state",
        values=("used", "total"),
        snapshot=(
            ("used", "device_used_bytes"),
            ("total", "device_total_bytes"),
        ),
    ),
    "ignis_model_load_bytes": Family(
        kind="gauge",
        text="Bytes of the model's tensors, while it is loaded: those that are through, and all.",
        label="state",
        values=("done", "total"),
        snapshot=(
            ("done", "load_done_bytes"),
            ("total", "load_total_bytes"),
        ),
    ),
    "ignis_model_load_seconds": Family(
        kind="gauge",
        text="How long the load of the model that serves took, with the warm-up; 0 while none serves.",
    ),
    "ignis_process_resident_bytes": Family(
        kind="gauge",
        text="Memory that the process has in RAM, mapped files included.",
    ),
    "ignis_process_start_seconds": Family(
        kind="gauge",
        text="When the process began, Unix seconds.",
    ),
    "ignis_model_state": Family(
        kind="gauge",
        text="1 for the state that the model is in.",
        label="state",
        values=("unloaded", "loading", "serving", "switching", "failed"),
    ),
    "ignis_model_waiting_requests": Family(
        kind="gauge",
        text="Requests that are held until a model serves.",
    ),
    "ignis_model_loads": Family(
        kind="counter",
        text="Loads by outcome, of switches and back to the old model too; a switch that is refused has none.",
        label="outcome",
        values=("loaded", "failed"),
    ),
    "ignis_model_downloads": Family(
        kind="counter",
        text="Downloads of models that have ended, by outcome.",
        label="outcome",
        values=("complete", "failed", "stopped"),
    ),
    "ignis_model_download_bytes": Family(
        kind="counter",
        text="Of models' files that downloads have brought, without what was there before.",
    ),
    "ignis_model_disk_free_bytes": Family(
        kind="gauge",
        text="Bytes that are free on the disk where models lie.",
    ),
    "ignis_model_unloads": Family(
        kind="counter",
        text="Models that were unloaded, by reason. switch: for another one, or for other settings.",
        label="reason",
        values=("idle", "switch", "asked"),
    ),
    "ignis_model_switches": Family(
        kind="counter",
        text="Switches by outcome, reloads by other settings too. returned: to the old model; called_off: not wanted.",
        label="outcome",
        values=("switched", "refused", "returned", "failed", "called_off"),
    ),
    "ignis_model_switch_seconds": Family(
        kind="counter",
        text="Seconds of switches, by phase: of phases that came to their end, without a load back.",
        label="phase",
        values=("prepare", "drain", "teardown", "load", "warm_up"),
    ),
    "ignis_model_ping_pongs": Family(
        kind="counter",
        text="Switches back to a model that had left within the minute: clients name models in turn.",
    ),
    "ignis_engine_step_age_seconds": Family(
        kind="gauge",
        text="Since the step loop last turned; grows while it is stuck.",
        snapshot=(("", "step_age_s"),),
    ),
    "ignis_engine_steps": Family(
        kind="counter",
        text="Steps run, by kind.",
        label="kind",
        values=("prefill", "decode", "copy", "move"),
    ),
    "ignis_decode_seconds": Family(
        kind="counter",
        text="Seconds of decode rounds by part: the host's, and the device's beside launch, deliver and wait.",
        label="part",
        values=("plan", "deliver", "launch", "wait", "commit", "device"),
    ),
    "ignis_decode_host_seconds": Family(
        kind="histogram",
        text="The host's part of a decode round: a turn of the step loop but for wait and deliver.",
        buckets=(2e-05, 5e-05, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005),
    ),
    "ignis_decode_gap_seconds": Family(
        kind="histogram",
        text="The part of a decode round's turn in which the device does none of its work.",
        buckets=(2e-05, 5e-05, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005),
    ),
    "ignis_mask_seconds": Family(
        kind="histogram",
        text="What a held answer may draw next, worked out after a token of it, beside the device's work.",
        buckets=(2e-05, 5e-05, 0.0001, 0.0002, 0.0005, 0.001, 0.005, 0.02),
    ),
    "ignis_late_lanes": Family(
        kind="counter",
        text="Lanes that a decode round went without, because what they may draw was not yet worked out.",
    ),
    "ignis_tokenize_requests": Family(
        kind="counter",
        text="Requests to the tokenizer's routes.",
        label="route",
        values=("tokenize", "detokenize", "count_tokens"),
    ),
    "ignis_http_requests": Family(
        kind="counter",
        text="HTTP exchanges answered, by the class of their status; 1xx: became a WebSocket.",
        label="status",
        values=("1xx", "2xx", "3xx", "4xx", "5xx"),
    ),
    "ignis_http_refusals": Family(
        kind="counter",
        text="Requests that ended before any route saw them, by error code; they are in no other count.",
        label="code",
        values=(
            "invalid_request_error",
            "slow_request",
            "target_too_long",
            "header_too_large",
            "expectation_failed",
            "not_implemented",
            "http_version_not_supported",
            "connections_full",
            "server_draining",
        ),
    ),
    "ignis_http_connections": Family(
        kind="gauge",
        text="Open connections, over all listeners; WebSockets are among them.",
    ),
    "ignis_http_websockets": Family(
        kind="gauge",
        text="Open WebSockets.",
    ),
    "ignis_http_websocket_closes": Family(
        kind="counter",
        text="WebSockets that ended, by close code; 1006: the connection broke.",
        label="code",
        values=(
            "1000",
            "1001",
            "1002",
            "1003",
            "1005",
            "1006",
            "1007",
            "1008",
            "1009",
            "1011",
            "1012",
            "1013",
            "other",
        ),
    ),
}
