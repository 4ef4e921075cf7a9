"""The vocabulary in which an architecture is declared: its tensors in both spellings, their shapes, and its rope pairs.

`{layer}` in a name stands for a layer's number.
"""

import enum
from dataclasses import dataclass

from ignis.models.base import Architecture, ModelShape, RopePairs


class Dim(enum.Enum):
    """A side of a tensor, by what it counts."""

    ONE = enum.auto()
    HIDDEN = enum.auto()
    FFN = enum.auto()
    QUERY = enum.auto()
    """num_heads * head_dim."""
    KEY = enum.auto()
    """num_kv_heads * head_dim."""
    HEAD = enum.auto()
    VOCAB = enum.auto()


TOKEN_TABLE = "token_embd.weight"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One tensor, or one of every layer: row-major [rows, cols]."""

    name: str
    """GGUF spelling."""
    hf_name: str
    rows: Dim
    cols: Dim

    @property
    def is_norm(self) -> bool:
        return self.rows is Dim.ONE

    @property
    def is_table(self) -> bool:
        """Whether its rows are read by number: the embedding."""
        return self.rows is Dim.VOCAB and self.name == TOKEN_TABLE


@dataclass(frozen=True, slots=True)
class ArchitectureSpec:
    """What an architecture is; cuda/models has what it does."""

    architecture: Architecture
    hf_class: str
    """The entry of config.json's `architectures`."""
    gguf_rope_pairs: RopePairs
    """Of the converted q and k rows; Hugging Face folders have HALVES."""
    model_tensors: tuple[TensorSpec, ...]
    layer_tensors: tuple[TensorSpec, ...]
    head: TensorSpec
    """Absent where the head is tied to the embedding."""


def dim_size(dim: Dim, shape: ModelShape) -> int:
    """How long that side is in a model of that shape."""
    match dim:
        case Dim.ONE:
            return 1
        case Dim.HIDDEN:
            return shape.hidden_size
        case Dim.FFN:
            return shape.ffn_size
        case Dim.QUERY:
            return shape.num_heads * shape.head_dim
        case Dim.KEY:
            return shape.num_kv_heads * shape.head_dim
        case Dim.HEAD:
            return shape.head_dim
        case Dim.VOCAB:
            return shape.vocab_size
