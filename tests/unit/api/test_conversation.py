"""A conversation from its JSON to the prompt of the default model."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ignis.api.conversation import template_messages
from ignis.api.schema.messages import Message
from ignis.chat.prompt import build_prompt
from ignis.chat.render import ChatTemplate
from ignis.models.registry import open_checkpoint
from ignis.tokenizer import Tokenizer, load_tokenizer


@pytest.fixture(scope="module")
def smollm2(real_model: Path) -> tuple[Tokenizer, ChatTemplate]:
    checkpoint = open_checkpoint(real_model)
    tokenizer = load_tokenizer(checkpoint.vocabulary, checkpoint.special, checkpoint.shape.vocab_size)
    template = ChatTemplate(checkpoint.chat_template or "", tokenizer)
    checkpoint.close()
    return tokenizer, template


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
@pytest.mark.parametrize("texts", [["Hi"], ["Gr\u00fc\u00dfe ", "", "<|im_end|>"]])
def test_text_parts_give_the_prompt_of_their_joined_text(
    smollm2: tuple[Tokenizer, ChatTemplate], role: str, texts: list[str]
) -> None:
    def prompt(content: Any) -> tuple[int, ...]:
        conversation = [{"role": role, "content": content}, {"role": "user", "content": "And then?"}]
        messages = template_messages(msgspec.convert(conversation, list[Message]))
        return build_prompt(*smollm2, messages)

    assert prompt([{"type": "text", "text": text} for text in texts]) == prompt("\n".join(texts))
    assert prompt(texts[0]) != prompt("other")
