"""Holds what an architecture wants against what a checkpoint stores: each tensor there, of its shape, and none over."""

from collections.abc import Callable, Mapping, Sequence

from ignis.models.architecture import ArchitectureSpec, TensorSpec, dim_size
from ignis.models.base import DType, MappedFile, ModelShape, StoredTensor, TensorView
from ignis.models.files import refusal, shown

_NORM_TYPES = (DType.F32, DType.F16, DType.BF16)

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
        ModelFileError: a tensor is missing, has another shape, is a norm in blocks, or is none of the architecture's.
    """
    views: list[TensorView] = []
    unused = dict(stored)

    def take(want: TensorSpec, layer: int | None) -> None:
        stored_name = spelling(want) if layer is None else spelling(want).format(layer=layer)
        tensor = unused.pop(stored_name, None)
        if tensor is None:
            raise refusal(files[0].path, f"tensor {stored_name} is missing")
        name = want.name if layer is None else want.name.format(layer=layer)
        views.append(_view(name, want, tensor, files[tensor.file], shape))

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


def _view(name: str, want: TensorSpec, tensor: StoredTensor, file: MappedFile, shape: ModelShape) -> TensorView:
    rows, cols = dim_size(want.rows, shape), dim_size(want.cols, shape)
    expected = (cols,) if want.is_norm else (rows, cols)
    if tensor.dims != expected:
        raise refusal(
            file.path, f"tensor {shown(tensor.name)} has shape {list(tensor.dims)}, {list(expected)} is expected"
        )
    if want.is_norm and tensor.dtype not in _NORM_TYPES:
        raise refusal(
            file.path, f"tensor {shown(tensor.name)} is {tensor.dtype.name}, a norm is expected as F32, F16 or BF16"
        )
    return TensorView(name, tensor.dtype, rows, cols, tensor.file, tensor.offset, tensor.size_bytes)
