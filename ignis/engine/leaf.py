"""Port 2, the device edge: what the engine asks of a leaf, and the native leaf behind it. Here statuses become errors.

Steps raise EngineError where the device is lost (the model must be unloaded) and InternalError where one call was
refused and nothing changed. A load raises DeviceLoadError where the device failed, so that the next one may go well.
Everything else raises ModelLoadError.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from ignis import _core
from ignis._core import Draw, LeafError, LoadParams, LoadProgress, score
from ignis.config_fields import ModelKvFormat
from ignis.errors import DeviceLoadError, EngineError, InternalError, ModelLoadError
from ignis.models.base import Checkpoint, DType
from ignis.scheduler.plan import CopyPage, DecodeRound, MovePages, PrefillSpan

_KV_DTYPES = {
    ModelKvFormat.F16: DType.F16,
    ModelKvFormat.BF16: DType.BF16,
    ModelKvFormat.FP8: DType.F8_E4M3,
    ModelKvFormat.F32: DType.F32,
}
_FLOAT_BYTES = 4
_DEVICE_FAILURES = (_core.STATUS_FAULT, _core.STATUS_NO_DEVICE, _core.STATUS_NO_MEMORY)
"""Of a step, no memory is a loss, too: none is taken then, and a card that refused some ends every later step."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    name: str
    isa: str
    num_cores: int
    memory_bytes: int
    free_bytes: int
    """What a load and what comes with it could take now."""
    context_bytes: int
    """Of free_bytes, what the driver takes for this process, model or no model."""
    phases_agree: bool
    """Whether prefill and decode give a position the same bits, so that a prompt may use what either wrote (ADR 3)."""
    has_own_memory: bool
    """Whether its memory is a card's, which nothing else needs, or the host's."""
    gains_ahead: bool
    """Whether it does more where a round is queued before the draws of the one before are known (ADR 29)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The sizes of a load that are ours to choose."""

    num_pages: int
    kv_format: ModelKvFormat
    max_context: int
    """Positions of one sequence."""
    max_span: int
    """Tokens of the longest prefill span."""
    num_lanes: int
    num_threads: int
    """0: one a physical core."""
    num_host_pages: int = 0
    """Places in host memory for pages that the device gives up."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a load holds, in bytes."""

    weights_bytes: int
    embedding_bytes: int
    """The embedding, where its rows are read from a form of their own."""
    mapped_bytes: int
    """Parts of the mapped files that stay in use."""
    workspace_bytes: int
    """Hidden states of a step's rows, and parts of attention's results."""
    sampling_bytes: int
    """Logits, draws, their scratch, and a step's inputs."""
    lane_bytes: int
    """Token counts of the lanes."""
    round_bytes: int
    """Allowed for decode rounds that the device keeps."""
    kv_page_bytes: int
    kv_pool_bytes: int
    kv_host_bytes: int = 0
    """Pages in host memory."""


class StepTimes(NamedTuple):
    """Where the last span or round spent its time, in seconds."""

    launch_s: float
    """Of the host: inputs put in place and work queued. 0 on the CPU."""
    wait_s: float
    """Of the host: waiting for the device."""
    device_s: float
    """Of the device: the step's own work."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What a device can do, measured."""

    read_bytes_s: float
    copy_bytes_s: float
    """Bytes read and bytes written count both."""
    matrix_flops_s: float


class Leaf(Protocol):
    """A device with at most one model on it. Called by one thread at a time; the GIL is released while it works."""

    def probe(self) -> DeviceInfo: ...

    def plan(self, checkpoint: Checkpoint, layout: Layout) -> Footprint:
        """Says what a load would hold; holds nothing."""
        ...

    def load(self, checkpoint: Checkpoint, layout: Layout, progress: LoadProgress) -> None:
        """Loads a model. The checkpoint's files stay mapped until `unload`. Any thread may read the progress meanwhile,
        and cancel it. Where it raises nothing is held."""
        ...

    def unload(self) -> None: ...

    def copy_page(self, step: CopyPage) -> None:
        """Copies a page into another, before whatever is asked next."""
        ...

    def move_pages(self, step: MovePages) -> None:
        """Copies pages out to host memory and others in, before whatever is asked next. Returns when those that come in
        are there; those that go out are not waited for."""
        ...

    def prefill(self, span: PrefillSpan) -> Sequence[Draw]:
        """Runs a span. The last one of a prompt opens the lane and gives one draw; others give none.

        Where the prompt is scored, a draw for each prompt token behind the span's positions comes before that.
        """
        ...

    def decode(self, step: DecodeRound, meanwhile: Callable[[], None], *, goes_on: bool = False) -> Sequence[Draw]:
        """Runs a round; gives the rows' draws in order. Calls `meanwhile` once, as soon as the device has its work.

        goes_on: the next call is this round again, each row one token on, and the device may begin it at once.
        """
        ...

    def last_step(self) -> StepTimes:
        """Says where the last span or round spent its time."""
        ...


class NativeLeaf:
    """A library that implements ignis_step.h."""

    def __init__(self, library: Path) -> None:
        try:
            self._leaf = _core.Leaf(str(library))
            self._vocab_size = 0
        except LeafError as error:
            raise ModelLoadError(f"the leaf {library.name} cannot be used: {error.text}") from error

    def probe(self) -> DeviceInfo:
        try:
            return DeviceInfo(*self._leaf.probe())
        except LeafError as error:
            raise ModelLoadError(error.text) from error

    def plan(self, checkpoint: Checkpoint, layout: Layout) -> Footprint:
        try:
            return Footprint(*self._leaf.plan(_params(checkpoint, layout)))
        except LeafError as error:
            raise ModelLoadError(f"{checkpoint.path.name}: {error.text}") from error

    def load(self, checkpoint: Checkpoint, layout: Layout, progress: LoadProgress) -> None:
        try:
            self._leaf.load(_params(checkpoint, layout), progress)
            self._vocab_size = checkpoint.shape.vocab_size
        except LeafError as error:
            kind = DeviceLoadError if error.status in _DEVICE_FAILURES else ModelLoadError
            raise kind(f"{checkpoint.path.name}: {error.text}") from error

    def unload(self) -> None:
        self._leaf.unload()

    def copy_page(self, step: CopyPage) -> None:
        try:
            self._leaf.copy_page(step.source, step.target)
        except LeafError as error:
            raise step_error(error) from error

    def move_pages(self, step: MovePages) -> None:
        try:
            if step.outs:
                self._leaf.pages_out(step.outs)
            if step.ins:
                self._leaf.pages_in(step.ins)
        except LeafError as error:
            raise step_error(error) from error

    def prefill(self, span: PrefillSpan) -> Sequence[Draw]:
        live = span.live
        num_top = live.submission.prompt_logprobs
        num_rows = span.stop - span.start
        logits = None if num_top is None else self._logits(num_rows)
        try:
            if span.is_last:
                self._leaf.open_lane(live.lane, live.tokens)
            lane = live.lane if span.is_last else -1
            draw = self._leaf.prefill(live.tokens, span.start, span.stop, live.table, lane, span.sampling, logits)
        except LeafError as error:
            raise step_error(error) from error
        draws = [] if draw is None else [draw]
        if num_top is None:
            return draws
        return score(logits, live.tokens, span.start, num_rows - span.is_last, num_top) + draws

    def decode(self, step: DecodeRound, meanwhile: Callable[[], None], *, goes_on: bool = False) -> Sequence[Draw]:
        try:
            for live in step.replaced:
                self._leaf.open_lane(live.lane, live.tokens)
            return self._leaf.decode(step.rows, step.sampling, None, meanwhile, goes_on)
        except LeafError as error:
            raise step_error(error) from error

    def _logits(self, num_rows: int) -> "memoryview[float]":
        """Memory for the logits of so many positions: float32 [num_rows, vocab_size]."""
        shape = (num_rows, self._vocab_size)
        return memoryview(bytearray(num_rows * self._vocab_size * _FLOAT_BYTES)).cast("f", shape)

    def last_step(self) -> StepTimes:
        return StepTimes(*self._leaf.last_step())

    def measure(self, num_threads: int) -> Ceilings:
        """Measures the device, in a second or less, with memory that it gives back.

        num_threads: of the CPU; 0: one for each physical core.
        """
        try:
            return Ceilings(*self._leaf.measure(num_threads))
        except LeafError as error:
            raise ModelLoadError(error.text) from error


def _params(checkpoint: Checkpoint, layout: Layout) -> LoadParams:
    return LoadParams(
        checkpoint,
        num_pages=layout.num_pages,
        kv_dtype=_KV_DTYPES[layout.kv_format],
        max_context=layout.max_context,
        max_span=layout.max_span,
        max_lanes=layout.num_lanes,
        num_threads=layout.num_threads,
        num_host_pages=layout.num_host_pages,
    )


def step_error(error: LeafError) -> EngineError | InternalError:
    """What a step's failure is to the engine: EngineError where the device is lost."""
    kind = EngineError if error.status in _DEVICE_FAILURES else InternalError
    return kind(f"the leaf refused a step (status {error.status}): {error.text}")
