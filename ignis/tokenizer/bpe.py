"""GGUF vocabularies of kind `gpt2`: byte-level BPE by ranked merges, run by the tokenizers library."""

from collections.abc import Iterable

import tokenizers
from tokenizers import AddedToken, models, normalizers

from ignis.errors import ModelFileError
from ignis.models.base import GgufVocabulary
from ignis.tokenizer.library import LibraryEncoder
from ignis.tokenizer.pretokenizers import RULES, build_pre_tokenizer
from ignis.tokenizer.spelling import Alphabet, Spelling, lookup


def build_bpe_encoder(vocabulary: GgufVocabulary, user_defined: Iterable[str]) -> LibraryEncoder:
    """Raises ModelFileError where the pre-tokenizer is unknown or a merge does not fit the vocabulary."""
    name = vocabulary.pre_tokenizer
    rule = RULES.get(name)
    if rule is None:
        fault = f"names the pre-tokenizer {name!r}, which is not known" if name else "names no pre-tokenizer"
        raise ModelFileError(f"tokenizer.ggml.pre {fault}; known are {', '.join(sorted(RULES))}")
    ids = {token: index for index, token in enumerate(vocabulary.tokens)}
    merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in vocabulary.merges)]
    try:
        model = models.BPE(vocab=ids, merges=merges, ignore_merges=rule.whole_pieces)
    except Exception as fault:  # the library raises bare Exception for every fault of its input
        raise ModelFileError(f"tokenizer.ggml.merges does not fit tokenizer.ggml.tokens: {fault}") from fault
    tokenizer = tokenizers.Tokenizer(model)
    if rule.composes:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = build_pre_tokenizer(rule)
    tokenizer.add_tokens([AddedToken(text, normalized=False, special=False) for text in user_defined])
    return LibraryEncoder(tokenizer, tokenizer)


def bpe_spelling(vocabulary: GgufVocabulary, literal: frozenset[int]) -> Spelling:
    return Spelling(lookup(vocabulary.tokens), Alphabet.BYTES, literal, leads_with_space=False)
