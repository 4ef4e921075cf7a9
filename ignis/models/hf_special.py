"""Special token ids of a Hugging Face folder, out of generation_config.json, config.json and tokenizer_config.json."""

from collections.abc import Mapping

from ignis.models.base import SpecialTokens
from ignis.models.fields import Fields
from ignis.models.files import shown
from ignis.models.special import END_SPELLINGS


def hf_special_tokens(
    generation: Fields, config: Fields, tokenizer_config: Mapping[str, object], vocab_size: int
) -> SpecialTokens:
    """Finds the special ids and those that end a turn: every eos that any file names, and control tokens spelled so.

    Raises:
        ModelFileError: an id is not an integer, or not one of the vocabulary's.
    """
    added = _added_tokens(tokenizer_config, vocab_size)
    by_spelling = {spelling: token for token, (spelling, _) in added.items()}
    bos = _ids(generation, "bos_token_id", vocab_size) or _ids(config, "bos_token_id", vocab_size)
    eos = (*_ids(config, "eos_token_id", vocab_size), *_ids(generation, "eos_token_id", vocab_size))
    pad = _ids(generation, "pad_token_id", vocab_size) or _ids(config, "pad_token_id", vocab_size)
    named = {name: by_spelling.get(_spelling(tokenizer_config.get(name))) for name in _NAMES}
    ends = {*eos, named["eos_token"]}
    ends.update(token for token, (spelling, is_control) in added.items() if is_control and spelling in END_SPELLINGS)
    return SpecialTokens(
        bos=_first(named["bos_token"], bos),
        eos=_first(named["eos_token"], eos),
        pad=_first(named["pad_token"], pad),
        unk=named["unk_token"],
        stop_ids=frozenset(token for token in ends if token is not None),
    )


_NAMES = ("bos_token", "eos_token", "pad_token", "unk_token")


def _first(named: int | None, ids: tuple[int, ...]) -> int | None:
    return named if named is not None or not ids else ids[0]


def _ids(fields: Fields, name: str, vocab_size: int) -> tuple[int, ...]:
    """One id or a list of them. Old configs write -1 for a padding token that is not there."""
    value = fields.values.get(name)
    if value is None:
        return ()
    ids = value if isinstance(value, list) else [value]
    tokens: list[int] = []
    for token in ids:
        if isinstance(token, bool) or not isinstance(token, int):
            raise fields.refused(name, f"is {shown(value)}, a token id or a list of them is expected")
        if 0 <= token < vocab_size:
            tokens.append(token)
        elif token != -1 or name != "pad_token_id":
            raise fields.refused(name, f"is {shown(value)}, ids from 0 to {vocab_size - 1} are allowed")
    return tuple(tokens)


def _added_tokens(tokenizer_config: Mapping[str, object], vocab_size: int) -> dict[int, tuple[str, bool]]:
    """added_tokens_decoder: each id's spelling, and whether it is a control token. What is malformed is left out: the
    tokenizer's own file is what counts, this is only asked which ids have a name."""
    declared = tokenizer_config.get("added_tokens_decoder")
    added: dict[int, tuple[str, bool]] = {}
    if isinstance(declared, Mapping):
        for key, entry in declared.items():
            spelling = _spelling(entry)
            if spelling and key.isascii() and key.isdigit() and len(key) < 10 and int(key) < vocab_size:
                added[int(key)] = spelling, isinstance(entry, Mapping) and entry.get("special") is True
    return added


def _spelling(entry: object) -> str:
    """A token is written as text, or as an object with its text in content."""
    if isinstance(entry, Mapping):
        entry = entry.get("content")
    return entry if isinstance(entry, str) else ""
