"""The GGUF container: what a valid file says, and that a lie is refused by file and fault."""

import re
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from ignis.errors import ModelFileError
from ignis.models.base import DType
from ignis.models.files import map_file
from ignis.models.gguf import MAX_ITEMS, GgufArray, GgufFile, parse_gguf
from tests.unit.models.writers import (
    ARRAY,
    BF16_TYPE,
    BOOL,
    F16_TYPE,
    F32,
    I32,
    Q4_0_TYPE,
    Q8_0_TYPE,
    TEXT,
    U32,
    U64,
    Gguf,
    Tensor,
    Value,
    f32,
    flag,
    numbers,
    packed,
    scalar,
    text,
    texts,
    tiny_gguf,
    u32,
)


def parse(path: Path, data: bytes) -> GgufFile:
    file = path / "model.gguf"
    file.write_bytes(data)
    return parse_gguf(map_file(file), 0)


def refuses(path: Path, data: bytes, fault: str) -> None:
    with pytest.raises(ModelFileError, match=rf"^model\.gguf: .*{re.escape(fault)}"):
        parse(path, data)


def with_key(value: Value, name: str | bytes = "some.key") -> bytes:
    return Gguf([(name, value)], [Tensor("a", (4,))]).bytes()


def with_tensors(*tensors: Tensor) -> bytes:
    return Gguf([], tensors).bytes()


def test_values_of_every_type_are_read(tmp_path: Path) -> None:
    keys = {
        "u32": u32(4_000_000_000),
        "i32": scalar(I32, -5),
        "u64": scalar(U64, 1 << 63),
        "f32": f32(0.5),
        "flag": flag(True),
        "text": text("grüß"),
        "numbers": numbers(I32, [1, -2, 3]),
        "flags": numbers(BOOL, [0, 1]),
        "texts": texts(["", "a", "ü" * 200, "b" * 255, "c" * 256, "d\0e", ""]),
        "none": texts([]),
        "nested": Value(ARRAY, struct.pack("<IQ", ARRAY, 2) + numbers(U32, [1]).data + numbers(U32, []).data),
    }
    read = parse(tmp_path, Gguf(list(keys.items()), []).bytes()).keys
    assert [read[name] for name in ("u32", "i32", "u64", "f32", "flag", "text")] == [
        4_000_000_000,
        -5,
        1 << 63,
        0.5,
        True,
        "grüß",
    ]
    arrays = {name: value.items for name, value in read.items() if isinstance(value, GgufArray)}
    assert arrays["numbers"] == (1, -2, 3)
    assert arrays["flags"] == (False, True)
    assert arrays["texts"] == ("", "a", "ü" * 200, "b" * 255, "c" * 256, "d\0e", "")
    assert arrays["none"] == ()
    assert [item.items for item in arrays["nested"] if isinstance(item, GgufArray)] == [(1,), ()]


@pytest.mark.parametrize("shift", [0, 1, 5, 100])
def test_strings_read_at_once_are_those_read_one_by_one(tmp_path: Path, shift: int) -> None:
    odd = {3: "", 4: "", 40: "x" * 300, 41: "\0" * 7, 60: "\0" * 30, 77: "é" * 127, 90: "a\0"}
    values = [odd.get(index - shift, "t" * (index % 9 + 1) + str(index)) for index in range(shift + 120)]
    read = parse(tmp_path, with_key(texts(values))).keys["some.key"]
    assert isinstance(read, GgufArray)
    assert read.items == tuple(values)


def test_an_array_longer_than_a_window_is_read_whole(tmp_path: Path) -> None:
    values = [f"token {index}" for index in range(120_000)]
    read = parse(tmp_path, with_key(texts(values))).keys["some.key"]
    assert isinstance(read, GgufArray)
    assert read.items == tuple(values)


def test_text_that_is_not_utf8_is_kept_as_bytes(tmp_path: Path) -> None:
    keys = [("a", text(b"\xff\xfe")), ("b", texts(["ok", b"\xc3"]))]
    read = parse(tmp_path, Gguf(keys, []).bytes()).keys
    assert read["a"] == b"\xff\xfe"
    assert isinstance(read["b"], GgufArray)
    assert read["b"].items == ("ok", b"\xc3")


def test_tensors_have_row_major_dims_and_positions_in_the_file(tmp_path: Path) -> None:
    data = with_tensors(Tensor("a", (32, 3), Q4_0_TYPE), Tensor("b", (5,), BF16_TYPE), Tensor("c", (2, 3, 4), F16_TYPE))
    parsed = parse(tmp_path, data)
    a, b, c = parsed.tensors.values()
    assert (a.dims, a.dtype, a.size_bytes) == ((3, 32), DType.Q4_0, 54)
    assert (b.dims, b.dtype, b.size_bytes, b.offset) == ((5,), DType.BF16, 10, a.offset + 64)
    assert (c.dims, c.dtype, c.size_bytes, c.offset) == ((4, 3, 2), DType.F16, 48, b.offset + 32)
    assert data[a.offset : a.offset + 54] == Tensor("a", (32, 3), Q4_0_TYPE).content()


def test_version_2_and_another_alignment_are_read(tmp_path: Path) -> None:
    file = replace(tiny_gguf().with_keys(general__alignment=u32(64)), version=2, alignment=64)
    assert all(tensor.offset % 64 == 0 for tensor in parse(tmp_path, file.bytes()).tensors.values())


@pytest.mark.parametrize("architecture", ["llama", "qwen3"])
def test_the_gguf_package_reads_the_same(tmp_path: Path, architecture: str) -> None:
    gguf = pytest.importorskip("gguf")
    path = tiny_gguf(architecture, has_head=True, matrix_type=Q8_0_TYPE).write(tmp_path / "model.gguf")
    reader = gguf.GGUFReader(path)
    parsed = parse_gguf(map_file(path), 0)
    theirs = {
        tensor.name: (tuple(reversed(tensor.shape.tolist())), int(tensor.tensor_type), int(tensor.data_offset))
        for tensor in reader.tensors
    }
    assert theirs == {name: (each.dims, int(each.dtype), each.offset) for name, each in parsed.tensors.items()}
    fields = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    assert fields == {
        name: list(value.items) if isinstance(value, GgufArray) else value for name, value in parsed.keys.items()
    }


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    data = tiny_gguf().bytes()
    for size_bytes in [*range(1, 1500, 3), *range(1500, len(data) - 32, 997)]:
        with pytest.raises(ModelFileError, match=r"^model\.gguf: "):
            parse(tmp_path, data[:size_bytes])


def test_other_magic_versions_and_byte_orders_are_refused(tmp_path: Path) -> None:
    file = tiny_gguf()
    refuses(tmp_path, replace(file, magic=b"GGML").bytes(), "is not a GGUF file")
    refuses(tmp_path, b"GGUF", "ends at byte 4, inside the version")
    refuses(tmp_path, replace(file, version=1).bytes(), "is GGUF version 1")
    refuses(tmp_path, replace(file, version=4).bytes(), "is GGUF version 4")
    refuses(tmp_path, replace(file, version=3 << 24).bytes(), "big-endian")


@pytest.mark.parametrize("count", [1 << 60, (1 << 64) - 1, MAX_ITEMS + 1, 60_000])
def test_counts_that_cannot_be_are_refused_before_memory_is_taken(tmp_path: Path, count: int) -> None:
    file = tiny_gguf()
    refuses(tmp_path, replace(file, num_tensors=count).bytes(), f"claims {count} tensors")
    refuses(tmp_path, replace(file, num_keys=count).bytes(), f"claims {count} keys")
    for kind, noun in ((TEXT, "strings"), (ARRAY, "arrays"), (F32, "values")):
        lie = Value(ARRAY, struct.pack("<IQ", kind, count))
        refuses(tmp_path, Gguf([("some.key", lie)], []).bytes(), f"claims {count} {noun} in key some.key")


def test_counts_past_the_true_ones_are_refused(tmp_path: Path) -> None:
    file = Gguf([("a", u32(1))], [Tensor("t", (4,), data=b"")])
    with pytest.raises(ModelFileError):
        parse(tmp_path, replace(file, num_keys=2).bytes())
    with pytest.raises(ModelFileError):
        parse(tmp_path, replace(file, num_tensors=2).bytes())


def test_string_lengths_that_lie_are_refused(tmp_path: Path) -> None:
    huge = struct.pack("<Q", 1 << 62) + b"abc"
    refuses(tmp_path, with_key(Value(TEXT, huge)), "inside key some.key")
    one_lie = struct.pack("<IQ", TEXT, 2) + packed("ok") + huge
    refuses(tmp_path, with_key(Value(ARRAY, one_lie)), "inside key some.key")
    refuses(tmp_path, with_key(u32(1), b"k" * 70_000), "the name of key 0 claims 70000 bytes")
    refuses(tmp_path, with_tensors(Tensor("t" * 300, (4,))), "the name of a tensor claims 300 bytes")


def test_names_are_not_empty_and_are_utf8_and_are_there_once(tmp_path: Path) -> None:
    refuses(tmp_path, with_key(u32(1), ""), "the name of key 0 is empty")
    refuses(tmp_path, with_key(u32(1), b"\xff"), "the name of key 0 is not UTF-8")
    refuses(tmp_path, with_tensors(Tensor("", (4,))), "the name of a tensor is empty")
    refuses(tmp_path, Gguf([("a", u32(1)), ("a", u32(1))], []).bytes(), "key a is there twice")
    refuses(tmp_path, with_tensors(Tensor("a", (4,)), Tensor("a", (4,))), "tensor a is there twice")


def test_types_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    refuses(tmp_path, with_key(Value(13, b"\0" * 8)), "key some.key has value type 13")
    refuses(tmp_path, with_key(Value(ARRAY, struct.pack("<IQ", 99, 0))), "the elements of key some.key")
    refuses(tmp_path, with_key(Value(BOOL, b"\2")), "neither 0 nor 1")
    refuses(tmp_path, with_key(numbers(BOOL, [0, 7])), "neither 0 nor 1")
    refuses(tmp_path, with_tensors(Tensor("a", (32,), 20, data=b"\0" * 32)), "tensor a is IQ4_NL, which is not read")
    refuses(tmp_path, with_tensors(Tensor("a", (32,), 4, data=b"\0" * 32)), "tensor a is type 4, which is not read")


def test_arrays_nest_only_so_deep(tmp_path: Path) -> None:
    data = numbers(U32, [1]).data
    for _ in range(3):
        data = struct.pack("<IQ", ARRAY, 1) + data
    assert parse(tmp_path, with_key(Value(ARRAY, data)))
    refuses(tmp_path, with_key(Value(ARRAY, struct.pack("<IQ", ARRAY, 1) + data)), "nests arrays deeper than 4")
    refuses(tmp_path, with_key(Value(ARRAY, struct.pack("<IQ", ARRAY, 1) * 10_000)), "nests arrays deeper than 4")


@pytest.mark.parametrize(
    ("dims", "fault"),
    [
        ((0,), "has a dimension of 0"),
        ((4, 0), "has a dimension of 0"),
        ((), "has 0 dimensions"),
        ((1, 1, 1, 1, 1), "has 5 dimensions"),
        ((1 << 32, 1 << 32), "is at bytes"),
        ((1 << 63, 2), "is at bytes"),
        (((1 << 64) - 1, (1 << 64) - 1, (1 << 64) - 1, (1 << 64) - 1), "is at bytes"),
    ],
)
def test_dims_that_cannot_be_are_refused(tmp_path: Path, dims: tuple[int, ...], fault: str) -> None:
    refuses(tmp_path, with_tensors(Tensor("a", dims, data=b"\0" * 64)), f"tensor a {fault}")


@pytest.mark.parametrize("offset", [1, 16, 31, 33])
def test_misaligned_offsets_are_refused(tmp_path: Path, offset: int) -> None:
    refuses(tmp_path, with_tensors(Tensor("a", (4,), offset=offset)), f"tensor a is at offset {offset}")


@pytest.mark.parametrize("offset", [32, 1 << 40, (1 << 64) - 32])
def test_offsets_outside_the_file_are_refused(tmp_path: Path, offset: int) -> None:
    refuses(tmp_path, with_tensors(Tensor("a", (16,), offset=offset)), "tensor a is at bytes")


def test_tensors_that_share_bytes_are_refused(tmp_path: Path) -> None:
    data = with_tensors(Tensor("a", (16,)), Tensor("b", (16,), offset=32), Tensor("c", (16,)))
    refuses(tmp_path, data, "tensors a and b overlap")


def test_a_size_whose_padding_would_wrap_is_refused(tmp_path: Path) -> None:
    refuses(tmp_path, with_tensors(Tensor("a", ((1 << 62) - 4,), data=b"\0" * 64)), "tensor a is at bytes")


def test_rows_hold_whole_blocks(tmp_path: Path) -> None:
    refuses(tmp_path, with_tensors(Tensor("a", (33, 2), Q8_0_TYPE)), "tensor a has rows of 33 values, Q8_0 wants")


@pytest.mark.parametrize("value", [u32(0), u32(24), u32(4), u32(1 << 30), text("32"), flag(True), numbers(U32, [32])])
def test_alignments_that_cannot_be_are_refused(tmp_path: Path, value: Value) -> None:
    refuses(tmp_path, with_key(value, "general.alignment"), "general.alignment is ")


def test_a_message_is_one_short_line(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError) as raised:
        parse(tmp_path, Gguf([("k\n\x1b[31m" + "x" * 5000, Value(13, b""))], []).bytes())
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 300
