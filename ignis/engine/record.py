"""What the log, the metrics and the course's history are told of models that come and go. Decides nothing."""

from ignis.engine.course import Course
from ignis.engine.lifecycle import LoadedModel
from ignis.engine.load import Loaded
from ignis.engine.opening import Opened
from ignis.engine.switching import PingPong, Switch, SwitchOutcome, SwitchPhase, SwitchWatch
from ignis.error_body import without_folders
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.models.local import LocalModel


class Record:
    """Belongs to the event loop's thread, as the course."""

    def __init__(self, course: Course, log: Log, metrics: Metrics) -> None:
        self._course = course
        self._log = log
        self._metrics = metrics
        self._ping_pong = PingPong(course.clock)

    def load_begun(self, opened: Opened) -> None:
        local = opened.local
        self._log.emit(
            "ignis.model.load_started", id=local.name, artifact=local.path.name, format=opened.checkpoint.format
        )

    def loaded(self, model: LoadedModel, loaded: Loaded) -> None:
        self._metrics.count("ignis_model_loads", label="loaded")
        self._log.emit(
            "ignis.model.loaded",
            id=model.name,
            load_ms=round(loaded.weights_s * 1e3, 1),
            warm_up_ms=round(loaded.warm_up_s * 1e3, 1),
            total_bytes=model.size_bytes,
        )

    def load_failed(self, model: LocalModel, cause: BaseException) -> None:
        """Of itself, in the place of another, or again, where it was given up for one that failed."""
        self._metrics.count("ignis_model_loads", label="failed")
        self.refused(model, cause)

    def refused(self, target: LocalModel, cause: BaseException) -> None:
        """It was found bad before a load of it began."""
        self._log.emit("ignis.model.load_failed", id=target.name, error=cause)

    def unloaded(self, name: str, reason: str, duration_s: float) -> None:
        """reason: one of the label values of ignis_model_unloads."""
        self._metrics.count("ignis_model_unloads", label=reason)
        self._log.emit("ignis.model.unloaded", id=name, reason=reason, duration_ms=round(duration_s * 1e3, 1))

    def switch_begun(self, old: LocalModel, target: LocalModel) -> None:
        self._log.emit("ignis.model.switch_started", from_=old.name, to=target.name)

    def over(self, watch: SwitchWatch, outcome: SwitchOutcome, waited: int = 0, reason: str = "") -> Switch:
        """A switch, or a load or an unload alone, is history. waited: for it, until now; reason: for clients."""
        change = watch.over(outcome, waited, reason)
        self._course.changes.appendleft(change)
        return change

    def switch_over(
        self, watch: SwitchWatch, outcome: SwitchOutcome, waited: int = 0, cause: BaseException | None = None
    ) -> None:
        """A switch is. cause: why it failed."""
        switch = self.over(watch, outcome, waited, "" if cause is None else without_folders(str(cause)))
        self._course.last_switch = switch
        self._metrics.count("ignis_model_switches", label=outcome.value)
        for phase, seconds in switch.seconds.items():
            self._metrics.count("ignis_model_switch_seconds", seconds, label=phase.value)
        before, to = switch.before, switch.to
        if cause is not None:
            self._log.emit("ignis.model.switch_failed", from_=before, to=to, error=cause)
            return
        if outcome is SwitchOutcome.CALLED_OFF:
            self._log.emit("ignis.model.switch_called_off", from_=before, to=to)
            return
        self._log.emit(
            "ignis.model.switched",
            from_=before,
            to=to,
            prepare_ms=switch.ms(SwitchPhase.PREPARE),
            drain_ms=switch.ms(SwitchPhase.DRAIN),
            teardown_ms=switch.ms(SwitchPhase.TEARDOWN),
            load_ms=switch.ms(SwitchPhase.LOAD),
            warm_up_ms=switch.ms(SwitchPhase.WARM_UP),
            waited=waited,
        )
        if self._ping_pong.is_return(switch):
            self._metrics.count("ignis_model_ping_pongs")
            if self._ping_pong.is_news():
                self._log.emit("ignis.model.ping_pong", from_=before, to=to, switches=self._ping_pong.num_returns)
