"""From messages to token ids: the last step before a request is submitted."""

from collections.abc import Mapping, Sequence

from ignis.chat.render import ChatTemplate
from ignis.tokenizer import ControlText, Tokenizer


def build_prompt(
    tokenizer: Tokenizer,
    template: ChatTemplate,
    messages: Sequence[Mapping[str, object]],
    tools: Sequence[Mapping[str, object]] | None = None,
    *,
    add_generation_prompt: bool = True,
    variables: Mapping[str, object] | None = None,
) -> tuple[int, ...]:
    """Renders and encodes. BOS stands before the prompt where the vocabulary wants it, and only once.

    Raises:
        TemplateError: the template refused, failed or was cut.
    """
    pieces = template.render(messages, tools, add_generation_prompt=add_generation_prompt, variables=variables)
    return encode_pieces(tokenizer, pieces)


def encode_pieces(tokenizer: Tokenizer, pieces: Sequence[str | ControlText]) -> tuple[int, ...]:
    """Encodes what a template wrote, with BOS before it where the vocabulary wants it and the template left it out."""
    ids = tokenizer.encode_prompt(pieces)
    if tokenizer.adds_bos and tokenizer.bos is not None and ids[:1] != [tokenizer.bos]:
        return (tokenizer.bos, *ids)
    return tuple(ids)


def prompt_text(pieces: Sequence[str | ControlText]) -> str:
    """The prompt as people read it: control tokens spelled out."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces)
