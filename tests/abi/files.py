"""A model's tensors in one file on disk, mapped and open, as a checkpoint has them."""

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np

from tests.abi import leaf

ALIGNMENT = 4096


class StoredModel:
    """A context manager: writes the weights to a file, and gives the parameters of a load that reads it."""

    def __init__(self, weights: leaf.Weights, path: Path) -> None:
        self.weights = weights
        self.path = path
        self.progress = leaf.LoadProgress(ctypes.sizeof(leaf.LoadProgress))
        self._offsets: list[int] = []
        size_bytes = 0
        with path.open("wb") as file:
            for tensor in weights.tensors:
                self._offsets.append(size_bytes)
                file.seek(size_bytes)
                file.write(tensor.data.tobytes())
                size_bytes += -(-tensor.data.nbytes // ALIGNMENT) * ALIGNMENT
            file.truncate(size_bytes)
        self.descriptor = os.open(path, os.O_RDONLY)
        self._map = mmap.mmap(self.descriptor, size_bytes, access=mmap.ACCESS_READ)
        self._bytes = np.frombuffer(self._map, np.uint8)

    def __enter__(self) -> "StoredModel":
        return self

    def __exit__(self, *_: object) -> None:
        del self._bytes
        self._map.close()
        os.close(self.descriptor)

    def params(self, **fields: int) -> leaf.LoadParams:
        """The parameters, with this object's progress. They borrow its map."""
        params = leaf.load_params(self.weights, **fields)
        params.files[0] = leaf.File(self._bytes.ctypes.data, self._bytes.nbytes, self.descriptor)
        params.num_files = 1
        for index, (tensor, offset) in enumerate(zip(self.weights.tensors, self._offsets, strict=True)):
            params.tensors[index] = tensor.described(0, offset)
        params.progress = ctypes.pointer(self.progress)
        return params
