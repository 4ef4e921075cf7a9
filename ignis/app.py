"""Puts the server together: the only code that knows both ports. Starts it, loads the model, ends it in order."""

import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import trio

from ignis.api.auth import AUTO, generate_key
from ignis.api.prompt import Prompts
from ignis.api.routes import ApiSettings, build_metrics_router, build_router
from ignis.api.serving import Serving
from ignis.api.thinking import ThinkingDefaults
from ignis.banner import banner, summary, url_of
from ignis.catalog import ModelSource, ProgressReport, load_catalog, resolve_model, served_name
from ignis.chat.instructions import InstructionPolicies
from ignis.config import Config, Source
from ignis.engine.device import open_leaf
from ignis.engine.engine import Engine
from ignis.engine.lifecycle import LoadedModel, describe
from ignis.engine.loop import SWITCH_INTERVAL_S
from ignis.engine.settings import EngineSettings
from ignis.errors import DeviceLoadError, IgnisError, ModelFileError
from ignis.log import Log, LogFormat, open_log
from ignis.metrics import Metrics
from ignis.models.base import Checkpoint, MappedFile
from ignis.models.registry import open_checkpoint
from ignis.server.binding import Bound, Listen
from ignis.server.limits import ServerLimits
from ignis.server.listener import Server, on_signals
from ignis.server.tls import load_tls
from ignis.stream.dialects import choose_dialect
from ignis.tokenizer import Tokenizer, load_tokenizer
from ignis.units import Address, parse_bind
from ignis.version import VERSION

_QUIT_STATUS = 130


def run(config: Config) -> int:
    """Serves until a signal; returns the exit status.

    Raises:
        ConfigError: an address cannot be listened on.
        ModelFileError, DownloadError, ModelLoadError: there is no model to serve.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    _raise_file_limit()
    log = open_log(sys.stderr, LogFormat(config.log.format.value), config.log.level.value)
    if config.file is not None:
        log.emit("ignis.config.source", path=str(config.file))
    try:
        trio.run(_App(config, log).serve)
    except BaseExceptionGroup as group:
        error = _first(group)
        if not isinstance(error, IgnisError | KeyboardInterrupt):
            log.emit("ignis.process.fault", error=error)
        raise error from group
    return 0


class _App:
    """One run of the server."""

    def __init__(self, config: Config, log: Log) -> None:
        self._config = config
        self._log = log
        self._key = config.server.api_key
        self._shown_key = None if self._key is None else "$IGNIS_SERVER_API_KEY"
        if self._key == AUTO:
            self._key = self._shown_key = generate_key()
            log.emit("ignis.process.key_generated", key=self._key)
        self._metrics = Metrics(VERSION)
        self._engine = Engine(
            EngineSettings.from_config(config), partial(open_leaf, config.device.kind, log), log, self._metrics
        )
        self._metrics.read_snapshots_from(self._engine.snapshot)
        self._serving = Serving(self._engine, self._metrics)
        self._prompts = Prompts()
        self._listens = self._plan_listens()
        self._server = Server(ServerLimits.from_config(config.server), log, self._engine.give_up)
        self._metrics.read_gauge_from("ignis_http_connections", lambda: self._server.statistics().num_connections)
        self._metrics.read_gauge_from("ignis_http_websockets", lambda: self._server.statistics().num_websockets)

    async def serve(self) -> None:
        """Runs everything in one nursery; the server's end is the end of all."""
        self._log.emit("ignis.process.started", version=VERSION, pid=os.getpid(), started_ms=_age_ms())
        developer = InstructionPolicies.from_config(self._config.server).developer
        if developer.moves_text:
            self._log.emit("ignis.config.moves_instructions", policy=developer.value)
        async with trio.open_nursery() as nursery:
            await nursery.start(on_signals, self._drain, self._quit)
            await nursery.start(self._engine.run)
            bounds = await nursery.start(self._serve_until_drained, nursery.cancel_scope)
            self._announce(bounds)
            nursery.start_soon(self._load)
        self._log.emit("ignis.process.stopped", reason="signal")

    async def _serve_until_drained(
        self, everything: trio.CancelScope, *, task_status: trio.TaskStatus[tuple[Bound, ...]]
    ) -> None:
        await self._server.serve(self._listens, task_status=task_status)
        everything.cancel()

    def _plan_listens(self) -> list[Listen]:
        """The API's addresses, then that of the metrics, where they have one."""
        config = self._config
        server = config.server
        tls = None
        if server.tls_cert is not None and server.tls_key is not None:
            tls = load_tls(server.tls_cert, server.tls_key)
        settings = ApiSettings.from_config(config, self._key)
        router = build_router(self._serving, self._prompts, settings, self._metrics, self._log)
        listens = [
            Listen(
                str(bind),
                router,
                "--server-bind",
                tls=tls if isinstance(bind, Address) else None,
                unix_mode=server.unix_mode,
            )
            for bind in server.bind
        ]
        if server.metrics:
            metrics_router = build_metrics_router(self._metrics, self._log)
            is_chosen = config.origins["server.metrics_bind"].source is not Source.DEFAULT
            listens.append(
                Listen(str(server.metrics_bind), metrics_router, "--server-metrics-bind", is_movable=not is_chosen)
            )
        return listens

    def _announce(self, bounds: Sequence[Bound]) -> None:
        binds = [parse_bind(bound.address, Path("/")) for bound in bounds]
        for bound, bind in zip(bounds, binds, strict=True):
            url = url_of(bind, has_tls=bound.listen.tls is not None)
            if bound.fault is not None:
                self._log.emit("ignis.process.metrics_moved", url=url, error=bound.fault)
            self._log.emit("ignis.process.listening", url=url, started_ms=_age_ms())
        server = self._config.server
        metrics = binds.pop() if server.metrics else None
        assert metrics is None or isinstance(metrics, Address)
        has_tls = server.tls_cert is not None
        _say(banner(binds, has_tls=has_tls, has_ui=server.ui, bearer=self._shown_key, metrics=metrics))

    async def _load(self) -> None:
        name = served_name(self._config.model)
        try:
            await self._load_model(name)
        except Exception as error:
            cause = _first(error)
            self._log.emit("ignis.model.load_failed", id=name, error=cause)
            # A device that failed may do better at the next load; what is wrong with the model or the plan stays wrong.
            if not isinstance(cause, DeviceLoadError):
                raise

    async def _load_model(self, name: str) -> None:
        start = time.monotonic()
        # Abandoned by a shutdown: a download leaves a part behind that the next one goes on with.
        source = await trio.to_thread.run_sync(self._resolve, abandon_on_cancel=True)
        checkpoint = await trio.to_thread.run_sync(open_checkpoint, source.path)
        self._log.emit("ignis.model.load_started", id=name, artifact=source.path.name, format=checkpoint.format)
        tokenizers: list[Tokenizer] = []

        def make_tokenizer() -> None:
            with _naming(source.path):
                tokenizers.append(
                    load_tokenizer(checkpoint.vocabulary, checkpoint.special, checkpoint.shape.vocab_size)
                )

        try:
            async with trio.open_nursery() as both:
                both.start_soon(trio.to_thread.run_sync, make_tokenizer)
                both.start_soon(self._engine.load, checkpoint)
        except BaseException:
            if self._engine.loaded is None:
                checkpoint.close()
            raise
        loaded = self._engine.loaded
        assert loaded is not None
        model = describe(
            checkpoint,
            tokenizers[0],
            name=name,
            max_context=self._engine.max_context,
            created_unix_s=_modified_unix_s(checkpoint),
            device=f"{loaded.plan.device.name} ({loaded.plan.device.isa})",
            load_s=loaded.duration_s,
        )
        if source.entry is not None:
            model = replace(model, sampling_defaults={**source.entry.sampling, **model.sampling_defaults})
        with _naming(source.path):
            await self._prepare(model)
        self._serving.model = model
        self._log.emit(
            "ignis.process.ready", id=name, load_ms=round((time.monotonic() - start) * 1e3, 1), started_ms=_age_ms()
        )
        plan = loaded.plan
        text = summary(
            name,
            plan.device.name,
            plan.lines,
            pool_tokens=plan.pool_tokens,
            max_context=plan.layout.max_context,
            load_s=loaded.duration_s,
        )
        _say(text)

    async def _prepare(self, model: LoadedModel) -> None:
        """Compiles the template, and sees that it can do what the configuration asks of every request."""
        if model.template is not None:
            template = await self._prompts.template(model)
            dialect = choose_dialect(model.template, self._config.model.dialect.value, model.architecture)
            ThinkingDefaults.from_config(self._config.model).check(template.thinking, dialect)

    def _resolve(self) -> ModelSource:
        catalog = load_catalog()
        report = ProgressReport(catalog.default, sys.stderr)
        return resolve_model(self._config.model, self._config.download, report)

    def _drain(self, signal_name: str) -> None:
        statistics = self._server.statistics()
        self._log.emit(
            "ignis.process.draining",
            signal=signal_name,
            requests=statistics.num_exchanges,
            connections=statistics.num_connections,
        )
        self._engine.drain()
        self._server.drain()

    def _quit(self, _signal_name: str) -> None:
        """A second signal: nothing is waited for. The kernel takes back what the process holds."""
        self._log.emit("ignis.process.stopped", reason="second signal")
        os._exit(_QUIT_STATUS)


def _modified_unix_s(checkpoint: Checkpoint) -> int:
    """Of the first weights, by the open file: its path may be gone since."""
    file = checkpoint.files[0]
    assert isinstance(file, MappedFile)
    return int(os.fstat(file.descriptor).st_mtime)


def _say(text: str) -> None:
    """For a person, who may have left: a broken pipe or a full disk behind the output ends no server."""
    try:
        print(text, flush=True)
    except OSError:
        # What could not be written stays in the buffer, and would fail again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Puts the file's name before the fault of a part that was given values and knows no file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path.name}: {error.message}") from error


def _raise_file_limit() -> None:
    """Takes all the descriptors that the system allows: two listeners at their cap need more than the usual 1,024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _age_ms() -> float | None:
    """Milliseconds since the process began, by the kernel's clock; None where /proc is not mounted."""
    try:
        stat = Path("/proc/self/stat").read_text(encoding="ascii")
    except OSError:
        return None
    started_ticks = int(stat.rpartition(")")[2].split()[19])
    started_s = started_ticks / os.sysconf("SC_CLK_TCK")
    return round((time.clock_gettime(time.CLOCK_BOOTTIME) - started_s) * 1e3, 1)


def _first(error: BaseException) -> BaseException:
    """The error that a person should read: of a group ours if there is one, else the first."""
    leaves: list[BaseException] = []
    pending = [error]
    while pending:
        inner = pending.pop(0)
        if isinstance(inner, BaseExceptionGroup):
            pending += inner.exceptions
        else:
            leaves.append(inner)
    return next((inner for inner in leaves if isinstance(inner, IgnisError)), leaves[0])
