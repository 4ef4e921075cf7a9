"""Thinking on the wire: how its fields agree, what reaches the template, and what a template that cannot refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ignis.api.thinking import AskedThinking, Thinking, ThinkingDefaults, resolve
from ignis.chat.instructions import DeveloperPolicy, InstructionPolicies, SystemPolicy
from ignis.chat.render import ChatTemplate
from ignis.chat.thinking import Effort
from ignis.errors import ConfigError
from ignis.stream.dialects import NONE, QWEN_XML, THINK
from tests.fakes.engine import byte_model, script
from tests.fakes.vocabulary import byte_tokenizer
from tests.unit.api.rig import CHAT, HI, Rig

DATA = Path(__file__).parents[2] / "data" / "chat"
QWEN3 = (DATA / "qwen3.jinja").read_text(encoding="utf-8")
LEVELS = (
    "{% if reasoning_effort is defined and reasoning_effort not in ['low', 'medium', 'xhigh'] %}"
    "{{ raise_exception('no such effort') }}{% endif %}"
    "{{ [enable_thinking, reasoning_effort is defined and reasoning_effort, preserve_thinking] }}"
    "{{ messages[0].content }}</think>"
)
ALWAYS = "{{ messages[0].content }}<think>\n"
INVALID, EFFORT = "invalid_request_error", "reasoning_effort_unsupported"


def rig(template: str, **settings: Any) -> Rig:
    return Rig(model=replace(byte_model(template=template), max_context=8192), **settings)


async def prompt(template: str, _settings: dict[str, Any] | None = None, **fields: Any) -> str:
    asked = rig(template, **(_settings or {}))
    await asked.chat(**fields)
    return bytes(token for token in asked.engine.submissions[0].prompt if token < 256).decode()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "[True, False, False]"),
        ({"enable_thinking": False}, "[False, False, False]"),
        ({"reasoning_effort": "none"}, "[False, False, False]"),
        ({"reasoning_effort": "minimal"}, "[True, 'low', False]"),
        ({"reasoning_effort": "medium"}, "[True, 'medium', False]"),
        ({"reasoning_effort": "high"}, "[True, 'xhigh', False]"),
        ({"reasoning_effort": "max", "enable_thinking": True}, "[True, 'xhigh', False]"),
        ({"chat_template_kwargs": {"reasoning_effort": "low"}}, "[True, 'low', False]"),
        ({"chat_template_kwargs": {"enable_thinking": False}}, "[False, False, False]"),
        ({"chat_template_kwargs": {"enable_thinking": None}}, "[True, False, False]"),
        ({"preserve_thinking": True}, "[True, False, True]"),
        ({"chat_template_kwargs": {"preserve_thinking": True}, "preserve_thinking": True}, "[True, False, True]"),
        ({"thinking_budget": 0}, "[True, False, False]"),
    ],
)
async def test_the_fields_become_the_variables_of_the_template(fields: dict[str, Any], expected: str) -> None:
    assert await prompt(LEVELS, **fields) == f"{expected}Hi</think>"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"enable_thinking": True, "chat_template_kwargs": {"enable_thinking": False}}, "enable_thinking"),
        ({"preserve_thinking": True, "chat_template_kwargs": {"preserve_thinking": False}}, "preserve_thinking"),
        ({"reasoning_effort": "low", "chat_template_kwargs": {"reasoning_effort": "high"}}, "reasoning_effort"),
        ({"reasoning_effort": "none", "enable_thinking": True}, "reasoning_effort"),
        ({"reasoning_effort": "high", "enable_thinking": False}, "reasoning_effort"),
        ({"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": False}}, "reasoning_effort"),
        ({"chat_template_kwargs": {"reasoning_effort": "huge"}}, "chat_template_kwargs.reasoning_effort"),
        ({"chat_template_kwargs": {"preserve_thinking": 1}}, "chat_template_kwargs.preserve_thinking"),
    ],
)
async def test_fields_that_contradict_are_refused_before_anything_is_asked_of_the_template(
    fields: dict[str, Any], param: str
) -> None:
    for template in (LEVELS, QWEN3, "{{ messages[0].content }}"):
        assert await rig(template).refusal(**fields) == (400, INVALID, param)


@pytest.mark.parametrize(
    ("template", "fields", "param"),
    [
        (QWEN3, {"reasoning_effort": "high"}, "reasoning_effort"),
        (QWEN3, {"chat_template_kwargs": {"reasoning_effort": "low"}}, "chat_template_kwargs.reasoning_effort"),
        (ALWAYS, {"enable_thinking": False}, "enable_thinking"),
        (ALWAYS, {"reasoning_effort": "none"}, "reasoning_effort"),
        ("{{ messages[0].content }}", {"enable_thinking": True}, "enable_thinking"),
    ],
)
async def test_what_the_template_cannot_do_is_refused_by_name(template: str, fields: Any, param: str) -> None:
    if template is ALWAYS:
        assert await rig(template, dialect="think").refusal(**fields) == (400, EFFORT, param)
    else:
        assert await rig(template).refusal(**fields) == (400, EFFORT, param)


async def test_qwen3_thinks_unless_it_is_told_not_to() -> None:
    closed = "<think>\n\n</think>\n\n"
    assert not (await prompt(QWEN3)).endswith(closed)
    assert (await prompt(QWEN3, enable_thinking=False)).endswith(closed)
    off = {"thinking": ThinkingDefaults(is_on=False)}
    assert (await prompt(QWEN3, off)).endswith(closed)
    assert not (await prompt(QWEN3, off, enable_thinking=True)).endswith(closed)


async def test_a_configured_effort_holds_where_a_request_says_nothing() -> None:
    low = {"thinking": ThinkingDefaults(effort=Effort.LOW)}
    assert (await prompt(LEVELS, low)).startswith("[True, 'low', False]")
    assert (await prompt(LEVELS, low, reasoning_effort="medium")).startswith("[True, 'medium', False]")
    assert (await prompt(LEVELS, low, enable_thinking=False)).startswith("[False, False, False]")
    none = {"thinking": ThinkingDefaults(effort=Effort.NONE)}
    assert (await prompt(LEVELS, none)).startswith("[False, False, False]")
    assert (await prompt(LEVELS, none, enable_thinking=True)).startswith("[True, False, False]")


@pytest.mark.parametrize(
    ("defaults", "template", "dialect"),
    [
        (ThinkingDefaults(is_on=False), ALWAYS, THINK),
        (ThinkingDefaults(effort=Effort.NONE), ALWAYS, THINK),
        (ThinkingDefaults(effort=Effort.HIGH), QWEN3, QWEN_XML),
    ],
)
def test_a_default_that_the_template_cannot_honour_is_refused_at_start(
    defaults: ThinkingDefaults, template: str, dialect: Any
) -> None:
    with pytest.raises(ConfigError, match="model"):
        defaults.check(ChatTemplate(template, byte_tokenizer()).thinking, dialect)


def test_a_model_that_always_thinks_does_so_whatever_the_default_is() -> None:
    ability = ChatTemplate(ALWAYS, byte_tokenizer()).thinking
    for default in (ThinkingDefaults(is_on=False, budget=9), ThinkingDefaults(effort=Effort.NONE, budget=9)):
        found = resolve(AskedThinking(), ability, THINK, default)
        assert found.is_on and found.budget_within(8192) == 9


def test_the_defaults_as_shipped_suit_every_template() -> None:
    for template, dialect in ((ALWAYS, THINK), (QWEN3, QWEN_XML), ("{{ messages[0].content }}", NONE)):
        ThinkingDefaults(budget=6144).check(ChatTemplate(template, byte_tokenizer()).thinking, dialect)


def test_a_budget_leaves_the_answer_its_reserve() -> None:
    def budget(size: int, cap: int, *, is_on: bool = True) -> int | None:
        return Thinking(is_on, size, {}).budget_within(cap)

    assert (budget(6144, 38912), budget(6144, 4096), budget(100, 4096)) == (6144, 2048, 100)
    assert (budget(6144, 2048), budget(0, 4096), budget(6144, 38912, is_on=False)) == (None, None, None)


async def test_policies_for_instructions_hold_on_the_wire() -> None:
    history = [*HI, {"role": "system", "content": "late"}, {"role": "developer", "content": "dev"}]
    strict = rig(QWEN3, policies=InstructionPolicies(system=SystemPolicy.STRICT))
    assert await strict.refusal(messages=history) == (400, "system_message_position", "messages[1]")
    one = rig(QWEN3, policies=InstructionPolicies(developer=DeveloperPolicy.ONE_AFTER_SYSTEM))
    assert await one.refusal(messages=history) == (400, "developer_message_position", "messages[2]")
    moved = {"policies": InstructionPolicies(developer=DeveloperPolicy.INTO_SYSTEM)}
    assert (await prompt(QWEN3, moved, messages=history)).startswith("system\ndev\nuser\nHi\nsystem\nlate\n")
    body = {"messages": history}
    counted = (await one.answer("POST", "/v1/tokenize", body)).json()["error"]["code"]
    assert counted == "developer_message_position"
    assert (await one.answer("POST", CHAT, {"messages": HI})).status == 200


@pytest.mark.parametrize(
    ("said", "fields", "causes"),
    [
        ("hmm", {}, ["the model ended its turn"]),
        ("hmm hmm", {"max_tokens": 3}, ["output limit"]),
        ("hmm</think>yes", {}, []),
        ("hmm", {"n": 2}, ["the model ended its turn"] * 2),
    ],
)
async def test_an_answer_that_is_all_reasoning_is_told_to_the_log(
    said: str, fields: dict[str, Any], causes: list[str]
) -> None:
    asked = Rig(script(said), model=replace(byte_model(template=ALWAYS), max_context=8192), dialect="think")
    for stream in (False, True):
        exchange = await asked.call("POST", CHAT, {"messages": HI, "stream": stream, **fields})
        found = asked.logged("ignis.request.only_reasoning")
        assert [line["cause"] for line in found] == causes * (1 + stream)
        assert all(line["level"] == "warning" and line["request_id"] for line in found)
        assert exchange.request_id in [line["request_id"] for line in found] or not causes


async def test_a_client_that_leaves_a_thought_is_told_to_the_log() -> None:
    model = replace(byte_model(template=ALWAYS), max_context=8192)
    asked = Rig(script("hmm"), model=model, dialect="think", is_held=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asked.call, "POST", CHAT, {"messages": HI, "stream": True})
        await asked.engine.has_submitted.wait()
        asked.engine.deliver(1, 2)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    (line,) = asked.logged("ignis.request.only_reasoning")
    assert line["cause"] == "client cancelled"


async def test_a_response_is_refused_in_its_own_words() -> None:
    one = rig(QWEN3, policies=InstructionPolicies(developer=DeveloperPolicy.ONE_AFTER_SYSTEM))
    body = {"input": [{"role": "user", "content": "Hi"}, {"role": "developer", "content": "dev"}]}
    error = (await one.answer("POST", "/v1/responses", body)).json()["error"]
    assert (error["code"], error["param"]) == ("developer_message_position", "input[1]")
    assert "messages" not in error["message"].replace("developer_message", "")
    strict = rig(QWEN3, policies=InstructionPolicies(system=SystemPolicy.STRICT))
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    said = [{"role": "assistant", "content": "I look."}, call, {"role": "system", "content": "sys"}]
    for instructions, named in (({}, "input[2]"), ({"instructions": "first"}, "input[2]")):
        error = (await strict.answer("POST", "/v1/responses", {"input": said, **instructions})).json()["error"]
        assert (error["param"], error["message"].startswith(f"{named} is a system message")) == (named, True)
    raising = rig("{{ raise_exception('roles must alternate') }}")
    error = (await raising.answer("POST", "/v1/responses", {"input": "Hi"})).json()["error"]
    assert (error["param"], "roles must alternate" in error["message"]) == ("input", True)


async def test_a_message_out_of_place_is_named_where_an_anthropic_body_has_it() -> None:
    strict = rig(QWEN3, policies=InstructionPolicies(system=SystemPolicy.STRICT))
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    results = [{"type": "tool_result", "tool_use_id": "t", "content": "1"}, {"type": "text", "text": "And?"}]
    told = [
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": "You?"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": results},
        {"role": "system", "content": "sys"},
    ]
    body = {"max_tokens": 5, "system": "first", "messages": told}
    error = (await strict.answer("POST", "/v1/messages", body)).json()["error"]
    assert error["details"] == {"error_code": "system_message_position", "param": "messages[4]"}
    assert error["message"].startswith("messages[4] is a system message")


@pytest.mark.parametrize(
    ("template", "dialect", "tools", "thinking", "efforts"),
    [
        (QWEN3, "auto", True, True, []),
        (LEVELS, "auto", False, True, ["low", "medium", "xhigh"]),
        ("{{ messages[0].content }}", "qwen_xml", False, True, []),
        ("{{ messages[0].content }}", "smollm2", True, False, []),
        ("{{ messages[0].content }}{{ enable_thinking }}", "none", False, True, []),
    ],
)
async def test_a_model_says_what_may_be_asked_of_it(
    template: str, dialect: str, tools: bool, thinking: bool, efforts: list[str]
) -> None:
    asked = rig(template, dialect=dialect)
    (model,) = (await asked.answer("GET", "/v1/models")).json()["data"]
    can = model["capabilities"]
    assert (can["tools"], can["thinking"], can["thinking_efforts"]) == (tools, thinking, efforts)
    assert can["thinking_budget"] == (6144 if thinking else 0)
    tool = {"type": "function", "function": {"name": "now"}}
    assert (await asked.answer("POST", CHAT, {"messages": HI, "tools": [tool]})).status == (200 if tools else 400)
    assert (await asked.answer("POST", CHAT, {"messages": HI, "enable_thinking": True})).status == (
        200 if thinking else 400
    )
