"""One request in flight as the event loop's thread sees it, and what the log and the metrics are told of it."""

from ignis.engine.mailbox import Mailbox
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.scheduler.request import (
    Admitted,
    FinishReason,
    Parked,
    ReasoningRecord,
    RequestClass,
    Restored,
    Submission,
    TokenEvent,
    Usage,
)


class Flight:
    """From acceptance to the last event. Times are of the engine's clock."""

    __slots__ = (
        "accepted_at_s",
        "first_at_s",
        "gap_s",
        "has_left",
        "lane",
        "last_at_s",
        "longest_gap_s",
        "mailbox",
        "num_drawn",
        "submission",
        "usage",
    )

    def __init__(self, mailbox: Mailbox, submission: Submission, now_s: float) -> None:
        self.mailbox = mailbox
        self.submission = submission
        self.accepted_at_s = now_s
        self.has_left = False
        """Its reader ended it: the lane counts as free, and the scheduler's last event is still to come."""
        self.lane: int | None = None
        """None until it is admitted."""
        self.num_drawn = 0
        self.first_at_s: float | None = None
        self.last_at_s = now_s
        self.gap_s = 0.0
        """Between the latest two tokens."""
        self.longest_gap_s = 0.0
        self.usage: Usage | None = None

    def note(self, event: TokenEvent, now_s: float) -> int:
        """Counts an event; returns the tokens drawn since the one before, a stop token included."""
        if event.usage is not None:
            self.usage = event.usage
        drawn = (
            len(event.tokens)
            if event.finish is None or event.usage is None
            else (event.usage.completion_tokens - self.num_drawn)
        )
        if not drawn:
            return 0
        if self.first_at_s is None:
            self.first_at_s = now_s
        else:
            self.gap_s = now_s - self.last_at_s
            self.longest_gap_s = max(self.longest_gap_s, self.gap_s)
        self.last_at_s = now_s
        self.num_drawn += drawn
        return drawn


class Account:
    """Tells the log and the metrics what became of requests."""

    def __init__(self, log: Log, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics

    def accepted(self) -> None:
        self._metrics.count("ignis_requests_accepted")

    def rejected(self, submission: Submission, reason: str, code: str, retry_after_s: int | None) -> None:
        """reason: one of the label values of ignis_requests_rejected."""
        self._metrics.count("ignis_requests_rejected", label=reason)
        self._log.emit(
            "ignis.request.rejected",
            request_id=submission.trace,
            reason=reason,
            code=code,
            retry_after_s=retry_after_s,
        )

    def admitted(self, event: Admitted, flight: Flight) -> None:
        """The request left the queue."""
        self._metrics.observe("ignis_request_queue_seconds", event.queued_s)
        retained_tokens = event.cached_tokens - event.shared_tokens - event.restored_tokens
        self._metrics.count("ignis_prefix_reused_tokens", event.shared_tokens)
        self._metrics.count("ignis_retained_reused_tokens", retained_tokens, label="device")
        self._metrics.count("ignis_retained_reused_tokens", event.restored_tokens, label="kv_ram")
        self._log.emit(
            "ignis.request.admitted",
            request_id=flight.submission.trace,
            sequence=event.request_id,
            lane=event.lane,
            class_=_name(flight.submission.request_class),
            prompt_tokens=len(flight.submission.prompt),
            cached_tokens=event.cached_tokens,
            restored_tokens=event.restored_tokens or None,
            queued_ms=_ms(event.queued_s),
        )

    def moved(self, event: Parked | Restored, flight: Flight) -> None:
        """The request went to host memory, or is back."""
        if isinstance(event, Parked):
            self._metrics.count("ignis_kv_lane_parks")
            self._log.emit(
                "ignis.request.evicted",
                request_id=flight.submission.trace,
                sequence=event.request_id,
                lane=flight.lane,
                tokens=event.tokens,
            )
        else:
            self._log.emit(
                "ignis.request.restored",
                request_id=flight.submission.trace,
                sequence=event.request_id,
                lane=flight.lane,
                tokens=event.tokens,
                parked_ms=_ms(event.parked_s),
            )

    def begun(self, request_id: int, flight: Flight, now_s: float) -> None:
        """The first token is there."""
        usage = flight.usage
        assert usage is not None
        waited_s = now_s - flight.accepted_at_s
        self._metrics.count("ignis_prompt_tokens", usage.prompt_tokens)
        self._metrics.observe("ignis_request_ttft_seconds", waited_s)
        prefilled = usage.prompt_tokens - usage.cached_tokens
        self._log.emit(
            "ignis.request.ttft",
            request_id=flight.submission.trace,
            sequence=request_id,
            lane=flight.lane,
            class_=_name(flight.submission.request_class),
            duration_ms=_ms(waited_s),
            tokens=prefilled,
            tok_s=_rate(prefilled, usage.prefill_s),
        )

    def went_on(self, flight: Flight) -> None:
        """Another token is there."""
        self._metrics.observe("ignis_inter_token_seconds", flight.gap_s)

    def drawn(self, count: int) -> None:
        """So many tokens came of one step, of all requests."""
        self._metrics.count("ignis_decoded_tokens", count)

    def ended(self, request_id: int, flight: Flight, event: TokenEvent, now_s: float) -> None:
        """The last event is there."""
        reason = event.finish
        assert reason is not None
        usage = event.usage
        duration_s = now_s - flight.accepted_at_s
        if reason is FinishReason.CANCELLED:
            self._metrics.count("ignis_requests_cancelled")
        else:
            self._metrics.count("ignis_requests_completed")
            self._metrics.count("ignis_generated_tokens", flight.num_drawn)
        self._metrics.observe("ignis_request_duration_seconds", duration_s)
        record = flight.submission.reasoning
        if record is not None:
            self._reasoned(record)
        if reason is FinishReason.FAULT:
            self._log.emit(
                "ignis.request.fault", request_id=flight.submission.trace, sequence=request_id, error=event.fault
            )
        gaps = flight.num_drawn - 1
        between_s = 0.0 if flight.first_at_s is None else flight.last_at_s - flight.first_at_s
        self._log.emit(
            "ignis.request.done",
            request_id=flight.submission.trace,
            sequence=request_id,
            lane=flight.lane,
            class_=_name(flight.submission.request_class),
            finish_reason=reason.value,
            reason=(event.told or event.fault) if reason is FinishReason.CUT_OFF else None,
            prompt_tokens=len(flight.submission.prompt),
            cached_tokens=None if usage is None else usage.cached_tokens,
            completion_tokens=flight.num_drawn,
            thinking_forced=None if record is None else record.forced_at,
            reasoning_redirected_at=None if record is None else record.redirected_at,
            rewound_tokens=(record and record.rewound_tokens) or None,
            queued_ms=None if usage is None else _ms(usage.queued_s),
            prefill_ms=None if usage is None else _ms(usage.prefill_s),
            duration_ms=_ms(duration_s),
            tok_s=_rate(gaps, between_s),
            itl_ms_mean=_ms(between_s / gaps) if gaps > 0 else None,
            itl_ms_max=_ms(flight.longest_gap_s) if gaps > 0 else None,
        )

    def _reasoned(self, record: ReasoningRecord) -> None:
        """An answer that might reason has ended."""
        if record.forced_at is not None:
            self._metrics.count("ignis_thinking_forced_closes")
        self._metrics.count("ignis_reasoning_loops", record.num_nudges, label="nudged")
        self._metrics.count("ignis_reasoning_loops", record.is_cut_short, label="closed")
        self._metrics.count("ignis_rewound_tokens", record.rewound_tokens)


def _name(request_class: RequestClass) -> str:
    return request_class.name.lower()


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _rate(tokens: int, seconds: float) -> float | None:
    return round(tokens / seconds, 2) if tokens > 0 and seconds > 0 else None
