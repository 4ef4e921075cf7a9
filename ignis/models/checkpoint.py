"""Puts a checkpoint together out of what its files say. On a fault, whatever was mapped is unmapped again."""

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ignis.models.architecture import ArchitectureSpec
from ignis.models.base import Checkpoint, GgufVocabulary, HfTokenizerFiles, SpecialTokens, StoredTensor, TensorView
from ignis.models.binding import bind_tensors, gguf_spelling
from ignis.models.fields import Fields
from ignis.models.files import refusal, shown
from ignis.models.gguf_config import ROPE_FACTORS, gguf_format, gguf_sampling, gguf_shape
from ignis.models.gguf_parts import open_parts
from ignis.models.gguf_vocabulary import gguf_special_tokens, gguf_vocabulary, has_vocabulary

Specs = Mapping[str, ArchitectureSpec]
"""By the architecture's name."""

NO_TOKENIZER = HfTokenizerFiles(None, None, {})
NO_SPECIAL_TOKENS = SpecialTokens(None, None, None, None, frozenset())

# Precomputed tables of old converters, which hold what the shape already says.
_IGNORED_GGUF = re.compile(r"blk\.\d+\.attn_rot_embd(\.weight)?|rope_freqs\.weight")


def open_gguf(path: Path, specs: Specs, needs_tokenizer: bool) -> Checkpoint:
    """Opens a GGUF file, with its other parts where it is split.

    Raises:
        ModelFileError: the message names the file and the fault.
    """
    with contextlib.ExitStack() as cleanup:
        parts = open_parts(path, cleanup)
        keys = parts.keys
        if keys.text("general.type") not in (None, "model"):
            raise keys.refused("general.type", f"is {shown(keys.text('general.type'))}, not a model of its own")
        spec = find_architecture(keys, "general.architecture", specs)
        shape = gguf_shape(keys, spec, parts.tensors, parts.files)
        stored = {name: tensor for name, tensor in parts.tensors.items() if not _IGNORED_GGUF.fullmatch(name)}
        tensors = bind_tensors(spec, shape, stored, parts.files, gguf_spelling)
        vocabulary: GgufVocabulary | HfTokenizerFiles = NO_TOKENIZER
        special = NO_SPECIAL_TOKENS
        if needs_tokenizer or has_vocabulary(keys):
            vocabulary = gguf_vocabulary(keys, shape.vocab_size)
            special = gguf_special_tokens(keys, vocabulary)
        checkpoint = Checkpoint(
            name=model_name(keys.text("general.name"), path.stem),
            path=path,
            format=gguf_format(keys, stored),
            shape=shape,
            files=parts.files,
            tensors=tensors,
            num_parameters=num_parameters(tensors),
            vocabulary=vocabulary,
            special=special,
            chat_template=keys.text("tokenizer.chat_template"),
            sampling_defaults=gguf_sampling(keys),
        )
        cleanup.pop_all()
        return checkpoint


def find_architecture(fields: Fields, name: str, specs: Specs) -> ArchitectureSpec:
    """Looks up the architecture that the field names.

    Raises:
        ModelFileError: the field is missing, or names one that no leaf has.
    """
    architecture = fields.text(name)
    if architecture is None:
        raise fields.refused(name, "is missing")
    spec = specs.get(architecture)
    if spec is None:
        raise fields.refused(name, f"is {shown(architecture)}; {', '.join(specs)} are supported")
    return spec


def model_name(declared: str | None, otherwise: str) -> str:
    """The declared name on one line, or the file's."""
    return shown((declared or "").strip() or otherwise)


def num_parameters(tensors: Sequence[TensorView]) -> int:
    """A tied head counts once."""
    return sum(tensor.rows * tensor.cols for tensor in tensors)
