"""Random stored weights of every type from a seed, and their float64 values as the CPU leaf defines the format."""

import ctypes
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.abi import leaf
from tests.cuda import card
from tests.models import fp8

Bytes = npt.NDArray[np.uint8]
Doubles = npt.NDArray[np.float64]

# name: (number, values of a block, bytes of a block, offsets of its float16 scales)
TYPES = {
    "F32": (0, 1, 4, ()),
    "F16": (1, 1, 2, ()),
    "BF16": (30, 1, 2, ()),
    "Q4_0": (2, 32, 18, (0,)),
    "Q4_1": (3, 32, 20, (0, 2)),
    "Q5_0": (6, 32, 22, (0,)),
    "Q5_1": (7, 32, 24, (0, 2)),
    "Q8_0": (8, 32, 34, (0,)),
    "Q4_K": (12, 256, 144, (0, 2)),
    "Q5_K": (13, 256, 176, (0, 2)),
    "Q6_K": (14, 256, 210, (208,)),
    "F8_E4M3": (leaf.F8_E4M3, 1, 1, ()),
}
FLOATS = ("F32", "F16", "BF16")


@dataclass(frozen=True, slots=True)
class Stored:
    """data: uint8 [rows, bytes of a row]; scales: of F8_E4M3's blocks."""

    name: str
    rows: int
    cols: int
    data: Bytes
    scales: fp8.Floats | None = None

    @property
    def number(self) -> int:
        return TYPES[self.name][0]

    def file(self) -> Bytes:
        """What a file has of it."""
        return self.data.reshape(-1) if self.scales is None else fp8.as_bytes(self.data, self.scales)

    def tensor(self, offset: int) -> leaf.Tensor:
        """As the step ABI describes it, at that offset of file 0."""
        return leaf.StoredTensor("w", self.number, self.rows, self.cols, self.file()).described(0, offset)

    def values(self) -> Doubles:
        """float64 [rows, cols]."""
        values = np.empty((self.rows, self.cols), np.float32)
        library = card.host()
        status = library.ignis_dequantize(
            self.number,
            ctypes.c_void_p(self.data.ctypes.data),
            ctypes.c_uint64(self.data.nbytes),
            ctypes.c_void_p(values.ctypes.data),
            ctypes.c_uint64(values.size),
        )
        leaf.check(library, status)
        if self.scales is not None:
            values *= fp8.spread(self.scales, self.rows, self.cols)
        return values.astype(np.float64)


def random(name: str, rows: int, cols: int, seed: int) -> Stored:
    generator = np.random.default_rng(seed)
    _, values, size_bytes, scales = TYPES[name]
    if name in FLOATS:
        floats = generator.standard_normal((rows, cols)).astype(np.float32)
        if name == "F16":
            data = floats.astype(np.float16).view(np.uint8)
        elif name == "BF16":
            data = np.ascontiguousarray((floats.view(np.uint32) >> 16).astype(np.uint16)).view(np.uint8)
        else:
            data = floats.view(np.uint8)
        return Stored(name, rows, cols, np.ascontiguousarray(data).reshape(rows, -1))
    if name == "F8_E4M3":
        return Stored(name, rows, cols, *fp8.quantized(generator.standard_normal((rows, cols)).astype(np.float32)))
    blocks = generator.integers(0, 256, (rows, cols // values, size_bytes), np.uint8)
    for at in scales:
        chosen = np.ldexp(generator.uniform(0.5, 1, blocks.shape[:2]), generator.integers(-9, -4, blocks.shape[:2]))
        signed = chosen * generator.choice((-1.0, 1.0), blocks.shape[:2])
        blocks[..., at : at + 2] = signed.astype(np.float16)[..., None].view(np.uint8)
    return Stored(name, rows, cols, blocks.reshape(rows, -1))
