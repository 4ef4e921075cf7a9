"""SentencePiece vocabularies, run by the sentencepiece library: GGUF kind `llama`, and tokenizer.model files.

A GGUF file holds the pieces but not the model file that they came from, so that file is written again here.
"""

import re
import struct
from collections.abc import Mapping
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from ignis.errors import ModelFileError
from ignis.models.base import GgufVocabulary
from ignis.models.files import read_bytes
from ignis.tokenizer.spelling import Alphabet, Spelling, lookup
from ignis.tokenizer.types import TokenType

_NUM_BYTES = 256
MAX_FILE_BYTES = 256 << 20
"""The largest tokenizers have a tenth of it."""


class SentencePieceEncoder:
    """Encodes text; spellings of `added` tokens, which the model file does not know, are matched before."""

    def __init__(
        self, first: SentencePieceProcessor, rest: SentencePieceProcessor, added: Mapping[str, int] | None = None
    ) -> None:
        """`first` encodes a text that starts the prompt, `rest` one that follows a token."""
        self._first = first
        self._rest = rest
        self._added = dict(added or {})
        longest_first = sorted(self._added, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def encode(self, text: str, is_first: bool) -> list[int]:
        ids: list[int] = []
        start = 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            ids += self._encode_run(text[start : match.start()], is_first and not ids)
            ids.append(self._added[match[0]])
            start = match.end()
        return ids + self._encode_run(text[start:], is_first and not ids)

    def _encode_run(self, text: str, is_first: bool) -> list[int]:
        ids: list[int] = (self._first if is_first else self._rest).EncodeAsIds(text)
        return ids


def load_processor(model: bytes, origin: str) -> SentencePieceProcessor:
    """Raises ModelFileError where `model` is no SentencePiece model."""
    processor = SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except (RuntimeError, ValueError) as fault:
        raise ModelFileError(f"{origin} is no SentencePiece model: {fault}") from fault
    return processor


def read_processor(path: Path) -> tuple[SentencePieceProcessor, bytes]:
    """Reads a tokenizer.model file. Raises ModelFileError."""
    model = read_bytes(path, MAX_FILE_BYTES)
    return load_processor(model, path.name), model


def without_prefix(model: bytes, origin: str) -> SentencePieceProcessor:
    """The same model, but putting no space before a text."""
    # A message field that occurs twice is merged, the later value winning (Protocol Buffers, encoding).
    return load_processor(model + _field(3, _number(3, 0)), origin)


def has_prefix(processor: SentencePieceProcessor) -> bool:
    """Whether a text is encoded with a space before it."""
    pieces: list[str] = processor.EncodeAsPieces("a")
    return bool(pieces) and pieces[0].startswith("▁")


def build_pieces_encoder(vocabulary: GgufVocabulary) -> SentencePieceEncoder:
    """Raises ModelFileError where scores or types do not fit the tokens."""
    tokens, types, scores = vocabulary.tokens, vocabulary.token_types, vocabulary.scores
    for key, values in (("token_type", types), ("scores", scores)):
        if len(values) != len(tokens):
            raise ModelFileError(f"tokenizer.ggml.{key} has {len(values)} entries, but there are {len(tokens)} tokens")
    has_bytes = sum(kind == TokenType.BYTE for kind in types) == _NUM_BYTES
    parts = [
        _field(1, _field(1, _piece(token, kind, index)) + _float(2, score) + _number(3, kind))
        for index, (token, score, kind) in enumerate(zip(tokens, scores, types, strict=True))
    ]
    if TokenType.UNKNOWN not in types:
        parts.append(_field(1, _field(1, b"<no such token>") + _number(3, TokenType.UNKNOWN)))
    trainer = _number(3, 2) + _number(35, has_bytes)  # model_type BPE, byte_fallback
    normalizer = _field(1, b"identity") + _number(3, vocabulary.adds_space_prefix) + _number(4, 0) + _number(5, 1)
    processor = load_processor(
        b"".join((*parts, _field(2, trainer), _field(3, normalizer))), "the vocabulary of tokenizer.ggml.tokens"
    )
    # The prefix stands before every run of text, also after a control token: so models of this kind were trained.
    return SentencePieceEncoder(processor, processor)


def pieces_spelling(vocabulary: GgufVocabulary) -> Spelling:
    return Spelling(lookup(vocabulary.tokens), Alphabet.PIECES, frozenset(), vocabulary.adds_space_prefix)


def _piece(token: str, kind: int, index: int) -> bytes:
    if kind == TokenType.USER_DEFINED:
        # Makers of GGUF files write the spaces of these out. The model matches them in text whose spaces are ▁ already.
        token = token.replace(" ", "▁")
    return (token or f"<empty {index}>").encode()


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data
