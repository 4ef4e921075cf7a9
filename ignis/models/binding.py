"""Holds what an architecture wants against what a checkpoint stores: each tensor there, of its shape, and none over."""

from collections.abc import Callable, Mapping, Sequence

from ignis.models.architecture import ArchitectureSpec, TensorSpec, dim_size
from ignis.models.base import SCALE_BLOCK, BlockScales, DType, MappedFile, ModelShape, StoredTensor, TensorView
from ignis.models.files import refusal, shown

_FLOATS = (DType.F32, DType.F16, DType.BF16)
_SCALES_OF = "_scale_inv"
"""Hugging Face's ending. In spite of it a value is its code times its scale."""

Spelling = Callable[[TensorSpec], str]
"""Picks the name that a container uses; {layer} still stands for the layer."""


def gguf_spelling(spec: TensorSpec) -> str:
    return spec.name


def hf_spelling(spec: TensorSpec) -> str:
    return spec.hf_name


def bind_tensors(
    spec: ArchitectureSpec,
    shape: ModelShape,
    stored: Mapping[str, StoredTensor],
    files: Sequence[MappedFile],
    spelling: Spelling,
) -> tuple[TensorView, ...]:
    """Returns the model's tensors in the order of the forward pass, under their GGUF names.

    `stored` has what is there, by the container's names and without what may be ignored. A head not in it is tied.

    Raises:
        ModelFileError: a tensor or an F8_E4M3 one's scales are missing, one has another shape or a type that its place
            does not allow, or is none of the architecture's.
    """
    views: list[TensorView] = []
    unused = dict(stored)

    def take(want: TensorSpec, layer: int | None) -> None:
        stored_name = spelling(want) if layer is None else spelling(want).format(layer=layer)
        tensor = unused.pop(stored_name, None)
        if tensor is None:
            raise refusal(files[0].path, f"tensor {stored_name} is missing")
        name = want.name if layer is None else want.name.format(layer=layer)
        scales = unused.pop(stored_name + _SCALES_OF, None) if tensor.dtype is DType.F8_E4M3 else None
        views.append(_view(name, want, tensor, scales, files, shape))

    for want in spec.model_tensors:
        take(want, None)
    # A lie about the number of layers ends at the first that is not there.
    for layer in range(shape.num_layers):
        for want in spec.layer_tensors:
            take(want, layer)
    if spelling(spec.head) in unused:
        take(spec.head, None)
    for name, tensor in unused.items():
        others = f" (and {len(unused) - 1} more)" if len(unused) > 1 else ""
        raise refusal(
            files[tensor.file].path,
            f"tensor {shown(name)}{others} is not one that {spec.architecture.value} of {shape.num_layers} layers has",
        )
    return tuple(views)


def _view(
    name: str,
    want: TensorSpec,
    tensor: StoredTensor,
    scales: StoredTensor | None,
    files: Sequence[MappedFile],
    shape: ModelShape,
) -> TensorView:
    file = files[tensor.file]
    rows, cols = dim_size(want.rows, shape), dim_size(want.cols, shape)
    expected = (cols,) if want.is_norm else (rows, cols)
    if tensor.dims != expected:
        raise refusal(
            file.path, f"tensor {shown(tensor.name)} has shape {list(tensor.dims)}, {list(expected)} is expected"
        )
    if want.is_norm and tensor.dtype not in _FLOATS:
        raise refusal(
            file.path, f"tensor {shown(tensor.name)} is {tensor.dtype.name}, a norm is expected as F32, F16 or BF16"
        )
    blocks = None
    if tensor.dtype is DType.F8_E4M3:
        if want.is_table:
            raise refusal(file.path, f"tensor {shown(tensor.name)} is F8_E4M3, which an embedding may not be")
        blocks = _scales(tensor, scales, files)
    return TensorView(name, tensor.dtype, rows, cols, tensor.file, tensor.offset, tensor.size_bytes, blocks)


def _scales(tensor: StoredTensor, scales: StoredTensor | None, files: Sequence[MappedFile]) -> BlockScales:
    """The scales of an F8_E4M3 matrix, held against its shape."""
    name = shown(tensor.name + _SCALES_OF)
    if scales is None:
        raise refusal(
            files[tensor.file].path, f"tensor {shown(tensor.name)} is F8_E4M3, and its scales {name} are missing"
        )
    path = files[scales.file].path
    if scales.dtype not in _FLOATS:
        raise refusal(path, f"tensor {name} is {scales.dtype.name}, scales are expected as F32, F16 or BF16")
    expected = tuple(-(-size // SCALE_BLOCK) for size in tensor.dims)
    if scales.dims != expected:
        raise refusal(
            path,
            f"tensor {name} has shape {list(scales.dims)}, {list(expected)} is expected:"
            f" one for {SCALE_BLOCK} x {SCALE_BLOCK} weights",
        )
    return BlockScales(scales.dtype, scales.file, scales.offset, scales.size_bytes)
