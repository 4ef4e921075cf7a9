"""Finds and parses the parts of a GGUF checkpoint: one file, or the files of a split one."""

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from ignis.models.base import MappedFile, StoredTensor
from ignis.models.fields import Fields
from ignis.models.files import map_file, refusal, shown
from ignis.models.gguf import parse_gguf

MAX_PARTS = 1000
PROJECTOR = "mmproj"
"""Begins the name of a GGUF file that holds an image encoder, which is no model of its own."""
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")


@dataclass(frozen=True, slots=True)
class GgufParts:
    """The keys of the first part, and the tensors of all."""

    keys: Fields
    files: tuple[MappedFile, ...]
    tensors: dict[str, StoredTensor]


def is_later_part(path: Path) -> bool:
    """Whether the name says that it is a part of a split checkpoint, but not its first."""
    match = _PART.fullmatch(path.name)
    return match is not None and int(match[2]) != 1


def first_part(path: Path) -> Path:
    """Of the split checkpoint that a part is of."""
    match = _PART.fullmatch(path.name)
    assert match is not None
    return path.with_name(f"{match[1]}-{1:05}-of-{match[3]}.gguf")


def series(path: Path) -> tuple[str, str]:
    """What the names of one checkpoint's files have in common; one stem may be a whole one's and a split one's."""
    match = _PART.fullmatch(path.name)
    return (path.stem, "") if match is None else (match[1], match[3])


def checkpoint_stem(path: Path) -> str:
    """The name without its ending and part number."""
    return series(path)[0]


def open_parts(path: Path, cleanup: contextlib.ExitStack) -> GgufParts:
    """Maps and parses the file and, where it says that it is split, its other parts. `cleanup` gets the maps to close.

    Raises:
        ModelFileError: a part is missing or malformed, or the parts do not make one checkpoint.
    """
    if is_later_part(path):
        raise refusal(path, "is a later part of a split checkpoint, name the first one (-00001-of-)")
    first = _map(path, cleanup)
    parsed = parse_gguf(first, 0)
    keys = Fields(path, parsed.keys)
    num_parts = keys.integer("split.count", 0, MAX_PARTS) or 1
    files, tensors = [first], dict(parsed.tensors)
    if num_parts > 1:
        match = _PART.fullmatch(path.name)
        if match is None or int(match[3]) != num_parts:
            raise keys.refused(
                "split.count", f"is {num_parts}, so the name should end in -00001-of-{num_parts:05}.gguf"
            )
        _check_number(keys, 0, num_parts)
        for index in range(1, num_parts):
            part = _map(path.with_name(f"{match[1]}-{index + 1:05}-of-{num_parts:05}.gguf"), cleanup)
            parsed = parse_gguf(part, index)
            _check_number(Fields(part.path, parsed.keys), index, num_parts)
            files.append(part)
            for name, tensor in parsed.tensors.items():
                if name in tensors:
                    raise refusal(
                        part.path, f"tensor {shown(name)} is there, and in {files[tensors[name].file].path.name}"
                    )
                tensors[name] = tensor
        claimed = keys.integer("split.tensors.count", 0)
        if claimed is not None and claimed != len(tensors):
            raise keys.refused("split.tensors.count", f"is {claimed}, the parts have {len(tensors)}")
    return GgufParts(keys, tuple(files), tensors)


def _map(path: Path, cleanup: contextlib.ExitStack) -> MappedFile:
    file = map_file(path)
    cleanup.callback(file.close)
    return file


def _check_number(keys: Fields, index: int, num_parts: int) -> None:
    if keys.integer("split.no", 0) != index:
        raise keys.refused("split.no", f"is {keys.integer('split.no', 0)}, {index} is expected")
    if keys.integer("split.count", 0) != num_parts:
        raise keys.refused("split.count", f"is {keys.integer('split.count', 0)}, {num_parts} is expected")
