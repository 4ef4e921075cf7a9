"""A GGUF file with another chat template: the real model under a template that a test needs."""

import struct
from pathlib import Path

ALIGNMENT = 32
"""Of the tensors' data; the file's own unless it says otherwise."""


def with_template(path: Path, old: str, new: str, target: Path) -> Path:
    """Writes a copy of a file whose template is `new`. Jinja comments fill it up, so that the data stays aligned."""
    data = path.read_bytes()
    spelled, replacing = _spell(old), _spell(new)
    fill = (len(spelled) - len(replacing)) % ALIGNMENT
    if fill:
        # A comment has at least its brackets.
        fill += ALIGNMENT if fill < len("{##}") else 0
        replacing = _spell(new + "{#" + " " * (fill - len("{##}")) + "#}")
    assert data.count(spelled) == 1 and (len(replacing) - len(spelled)) % ALIGNMENT == 0
    target.write_bytes(data.replace(spelled, replacing))
    return target


def _spell(text: str) -> bytes:
    """A string of GGUF: its length and its bytes."""
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded
