"""What the files say of models that were not loaded yet. Reads their headers, once for each state of a file."""

import threading
from collections.abc import Iterable
from pathlib import Path

from ignis.clock import Clock, monotonic_s
from ignis.engine.lifecycle import ModelFacts
from ignis.engine.opening import give_memory_back
from ignis.errors import IgnisError
from ignis.models.local import LocalModel, Seen
from ignis.models.registry import open_checkpoint


class Survey:
    """May be asked from several threads."""

    def __init__(self, clock: Clock = monotonic_s) -> None:
        self._clock = clock
        self._known: dict[Path, tuple[Seen | None, ModelFacts | None]] = {}
        """By path: what was measured of the file when it was read, and nothing where it is no model that is served."""
        self._lock = threading.Lock()

    def known(self, local: LocalModel) -> ModelFacts | None:
        """What was read of a measured model; None: nothing yet, or there is nothing that is served."""
        seen, facts = self._known.get(local.path, (None, None))
        return facts if seen == local.seen else None

    def read(self, models: Iterable[LocalModel], limit_s: float) -> None:
        """Reads of measured models what is not known yet, and begins no further one after so long: the next call goes
        on. Blocks."""
        with self._lock:
            end, has_read = self._clock() + limit_s, False
            for local in models:
                if self._known.get(local.path, (None,))[0] == local.seen:
                    continue
                if has_read and self._clock() >= end:
                    break
                self._known[local.path] = local.seen, _read(local)
                has_read = True
            if has_read:
                give_memory_back()


def _read(local: LocalModel) -> ModelFacts | None:
    try:
        checkpoint = open_checkpoint(local.path)
    except (IgnisError, OSError):
        # Whoever asks for it is told why.
        return None
    try:
        return ModelFacts(
            name=local.name,
            format=checkpoint.format,
            num_parameters=checkpoint.num_parameters,
            size_bytes=checkpoint.size_bytes,
            max_context=checkpoint.shape.context_tokens,
            template=checkpoint.chat_template,
            created_unix_s=local.modified_unix_s(),
            sampling_defaults={**local.sampling, **checkpoint.sampling_defaults},
            architecture=checkpoint.shape.architecture,
        )
    finally:
        checkpoint.close()
