"""The tokenizer that a GGUF file carries: tokenizer.ggml.*, checked for type, count and range, and its special ids."""

import itertools
import math
from collections.abc import Mapping
from typing import cast

from ignis.models.base import GgufVocabulary, SpecialTokens, VocabularyKind
from ignis.models.fields import Fields
from ignis.models.files import shown
from ignis.models.gguf import GgufArray, ValueType
from ignis.models.special import END_SPELLINGS

PREFIX = "tokenizer.ggml."
NO_VOCABULARY = ("no_vocab", "none")
CONTROL = 3
MAX_TOKEN_TYPE = 6

# Pre-tokenizers whose models start every text with bos unless the file says otherwise, as llama.cpp has it.
_BOS_PRE_TOKENIZERS = frozenset(
    {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "tekken", "chameleon"}
)

_SENTENCEPIECE_IDS: Mapping[str, int] = {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0}


def has_vocabulary(keys: Fields) -> bool:
    """Whether the file has a tokenizer at all; files of weights alone say no_vocab."""
    return Fields(keys.path, keys.values, PREFIX).text("model") not in (None, *NO_VOCABULARY)


def gguf_vocabulary(keys: Fields, vocab_size: int) -> GgufVocabulary:
    """Reads the vocabulary of a model whose embedding has vocab_size rows.

    Raises:
        ModelFileError: an array is missing, of the wrong element type or count, or the tokenizer's kind is unknown.
    """
    fields = Fields(keys.path, keys.values, PREFIX)
    model = fields.text("model")
    if model is None:
        raise fields.refused("model", "is missing")
    kinds = {kind.value: kind for kind in VocabularyKind}
    kind = kinds.get(model)
    if kind is None:
        raise fields.refused("model", f"is {shown(model)}; {' and '.join(kinds)} are supported")
    tokens = _texts(fields, "tokens")
    if tokens is None:
        raise fields.refused("tokens", "is missing")
    if len(tokens) != vocab_size:
        raise fields.refused("tokens", f"has {len(tokens)} entries, the embedding has {vocab_size} rows")
    if len(set(tokens)) != len(tokens):
        raise fields.refused("tokens", f"has {shown(_repeated(tokens))} twice")
    token_types = _token_types(fields, vocab_size)
    scores = _scores(fields, vocab_size)
    merges = _texts(fields, "merges")
    if kind is VocabularyKind.BPE and merges is None:
        raise fields.refused("merges", "is missing")
    if kind is VocabularyKind.SENTENCEPIECE and not scores:
        raise fields.refused("scores", "is missing")
    pre_tokenizer = fields.text("pre") or ""
    is_sentencepiece = kind is VocabularyKind.SENTENCEPIECE
    return GgufVocabulary(
        kind=kind,
        pre_tokenizer=pre_tokenizer,
        tokens=tokens,
        token_types=token_types,
        scores=scores,
        merges=_checked_merges(fields, merges or ()) if not is_sentencepiece else (),
        adds_bos=fields.flag("add_bos_token", is_sentencepiece or pre_tokenizer in _BOS_PRE_TOKENIZERS),
        adds_eos=fields.flag("add_eos_token", False),
        adds_space_prefix=fields.flag("add_space_prefix", is_sentencepiece),
    )


def gguf_special_tokens(keys: Fields, vocabulary: GgufVocabulary) -> SpecialTokens:
    """Reads the special ids, and finds the tokens that end a turn.

    Raises:
        ModelFileError: an id is not one of the vocabulary's.
    """
    fields = Fields(keys.path, keys.values, PREFIX)
    last = len(vocabulary.tokens) - 1

    def special(name: str) -> int | None:
        token = fields.integer(name, 0, last)
        if token is None and vocabulary.kind is VocabularyKind.SENTENCEPIECE:
            token = _SENTENCEPIECE_IDS.get(name)
        return token if token is not None and token <= last else None

    eos = special("eos_token_id")
    ends = {eos, special("eot_token_id"), special("eom_token_id")}
    ends.update(_ids(fields, "eos_token_ids", last))
    spelled = map(vocabulary.tokens.index, END_SPELLINGS.intersection(vocabulary.tokens))
    ends.update(token for token in spelled if vocabulary.token_types and vocabulary.token_types[token] == CONTROL)
    return SpecialTokens(
        bos=special("bos_token_id"),
        eos=eos,
        pad=special("padding_token_id"),
        unk=special("unknown_token_id"),
        stop_ids=frozenset(token for token in ends if token is not None),
    )


def _array(fields: Fields, name: str, *elements: ValueType) -> GgufArray | None:
    value = fields.values.get(fields.prefix + name)
    if value is None:
        return None
    if not isinstance(value, GgufArray):
        raise fields.refused(name, "is not an array")
    if value.element not in elements:
        expected = " or ".join(element.name for element in elements)
        raise fields.refused(name, f"is an array of {value.element.name}, {expected} is expected")
    return value


def _texts(fields: Fields, name: str) -> tuple[str, ...] | None:
    array = _array(fields, name, ValueType.STRING)
    if array is None:
        return None
    if bytes in set(map(type, array.items)):
        index = next(index for index, item in enumerate(array.items) if isinstance(item, bytes))
        raise fields.refused(name, f"is not UTF-8 at index {index}")
    return cast("tuple[str, ...]", array.items)


def _counted(fields: Fields, name: str, array: GgufArray, count: int) -> None:
    if len(array.items) != count:
        raise fields.refused(name, f"has {len(array.items)} entries for {count} tokens")


def _token_types(fields: Fields, count: int) -> tuple[int, ...]:
    array = _array(fields, "token_type", ValueType.INT32, ValueType.UINT32)
    if array is None:
        return ()
    _counted(fields, "token_type", array, count)
    numbers = cast("tuple[int, ...]", array.items)
    if not 0 <= min(numbers) <= max(numbers) <= MAX_TOKEN_TYPE:
        raise fields.refused("token_type", f"holds a type outside 0 to {MAX_TOKEN_TYPE}")
    return numbers


def _ids(fields: Fields, name: str, last: int) -> tuple[int, ...]:
    array = _array(fields, name, ValueType.INT32, ValueType.UINT32)
    numbers = () if array is None else cast("tuple[int, ...]", array.items)
    if not all(0 <= number <= last for number in numbers):
        raise fields.refused(name, f"holds an id outside 0 to {last}")
    return numbers


def _scores(fields: Fields, count: int) -> tuple[float, ...]:
    array = _array(fields, "scores", ValueType.FLOAT32)
    if array is None:
        return ()
    _counted(fields, "scores", array, count)
    numbers = cast("tuple[float, ...]", array.items)
    if not all(map(math.isfinite, numbers)):
        raise fields.refused("scores", "holds a value that is not finite")
    return numbers


def _checked_merges(fields: Fields, merges: tuple[str, ...]) -> tuple[str, ...]:
    """A merge is two pieces with a space between; neither is empty."""
    joined = "\0".join(("", *merges, ""))
    has_empty_piece = "\0 " in joined or " \0" in joined
    if not has_empty_piece and set(map(str.count, merges, itertools.repeat(" "))) == {1}:
        return merges
    for index, merge in enumerate(merges):
        if not 1 <= merge.find(" ", 1) < len(merge) - 1:
            raise fields.refused("merges", f"has no two pieces at index {index}: {shown(merge)}")
    return merges


def _repeated(tokens: tuple[str, ...]) -> str:
    seen: set[str] = set()
    for token in tokens:
        if token in seen:
            return token
        seen.add(token)
    return ""
