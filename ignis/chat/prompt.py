"""From messages to token ids: the last step before a request is submitted."""

from collections.abc import Mapping, Sequence

from ignis.chat.instructions import InstructionPolicies
from ignis.chat.messages import spell_messages
from ignis.chat.render import ChatTemplate
from ignis.chat.tool_prompt import ToolPrompt
from ignis.errors import ContextLengthExceededError
from ignis.tokenizer import ControlText, Tokenizer


def build_prompt(
    tokenizer: Tokenizer,
    template: ChatTemplate,
    messages: Sequence[Mapping[str, object]],
    tools: Sequence[Mapping[str, object]] | None = None,
    *,
    add_generation_prompt: bool = True,
    variables: Mapping[str, object] | None = None,
    policies: InstructionPolicies | None = None,
    tool_prompt: ToolPrompt | None = None,
    max_tokens: int | None = None,
    begun: str = "",
) -> tuple[int, ...]:
    """Spells the messages for the template, renders and encodes. The prompt starts with BOS, once, where it should.

    A prompt far over `max_tokens` is not encoded to its end. `begun` stands where the answer begins: the model goes on
    with it as if it had written it.

    Raises:
        InvalidRequestError: a message that no template can take.
        SystemMessagePositionError, DeveloperMessagePositionError: the policies refuse where an instruction stands.
        TemplateError: the template refused, failed or was cut.
        ContextLengthExceededError: the prompt is sure to have more than max_tokens.
    """
    spelled = spell_messages(messages, template.dialect, policies or InstructionPolicies(), tools, tool_prompt)
    own_tools = tools if tool_prompt is None else None
    pieces = template.render(spelled, own_tools, add_generation_prompt=add_generation_prompt, variables=variables)
    if begun:
        pieces.append(begun)
    if max_tokens is not None and tokenizer.has_more_tokens("".join(map(_text, pieces)), max_tokens):
        raise ContextLengthExceededError(
            f"the prompt has more than {max_tokens} tokens, the context holds {max_tokens} with the answer", "messages"
        )
    return encode_pieces(tokenizer, pieces)


def _text(piece: str | ControlText) -> str:
    return piece if isinstance(piece, str) else piece.text


def encode_pieces(tokenizer: Tokenizer, pieces: Sequence[str | ControlText]) -> tuple[int, ...]:
    """Encodes what a template wrote, with BOS before it where the vocabulary wants it and the template left it out."""
    ids = tokenizer.encode_prompt(pieces)
    if tokenizer.adds_bos and tokenizer.bos is not None and ids[:1] != [tokenizer.bos]:
        return (tokenizer.bos, *ids)
    return tuple(ids)
