"""From messages to token ids: the last step before a request is submitted."""

from collections.abc import Mapping, Sequence

from ignis.chat.messages import spell_messages
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
    """Spells the messages for the template, renders and encodes. The prompt starts with BOS, once, where it should.

    Raises:
        InvalidRequestError: a message that no template can take.
        TemplateError: the template refused, failed or was cut.
    """
    spelled = spell_messages(messages, template.dialect)
    pieces = template.render(spelled, tools, add_generation_prompt=add_generation_prompt, variables=variables)
    return encode_pieces(tokenizer, pieces)


def encode_pieces(tokenizer: Tokenizer, pieces: Sequence[str | ControlText]) -> tuple[int, ...]:
    """Encodes what a template wrote, with BOS before it where the vocabulary wants it and the template left it out."""
    ids = tokenizer.encode_prompt(pieces)
    if tokenizer.adds_bos and tokenizer.bos is not None and ids[:1] != [tokenizer.bos]:
        return (tokenizer.bos, *ids)
    return tuple(ids)
