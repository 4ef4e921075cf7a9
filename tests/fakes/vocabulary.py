"""Vocabularies without merges, for tests of text: token n is byte n, and the control tokens follow."""

from collections.abc import Sequence

from ignis.models.base import GgufVocabulary, SpecialTokens, VocabularyKind
from ignis.tokenizer import Tokenizer, load_tokenizer
from ignis.tokenizer.types import TokenType

NUM_BYTES = 256


def byte_tokenizer(
    controls: Sequence[str] = (),
    *,
    user_defined: Sequence[str] = (),
    bos: str | None = None,
    eos: str | None = None,
    adds_bos: bool = False,
    leads_with_space: bool = False,
) -> Tokenizer:
    """`leads_with_space`: a SentencePiece vocabulary, whose texts are encoded with a space before them."""
    tokens = [f"<0x{byte:02X}>" for byte in range(NUM_BYTES)] if leads_with_space else _byte_alphabet()
    types = [TokenType.BYTE if leads_with_space else TokenType.NORMAL] * NUM_BYTES
    vocabulary = GgufVocabulary(
        kind=VocabularyKind.SENTENCEPIECE if leads_with_space else VocabularyKind.BPE,
        pre_tokenizer="gpt-2",
        tokens=(*tokens, *controls, *user_defined),
        token_types=(*types, *[TokenType.CONTROL] * len(controls), *[TokenType.USER_DEFINED] * len(user_defined)),
        scores=(0.0,) * (NUM_BYTES + len(controls) + len(user_defined)),
        merges=(),
        adds_bos=adds_bos,
        adds_eos=False,
        adds_space_prefix=leads_with_space,
    )
    bos_id, eos_id = (None if text is None else NUM_BYTES + controls.index(text) for text in (bos, eos))
    special = SpecialTokens(bos=bos_id, eos=eos_id, pad=None, unk=None, stop_ids=frozenset())
    return load_tokenizer(vocabulary, special, len(vocabulary.tokens))


def _byte_alphabet() -> list[str]:
    """GPT-2's characters for the bytes 0 to 255."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(NUM_BYTES)]
