"""Tools for templates that know nothing of them: what the model reads of tools, calls and results."""

import json
from pathlib import Path
from typing import Any

import pytest

from ignis.chat.dialect import Dialect
from ignis.chat.instructions import InstructionPolicies
from ignis.chat.messages import spell_messages
from ignis.chat.prompt import build_prompt
from ignis.chat.render import ChatTemplate
from ignis.chat.tool_prompt import LLAMA3, SMOLLM2, TAGGED, ToolPrompt
from tests.fakes.vocabulary import byte_tokenizer

NOW = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
HI = {"role": "user", "content": "Hi"}


def call(arguments: Any, name: str = "now") -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


def told(*messages: dict[str, Any], tools: Any = None, prompt: ToolPrompt = SMOLLM2) -> list[tuple[str, str]]:
    rows = spell_messages(messages, Dialect(), InstructionPolicies(), tools, prompt)
    return [(str(row["role"]), str(row["content"])) for row in rows]


def test_tools_stand_at_the_end_of_the_system_prompt() -> None:
    ((role, alone), user) = told(HI, tools=[NOW])
    assert (role, user) == ("system", ("user", "Hi"))
    assert f"<tools>{json.dumps([NOW])}</tools>" in alone
    ((_, text), _) = told({"role": "system", "content": "Be brief. "}, HI, tools=[NOW])
    assert text == f"Be brief. \n\n{alone}"


def test_without_tools_nothing_is_said_of_them() -> None:
    assert told(HI) == [("user", "Hi")]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            SMOLLM2,
            '<tool_call>[\n{"name": "now", "arguments": {"a":1}},\n{"name": "now", "arguments": {}}\n]</tool_call>',
        ),
        (LLAMA3, '{"name": "now", "parameters": {"a":1}}; {"name": "now", "parameters": {}}'),
    ],
)
def test_calls_are_written_as_the_model_writes_them_with_its_own_arguments(prompt: ToolPrompt, expected: str) -> None:
    for content, written in ((None, expected), ("I look.", f"I look.\n{expected}")):
        message = {"role": "assistant", "content": content, "tool_calls": [call('{"a":1}'), call("")]}
        assert told(HI, message, prompt=prompt)[1] == ("assistant", written)


def test_arguments_that_came_as_an_object_are_spelled_with_spaces() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [call({"a": [1, "é"]})]}
    assert '{"name": "now", "arguments": {"a": [1, "é"]}}' in told(HI, message)[1][1]


def test_results_are_one_message_or_several_as_the_model_knows_them() -> None:
    history = [
        {"role": "assistant", "content": None, "tool_calls": [call("{}"), call("{}")]},
        {"role": "tool", "content": "1", "tool_call_id": "c"},
        {"role": "tool", "content": [{"type": "text", "text": "2"}], "tool_call_id": "d"},
        {"role": "user", "content": "and?"},
    ]
    assert told(HI, *history)[2:] == [
        ("user", "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"),
        ("user", "and?"),
    ]
    assert told(HI, *history, prompt=LLAMA3)[2:4] == [("ipython", "1"), ("ipython", "2")]


def test_a_plain_template_and_the_words_make_the_prompt_of_the_models_own_template() -> None:
    """Qwen3 under ChatML reads what Qwen3's template would have told it."""
    source = (Path(__file__).parents[2] / "data" / "chat" / "qwen3.jinja").read_text(encoding="utf-8")
    plain = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    tokenizer = byte_tokenizer(("<|im_start|>", "<|im_end|>"))
    history = [
        {"role": "system", "content": "Be brief."},
        HI,
        {"role": "assistant", "content": "I look.", "tool_calls": [call('{"a":1}'), call("{}")]},
        {"role": "tool", "content": "1"},
        {"role": "tool", "content": "2"},
        HI,
    ]
    own = build_prompt(tokenizer, ChatTemplate(source, tokenizer), history, [NOW])
    told_so = build_prompt(tokenizer, ChatTemplate(plain, tokenizer), history, [NOW], tool_prompt=TAGGED)
    assert tokenizer.decode(told_so) == tokenizer.decode(own)
    assert told_so == own
