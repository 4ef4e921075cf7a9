"""Puts a checkpoint together out of what its files say. On a fault, whatever was mapped is unmapped again."""

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ignis.models.architecture import ArchitectureSpec
from ignis.models.base import Checkpoint, DType, GgufVocabulary, HfTokenizerFiles, SpecialTokens, TensorView
from ignis.models.binding import bind_tensors, gguf_spelling, hf_spelling
from ignis.models.fields import Fields
from ignis.models.files import refusal, shown
from ignis.models.gguf_config import gguf_file_type, gguf_sampling, gguf_shape
from ignis.models.gguf_parts import PROJECTOR, checkpoint_stem, is_later_part, open_parts
from ignis.models.gguf_vocabulary import gguf_special_tokens, gguf_vocabulary, has_vocabulary
from ignis.models.hf_config import hf_shape
from ignis.models.hf_folder import (
    CONFIG,
    CONFIG_BYTES,
    GENERATION_CONFIG,
    SENTENCEPIECE,
    TOKENIZER_CONFIG,
    TOKENIZER_CONFIG_BYTES,
    TOKENIZER_JSON,
    HfFolder,
    chat_template,
    open_weights_files,
    tokenizer_files,
)
from ignis.models.hf_quantization import QUANTIZATION, is_fp8
from ignis.models.hf_special import hf_special_tokens
from ignis.models.sampling import SAMPLING_NAMES, sampling_defaults
from ignis.quant.registry import known_as

Specs = Mapping[str, ArchitectureSpec]
"""By the architecture's name."""

NO_TOKENIZER = HfTokenizerFiles(None, None, {})
NO_SPECIAL_TOKENS = SpecialTokens(None, None, None, None, frozenset())

# Precomputed tables of old converters, which hold what the shape already says.
_IGNORED_HF = ".rotary_emb.inv_freq"
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
            name=model_name(keys.text("general.name"), checkpoint_stem(path)),
            path=path,
            format=f"GGUF {gguf_file_type(keys) or dominant_type(tensors)}",
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


def open_folder(path: Path, specs: Specs, needs_tokenizer: bool) -> Checkpoint:
    """Opens a Hugging Face folder, or a folder whose weights are one GGUF checkpoint.

    Raises:
        ModelFileError: the message names the file and the fault.
    """
    folder = HfFolder(path)
    firsts = [name for name in folder.names(".gguf") if not is_later_part(Path(name))]
    # What is no model is opened where it is alone, to say so.
    ggufs = [name for name in firsts if not name.startswith(PROJECTOR)] or firsts
    if ggufs and not folder.names(".safetensors"):
        if len(ggufs) > 1:
            raise refusal(path, f"has {len(ggufs)} GGUF checkpoints, name one of them: {shown(', '.join(ggufs))}")
        return open_gguf(folder.file(ggufs[0]), specs, needs_tokenizer)
    with contextlib.ExitStack() as cleanup:
        config = Fields(folder.file(CONFIG), folder.json(CONFIG, CONFIG_BYTES))
        spec = find_architecture(config, "model_type", specs)
        has_fp8 = is_fp8(config)
        shape = hf_shape(config, spec)
        files, stored = open_weights_files(folder, cleanup)
        for tensor in stored.values():
            if tensor.dtype is DType.F8_E4M3 and not has_fp8:
                raise config.refused(
                    QUANTIZATION, f"is missing, and tensor {shown(tensor.name)} is {tensor.dtype.name}"
                )
        is_tied = config.flag("tie_word_embeddings", False)
        head = spec.head.hf_name
        if not is_tied and head not in stored:
            raise refusal(files[0].path, f"tensor {head} is missing, and {CONFIG} does not tie it to the embedding")
        # A tied head that is stored all the same is a copy of the embedding.
        used = {
            name: tensor
            for name, tensor in stored.items()
            if not name.endswith(_IGNORED_HF) and not (is_tied and name.removesuffix("_scale_inv") == head)
        }
        tensors = bind_tensors(spec, shape, used, files, hf_spelling)
        tokenizer_config = folder.json(TOKENIZER_CONFIG, TOKENIZER_CONFIG_BYTES)
        vocabulary = tokenizer_files(folder, tokenizer_config)
        if needs_tokenizer and vocabulary.tokenizer_json is None and vocabulary.sentencepiece_model is None:
            raise refusal(path, f"{TOKENIZER_JSON} and {SENTENCEPIECE} are missing, one of them is needed")
        generation = Fields(path / GENERATION_CONFIG, folder.json(GENERATION_CONFIG, CONFIG_BYTES))
        checkpoint = Checkpoint(
            name=model_name(None, path.resolve().name),
            path=path,
            format=f"safetensors {dominant_type(tensors)}",
            shape=shape,
            files=files,
            tensors=tensors,
            num_parameters=num_parameters(tensors),
            vocabulary=vocabulary,
            special=hf_special_tokens(generation, config, tokenizer_config, shape.vocab_size),
            chat_template=chat_template(folder, tokenizer_config),
            sampling_defaults=sampling_defaults(generation, {name: name for name in SAMPLING_NAMES}),
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


def dominant_type(tensors: Sequence[TensorView]) -> str:
    """The element type that most bytes have, as people call it."""
    sizes: dict[DType, int] = {}
    for tensor in tensors:
        sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + tensor.size_bytes
    return known_as(max(sizes, key=lambda dtype: sizes[dtype]))
