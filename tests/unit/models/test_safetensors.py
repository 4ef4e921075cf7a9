"""The safetensors container: what a valid file says, and that a lie is refused by file and fault."""

import json
import re
import struct
from pathlib import Path

import pytest

from ignis.errors import ModelFileError
from ignis.models.base import DType, StoredTensor
from ignis.models.files import map_file
from ignis.models.safetensors import MAX_HEADER_BYTES, parse_safetensors
from tests.unit.models.writers import entries, safetensors_bytes


def parse(tmp_path: Path, data: bytes) -> dict[str, StoredTensor]:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    return parse_safetensors(map_file(path), 3)


def refuses(tmp_path: Path, data: bytes, fault: str) -> None:
    with pytest.raises(ModelFileError, match=rf"^model\.safetensors: .*{re.escape(fault)}"):
        parse(tmp_path, data)


def entry(dtype: object = "F32", shape: object = (2,), data_offsets: object = (0, 8)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": data_offsets}


@pytest.mark.parametrize(
    ("name", "dtype", "element_bytes"),
    [("F32", DType.F32, 4), ("F16", DType.F16, 2), ("BF16", DType.BF16, 2), ("F8_E4M3", DType.F8_E4M3, 1)],
)
def test_tensors_have_dims_and_positions_in_the_file(
    tmp_path: Path, name: str, dtype: DType, element_bytes: int
) -> None:
    header = {"__metadata__": {"format": "pt"}, **entries({"a": (3, 4), "b": (5,)}, name)}
    data = safetensors_bytes(header)
    a, b = parse(tmp_path, data).values()
    assert (a.name, a.dtype, a.dims, a.file, a.size_bytes) == ("a", dtype, (3, 4), 3, 12 * element_bytes)
    assert (b.dims, b.offset, b.size_bytes) == ((5,), a.offset + a.size_bytes, 5 * element_bytes)
    assert b.offset + b.size_bytes == len(data)


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    data = safetensors_bytes(entries({"a": (3, 4), "b": (5,)}))
    for size_bytes in range(1, len(data)):
        with pytest.raises(ModelFileError, match=r"^model\.safetensors: "):
            parse(tmp_path, data[:size_bytes])


def test_header_lengths_that_lie_are_refused(tmp_path: Path) -> None:
    header = entries({"a": (2,)})
    refuses(tmp_path, safetensors_bytes(header, header_bytes=1 << 63), f"claims a header of {1 << 63} bytes, at most")
    refuses(tmp_path, safetensors_bytes(header, header_bytes=MAX_HEADER_BYTES), "the file has ")
    refuses(tmp_path, safetensors_bytes(header, header_bytes=10), "the header is not valid JSON")
    refuses(tmp_path, safetensors_bytes(header, header_bytes=0), "the header is not valid JSON")


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (b"[1, 2]", "the header is JSON but not an object"),
        (b"{}", "holds no tensors"),
        (b'{"a": 1, "a": 2}', "the name a is there twice"),
        (b'{"a": NaN}', "NaN is not a JSON value"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "the header is JSON nested too deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "the header is not valid JSON"),
        (b"\xff\xfe{}", "has a header that is not UTF-8"),
        (b'{"a": 1}', "tensor a is not described by dtype, shape and data_offsets"),
        (b'{"a": {"dtype": "F32"}}', "tensor a is not described by dtype, shape and data_offsets"),
    ],
)
def test_headers_that_cannot_be_are_refused(tmp_path: Path, header: bytes, fault: str) -> None:
    refuses(tmp_path, safetensors_bytes(header), fault)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"dtype": "F64"}, "tensor a is F64, which is not read; F32, F16, BF16, F8_E4M3 are"),
        ({"dtype": "F8_E5M2"}, "tensor a is F8_E5M2, which is not read"),
        ({"dtype": "I32"}, "tensor a is I32, which is not read"),
        ({"dtype": "F8_E4M3"}, "tensor a has 8 bytes of data, its shape and dtype need 2"),
        ({"dtype": 7}, "tensor a has dtype 7, text is expected"),
        ({"dtype": ["F32"]}, "tensor a has dtype ['F32'], text is expected"),
        ({"shape": []}, "tensor a has shape [], 1 to 8 positive integers are expected"),
        ({"shape": [0]}, "tensor a has shape [0], 1 to 8"),
        ({"shape": [-2]}, "tensor a has shape [-2], 1 to 8"),
        ({"shape": [2.0]}, "tensor a has shape [2.0], 1 to 8"),
        ({"shape": [True]}, "tensor a has shape [True], 1 to 8"),
        ({"shape": "2"}, "tensor a has shape 2, 1 to 8"),
        ({"shape": [1] * 9}, "tensor a has shape a list of 9 items, 1 to 8"),
        ({"shape": [1 << 64]}, f"tensor a has shape [{1 << 64}], 1 to 8"),
        ({"shape": [1 << 62] * 8}, "tensor a has 8 bytes of data, its shape and dtype need "),
        ({"shape": [3]}, "tensor a has 8 bytes of data, its shape and dtype need 12"),
        ({"dtype": "F16"}, "tensor a has 8 bytes of data, its shape and dtype need 4"),
        ({"data_offsets": [8, 0]}, "tensor a has data_offsets [8, 0], a start and a stop are expected"),
        ({"data_offsets": [-8, 0]}, "tensor a has data_offsets [-8, 0], a start and a stop"),
        ({"data_offsets": [0]}, "tensor a has data_offsets [0], a start and a stop"),
        ({"data_offsets": None}, "tensor a has data_offsets None, a start and a stop"),
        ({"data_offsets": [8, 16]}, "tensor a is at bytes 80 to 88, the file has 80"),
        ({"data_offsets": [1 << 62, (1 << 62) + 8]}, "tensor a is at bytes "),
    ],
)
def test_entries_that_cannot_be_are_refused(tmp_path: Path, change: dict[str, object], fault: str) -> None:
    header = json.dumps({"a": {**entry(), **change}}).encode()
    refuses(tmp_path, safetensors_bytes(header.ljust(64), size_bytes=8), fault)


def test_the_data_is_covered_without_hole_or_overlap(tmp_path: Path) -> None:
    def header(b_start: int) -> dict[str, object]:
        return {"a": entry(), "b": entry(data_offsets=(b_start, b_start + 8))}

    assert len(parse(tmp_path, safetensors_bytes(header(8)))) == 2
    refuses(tmp_path, safetensors_bytes(header(4)), "tensors a and b overlap")
    refuses(tmp_path, safetensors_bytes(header(0)), "tensors a and b overlap")
    refuses(tmp_path, safetensors_bytes(header(16)), "has 8 bytes of no tensor before b")
    refuses(tmp_path, safetensors_bytes(header(8), size_bytes=20), "has 4 bytes after its last tensor")


def test_misaligned_data_is_refused(tmp_path: Path) -> None:
    raw = json.dumps({"a": entry()}).encode()
    raw += b" " * (1 - len(raw) % 4)
    data = struct.pack("<Q", len(raw)) + raw + bytes(8)
    refuses(tmp_path, data, f"tensor a is at byte {8 + len(raw)}, a multiple of 4 is expected")


def test_a_tensor_has_a_name(tmp_path: Path) -> None:
    refuses(tmp_path, safetensors_bytes({"": entry()}), "holds a tensor whose name is empty")
