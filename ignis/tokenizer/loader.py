"""Chooses the reader of a checkpoint's vocabulary and makes the Tokenizer."""

from ignis.errors import ModelFileError
from ignis.models.base import GgufVocabulary, HfTokenizerFiles, SpecialTokens, VocabularyKind
from ignis.tokenizer.bpe import bpe_spelling, build_bpe_encoder
from ignis.tokenizer.huggingface import load_folder
from ignis.tokenizer.pieces import build_pieces_encoder, pieces_spelling
from ignis.tokenizer.tokenizer import ControlToken, Encoder, Tokenizer
from ignis.tokenizer.types import TokenType


def load_tokenizer(vocabulary: GgufVocabulary | HfTokenizerFiles, special: SpecialTokens, vocab_size: int) -> Tokenizer:
    """Makes the tokenizer of a checkpoint whose embedding has `vocab_size` rows.

    Raises:
        ModelFileError: the vocabulary is malformed, does not fit the model, or is of a kind that is not served.
    """
    for name, token_id in (("bos", special.bos), ("eos", special.eos), *(("stop", stop) for stop in special.stop_ids)):
        if token_id is not None and not 0 <= token_id < vocab_size:
            raise ModelFileError(f"the {name} token id {token_id} is outside the vocabulary of {vocab_size}")
    if isinstance(vocabulary, GgufVocabulary):
        return _load_gguf(vocabulary, special, vocab_size)
    return load_folder(vocabulary, special, vocab_size)


def _load_gguf(vocabulary: GgufVocabulary, special: SpecialTokens, vocab_size: int) -> Tokenizer:
    tokens, types = vocabulary.tokens, vocabulary.token_types
    if len(tokens) > vocab_size:
        raise ModelFileError(
            f"tokenizer.ggml.tokens has {len(tokens)} entries, but the embedding has {vocab_size} rows"
        )
    if types and len(types) != len(tokens):
        raise ModelFileError(f"tokenizer.ggml.token_type has {len(types)} entries, but there are {len(tokens)} tokens")
    controls: dict[str, ControlToken] = {}
    user_defined: dict[str, int] = {}
    ends = {special.bos, special.eos, *special.stop_ids}
    for token_id in (index for index, kind in enumerate(types) if kind != TokenType.NORMAL):
        if types[token_id] in (TokenType.CONTROL, TokenType.UNKNOWN):
            controls.setdefault(tokens[token_id], ControlToken(token_id))
        elif types[token_id] == TokenType.USER_DEFINED and token_id not in ends:
            user_defined.setdefault(tokens[token_id], token_id)
    for end in ends - {None}:
        if end is not None and end < len(tokens) and is_tag(tokens[end]):
            controls.setdefault(tokens[end], ControlToken(end))
    controls.pop("", None)
    user_defined.pop("", None)
    encoder: Encoder
    if vocabulary.kind is VocabularyKind.BPE:
        encoder = build_bpe_encoder(vocabulary, user_defined)
        spelling = bpe_spelling(vocabulary, frozenset(user_defined.values()))
    else:
        encoder = build_pieces_encoder(vocabulary)
        spelling = pieces_spelling(vocabulary)
    return Tokenizer(encoder, spelling, controls, vocab_size, special, vocabulary.adds_bos)


def is_tag(spelling: str) -> bool:
    """Spelled <...> or [...], as control tokens are."""
    return len(spelling) > 2 and (spelling[0], spelling[-1]) in {("<", ">"), ("[", "]")}
