"""What a checkpoint is once it is read: shape, where its tensors lie in mapped files, tokenizer, template, defaults."""

import enum
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class Architecture(enum.Enum):
    """The forward passes that the leaves have; the value is general.architecture and model_type."""

    LLAMA = "llama"
    QWEN3 = "qwen3"


SCALE_BLOCK = 128
"""Rows and columns of an F8_E4M3 tensor that share a scale (IGNIS_SCALE_BLOCK)."""


class DType(enum.IntEnum):
    """Stored element types, with the numbers that GGUF and ignis_step.h give them."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    BF16 = 30
    F8_E4M3 = 256
    """GGUF has no number for it. Weights of it come with block scales."""


class RopePairs(enum.IntEnum):
    """Which dims turn together (ignis_rope_pairs)."""

    HALVES = 0
    ADJACENT = 1


@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary embedding: angle of position p in pair i is p * inv_freq[i]; cos and sin are multiplied by scale."""

    inv_freq: tuple[float, ...]
    """[head_dim / 2], llama3 or yarn scaling already applied."""
    scale: float
    pairs: RopePairs


@dataclass(frozen=True, slots=True)
class ModelShape:
    architecture: Architecture
    num_layers: int
    hidden_size: int
    ffn_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    rms_eps: float
    rope: Rope
    context_tokens: int
    """Positions that the model was trained for (after its own rope scaling)."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor as its container lists it, held against the file's size; nobody has asked yet what it is for."""

    name: str
    """As the container spells it."""
    dtype: DType
    dims: tuple[int, ...]
    """Row-major, the longest stride first; at least one, all at least 1."""
    file: int
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class BlockScales:
    """Of an F8_E4M3 tensor, at [offset, offset + size_bytes) of files[file]: row-major, one a SCALE_BLOCK squared."""

    dtype: DType
    file: int
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TensorView:
    """One stored tensor: row-major [rows, cols] at [offset, offset + size_bytes) of files[file]."""

    name: str
    """GGUF spelling, whatever the source: token_embd.weight, blk.N.attn_q.weight, output_norm.weight, ..."""
    dtype: DType
    rows: int
    cols: int
    file: int
    offset: int
    size_bytes: int
    scales: BlockScales | None = None
    """Of F8_E4M3 alone."""


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A file mapped read-only. The Checkpoint closes it, after all views into `map` are released."""

    path: Path
    map: mmap.mmap
    size_bytes: int
    descriptor: int
    """The file itself, open for reading: a leaf whose device is fed from elsewhere reads it without the mapping."""

    def close(self) -> None:
        """Unmaps and closes it. Safe to call again."""
        if not self.map.closed:
            self.map.close()
            os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class AbsentFile:
    """Where a synthetic checkpoint's tensors would lie: the device makes their values out of the checkpoint's seed."""

    size_bytes: int
    map: None = None

    def close(self) -> None:
        """There is nothing to close."""


class VocabularyKind(enum.Enum):
    BPE = "gpt2"
    SENTENCEPIECE = "llama"


@dataclass(frozen=True, slots=True)
class GgufVocabulary:
    """tokenizer.ggml.*, checked for type and count."""

    kind: VocabularyKind
    pre_tokenizer: str
    """tokenizer.ggml.pre; empty where the file has none."""
    tokens: tuple[str, ...]
    token_types: tuple[int, ...]
    """1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte; [] where absent."""
    scores: tuple[float, ...]
    merges: tuple[str, ...]
    adds_bos: bool
    adds_eos: bool
    adds_space_prefix: bool


@dataclass(frozen=True, slots=True)
class HfTokenizerFiles:
    """A Hugging Face folder's tokenizer: tokenizer.json, or else tokenizer.model; neither only from `open_weights`."""

    tokenizer_json: Path | None
    sentencepiece_model: Path | None
    config: Mapping[str, object]
    """tokenizer_config.json, or empty."""


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    bos: int | None
    eos: int | None
    pad: int | None
    unk: int | None
    stop_ids: frozenset[int]
    """Every id that ends a turn: eos, the generation config's list, eot and eom where the file names them."""


@dataclass(slots=True)
class Checkpoint:
    """A model on disk, mapped. Close it when the leaf has unloaded."""

    name: str
    """general.name, or the folder's or file's name."""
    path: Path
    format: str
    """For people: "GGUF Q4_1", "safetensors BF16"."""
    shape: ModelShape
    files: tuple[MappedFile, ...] | tuple[AbsentFile]
    tensors: tuple[TensorView, ...]
    num_parameters: int
    vocabulary: GgufVocabulary | HfTokenizerFiles
    special: SpecialTokens
    chat_template: str | None
    sampling_defaults: Mapping[str, float] = field(default_factory=dict)
    """From generation_config.json: temperature, top_p, top_k, min_p, repetition_penalty, where given."""
    seed: int = 0
    """Not 0: of synthetic weights."""

    @property
    def size_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)

    def close(self) -> None:
        """Unmaps the files. Views into them are dead after this."""
        for file in self.files:
            file.close()
