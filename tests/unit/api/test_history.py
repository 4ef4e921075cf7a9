"""A conversation goes on: the next prompt begins with the one before and what the model wrote, in every dialect.

What a client sends back of an answer is content, calls and reasoning. Only if they are spelled as the model spelled
them is the prefix found, token for token.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ignis.engine.lifecycle import LoadedModel
from ignis.models.base import Architecture
from ignis.models.registry import open_checkpoint
from tests.fakes.engine import IM_END, byte_model, script
from tests.unit.api.rig import HI, Rig

DATA = Path(__file__).parents[2] / "data" / "chat"
QWEN3 = (DATA / "qwen3.jinja").read_text(encoding="utf-8")
HEAD = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
TAIL = "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
TOLD = "{% if tools %}{{ tools | tojson }}{% endif %}"
HERMES = (
    TOLD
    + HEAD
    + "{% for c in m.tool_calls or [] %}{{ '\n' if m.content or not loop.first }}"
    + '<tool_call>\n{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>'
    + "{% endfor %}"
    + TAIL
)
XML = (
    TOLD
    + HEAD
    + "{% for c in m.tool_calls or [] %}{{ '\n' if m.content or not loop.first }}"
    + "<tool_call>\n<function={{ c.function.name }}>\n{% for k, v in c.function.arguments.items() %}"
    + "<parameter={{ k }}>\n{{ v if v is string else v | tojson }}\n</parameter>\n{% endfor %}"
    + "</function>\n</tool_call>{% endfor %}"
    + TAIL
)
LLAMA3 = (
    "<|start_header_id|>"
    + TOLD
    + HEAD
    + '{% for c in m.tool_calls or [] %}{"name": "{{ c.function.name }}", '
    + '"parameters": {{ c.function.arguments | tojson }}}{% endfor %}'
    + TAIL
)
PLAIN_LLAMA3 = "<|start_header_id|>" + HEAD + TAIL
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
TEXT = '{"city": "Köln", "days": 2}'
TAGGED = f'<tool_call>\n{{"name": "weather", "arguments": {TEXT}}}\n</tool_call>'
LISTED = (
    f'<tool_call>[\n{{"name": "weather", "arguments": {TEXT}}},\n'
    '{"name": "weather", "arguments": {}}\n]</tool_call>'
)
IN_XML = (
    "<tool_call>\n<function=weather>\n<parameter=city>\nKöln\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
    "</function>\n</tool_call>"
)
BARE = f'{{"name": "weather", "parameters": {TEXT}}}'


def model(template: str, architecture: Architecture = Architecture.LLAMA) -> LoadedModel:
    return replace(byte_model(template=template), max_context=32768, architecture=architecture)


async def check(written: str, template: str, **settings: Any) -> None:
    """An answer that is `written` is sent back with its results, and with what a user says next."""
    asked = Rig(script(written), model=model(template), **settings)
    first = (await asked.chat(tools=[WEATHER]))["choices"][0]
    message = first["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "rain"} for call in message.get("tool_calls", ())
    ]
    await asked.chat(tools=[WEATHER], messages=[*HI, message, *results, *HI][: None if not results else -1])
    before, after = asked.engine.submissions
    expected = (*before.prompt, *written.encode(), IM_END)
    assert (
        bytes(token for token in after.prompt[: len(expected)] if token < 256).decode()
        == bytes(token for token in expected if token < 256).decode()
    )
    assert after.prompt[: len(expected)] == expected
    assert bool(results) == (first["finish_reason"] == "tool_calls")


@pytest.mark.parametrize(
    ("template", "written"),
    [
        (QWEN3, f"<think>\nhmm\n</think>\n\nI look.\n{TAGGED}"),
        (QWEN3, f"<think>\nhmm\n</think>\n\n{TAGGED}\n{TAGGED}"),
        (QWEN3, f"<think>\nhmm\n</think>\n\n{TAGGED.replace(': 2', ':2')}"),
        (HERMES, f"I look.\n{TAGGED}\n{TAGGED}"),
        (HERMES, "It rains."),
        (XML, f"I look.\n{IN_XML}\n{IN_XML}"),
        (LLAMA3, BARE),
        (PLAIN_LLAMA3, BARE),
        (PLAIN_LLAMA3, f"{BARE}; {BARE}"),
        (PLAIN_LLAMA3, BARE.replace('Köln", ', 'Köln",')),
    ],
)
async def test_what_the_model_wrote_is_the_next_prompts_prefix(template: str, written: str) -> None:
    await check(written, template)


@pytest.mark.parametrize("written", [f"I look.\n{TAGGED}\n{TAGGED}", TAGGED.replace(": 2", ":2"), "It rains."])
async def test_a_plain_template_goes_on_under_a_configured_dialect(written: str) -> None:
    await check(written, HEAD + TAIL, dialect="hermes")


@pytest.mark.parametrize(
    "written", [LISTED, f"I look.\n{LISTED}", LISTED.replace('"days": 2', '"days":2'), "It rains."]
)
async def test_the_default_models_own_template_goes_on_too(real_model: Path, written: str) -> None:
    checkpoint = open_checkpoint(real_model)
    template = checkpoint.chat_template or ""
    checkpoint.close()
    await check(written, template)


async def test_a_history_with_calls_is_the_same_without_tools_in_the_request() -> None:
    """The next request may have none, or drop them by its choice: what was called still stands there."""
    asked = Rig(script("Hi"), model=model(PLAIN_LLAMA3))
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": TEXT}}
    history = [
        *HI,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "rain"},
    ]
    await asked.chat(messages=history)
    await asked.chat(messages=history, tools=[WEATHER], tool_choice="none")
    without, dropped = (bytes(t for t in s.prompt if t < 256).decode() for s in asked.engine.submissions)
    assert without == dropped
    assert BARE in without and "rain" in without and "functions" not in without


async def test_tools_that_change_leave_the_system_prompt_in_front() -> None:
    asked = Rig(script("Hi"), model=model(PLAIN_LLAMA3))
    system = {"role": "system", "content": "Be brief. " * 20}
    other = {"type": "function", "function": {"name": "now"}}
    for tools in ([WEATHER], [other], None):
        await asked.chat(messages=[system, *HI], tools=tools)
    prompts = [bytes(t for t in s.prompt if t < 256).decode() for s in asked.engine.submissions]
    assert all(prompt.startswith("<|start_header_id|>system\n" + system["content"]) for prompt in prompts)
