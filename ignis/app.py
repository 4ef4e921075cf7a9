"""Puts the server together: the only code that knows both ports. Starts it, loads the model, ends it in order."""

import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import trio

from ignis.api.auth import AUTO, generate_key
from ignis.api.prompt import Prompts
from ignis.api.routes import ApiSettings, build_metrics_router, build_router
from ignis.api.serving import Serving
from ignis.api.thinking import ThinkingDefaults
from ignis.banner import banner, page_of, summary, url_of
from ignis.catalog import load_catalog
from ignis.chat.instructions import InstructionPolicies
from ignis.config import Config
from ignis.config_change import is_changeable
from ignis.config_fields import DeviceKind
from ignis.config_slots import Source
from ignis.downloads import Downloads
from ignis.engine.device import open_leaf
from ignis.engine.engine import Engine
from ignis.engine.gate import KeeperSettings
from ignis.engine.keeper import ModelKeeper
from ignis.engine.lifecycle import LoadedModel
from ignis.engine.load import Loaded
from ignis.engine.loop import SWITCH_INTERVAL_S
from ignis.engine.settings import EngineSettings, LoadSettings
from ignis.error_body import first_of
from ignis.errors import ConfigError, IgnisError
from ignis.fetching import served_name
from ignis.first_model import FirstModel
from ignis.log import Log, LogFormat, open_log
from ignis.metrics import Metrics
from ignis.models.local import LocalModels, readable
from ignis.on_disk import named_models, verified_models
from ignis.outlet import Outlet
from ignis.precheck import check_artifact
from ignis.process import age_ms, raise_file_limit, resident_bytes
from ignis.running import RunningConfig
from ignis.server.binding import Bound, Listen
from ignis.server.limits import ServerLimits
from ignis.server.listener import Server
from ignis.server.signals import ignore_signals, on_signals
from ignis.server.tls import Certificate
from ignis.stream.dialects import choose_dialect
from ignis.units import Address, parse_bind
from ignis.version import VERSION

_QUIT_STATUS = 130
_CERTIFICATE_EVERY_S = 60
_OPEN_TO_ALL = "no key is asked for: whoever reaches it may use it; --server-api-key sets one"


def run(config: Config) -> int:
    """Serves until a signal; returns the exit status.

    Raises:
        ConfigError: an address cannot be listened on, the model is not where it should be, or no model could do what is
            asked of all.
        LoadPlanError: what a load may take does not do for the model, and no client can have said it.
    """
    check_artifact(config)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    raise_file_limit()
    log = open_log(sys.stderr, LogFormat(config.log.format.value), config.log.level.value)
    if config.file is not None:
        log.emit("ignis.config.source", path=str(config.file))
    try:
        trio.run(_App(config, log).serve)
    except BaseExceptionGroup as group:
        error = first_of(group)
        if not isinstance(error, IgnisError | KeyboardInterrupt):
            log.emit("ignis.process.fault", error=error)
        raise error from group
    finally:
        ignore_signals()
    return 0


class _App:
    """One run of the server."""

    def __init__(self, config: Config, log: Log) -> None:
        self._config = config
        self._log = log
        self._catalog = load_catalog(config.download.catalog)
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
        self._prompts = Prompts()
        self._keeper = ModelKeeper(
            self._engine,
            LocalModels(
                config.download.path,
                named_models(config.switch),
                partial(verified_models, self._catalog, config.download.path),
                lambda folder, error: log.emit(
                    "ignis.model.folder_unreadable", path=readable(folder), error=error.strerror
                ),
            ),
            KeeperSettings.from_config(config),
            log,
            self._metrics,
            prepare=self._prepare,
            load_settings=LoadSettings.make(config, EngineSettings.from_config),
            forget=self._prompts.forget,
            on_loaded=self._report_loaded,
            # What a client can have changed it can change again, if only the server is up.
            ends_start=lambda error: not is_changeable(self._running.config, error.param),
        )
        # Requests that come before it is found wait for it.
        self._keeper.expect(served_name(config.model))
        self._downloads = Downloads(self._catalog, config.download, log, self._metrics, self._keeper.course.note_change)
        self._serving = Serving(self._engine, self._keeper, self._metrics, config.server.keepalive_interval)
        self._running = RunningConfig(config, self._keeper, log)
        self._running.on_change(self._apply)
        self._is_ready = False
        cert, key = config.server.tls_cert, config.server.tls_key
        self._certificate = None if cert is None or key is None else Certificate(cert, key)
        self._listens = self._plan_listens()
        self._server = Server(
            ServerLimits.from_config(config.server),
            log,
            self._engine.give_up,
            lambda family, label: self._metrics.count(family, label=label),
        )
        self._metrics.read_gauge_from("ignis_process_resident_bytes", resident_bytes)
        started_unix_s = time.time() - (age_ms() or 0.0) / 1e3
        self._metrics.read_gauge_from("ignis_process_start_seconds", lambda: started_unix_s)
        self._metrics.read_gauge_from("ignis_http_connections", lambda: self._server.statistics().num_connections)
        self._metrics.read_gauge_from("ignis_http_websockets", lambda: self._server.statistics().num_websockets)

    async def serve(self) -> None:
        """Runs everything in one nursery; the server's end is the end of all."""
        self._log.emit("ignis.process.started", version=VERSION, pid=os.getpid(), started_ms=age_ms())
        developer = InstructionPolicies.from_config(self._config.server).developer
        if developer.moves_text:
            self._log.emit("ignis.config.moves_instructions", policy=developer.value)
        async with trio.open_nursery() as nursery:
            await nursery.start(on_signals, self._drain, self._quit, _leave)
            await nursery.start(self._engine.run)
            if self._config.device.kind is DeviceKind.CUDA:
                # Who wants a card and has none hears it before anything is fetched, or says that it listens.
                await self._engine.open_device()
            bounds = await nursery.start(self._serve_until_drained, nursery.cancel_scope)
            page = self._announce(bounds)
            nursery.start_soon(self._keeper.run)
            nursery.start_soon(self._running.run)
            nursery.start_soon(self._downloads.run)
            nursery.start_soon(self._renew_certificate)
            first = FirstModel(
                self._config.model,
                self._config.download,
                self._catalog,
                self._downloads,
                self._keeper,
                self._log,
                page=page,
                say=_say,
            )
            self._keeper.gate.seek_home = first.seek
            nursery.start_soon(first.run)
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
        tls = None if self._certificate is None else self._certificate.context
        settings = ApiSettings.from_config(config, self._key)
        router = build_router(
            self._serving, self._prompts, self._downloads, self._running, settings, self._metrics, self._log
        )
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
            metrics_router = build_metrics_router(self._serving, self._metrics, self._log)
            is_chosen = config.origins["server.metrics_bind"].source is not Source.DEFAULT
            listens.append(
                Listen(str(server.metrics_bind), metrics_router, "--server-metrics-bind", is_movable=not is_chosen)
            )
        return listens

    async def _renew_certificate(self) -> None:
        """Looks from time to time whether the certificate was renewed."""
        while self._certificate is not None:
            await trio.sleep(_CERTIFICATE_EVERY_S)
            try:
                if self._certificate.refresh():
                    self._log.emit("ignis.http.certificate_renewed", path=str(self._config.server.tls_cert))
            except ConfigError as error:
                self._log.emit("ignis.http.certificate_refused", error=error)

    def _announce(self, bounds: Sequence[Bound]) -> str | None:
        """Says where it listens; returns where the page is, if anywhere."""
        server = self._config.server
        binds = [parse_bind(bound.address, Path("/")) for bound in bounds]
        for bound, bind in zip(bounds, binds, strict=True):
            url = url_of(bind, has_tls=bound.listen.tls is not None)
            if bound.fault is not None:
                self._log.emit("ignis.process.metrics_moved", url=url, error=bound.fault)
            self._log.emit("ignis.process.listening", url=url, started_ms=age_ms())
        metrics = binds.pop() if server.metrics else None
        assert metrics is None or isinstance(metrics, Address)
        for bind in binds:
            if self._key is None and isinstance(bind, Address) and not bind.is_loopback:
                self._log.emit("ignis.process.open_to_all", url=str(bind), reason=_OPEN_TO_ALL)
        has_tls = server.tls_cert is not None
        _say(banner(binds, has_tls=has_tls, has_ui=server.ui, bearer=self._shown_key, metrics=metrics))
        return page_of(binds, has_tls=has_tls) if server.ui else None

    def _report_loaded(self, model: LoadedModel, loaded: Loaded) -> None:
        """Says once, for a person, that the server is ready."""
        if self._is_ready:
            return
        self._is_ready = True
        load_ms, warm_up_ms = round(loaded.weights_s * 1e3, 1), round(loaded.warm_up_s * 1e3, 1)
        self._log.emit(
            "ignis.process.ready", id=model.name, load_ms=load_ms, warm_up_ms=warm_up_ms, started_ms=age_ms()
        )
        plan = loaded.plan
        text = summary(
            model.name,
            plan.device.name,
            plan.lines,
            pool_tokens=plan.pool_tokens,
            max_context=plan.layout.max_context,
            load_s=loaded.duration_s,
        )
        _say(text)

    async def _prepare(self, model: LoadedModel) -> None:
        """Compiles the template, and sees whether it can do what the configuration asks of every request."""
        if model.template is not None:
            # Of one without a device another serves, which may stay.
            compiled = self._prompts.template if model.device else self._prompts.try_template
            template = await compiled(model)
            config = self._running.config.model
            dialect = choose_dialect(model.template, config.dialect.value, model.architecture)
            try:
                ThinkingDefaults.from_config(config).check(template.thinking, dialect)
            except ConfigError as error:
                # Of the model that the server is started for. Another one that a client names is served without it.
                if not self._is_ready:
                    raise
                if model.device:
                    self._log.emit("ignis.runtime.default_left_out", field=error.param, reason=error.message)
        if model.device:
            # Only now that nothing else is served: it keeps the interpreter to itself.
            await self._prompts.grammars.prepare(model)

    def _apply(self, config: Config) -> None:
        """Has a changed configuration take effect where that is not a route's."""
        self._log.set_level(config.log.level.value)
        self._server.limits = ServerLimits.from_config(config.server)
        self._serving.long_s = config.server.keepalive_interval
        self._keeper.gate.settings = KeeperSettings.from_config(config)
        self._keeper.models.named = named_models(config.switch)
        self._downloads.config = config.download
        # Of a model that failed: this may be what it lacked.
        self._keeper.course.rested_at_s = 0.0
        # What waits for a time may wait for another one now.
        self._keeper.course.note_change()

    def _drain(self, signal_name: str) -> None:
        statistics = self._server.statistics()
        self._log.emit(
            "ignis.process.draining",
            signal=signal_name,
            requests=statistics.num_exchanges,
            connections=statistics.num_connections,
        )
        self._engine.drain()
        self._keeper.stop()
        self._server.drain()

    def _quit(self, _signal_name: str) -> None:
        """A second signal: nothing is waited for. The kernel takes back what the process holds."""
        self._log.emit("ignis.process.stopped", reason="second signal")
        _leave()


def _leave() -> NoReturn:
    os._exit(_QUIT_STATUS)


def _say(text: str) -> None:
    """For a person, who may have left, or stopped reading: neither ends or holds a server."""
    # There is none where it was closed before the start.
    if sys.stdout is not None:
        Outlet(sys.stdout).write(text)
