"""Prompts for text in the middle: which control tokens a vocabulary has for it, and in which order they stand.

The forms are those that the model families were trained with: prefix, suffix, middle for all of them but Mistral's,
which begins with the suffix. (Bavarian et al., arXiv:2207.14255, section 3.)
"""

from dataclasses import dataclass

from ignis.chat.prompt import encode_pieces
from ignis.tokenizer import ControlText, Tokenizer


@dataclass(frozen=True, slots=True)
class FillInForm:
    """The tokens around the two texts, by their spelling."""

    before_prefix: str
    before_suffix: str
    before_middle: str
    """Empty: nothing stands before the middle."""
    suffix_is_first: bool = False


FORMS = (
    FillInForm("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),  # Qwen2.5-Coder, Qwen3, CodeGemma
    FillInForm("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),  # StarCoder, Granite
    FillInForm("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),  # SantaCoder
    FillInForm("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),  # DeepSeek-Coder  # noqa: RUF001
    FillInForm("[PREFIX]", "[SUFFIX]", "", suffix_is_first=True),  # Codestral
)


def fill_in_form(tokenizer: Tokenizer) -> FillInForm | None:
    """Finds the form whose tokens are all in the vocabulary."""
    for form in FORMS:
        spellings = [text for text in (form.before_prefix, form.before_suffix, form.before_middle) if text]
        if all(tokenizer.find_token(text) is not None for text in spellings):
            return form
    return None


def fill_in_prompt(tokenizer: Tokenizer, form: FillInForm, prefix: str, suffix: str) -> tuple[int, ...]:
    """Encodes the two texts and the tokens around them. The texts are text: no control token comes out of them."""
    pieces = [_piece(tokenizer, form.before_prefix), prefix]
    behind = [_piece(tokenizer, form.before_suffix), suffix]
    ordered = [*behind, *pieces] if form.suffix_is_first else [*pieces, *behind]
    if form.before_middle:
        ordered.append(_piece(tokenizer, form.before_middle))
    return encode_pieces(tokenizer, ordered)


def _piece(tokenizer: Tokenizer, spelling: str) -> str | ControlText:
    """A user-defined token is matched in text; a control token never is, so it is written as one."""
    if spelling in tokenizer.control_spellings:
        token_id = tokenizer.find_token(spelling)
        assert token_id is not None
        return ControlText(token_id, spelling)
    return spelling
