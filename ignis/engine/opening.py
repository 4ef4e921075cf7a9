"""A model's files and tokenizer, read before anything of it is loaded: what is wrong with them harms nobody then."""

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ignis.engine.lifecycle import LoadedModel, describe
from ignis.engine.load import Loaded
from ignis.errors import ModelFileError
from ignis.models.base import Checkpoint, MappedFile
from ignis.models.local import LocalModel
from ignis.models.registry import open_checkpoint
from ignis.tokenizer import Tokenizer, load_tokenizer


@dataclass(slots=True)
class Opened:
    """A model that can be loaded. Whoever opened it closes it, once the leaf has unloaded."""

    local: LocalModel
    checkpoint: Checkpoint
    tokenizer: Tokenizer | None = None
    """None until `make_tokenizer`."""

    def make_tokenizer(self) -> None:
        """Blocks.

        Raises:
            ModelFileError: the vocabulary is malformed or of a kind that is not served.
        """
        checkpoint = self.checkpoint
        with naming(self.local.path):
            self.tokenizer = load_tokenizer(checkpoint.vocabulary, checkpoint.special, checkpoint.shape.vocab_size)

    def describe(self, max_context: int, loaded: Loaded | None) -> LoadedModel:
        """What requests need to know of it; `loaded` is None before it is."""
        assert self.tokenizer is not None
        model = describe(
            self.checkpoint,
            self.tokenizer,
            name=self.local.name,
            max_context=max_context,
            created_unix_s=modified_unix_s(self.checkpoint),
            device="" if loaded is None else f"{loaded.plan.device.name} ({loaded.plan.device.isa})",
        )
        return replace(model, sampling_defaults={**self.local.sampling, **model.sampling_defaults})

    def close(self) -> None:
        self.checkpoint.close()


def open_model(local: LocalModel) -> Opened:
    """Reads the headers of a model's files. Blocks.

    Raises:
        ModelFileError: the message names the file and the fault.
    """
    return Opened(local, open_checkpoint(local.path))


def give_memory_back() -> None:
    """Returns to the system what the process no longer uses; blocks for some milliseconds.

    A vocabulary is a million small objects: freed, they leave holes that the C library keeps for later.
    """
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def modified_unix_s(checkpoint: Checkpoint) -> int:
    """Of the first weights, by the open file: its path may be gone since."""
    file = checkpoint.files[0]
    assert isinstance(file, MappedFile)
    return int(os.fstat(file.descriptor).st_mtime)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Puts the file's name before the fault of a part that was given values and knows no file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path.name}: {error.message}") from error
