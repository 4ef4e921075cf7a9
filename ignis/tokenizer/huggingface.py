"""The tokenizer of a Hugging Face folder: tokenizer.json run by the tokenizers library, or else tokenizer.model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import pre_tokenizers

from ignis.errors import ModelFileError
from ignis.models.base import HfTokenizerFiles, SpecialTokens
from ignis.models.files import read_bytes
from ignis.tokenizer.library import LibraryEncoder
from ignis.tokenizer.pieces import MAX_FILE_BYTES, SentencePieceEncoder, has_prefix, read_processor, without_prefix
from ignis.tokenizer.spelling import Alphabet, Spelling
from ignis.tokenizer.tokenizer import ControlToken, Tokenizer


def load_folder(files: HfTokenizerFiles, special: SpecialTokens, vocab_size: int) -> Tokenizer:
    """Raises ModelFileError where a file is malformed or does not fit the model."""
    if files.tokenizer_json is not None:
        return _load_json(files.tokenizer_json, files.config, special, vocab_size)
    if files.sentencepiece_model is not None:
        return _load_model(files.sentencepiece_model, files.config, special, vocab_size)
    raise ModelFileError("the folder has neither tokenizer.json nor tokenizer.model")


def _load_json(path: Path, config: Mapping[str, object], special: SpecialTokens, vocab_size: int) -> Tokenizer:
    # Not by its name: the library would wait for a FIFO, or read what never ends, and hold the whole process meanwhile.
    content = read_bytes(path, MAX_FILE_BYTES)
    try:
        tokenizer = tokenizers.Tokenizer.from_buffer(content)
    except Exception as fault:  # the library raises bare Exception for every fault of a file
        raise ModelFileError(f"{path.name} is no tokenizer that can be read: {fault}") from fault
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # The spelling of a special token is text, wherever the text comes from.
    tokenizer.encode_special_tokens = True
    controls: dict[str, ControlToken] = {}
    added = tokenizer.get_added_tokens_decoder()
    declared = {**_declared(config), **{token_id: token.special for token_id, token in added.items()}}
    literal: set[int] = set()
    for token_id, is_special in declared.items():
        text = tokenizer.id_to_token(token_id)
        token = added.get(token_id)
        if text and (is_special or token_id in special.stop_ids or token_id in (special.bos, special.eos)):
            if token_id < vocab_size:
                strips = (token.lstrip, token.rstrip) if token else (False, False)
                controls[text] = ControlToken(token_id, *strips)
        elif token is not None:
            literal.add(token_id)
    most = max((tokenizer.get_vocab_size(with_added_tokens=False) - 1, *literal))
    if most >= vocab_size:
        raise ModelFileError(f"{path.name} has token {most}, but the embedding has {vocab_size} rows")
    alphabet, leads_with_space = _read_decoder(tokenizer, path.name)
    spelling = Spelling(
        tokenizer.id_to_token, alphabet, literal if alphabet is Alphabet.BYTES else frozenset(), leads_with_space
    )
    encoder = LibraryEncoder(tokenizer, _after_a_token(tokenizer))
    adds_bos = config.get("add_bos_token")
    if not isinstance(adds_bos, bool):
        adds_bos = special.bos is not None and tokenizer.encode("").ids[:1] == [special.bos]
    return Tokenizer(encoder, spelling, controls, vocab_size, special, adds_bos)


def _declared(config: Mapping[str, object]) -> dict[int, bool]:
    """The tokens that tokenizer_config.json adds: id to whether it is special."""
    added = config.get("added_tokens_decoder")
    if not isinstance(added, Mapping):
        return {}
    return {
        int(token_id): bool(entry.get("special"))
        for token_id, entry in added.items()
        if isinstance(token_id, str) and token_id.isdecimal() and isinstance(entry, Mapping)
    }


def _state(part: Any) -> dict[str, object]:
    """A part of a tokenizer as tokenizer.json has it. It is what the part pickles as."""
    if part is None:
        return {}
    state: object = json.loads(part.__getstate__())
    return state if isinstance(state, dict) else {}


def _steps(state: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    steps = state.get(key)
    if state.get("type") != "Sequence" or not isinstance(steps, list):
        return [state]
    return [inner for step in steps if isinstance(step, Mapping) for inner in _steps(step, key)]


def _read_decoder(tokenizer: tokenizers.Tokenizer, name: str) -> tuple[Alphabet, bool]:
    """How tokens are spelled, and whether a text's first space is not part of it."""
    decoders = _steps(_state(tokenizer.decoder), "decoders")
    kinds = {step.get("type") for step in decoders}
    if "ByteLevel" in kinds:
        return Alphabet.BYTES, False
    if kinds & {"Metaspace", "Replace"} and kinds <= {"Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"}:
        leads = any(
            (step.get("type") == "Strip" and step.get("start") == 1)
            or (step.get("type") == "Metaspace" and step.get("prepend_scheme") != "never")
            for step in decoders
        )
        return Alphabet.PIECES, leads
    raise ModelFileError(f"{name} decodes by {', '.join(map(str, kinds))}, which is not served")


def _after_a_token(tokenizer: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """The tokenizer for text that follows a token: a Metaspace of scheme `first` puts no space there."""
    state = _state(tokenizer.pre_tokenizer)
    if state.get("type") != "Metaspace" or state.get("prepend_scheme") != "first":
        return tokenizer
    rest = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    rest.encode_special_tokens = True
    rest.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement=str(state.get("replacement", "▁")), prepend_scheme="never", split=bool(state.get("split", True))
    )
    return rest


def _load_model(path: Path, config: Mapping[str, object], special: SpecialTokens, vocab_size: int) -> Tokenizer:
    processor, model = read_processor(path)
    num_pieces = processor.GetPieceSize()
    if num_pieces > vocab_size:
        raise ModelFileError(f"{path.name} has {num_pieces} pieces, but the embedding has {vocab_size} rows")
    texts = _declared_texts(config)
    ends = {special.bos, special.eos, *special.stop_ids}
    controls: dict[str, ControlToken] = {}
    for token_id in range(num_pieces):
        if processor.IsControl(token_id) or processor.IsUnknown(token_id):
            controls[processor.IdToPiece(token_id)] = ControlToken(token_id)
    added: dict[str, int] = {}
    for token_id, is_special in _declared(config).items():
        text = texts.get(token_id, "")
        if not text or token_id >= vocab_size:
            continue
        if is_special or token_id in ends:
            controls[text] = ControlToken(token_id)
        elif token_id >= num_pieces:
            added[text] = token_id
    prefix = has_prefix(processor)
    legacy = config.get("legacy") is not False
    # Hugging Face's older tokenizers put the prefix before every run of text, the newer ones only before the first.
    rest = processor if legacy or not prefix else without_prefix(model, path.name)

    def spell(token_id: int) -> str | None:
        return processor.IdToPiece(token_id) if token_id < num_pieces else texts.get(token_id)

    spelling = Spelling(spell, Alphabet.PIECES, frozenset(added.values()), prefix)
    adds_bos = config.get("add_bos_token") is not False
    return Tokenizer(SentencePieceEncoder(processor, rest, added), spelling, controls, vocab_size, special, adds_bos)


def _declared_texts(config: Mapping[str, object]) -> dict[int, str]:
    added = config.get("added_tokens_decoder")
    if not isinstance(added, Mapping):
        return {}
    return {
        int(token_id): str(entry.get("content", ""))
        for token_id, entry in added.items()
        if isinstance(token_id, str) and token_id.isdecimal() and isinstance(entry, Mapping)
    }
