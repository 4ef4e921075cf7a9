"""A second model out of the first: two of its layers have each other's place, so that it says something else."""

from pathlib import Path

HEAD_BYTES = 16 << 20


def write_twin(model: Path, path: Path) -> Path:
    """Writes a GGUF file in which layers 3 and 4 are exchanged, by name alone."""
    content = bytearray(model.read_bytes())
    start = content.find(b"blk.0.")
    assert 0 < start < HEAD_BYTES, "no tensor of a first layer in the head of the file"
    stop = start
    while (found := content.find(b"blk.", stop, stop + 4096)) >= 0:
        stop = found + 4
    head = bytes(content[start : stop + 64])
    head = head.replace(b"blk.3.", b"blk.X.").replace(b"blk.4.", b"blk.3.").replace(b"blk.X.", b"blk.4.")
    content[start : stop + 64] = head
    path.write_bytes(content)
    return path
