"""Reasoning, content, calls and stop strings of one text, what is half, and that grouping changes nothing."""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ignis.stream.dialects import DIALECTS, HERMES, LLAMA3, NONE, QWEN_JSON, QWEN_XML, SMOLLM2, THINK, OutputDialect
from ignis.stream.parts import CallArguments, CallBegin, Content, Part, Reasoning
from ignis.stream.splitter import Splitter

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS: dict[str, dict[str, Any]] = {"weather": CITY, "now": {}}
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>'
BARE = '{"name": "weather", "parameters": {"city": "Bonn"}}'
XML = "<tool_call>\n<function=weather>\n<parameter=city>\nBonn\n</parameter>\n</function>\n</tool_call>"


@dataclass(frozen=True)
class Split:
    """All parts of a text, joined."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    has_calls: bool = False
    stopped: bool = False


def join(parts: Iterable[Part]) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    content = reasoning = ""
    calls: list[tuple[str, str]] = []
    for part in parts:
        match part:
            case Content(text):
                content += text
            case Reasoning(text):
                reasoning += text
            case CallBegin(index, name):
                assert index == len(calls)
                calls.append((name, ""))
            case CallArguments(index, text):
                assert index == len(calls) - 1 and text
                calls[-1] = (calls[-1][0], calls[-1][1] + text)
    return content, reasoning, tuple(calls)


def split(dialect: OutputDialect, pieces: Sequence[str], **options: Any) -> Split:
    """Splits a text that comes in pieces; TOOLS are given unless the options say otherwise."""
    splitter = Splitter(dialect, **{"tools": TOOLS, **options})
    parts = [part for piece in pieces for part in splitter.push(piece)]
    assert splitter.num_decided_bytes <= len("".join(pieces).encode())
    parts += splitter.finish()
    return Split(*join(parts), has_calls=splitter.has_calls, stopped=splitter.has_stopped())


def called(*calls: tuple[str, str], **others: Any) -> Split:
    return Split(calls=calls, has_calls=True, **others)


BONN = ("weather", '{"city": "Bonn"}')

CASES: list[tuple[OutputDialect, str, Split]] = [
    (NONE, "<think>a</think>\nb<tool_call>", Split("<think>a</think>\nb<tool_call>")),
    (NONE, "\n a \n", Split("\n a \n")),
    (THINK, "<think>\na\n\n</think>\n\nb\n", Split("b\n", "a")),
    (THINK, " \n<think>a</think>b", Split("b", "a")),
    (THINK, " \nb", Split(" \nb")),
    (THINK, "a\n<think>b</think>c", Split("a\nc", "b")),
    (THINK, "<think>a</think>b<think>c</think>d", Split("bd", "ac")),
    (THINK, "a</think>b", Split("ab")),
    (THINK, "<think>a<think>b</think>", Split("", "ab")),
    (THINK, "<think>never closed\n", Split("", "never closed")),
    (THINK, "if a < b and <thin>", Split("if a < b and <thin>")),
    (THINK, "a <", Split("a <")),
    (THINK, "a <th", Split("a <th")),
    (THINK, "a </thin", Split("a ")),
    (THINK, "<think>a</thi", Split("", "a")),
    (QWEN_JSON, "<think>a</think>\n\n" + CALL, called(BONN, reasoning="a")),
    (QWEN_JSON, f"<think>{CALL}</think>b", Split("b", CALL)),
    (QWEN_JSON, f"I look.\n{CALL}", called(BONN, content="I look.")),
    (QWEN_JSON, f"{CALL}\n{CALL}", called(BONN, BONN)),
    (QWEN_JSON, f"{CALL}\ndone\n", called(BONN, content="done\n")),
    (HERMES, CALL.replace("\n", ""), called(BONN)),
    (HERMES, CALL.replace("</tool_call>", ""), called(BONN)),
    (HERMES, CALL.replace("}}", "}"), called(BONN)),
    (HERMES, '<tool_call>{"arguments": {"city": "Bonn"}, "name": "weather"}</tool_call>', called(BONN)),
    (HERMES, '<tool_call>{"name": "other", "arguments": {}}</tool_call>', called(("other", "{}"))),
    (HERMES, '<tool_call>{"name": "now"}</tool_call>', called(("now", "{}"))),
    (HERMES, '<tool_call>{"name": "now", "arguments": null}</tool_call>', called(("now", "{}"))),
    (HERMES, '<tool_call>{"name": "now", "arguments": "{\\"a\\": 1}"}</tool_call>', called(("now", '{"a": 1}'))),
    (HERMES, '<tool_call>{"name": "now", "arguments": {"a": "</tool_call>"}}</tool_call>',
     called(("now", '{"a": "</tool_call>"}'))),
    (HERMES, '<tool_call>{"name": "now", "arguments": {"a": "1\n2"}}</tool_call>', called(("now", '{"a": "1\\n2"}'))),
    (HERMES, '<tool_call>{"name": "now", "arguments": {"a": {}, "b": [1, {"c": -1.5e3}]}}</tool_call>',
     called(("now", '{"a": {}, "b": [1, {"c": -1.5e3}]}'))),
    (SMOLLM2, '<tool_call>[{"name": "now", "arguments": {}}, {"name": "now", "arguments": {}}]</tool_call>',
     called(("now", "{}"), ("now", "{}"))),
    # What goes wrong before a call is known is dropped whole, and never content.
    (HERMES, "<tool_call>weather in Bonn</tool_call>after", Split("after")),
    (HERMES, "<tool_call>\n</tool_call>", Split()),
    (HERMES, '<tool_call>{"name": 3, "arguments": {}}</tool_call>', Split()),
    (HERMES, '<tool_call>{"name": "", "arguments": {}}</tool_call>', Split()),
    (HERMES, '<tool_call>{"name": "now", "arguments": "text"}</tool_call>', Split()),
    (HERMES, '<tool_call>{"name": "now", "arguments": [1]}</tool_call>', Split()),
    (HERMES, '<tool_call>{"name": "no', Split()),
    (HERMES, f"{CALL}<tool_call>", Split(calls=(BONN,))),
    (HERMES, f"<tool_call>oops</tool_call>{CALL}", called(BONN)),
    # After that it stays as far as it came, and the answer does not end with calls.
    (HERMES, '<tool_call>{"name": "now", "arguments": {"a": "b', Split(calls=(("now", '{"a": "b'),))),
    (HERMES, '<tool_call>{"name": "now", "arguments": {"a": b}}</tool_call>', Split(calls=(("now", '{"a": '),))),
    (HERMES, f'<tool_call>{{"name": "now", "arguments": {{"a" 1</tool_call>{CALL}',
     Split(calls=(("now", '{"a" '), BONN))),
    (LLAMA3, BARE, called(BONN)),
    (LLAMA3, f"<|python_tag|>{BARE}", called(BONN)),
    (LLAMA3, f"{BARE}; {BARE}", called(BONN, BONN)),
    (LLAMA3, f"{BARE}\nthat was it", called(BONN, content="that was it")),
    (LLAMA3, '{"type": "function", "name": "now", "parameters": {}}', called(("now", "{}"))),
    (LLAMA3, '{"name": "Bonn", "parameters": {}}', Split('{"name": "Bonn", "parameters": {}}')),
    (LLAMA3, '{"name": "now"}', Split('{"name": "now"}')),
    (LLAMA3, '{"city": "Bonn"}', Split('{"city": "Bonn"}')),
    (LLAMA3, '\n{"name": "weath', Split('\n{"name": "weath')),
    (LLAMA3, f"like {BARE}", Split(f"like {BARE}")),
    (LLAMA3, "<|python_tag|>search.call()", Split()),
    (QWEN_XML, XML, called(BONN)),
    (QWEN_XML, f"a\n\n{XML}\n{XML}\n", called(BONN, BONN, content="a")),
    (QWEN_XML, XML.replace("\n", ""), called(BONN)),
    (QWEN_XML, XML.replace("</function>\n", ""), called(BONN)),
    (QWEN_XML, XML.replace("</parameter>\n", ""), called(BONN)),
    (QWEN_XML, XML.replace("Bonn", '\n 1 < 2 "x" </param\n'),
     called(("weather", '{"city": "\\n 1 < 2 \\"x\\" </param\\n"}'))),
    (QWEN_XML, XML.replace("Bonn", "Köln 👍\n"), called(("weather", '{"city": "Köln 👍\\n"}'))),
    (QWEN_JSON, f"<think>é</think>👩‍👧 {CALL.replace('Bonn', 'Köln')}",
     called(("weather", '{"city": "Köln"}'), content="👩‍👧 ", reasoning="é")),
    (QWEN_XML, XML.replace("\nBonn", ""), called(("weather", '{"city": ""}'))),
    (QWEN_XML, "<tool_call><function=now></function></tool_call>", called(("now", "{}"))),
    (QWEN_XML, "<tool_call><function=weather><parameter=days>\n3\n</parameter><parameter=days>4</parameter>"
     "<parameter=city>3</parameter></function></tool_call>", called(("weather", '{"days": 3, "city": "3"}'))),
    (QWEN_XML, "<tool_call>{}</tool_call>a", Split("a")),
    (QWEN_XML, "<tool_call><function=a\nb></tool_call>", Split()),
    (QWEN_XML, "<tool_call>\n<function=weather>\n<parameter=city>\nBo", Split(calls=(("weather", '{"city": "Bo'),))),
    (QWEN_XML, "<tool_call>\n<function=weather>\n<parameter=days>\n1", Split(calls=(("weather", '{"days": '),))),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "expected"), CASES)
def test_a_text_is_split_alike_whole_and_at_every_character(dialect: OutputDialect, text: str, expected: Split) -> None:
    assert split(dialect, [text]) == expected
    assert split(dialect, list(text)) == expected
    for cut in range(len(text)):
        assert split(dialect, [text[:cut], text[cut:]]) == expected


def test_without_tools_calls_are_content() -> None:
    for dialect, text in ((HERMES, CALL), (QWEN_XML, XML), (LLAMA3, BARE)):
        assert split(dialect, [text], tools={}) == Split(text)


def test_a_prompt_that_opened_reasoning_starts_in_it() -> None:
    assert split(THINK, ["\na\n</think>\n\nb"], is_in_reasoning=True) == Split("b", "a")
    assert split(THINK, ["a"], is_in_reasoning=True) == Split("", "a")


def test_stop_strings_end_content_only() -> None:
    text = f"<think>no STOP here</think>say{CALL.replace('Bonn', 'STOP')}\nso STOP and"
    found = split(QWEN_JSON, list(text), stops=["STOP"])
    assert found == called(("weather", '{"city": "STOP"}'), content="sayso ", reasoning="no STOP here", stopped=True)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        *((dialect, CALL[:length]) for dialect in (HERMES, QWEN_JSON, SMOLLM2) for length in range(len(CALL))),
        *((QWEN_XML, XML[:length]) for length in range(len(XML))),
        *((LLAMA3, BARE[:length]) for length in range(len(BARE))),
    ],
)
def test_where_calls_are_forced_half_of_one_is_no_text(dialect: OutputDialect, text: str) -> None:
    assert split(dialect, [text], is_forced=True).content == ""
    assert split(dialect, [*text], is_forced=True).content == ""


def test_a_stop_string_does_not_reach_across_a_tag() -> None:
    assert split(THINK, ["a<think>x</think>b"], stops=["ab"]) == Split("ab", "x")


def test_a_line_break_that_waits_for_a_call_still_is_a_stop_string_at_once() -> None:
    splitter = Splitter(HERMES, tools=TOOLS, stops=["\n"])
    assert (splitter.push("a\n"), splitter.has_stopped()) == ((Content("a"),), True)


def test_text_is_held_back_only_while_it_can_become_a_tag() -> None:
    splitter = Splitter(QWEN_JSON, tools=TOOLS)
    pushed = ["a <", "t", "o", "x", " <tool_call", "s>", "\n", "\nb"]
    assert [join(splitter.push(text))[0] for text in pushed] == [
        "a ", "", "", "<tox", " ", "<tool_calls>", "", "\n\nb"
    ]  # fmt: skip


def test_a_call_begins_with_its_name_and_goes_on_as_it_comes() -> None:
    splitter = Splitter(QWEN_JSON, tools=TOOLS)
    assert splitter.push('<tool_call>{"name": "weather", "arguments": ') == ()
    assert splitter.push('{"ci') == (CallBegin(0, "weather"), CallArguments(0, '{"ci'))
    assert splitter.push('ty": "Bo') == (CallArguments(0, 'ty": "Bo'),)
    assert splitter.push('nn"') == (CallArguments(0, 'nn"'),)
    assert splitter.push("}}</tool_call>") == (CallArguments(0, "}"),)


def test_text_of_a_parameter_goes_on_as_it_comes() -> None:
    splitter = Splitter(QWEN_XML, tools=TOOLS)
    assert splitter.push("<tool_call>\n<function=weather>") == (CallBegin(0, "weather"),)
    assert splitter.push("\n<parameter=city>\nBo") == (CallArguments(0, '{"city": "Bo'),)
    assert splitter.push("nn\n") == (CallArguments(0, "nn"),)
    assert splitter.push("am Rhein\n</parameter>") == (CallArguments(0, '\\nam Rhein"'),)
    assert splitter.push("\n</function>") == (CallArguments(0, "}"),)


_WORDS = (
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<|python_tag|>", "<function=weather>", "</function>"),
    *("<parameter=city>", "<parameter=days>", "</parameter>", "\n", "\n\n", " ", "<", "</", "{", "}", "[", '"', "\\"),
    *('{"name": "weather", "arguments": ', '{"name": "now"}', '"name"', ":", ",", "é", "x", "12", "STOP", "ST", ";"),
    *(CALL, XML, BARE, '{"city": "Bonn"}'),
)


@given(
    words=st.lists(st.sampled_from(_WORDS), max_size=14),
    dialect=st.sampled_from(sorted(DIALECTS)),
    cuts=st.lists(st.integers(0, 300), max_size=12),
    is_in_reasoning=st.booleans(),
    stops=st.sampled_from([[], ["STOP"], ["\n\n", "x<"], ["<"]]),
    max_calls=st.sampled_from([None, 1]),
)
@example(["<tool_call>", '{"name": "weather", "arguments": ', "{", "}", "x"], "hermes", [30], False, [], None)
def test_grouping_changes_nothing(
    words: list[str], dialect: str, cuts: list[int], is_in_reasoning: bool, stops: list[str], max_calls: int | None
) -> None:
    text = "".join(words)
    row = DIALECTS[dialect]
    options = {"stops": stops, "max_calls": max_calls, "is_in_reasoning": is_in_reasoning and bool(row.think_open)}
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    groups = [text[start:stop] for start, stop in itertools.pairwise(bounds)]
    whole = split(row, [text], **options)
    assert split(row, groups, **options) == whole == split(row, list(text), **options)
    if whole.has_calls:
        assert all(isinstance(json.loads(arguments), dict) for _, arguments in whole.calls)
    if row is not NONE:
        assert row.think_open == "" or row.think_open not in whole.content


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    arguments=st.dictionaries(st.text(), _VALUES, max_size=3), indent=st.sampled_from([None, 1]), ascii=st.booleans()
)
def test_the_arguments_of_a_json_call_are_the_models_own_text(
    arguments: dict[str, Any], indent: int | None, ascii: bool
) -> None:
    text = json.dumps(arguments, indent=indent, ensure_ascii=ascii)
    found = split(QWEN_JSON, list(f'<tool_call>\n{{"name": "now", "arguments": {text}}}\n</tool_call>'))
    assert found == called(("now", text))


@given(city=st.text())
def test_the_text_of_an_xml_parameter_comes_back_as_it_was(city: str) -> None:
    if any(tag in city for tag in ("</parameter>", "<parameter=", "</function>")):
        return
    (call,) = split(QWEN_XML, list(XML.replace("Bonn", city))).calls
    assert json.loads(call[1]) == {"city": city}
