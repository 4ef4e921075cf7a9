"""The architectures that are supported, and the one way to open a checkpoint of any of them."""

import os
from pathlib import Path

from ignis.models.base import Checkpoint
from ignis.models.checkpoint import Specs, open_folder, open_gguf
from ignis.models.llama import LLAMA
from ignis.models.qwen3 import QWEN3

ARCHITECTURES: Specs = {spec.architecture.value: spec for spec in (LLAMA, QWEN3)}


def open_checkpoint(path: Path) -> Checkpoint:
    """Opens a GGUF file (the first part, where it is split) or a folder: Hugging Face's, or one around one GGUF file.

    Reads headers only; weights stay in the mapped files. The caller closes the checkpoint.

    Raises:
        ModelFileError: the message names the file and the fault.
    """
    return _open(path, needs_tokenizer=True)


def open_weights(path: Path) -> Checkpoint:
    """Opens as `open_checkpoint`, but a checkpoint without a tokenizer too: its vocabulary has no files then."""
    return _open(path, needs_tokenizer=False)


def _open(path: Path, needs_tokenizer: bool) -> Checkpoint:
    if os.path.isdir(path):
        return open_folder(path, ARCHITECTURES, needs_tokenizer)
    return open_gguf(path, ARCHITECTURES, needs_tokenizer)
