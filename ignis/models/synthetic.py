"""A checkpoint that no file holds: a config.json's shape, and random weights that the device makes out of a seed."""

from pathlib import Path

from ignis.models.architecture import ArchitectureSpec, Dim, TensorSpec, dim_size
from ignis.models.base import SCALE_BLOCK, AbsentFile, BlockScales, Checkpoint, DType, ModelShape, TensorView
from ignis.models.checkpoint import NO_SPECIAL_TOKENS, NO_TOKENIZER, find_architecture, num_parameters
from ignis.models.fields import Fields
from ignis.models.files import read_json, refusal
from ignis.models.hf_config import hf_shape
from ignis.models.hf_folder import CONFIG, CONFIG_BYTES
from ignis.models.registry import ARCHITECTURES
from ignis.quant.base import BlockFormat
from ignis.quant.registry import FORMAT_BY_NUMBER, known_as

_MAX_LAYERS = 1024
"""The leaf's; before it could refuse more, their tensors would have been listed here."""


def synthetic_checkpoint(path: Path, dtype: DType, seed: int) -> Checkpoint:
    """Returns a checkpoint of that shape, its matrices of that type and its norms float32. It has no tokenizer.

    One of FP8 has its embedding and its head in BF16, as the official ones.

    Args:
        path: a config.json, or a folder with one.
        seed: 1 to 2**32 - 1. The same seed gives the same weights on every device.

    Raises:
        ModelFileError: the message names the file and the fault.
    """
    file = path / CONFIG if path.is_dir() else path
    config = Fields(file, read_json(file, CONFIG_BYTES))
    spec = find_architecture(config, "model_type", ARCHITECTURES)
    config.required_integer("num_hidden_layers", high=_MAX_LAYERS)
    shape = hf_shape(config, spec)
    has_head = not config.flag("tie_word_embeddings", False)
    tensors = _Tensors(file, shape, FORMAT_BY_NUMBER[dtype]).views(spec, has_head=has_head)
    name = file.parent.name if file.name == CONFIG else file.stem
    return Checkpoint(
        name=name,
        path=file,
        format=f"synthetic {known_as(dtype)}",
        shape=shape,
        files=(AbsentFile(sum(map(_stored_bytes, tensors))),),
        tensors=tensors,
        num_parameters=num_parameters(tensors),
        vocabulary=NO_TOKENIZER,
        special=NO_SPECIAL_TOKENS,
        chat_template=None,
        seed=seed,
    )


def _stored_bytes(view: TensorView) -> int:
    return view.size_bytes + (view.scales.size_bytes if view.scales else 0)


class _Tensors:
    """Lays the tensors behind each other in the file that is not there."""

    def __init__(self, path: Path, shape: ModelShape, form: BlockFormat) -> None:
        self._path = path
        self._shape = shape
        self._form = form
        self._views: list[TensorView] = []
        self._offset = 0

    def views(self, spec: ArchitectureSpec, *, has_head: bool) -> tuple[TensorView, ...]:
        for want in spec.model_tensors:
            self._add(want, want.name)
        for layer in range(self._shape.num_layers):
            for want in spec.layer_tensors:
                self._add(want, want.name.format(layer=layer))
        if has_head:
            self._add(spec.head, spec.head.name)
        return tuple(self._views)

    def _add(self, want: TensorSpec, name: str) -> None:
        form = self._form
        if want.is_norm:
            form = FORMAT_BY_NUMBER[DType.F32]
        elif form.number == DType.F8_E4M3 and want.rows is Dim.VOCAB:
            form = FORMAT_BY_NUMBER[DType.BF16]
        rows, cols = dim_size(want.rows, self._shape), dim_size(want.cols, self._shape)
        row_bytes = form.row_bytes(cols)
        if row_bytes is None:
            raise refusal(
                self._path,
                f"{name} has rows of {cols} values, which are no whole blocks of {form.name}'s {form.values}",
            )
        size_bytes = rows * row_bytes
        scales = None
        if form.number == DType.F8_E4M3:
            num_scales = -(-rows // SCALE_BLOCK) * -(-cols // SCALE_BLOCK)
            scales = BlockScales(DType.F32, 0, self._offset + size_bytes, 4 * num_scales)
        self._views.append(TensorView(name, DType(form.number), rows, cols, 0, self._offset, size_bytes, scales))
        self._offset += size_bytes + (scales.size_bytes if scales else 0)
