"""The GGUF container, versions 2 and 3, little-endian: keys and tensor positions out of a mapped file.

Everything that a file claims is held against its size before memory is taken for it. What keys mean is not known here.
"""

import enum
import operator
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ignis.models.base import DType, MappedFile, StoredTensor
from ignis.models.files import read_at, refusal, shown
from ignis.quant.registry import GGUF_FORMATS, format_name

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_ALIGNMENT = 1 << 20
MAX_TENSORS = 1 << 16
MAX_KEYS = 1 << 16
MAX_ITEMS = 1 << 22
"""Of one array; vocabularies have up to half a million."""
MAX_KEY_BYTES = 1 << 16
MAX_TENSOR_NAME_BYTES = 255
MAX_DIMS = 4
MAX_ARRAY_DEPTH = 4

# The smallest entry of each kind: what a claimed count is held against.
KEY_MIN_BYTES = 8 + 1 + 4 + 1
TENSOR_MIN_BYTES = 8 + 1 + 4 + 8 + 4 + 8
STRING_MIN_BYTES = 8
ARRAY_MIN_BYTES = 4 + 8

WINDOW_BYTES = 1 << 20
MAX_WINDOWS = 64
"""Of one array. A file made to waste windows (every other string empty) is read string by string after that."""
LENGTH_TAIL = bytes(7)
_LAST_BYTE: Callable[[bytes], int] = operator.itemgetter(-1)
_ALL_BUT_LAST_BYTE: Callable[[bytes], bytes] = operator.itemgetter(slice(-1))


class ValueType(enum.IntEnum):
    """Types of metadata values, as the format numbers them."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


_CODES: Mapping[ValueType, str] = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT16: "H",
    ValueType.INT16: "h",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "B",
    ValueType.UINT64: "Q",
    ValueType.INT64: "q",
    ValueType.FLOAT64: "d",
}
_TYPES: Mapping[int, ValueType] = {int(kind): kind for kind in ValueType}


@dataclass(frozen=True, slots=True)
class GgufArray:
    """A metadata array. Items of strings that are not UTF-8 stay bytes."""

    element: ValueType
    items: tuple[object, ...]

    def __repr__(self) -> str:
        return f"an array of {len(self.items)} {self.element.name}"


GgufValue = int | float | bool | str | bytes | GgufArray
"""A metadata value. A string that is not UTF-8 stays bytes: only who asks for it has to care."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """One parsed file: its keys, and its tensors with positions checked against its size."""

    file: MappedFile
    keys: Mapping[str, GgufValue]
    tensors: Mapping[str, StoredTensor]


def parse_gguf(file: MappedFile, index: int) -> GgufFile:
    """Parses the header of a mapped file; its tensors are said to lie in files[index].

    Raises:
        ModelFileError: the file is not a GGUF that can be read here, or lies about itself.
    """
    reader = _Reader(file)
    if read_at(file, 0, min(len(MAGIC), file.size_bytes)) != MAGIC:
        raise refusal(file.path, "is not a GGUF file (its first four bytes are not GGUF)")
    reader.position = 4
    version = reader.number("I", "the version")
    if version not in VERSIONS:
        if version & 0xFFFF == 0:
            raise refusal(file.path, "is a big-endian GGUF, only little-endian ones are read")
        raise refusal(file.path, f"is GGUF version {version}, versions 2 and 3 are read")
    num_tensors = reader.count("tensors", TENSOR_MIN_BYTES, MAX_TENSORS)
    num_keys = reader.count("keys", KEY_MIN_BYTES, MAX_KEYS)
    keys = reader.keys(num_keys)
    alignment = _alignment(file, keys)
    infos = [reader.tensor_info() for _ in range(num_tensors)]
    start = -(-reader.position // alignment) * alignment
    return GgufFile(file, keys, _place(file, index, infos, start, alignment))


@dataclass(frozen=True, slots=True)
class _TensorInfo:
    name: str
    dims: tuple[int, ...]
    type: int
    offset: int


class _Reader:
    """A cursor over the header. Every read says what it was for, so that a short file is refused by what is missing."""

    __slots__ = ("_window", "_window_start", "file", "position")

    def __init__(self, file: MappedFile) -> None:
        self.file = file
        self.position = 0
        self._window = b""
        self._window_start = 0

    def part(self, start: int, size_bytes: int) -> bytes:
        """Bytes that `need` has found to be inside the file; small ones come out of a window that is read at once."""
        if size_bytes > WINDOW_BYTES:
            return read_at(self.file, start, size_bytes)
        skipped = start - self._window_start
        if skipped < 0 or skipped + size_bytes > len(self._window):
            self._window = read_at(self.file, start, min(WINDOW_BYTES, self.file.size_bytes - start))
            self._window_start, skipped = start, 0
        return self._window[skipped : skipped + size_bytes]

    def need(self, size_bytes: int, what: str) -> int:
        """Takes size_bytes and returns where they start."""
        start = self.position
        if size_bytes > self.file.size_bytes - start:
            raise refusal(self.file.path, f"ends at byte {self.file.size_bytes}, inside {what}")
        self.position = start + size_bytes
        return start

    def number(self, code: str, what: str) -> int:
        size_bytes = struct.calcsize("<" + code)
        value: int = struct.unpack("<" + code, self.part(self.need(size_bytes, what), size_bytes))[0]
        return value

    def count(self, what: str, min_bytes: int, limit: int) -> int:
        """Reads a u64 count of things of at least min_bytes each."""
        count = self.number("Q", f"the number of {what}")
        if count > limit:
            raise refusal(self.file.path, f"claims {count} {what}, at most {limit} are read")
        if count > (self.file.size_bytes - self.position) // min_bytes:
            raise refusal(self.file.path, f"claims {count} {what}, more than its {self.file.size_bytes} bytes can hold")
        return count

    def string(self, what: str, limit_bytes: int | None = None) -> bytes:
        size_bytes = self.number("Q", f"the length of {what}")
        if limit_bytes is not None and size_bytes > limit_bytes:
            raise refusal(self.file.path, f"{what} claims {size_bytes} bytes, at most {limit_bytes} are allowed")
        start = self.need(size_bytes, what)
        return self.part(start, size_bytes)

    def name(self, what: str, limit_bytes: int) -> str:
        data = self.string(what, limit_bytes)
        if not data:
            raise refusal(self.file.path, f"{what} is empty")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise refusal(self.file.path, f"{what} is not UTF-8") from error

    def value_type(self, what: str) -> ValueType:
        number = self.number("I", f"the type of {what}")
        kind = _TYPES.get(number)
        if kind is None:
            raise refusal(self.file.path, f"{what} has value type {number}, which GGUF does not define")
        return kind

    def keys(self, count: int) -> dict[str, GgufValue]:
        keys: dict[str, GgufValue] = {}
        for index in range(count):
            name = self.name(f"the name of key {index}", MAX_KEY_BYTES)
            if name in keys:
                raise refusal(self.file.path, f"key {shown(name)} is there twice")
            kind = self.value_type(f"key {shown(name)}")
            keys[name] = self.value(kind, f"key {shown(name)}")
        return keys

    def value(self, kind: ValueType, what: str) -> GgufValue:
        if kind is ValueType.ARRAY:
            return self.array(what, 1)
        if kind is ValueType.STRING:
            return _text(self.string(what))
        if kind is ValueType.BOOL:
            return self.booleans(1, what)[0]
        code = "<" + _CODES[kind]
        size_bytes = struct.calcsize(code)
        number: int | float = struct.unpack(code, self.part(self.need(size_bytes, what), size_bytes))[0]
        return number

    def array(self, what: str, depth: int) -> GgufArray:
        if depth > MAX_ARRAY_DEPTH:
            raise refusal(self.file.path, f"{what} nests arrays deeper than {MAX_ARRAY_DEPTH}")
        element = self.value_type(f"the elements of {what}")
        if element is ValueType.ARRAY:
            count = self.count(f"arrays in {what}", ARRAY_MIN_BYTES, MAX_ITEMS)
            return GgufArray(element, tuple(self.array(what, depth + 1) for _ in range(count)))
        if element is ValueType.STRING:
            return GgufArray(element, self.strings(self.count(f"strings in {what}", STRING_MIN_BYTES, MAX_ITEMS), what))
        code = _CODES[element]
        size_bytes = struct.calcsize("<" + code)
        count = self.count(f"values in {what}", size_bytes, MAX_ITEMS)
        if element is ValueType.BOOL:
            return GgufArray(element, self.booleans(count, what))
        start = self.need(count * size_bytes, what)
        return GgufArray(element, struct.unpack(f"<{count}{code}", self.part(start, count * size_bytes)))

    def booleans(self, count: int, what: str) -> tuple[bool, ...]:
        start = self.need(count, what)
        data = self.part(start, count)
        if data.translate(None, b"\0\1"):
            raise refusal(self.file.path, f"{what} holds a boolean that is neither 0 nor 1")
        return tuple(map(bool, data))

    def strings(self, count: int, what: str) -> tuple[str | bytes, ...]:
        items: list[bytes] = []
        tries = MAX_WINDOWS
        while len(items) < count:
            if tries:
                tries -= 1
                items += self.short_strings(count - len(items))
            if len(items) < count:
                items.append(self.string(what))
        joined = b"\0".join(items)
        try:
            texts = joined.decode().split("\0") if items else []
        except UnicodeDecodeError:
            return tuple(map(_text, items))
        return tuple(texts) if len(texts) == count else tuple(map(_text, items))

    def short_strings(self, count: int) -> list[bytes]:
        """Reads up to count strings at once: those before the first that is empty, over 255 bytes or past the window.

        The length of the others is one byte and seven zeros, so cutting the window at seven zeros gives

            length 0 | text 0, length 1 | text 1, length 2 | ... | rest

        and as far as every text is as long as the length before it says, this is what reading one by one gives. It is
        about three times as fast, on a vocabulary of 100,000 strings.
        """
        window = self.part(self.position, min(WINDOW_BYTES, self.file.size_bytes - self.position))
        first, *pieces = window.split(LENGTH_TAIL, count)
        if len(first) != 1 or len(pieces) < 2:
            return []
        pieces.pop()
        try:
            lengths = [first[0], *map(_LAST_BYTE, pieces)]
        except IndexError:  # an empty piece has none, so it is where the reading ends
            pieces = pieces[: pieces.index(b"")]
            lengths = [first[0], *map(_LAST_BYTE, pieces)]
        num_good = len(pieces)
        if [length + 1 for length in lengths[:num_good]] != list(map(len, pieces)):
            num_good = next(index for index, piece in enumerate(pieces) if len(piece) != lengths[index] + 1)
            pieces = pieces[:num_good]
        self.position += sum(map(len, pieces)) + 7 * num_good
        return list(map(_ALL_BUT_LAST_BYTE, pieces))

    def tensor_info(self) -> _TensorInfo:
        name = self.name("the name of a tensor", MAX_TENSOR_NAME_BYTES)
        what = f"tensor {shown(name)}"
        num_dims = self.number("I", what)
        if not 1 <= num_dims <= MAX_DIMS:
            raise refusal(self.file.path, f"{what} has {num_dims} dimensions, 1 to {MAX_DIMS} are allowed")
        size_bytes = 8 * num_dims + 4 + 8
        start = self.need(size_bytes, what)
        *dims, kind, offset = struct.unpack(f"<{num_dims}QIQ", self.part(start, size_bytes))
        return _TensorInfo(name, tuple(dims), kind, offset)


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _alignment(file: MappedFile, keys: Mapping[str, GgufValue]) -> int:
    alignment = keys.get("general.alignment", DEFAULT_ALIGNMENT)
    if type(alignment) is not int or not 8 <= alignment <= MAX_ALIGNMENT or alignment & (alignment - 1):
        raise refusal(
            file.path, f"general.alignment is {shown(alignment)}, a power of two from 8 to {MAX_ALIGNMENT} is expected"
        )
    return alignment


def _place(
    file: MappedFile, index: int, infos: list[_TensorInfo], start: int, alignment: int
) -> dict[str, StoredTensor]:
    """Checks where tensors lie: aligned, inside the file, apart from each other."""
    tensors: dict[str, StoredTensor] = {}
    for info in infos:
        what = f"tensor {shown(info.name)}"
        if info.name in tensors:
            raise refusal(file.path, f"{what} is there twice")
        form = GGUF_FORMATS.get(info.type)
        if form is None:
            names = ", ".join(known.name for known in GGUF_FORMATS.values())
            raise refusal(file.path, f"{what} is {format_name(info.type)}, which is not read; {names} are")
        cols, rows = info.dims[0], 1
        for dim in info.dims[1:]:
            rows *= dim
        if rows * cols == 0:
            raise refusal(file.path, f"{what} has a dimension of 0")
        row_bytes = form.row_bytes(cols)
        if row_bytes is None:
            raise refusal(file.path, f"{what} has rows of {cols} values, {form.name} wants a multiple of {form.values}")
        if info.offset % alignment:
            raise refusal(file.path, f"{what} is at offset {info.offset}, a multiple of {alignment} is expected")
        size_bytes, offset = rows * row_bytes, start + info.offset
        if size_bytes > file.size_bytes - offset:
            raise refusal(
                file.path, f"{what} is at bytes {offset} to {offset + size_bytes}, the file has {file.size_bytes}"
            )
        shape = tuple(reversed(info.dims))
        tensors[info.name] = StoredTensor(info.name, DType(form.number), shape, index, offset, size_bytes)
    before: StoredTensor | None = None
    for tensor in sorted(tensors.values(), key=lambda tensor: tensor.offset):
        if before is not None and tensor.offset < before.offset + before.size_bytes:
            raise refusal(file.path, f"tensors {shown(before.name)} and {shown(tensor.name)} overlap")
        before = tensor
    return tensors
