"""How a conversation is spelled for a template, by what that template can read."""

from pathlib import Path
from typing import Any

import pytest

from ignis.chat.dialect import Dialect
from ignis.chat.instructions import InstructionPolicies
from ignis.chat.messages import spell_messages
from ignis.chat.render import ChatTemplate
from ignis.errors import InvalidRequestError
from tests.fakes.vocabulary import byte_tokenizer

DATA = Path(__file__).parents[2] / "data" / "chat"
TEXT = Dialect()
PARTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"b": 1, "a": "\u00e9"}'}}


def message(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def spelled(*messages: dict[str, Any], dialect: Dialect = TEXT) -> list[dict[str, Any]]:
    return spell_messages(messages, dialect, InstructionPolicies())


def dialect(source: str) -> Dialect:
    return ChatTemplate(source, byte_tokenizer()).dialect


def test_a_developer_is_the_system_where_the_template_knows_no_developer() -> None:
    messages = [message("user", "x"), message("developer", "y")]
    assert [row["role"] for row in spelled(*messages)] == ["user", "system"]
    assert [row["role"] for row in spelled(*messages, dialect=Dialect(has_developer=True))] == ["user", "developer"]


def test_leading_system_messages_are_joined_and_a_single_one_is_kept_as_it_is() -> None:
    assert spelled(message("system", " a\n"), message("user", "x")) == [message("system", " a\n"), message("user", "x")]
    messages = [message("system", " a\n"), message("system", " "), message("system", "b"), message("user", "x")]
    assert spelled(*messages, message("system", "late")) == [
        message("system", "a\n\nb"),
        message("user", "x"),
        message("system", "late"),
    ]


def test_parts_are_joined_for_a_template_that_reads_strings() -> None:
    assert spelled(message("user", PARTS)) == [message("user", "a\nb")]
    assert spelled(message("user", PARTS), dialect=Dialect(reads_parts=True)) == [message("user", PARTS)]


def test_a_string_becomes_a_part_for_a_template_that_reads_only_parts() -> None:
    only_parts = Dialect(reads_text=False, reads_parts=True)
    assert spelled(message("user", "a"), dialect=only_parts) == [message("user", PARTS[:1])]


def test_null_content_of_an_assistant_is_spelled_as_the_template_expects() -> None:
    call = message("assistant", None, tool_calls=[CALL])
    assert spelled(call)[0]["content"] == ""
    assert spelled(call, dialect=Dialect(reads_empty_calls=False))[0]["content"] is None
    assert spelled(message("assistant", None, tool_calls=None)) == [message("assistant", "")]


def test_arguments_are_an_object_in_their_own_order_unless_the_template_prints_them_as_they_are() -> None:
    call = message("assistant", "", tool_calls=[CALL])
    arguments = spelled(call)[0]["tool_calls"][0]["function"]["arguments"]
    assert list(arguments.items()) == [("b", 1), ("a", "\u00e9")]
    parsed = message("assistant", "", tool_calls=[{**CALL, "function": {"name": "f", "arguments": arguments}}])
    assert spelled(parsed, dialect=Dialect(reads_objects=False))[0]["tool_calls"] == [CALL]


def test_arguments_that_are_no_json_stay_as_they_were_sent() -> None:
    call = {**CALL, "function": {"name": "f", "arguments": "{oops"}}
    assert spelled(message("assistant", "", tool_calls=[call]))[0]["tool_calls"] == [call]


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([message("user", "x"), message("wizard", "x")], "messages[1].role"),
        ([message("user", None)], "messages[0].content"),
        ([message("tool", None)], "messages[0].content"),
        ([message("user", 7)], "messages[0].content"),
        ([message("user", [PARTS[0], {"type": "image_url"}])], "messages[0].content[1]"),
    ],
)
def test_what_no_template_can_take_is_refused_where_it_stands(messages: list[dict[str, Any]], param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        spelled(*messages)
    assert caught.value.param == param


def test_the_common_template_reads_strings_and_objects() -> None:
    assert dialect((DATA / "qwen3.jinja").read_text(encoding="utf-8")) == Dialect(prints_arguments=True)


def test_arguments_that_are_text_stay_as_they_are_where_the_template_prints_them() -> None:
    text = '{ "a":  1}'
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": text}}]}
    for prints, expected in ((True, text), (False, {"a": 1})):
        (row,) = spelled(message, dialect=Dialect(prints_arguments=prints))
        assert row["tool_calls"] == [{"function": {"name": "f", "arguments": expected}}]


def test_a_template_that_walks_over_parts_says_so() -> None:
    both = (
        "{% set c = messages[0].content %}"
        "{% if c is string %}{{ c }}{% else %}{% for part in c %}{{ part.text }}{% endfor %}{% endif %}"
    )
    assert (dialect(both).reads_text, dialect(both).reads_parts) == (True, True)
    only = "{% for m in messages %}{{ m.content[0].text }}{% endfor %}"
    assert (dialect(only).reads_text, dialect(only).reads_parts) == (False, True)


def test_a_template_that_prints_lists_as_python_does_reads_no_parts() -> None:
    assert not dialect("{{ messages[0].content }}").reads_parts


def test_a_template_that_adds_arguments_to_text_reads_no_objects() -> None:
    call = "{% for call in m.tool_calls %}{{ call.function.name + call.function.arguments }}{% endfor %}"
    source = "{% for m in messages %}{{ m.content }}" + call + "{% endfor %}"
    assert not dialect(source).reads_objects


def test_a_template_that_shows_calls_only_beside_null_reads_no_empty_ones() -> None:
    call = "{% if m.content is none %}{{ m.tool_calls[0].function.name }}{% else %}{{ m.content }}{% endif %}"
    source = "{% for m in messages %}" + call + "{% endfor %}"
    assert not dialect(source).reads_empty_calls


def test_a_template_that_refuses_everything_gets_the_common_spelling() -> None:
    assert dialect("{{ raise_exception('no') }}") == Dialect()


STRICT = (
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('System message must be at the beginning.') }}{% endif %}"
    "{{ m.role }}: {{ m.content }}\n{% endfor %}"
)
DROPPING = "{% for m in messages if m.role != 'system' or loop.first %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
ALTERNATING = "{% set eos_token = '!' %}" + (DATA / "alternating.jinja").read_text(encoding="utf-8")


@pytest.mark.parametrize("source", [STRICT, DROPPING, ALTERNATING], ids=["refusing", "dropping", "alternating"])
def test_a_late_system_message_is_the_users_for_a_template_that_refuses_or_drops_it(source: str) -> None:
    found = dialect(source)
    assert not found.has_late_system
    rows = spelled(message("system", "S"), message("user", "U"), message("system", "late"), dialect=found)
    assert rows == [message("system", "S"), message("user", "U\n\nlate")]
