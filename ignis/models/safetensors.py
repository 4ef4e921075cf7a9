"""The safetensors container: tensor positions out of a mapped file, held to the format's own rules.

The header is JSON behind a u64 length; the data after it is covered by tensors without hole or overlap. Element types
that no leaf reads (F64, integers, other FP8) are refused by name.
"""

import math
import struct
from collections.abc import Mapping, Sequence

from ignis.models.base import DType, MappedFile, StoredTensor
from ignis.models.files import parse_json, read_at, refusal, shown

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 8 << 20
"""A tensor takes about 120 bytes: room for 60,000. The format allows 100 MB, which would take seconds to parse."""
MAX_DIMS = 8

_ELEMENTS: Mapping[str, tuple[DType, int]] = {
    "F32": (DType.F32, 4),
    "F16": (DType.F16, 2),
    "BF16": (DType.BF16, 2),
    "F8_E4M3": (DType.F8_E4M3, 1),
}


def parse_safetensors(file: MappedFile, index: int) -> dict[str, StoredTensor]:
    """Parses the header of a mapped file; its tensors are said to lie in files[index].

    Raises:
        ModelFileError: the file is not a safetensors file that can be read here, or lies about itself.
    """
    if file.size_bytes < LENGTH_BYTES:
        raise refusal(file.path, f"ends at byte {file.size_bytes}, inside the length of its header")
    header_bytes: int = struct.unpack("<Q", read_at(file, 0, LENGTH_BYTES))[0]
    if header_bytes > MAX_HEADER_BYTES:
        raise refusal(file.path, f"claims a header of {header_bytes} bytes, at most {MAX_HEADER_BYTES} are read")
    start = LENGTH_BYTES + header_bytes
    if start > file.size_bytes:
        raise refusal(file.path, f"claims a header of {header_bytes} bytes, the file has {file.size_bytes}")
    try:
        text = read_at(file, LENGTH_BYTES, header_bytes).decode()
    except UnicodeDecodeError as error:
        raise refusal(file.path, "has a header that is not UTF-8") from error
    header = parse_json(file.path, text, "the header ")
    header.pop("__metadata__", None)
    tensors = [_tensor(file, index, start, name, entry) for name, entry in header.items()]
    if not tensors:
        raise refusal(file.path, "holds no tensors")
    _check_cover(file, start, tensors)
    return {tensor.name: tensor for tensor in tensors}


def _tensor(file: MappedFile, index: int, start: int, name: str, entry: object) -> StoredTensor:
    what = f"tensor {shown(name)}"
    if not name:
        raise refusal(file.path, "holds a tensor whose name is empty")
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise refusal(file.path, f"{what} is not described by dtype, shape and data_offsets")
    dtype_name, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype_name, str):
        raise refusal(file.path, f"{what} has dtype {shown(dtype_name)}, text is expected")
    if dtype_name not in _ELEMENTS:
        raise refusal(file.path, f"{what} is {shown(dtype_name)}, which is not read; {', '.join(_ELEMENTS)} are")
    dtype, element_bytes = _ELEMENTS[dtype_name]
    dims = _sizes(shape)
    if dims is None or not 1 <= len(dims) <= MAX_DIMS or not all(dims):
        raise refusal(file.path, f"{what} has shape {shown(shape)}, 1 to {MAX_DIMS} positive integers are expected")
    bounds = _sizes(offsets)
    if bounds is None or len(bounds) != 2 or bounds[0] > bounds[1]:
        raise refusal(file.path, f"{what} has data_offsets {shown(offsets)}, a start and a stop are expected")
    begin, stop = bounds
    size_bytes = math.prod(dims) * element_bytes
    if stop - begin != size_bytes:
        raise refusal(
            file.path, f"{what} has {stop - begin} bytes of data, its shape and dtype need {shown(str(size_bytes))}"
        )
    if start + stop > file.size_bytes:
        raise refusal(
            file.path, f"{what} is at bytes {start + begin} to {start + stop}, the file has {file.size_bytes}"
        )
    if (start + begin) % element_bytes:
        raise refusal(file.path, f"{what} is at byte {start + begin}, a multiple of {element_bytes} is expected")
    return StoredTensor(name, dtype, tuple(dims), index, start + begin, size_bytes)


def _sizes(value: object) -> list[int] | None:
    """A JSON list of counts; None where it is anything else. Past 2**63 nothing is a count."""
    if not isinstance(value, list):
        return None
    sizes = [item for item in value if type(item) is int and 0 <= item < 1 << 63]
    return sizes if len(sizes) == len(value) else None


def _check_cover(file: MappedFile, start: int, tensors: Sequence[StoredTensor]) -> None:
    """The format's rule: tensors lie one after the other, from the header to the end of the file."""
    reached, before = start, ""
    for tensor in sorted(tensors, key=lambda tensor: tensor.offset):
        if tensor.offset < reached:
            raise refusal(file.path, f"tensors {shown(before)} and {shown(tensor.name)} overlap")
        if tensor.offset > reached:
            raise refusal(file.path, f"has {tensor.offset - reached} bytes of no tensor before {shown(tensor.name)}")
        reached, before = tensor.offset + tensor.size_bytes, tensor.name
    if reached != file.size_bytes:
        raise refusal(file.path, f"has {file.size_bytes - reached} bytes after its last tensor")
