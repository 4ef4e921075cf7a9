"""One run of the bench: loads the model, keeps the engine busy with requests of its own, and times what comes back."""

import random
import signal
import sys
import time
from collections.abc import Sequence

import trio

from ignis.bench.figures import DecodeFigures, Figures, PromptFigures, Work, decode_figures, prompt_figures
from ignis.bench.options import BenchOptions
from ignis.bench.recorder import Recorder
from ignis.config import Config
from ignis.config_fields import ConfigFields
from ignis.config_slots import Source
from ignis.engine.device import open_leaf
from ignis.engine.engine import Engine
from ignis.engine.leaf import Ceilings, NativeLeaf
from ignis.engine.loop import SWITCH_INTERVAL_S
from ignis.engine.settings import EngineSettings
from ignis.engine.vram import LoadPlan
from ignis.errors import ConfigError, EngineError, IgnisError
from ignis.log import Log, LogFormat, open_log
from ignis.metrics import Metrics
from ignis.models.base import Checkpoint
from ignis.models.registry import open_weights
from ignis.models.synthetic import synthetic_checkpoint
from ignis.scheduler.live import pages_of
from ignis.scheduler.request import FinishReason, SamplingParams, Submission
from ignis.units import shown_size
from ignis.version import VERSION

CONTEXT = 1024
PROMPTS = (512, 2048, 8192, 16384)
_WARM_ROUNDS = 8
_LEVEL = "log.level"


def run(options: BenchOptions, config: Config) -> Figures:
    """Measures and returns the figures. Blocks.

    Raises:
        ConfigError: a width or a length that was asked for does not fit the configuration.
        ModelFileError, ModelLoadError, EngineError: there is no such model, or it cannot be run here.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    is_default = config.origins[_LEVEL].source is Source.DEFAULT
    level = "warning" if is_default else config.log.level.value
    log = open_log(sys.stderr, LogFormat(config.log.format.value), level)
    checkpoint = open_model(options)
    fields = config.of(checkpoint.shape.architecture.value)
    lanes = fields.model.decode_lanes
    if options.widths[-1] > lanes and options.widths != tuple(range(1, options.widths[-1] + 1)):
        checkpoint.close()
        raise ConfigError(f"--widths: {options.widths[-1]} is more than model.decode_lanes {lanes}")
    # Ctrl-C ends the process at once, and the system takes back what it holds.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        leaf = open_leaf(config.device.kind, log)
        return trio.run(_Bench(options, fields, checkpoint, leaf, log).measure)
    finally:
        signal.signal(signal.SIGINT, handler)
        checkpoint.close()


def open_model(options: BenchOptions) -> Checkpoint:
    """Opens the files, or makes the synthetic checkpoint."""
    if options.model is not None:
        return open_weights(options.model)
    assert options.config is not None
    return synthetic_checkpoint(options.config, options.dtype, options.seed)


class _Bench:
    """Everything of one run."""

    def __init__(
        self, options: BenchOptions, config: ConfigFields, checkpoint: Checkpoint, leaf: NativeLeaf, log: Log
    ) -> None:
        self._options = options
        self._checkpoint = checkpoint
        self._leaf = leaf
        self._num_threads = config.cpu.threads
        self._num_lanes = config.model.decode_lanes
        self._recorder = Recorder()
        settings = EngineSettings.from_config(config)
        self._engine = Engine(settings, lambda: leaf, log, Metrics(VERSION), watch=self._recorder.take)
        self._random = random.Random(options.seed)
        self._left_out: list[str] = []

    async def measure(self) -> Figures:
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            await nursery.start(self._engine.run)
            try:
                return await self._measure()
            except* IgnisError as group:
                # Outside of the nursery, which would wrap it into a group, as that of the lanes did.
                failure = group.exceptions[0]
            finally:
                nursery.cancel_scope.cancel()
        raise failure

    async def _measure(self) -> Figures:
        self._tell("the device's own rates are measured")
        ceilings = await trio.to_thread.run_sync(self._leaf.measure, self._num_threads)
        started_s = time.monotonic()
        self._tell(f"{self._checkpoint.name} is loaded, {shown_size(self._checkpoint.size_bytes)}")
        plan = await self._engine.load(self._checkpoint)
        load_s = time.monotonic() - started_s
        work = Work(self._checkpoint, plan)
        lengths = self._fitting("--prompts", self._options.prompts, PROMPTS, 1, plan)
        contexts = self._fitting("--contexts", self._options.contexts, (CONTEXT,), self._answer_tokens, plan)
        # What is slow the first time only.
        await self._ask(self._prompt(min(65, plan.layout.max_context - _WARM_ROUNDS)), _WARM_ROUNDS)
        prompts = [await self._time_prompts(length, work, ceilings) for length in lengths]
        decode = await self._time_rounds(contexts, plan, work, ceilings)
        return Figures(
            device=plan.device.name,
            isa=plan.device.isa,
            ceilings=ceilings,
            model=self._checkpoint.name,
            format=self._checkpoint.format,
            num_parameters=self._checkpoint.num_parameters,
            weights_bytes=work.weights_bytes,
            step_bytes=work.step_bytes,
            token_flops=work.token_flops,
            load_s=load_s,
            kv_pool_tokens=plan.layout.num_pages * 64,
            decode=tuple(decode),
            prompts=tuple(prompts),
            left_out=tuple(self._left_out),
        )

    # Waiting for a first token.

    def _fitting(
        self, flag: str, wanted: Sequence[int] | None, default: Sequence[int], answer_tokens: int, plan: LoadPlan
    ) -> Sequence[int]:
        most = plan.layout.max_context - answer_tokens
        if most < 1:
            raise ConfigError(
                f"the context of {plan.layout.max_context} tokens holds no prompt beside the {answer_tokens} tokens of "
                "answer that are measured; lower --rounds or raise model.max_context"
            )
        if wanted is None:
            fitting = [length for length in default if length <= most]
            self._left_out += [f"{flag} {length}: more than the context holds" for length in default if length > most]
            return fitting or [-(-most // 2)]
        if wanted[-1] > most:
            raise ConfigError(
                f"{flag} {wanted[-1]}: with {answer_tokens} tokens of answer that is more than the context of "
                f"{plan.layout.max_context} tokens"
            )
        return wanted

    async def _time_prompts(self, length: int, work: Work, ceilings: Ceilings) -> PromptFigures:
        cold, device, cached, cached_device = [], [], [], []
        for number in range(self._options.repeats):
            self._tell(f"prompts of {length} tokens, {number + 1} of {self._options.repeats}")
            prompt = self._prompt(length)
            self._recorder.clear()
            cold.append(await self._ask(prompt, 1))
            device.append(self._recorder.prefill_device_s())
            self._recorder.clear()
            cached.append(await self._ask(prompt, 1))
            cached_device.append(self._recorder.prefill_device_s())
        return prompt_figures(length, cold, device, cached, cached_device, work, ceilings)

    # Decode rounds.

    @property
    def _answer_tokens(self) -> int:
        return self._options.rounds + _WARM_ROUNDS + 4 * self._num_lanes

    async def _time_rounds(
        self, contexts: Sequence[int], plan: LoadPlan, work: Work, ceilings: Ceilings
    ) -> list[DecodeFigures]:
        figures = []
        answer = self._answer_tokens
        for context in contexts:
            pages = pages_of(context + answer)
            widths = [width for width in self._options.widths if width <= self._num_lanes]
            too_wide = [width for width in widths if width * pages > plan.layout.num_pages]
            self._left_out += [f"{width} lanes at {context} tokens: more than the KV pool holds" for width in too_wide]
            widths = widths[: len(widths) - len(too_wide)]
            prompts = [self._prompt(context) for _ in range(max(widths, default=0))]
            for number, prompt in enumerate(prompts):
                self._tell(f"prompts of {context} tokens for the lanes, {number + 1} of {len(prompts)}")
                await self._ask(prompt, 1)
            for width in widths:
                self._tell(f"rounds of {width} {'lane' if width == 1 else 'lanes'} at {context} tokens")
                self._recorder.clear()
                async with trio.open_nursery() as nursery:
                    for prompt in prompts[:width]:
                        nursery.start_soon(self._ask, prompt, answer)
                rounds = self._recorder.rounds(width)[_WARM_ROUNDS // 2 :][: self._options.rounds]
                if rounds:
                    figures.append(decode_figures(rounds, width, context, work, ceilings))
                else:
                    self._left_out.append(f"{width} lanes at {context} tokens: they never ran together")
        return figures

    def _tell(self, what: str) -> None:
        """Says on standard error what takes so long; the figures come when all are there."""
        print(f"ignis-server bench: {what}", file=sys.stderr, flush=True)

    # Requests.

    def _prompt(self, length: int) -> tuple[int, ...]:
        vocab_size = self._checkpoint.shape.vocab_size
        return tuple(self._random.randrange(vocab_size) for _ in range(length))

    async def _ask(self, prompt: tuple[int, ...], max_tokens: int) -> float:
        """Runs one request to its end; returns the seconds until its first token.

        Raises:
            EngineError: it ended in a fault.
        """
        sampling = SamplingParams(temperature=self._options.temperature, seed=self._options.seed)
        submission = Submission(prompt, max_tokens, sampling, frozenset())
        started_s = time.monotonic()
        first_s = None
        (mailbox,) = self._engine.submit([submission])
        with mailbox:
            while True:
                event = await mailbox.receive()
                if first_s is None:
                    first_s = time.monotonic() - started_s
                if event.finish is FinishReason.LENGTH:
                    return first_s
                if event.finish is not None:
                    raise EngineError(f"a request of the bench ended with {event.finish.value}: {event.fault}")
