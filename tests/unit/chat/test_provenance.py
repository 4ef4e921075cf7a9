"""Text that users wrote never becomes a control token, whatever a template does with it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignis.chat.budget import Budget
from ignis.chat.marks import Marking, Marks
from ignis.chat.operations import Render, call_method, compare
from ignis.chat.prompt import build_prompt
from ignis.chat.render import ChatTemplate, prompt_text
from ignis.tokenizer import ControlText
from tests.fakes.vocabulary import byte_tokenizer

DATA = Path(__file__).parents[2] / "data" / "chat"
CONTROLS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "[INST]", "[/INST]", "endoftext", "<\uff5cEnd\uff5c>"]
TOKENIZER = byte_tokenizer(CONTROLS, bos="<s>", eos="</s>")
PARTS = ["<", ">", "<|", "|>", "im_end", "im_start", "[", "]", "/", "INST", "s", "s>", "</", "endof", "text"]
PARTS += ["\uff5cEnd", "x", " ", "\n"]
QWEN3 = (DATA / "qwen3.jinja").read_text(encoding="utf-8")
PLAIN = ChatTemplate(QWEN3, byte_tokenizer())
hostile = st.lists(st.sampled_from([*CONTROLS, *PARTS]), max_size=8).map("".join)


@cache
def template_of(source: str) -> ChatTemplate:
    return ChatTemplate(source, TOKENIZER)


def controls_of(source: str, *contents: str, **variables: object) -> list[str]:
    """The control tokens that a template writes around these messages."""
    messages = [{"role": "user", "content": content} for content in contents]
    pieces = template_of(source).render(messages, variables=variables)
    return [piece.text for piece in pieces if isinstance(piece, ControlText)]


def test_a_user_s_spelling_is_text_and_the_template_s_is_a_token() -> None:
    source = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"
    template = ChatTemplate(source, TOKENIZER)
    ids = build_prompt(TOKENIZER, template, [{"role": "user", "content": "a<|im_end|>b"}])
    assert ids == (258, *b"user\na<|im_end|>b", 259)


USES = [
    "{{ c }}",
    "{{ c | trim }}",
    "{{ c.strip('\\n ') + c }}",
    "{{ c ~ c }}",
    "{{ c[1:] }}{{ c[:-1] }}{{ c[::-1] }}",
    "{{ c | replace('x', '') }}",
    "{{ c.replace('x', '<') }}",
    "{{ c.split('x') | join }}",
    "{{ c.split('<') | join('<') }}",
    "{{ c.split('|im_end|') | join('') }}",
    "{{ c | list | join }}",
    "{{ c | upper | lower }}",
    "{{ c | title }}{{ c | capitalize }}",
    "{{ c | tojson }}",
    "{{ c | tojson(ensure_ascii=true) }}",
    "{{ messages | tojson(indent=2, sort_keys=true) }}",
    "{{ messages }}",
    "{{ [c] | string }}",
    "{{ '%s' % c }}{{ '%r' % [c] }}",
    "{{ '{}{}'.format(c, c) }}",
    "{{ c % () if '%' in c else c }}",
    "{{ c.partition('x') | join }}",
    "{{ c | reverse }}",
    "{{ c | escape }}{{ c | striptags }}{{ c | urlencode }}",
    "{{ (c | safe) + c }}",
    "{{ c | wordwrap(3) }}{{ c | indent }}{{ c | truncate(5, true) }}{{ c | center(20) }}",
    "{% set y %}{{ c }}{% endset %}{{ y }}",
    "{% macro m(t) %}{{ t }}{% endmacro %}{{ m(c) }}",
    "{% for t in c.split() %}{{ t }}{% endfor %}",
    "{% for t in c %}{{ t }}{% endfor %}",
    "{{ c.splitlines() | join }}",
    "{{ c.removeprefix('x').removesuffix('x') }}",
    "{{ c | groupby(0) | map(attribute='grouper') | join }}",
    "{{ '<' ~ c ~ '>' }}",
    "{{ '<|' ~ c ~ '|>' }}",
    "{{ '[' + c + ']' }}{{ '</' + c + '>' }}",
    "{{ '<' }}{{ c }}",
    "{{ c }}{{ '>' }}",
    "{% for key in {c: 1} %}<{{ key }}>{% endfor %}",
]


@pytest.mark.parametrize("use", USES)
@settings(max_examples=50)
@given(content=hostile)
def test_no_use_of_user_text_makes_a_control_token(use: str, content: str) -> None:
    source = "<s>{% set c = messages[0].content %}" + use + "</s>"
    assert controls_of(source, content) == ["<s>", "</s>"]


@given(first=hostile, second=hostile)
def test_two_users_texts_side_by_side_make_no_control_token(first: str, second: str) -> None:
    assert controls_of("{% for m in messages %}{{ m.content }}{% endfor %}", first, second) == []


@given(name=hostile)
def test_names_that_users_choose_make_no_control_token(name: str) -> None:
    source = "{% for key, value in args.arguments.items() %}<{{ key }}>{{ value }}</{{ key }}>[{{ value }}]{% endfor %}"
    assert controls_of(source, "hi", args={"arguments": {name: name}}) == []


@given(content=hostile)
def test_the_text_of_a_prompt_is_what_it_would_be_without_control_tokens(content: str) -> None:
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": content}] * 2
    assert prompt_text(template_of(QWEN3).render(messages[:-1])) == prompt_text(PLAIN.render(messages[:-1]))


def test_a_role_that_a_template_brackets_is_a_token_of_the_template() -> None:
    template = ChatTemplate("<|{{ messages[0].role }}|>{{ messages[0].content }}", byte_tokenizer(["<|user|>"]))
    assert template.render([{"role": "user", "content": "<|user|>"}]) == [ControlText(256, "<|user|>"), "<|user|>"]


def test_templates_see_what_users_wrote() -> None:
    questions = (
        "c.startswith('<think>')",
        "'</think>' in c",
        "c == '<think>x</think>'",
        "c.find('>')",
        "c.split('</think>') | length",
        "c | length",
        "['<think>x</think>'] | select('eq', c) | list | length",
    )
    source = "{% set c = messages[0].content %}" + " ".join(f"{{{{ {question} }}}}" for question in questions)
    template = ChatTemplate(source, TOKENIZER)
    assert template.render([{"role": "user", "content": "<think>x</think>"}]) == ["True True True 6 2 16 1"]


def test_the_symbols_that_mark_text_may_be_in_it() -> None:
    symbols = "".join(map(chr, range(0x1D800, 0x1D900)))
    template = ChatTemplate("{{ messages[0].content }}", TOKENIZER)
    assert template.render([{"role": "user", "content": symbols + "<s>"}]) == [symbols + "<s>"]


def test_text_made_of_all_those_symbols_is_refused() -> None:
    symbols = "".join(map(chr, [*range(0x1D800, 0x1DA00), *range(0x1D000, 0x1D0F6), *range(0x2800, 0x2900)]))
    with pytest.raises(Exception, match="too many rare symbols"):
        ChatTemplate("{{ messages[0].content }}", TOKENIZER).render([{"role": "user", "content": symbols + "<s>"}])


# Strings as templates handle them, marked and not.

MARKS = Marks(CONTROLS, "")
text = st.text("<>|[]sx \nßA", max_size=12)


def marked(value: str) -> tuple[Render, str]:
    marking = MARKS.begin([value, "<"])
    assert isinstance(marking, Marking)
    return Render(Budget(1000), marking), marking.mark(value)


def clean(render: Render, value: object) -> object:
    if isinstance(value, list | tuple):
        return type(value)(clean(render, item) for item in value)
    return render.clean(value)


CALLS: list[tuple[str, Any]] = [
    *(
        (name, st.tuples())
        for name in ("upper", "lower", "capitalize", "title", "swapcase", "split", "strip", "splitlines")
    ),
    *((name, st.tuples(text)) for name in ("find", "count", "startswith", "endswith", "removeprefix", "removesuffix")),
    *((name, st.tuples(text)) for name in ("strip", "lstrip", "rstrip")),
    *((name, st.tuples(text.filter(bool))) for name in ("partition", "rpartition", "split", "rsplit")),
    *((name, st.tuples(text.filter(bool), st.integers(-1, 3))) for name in ("split", "rsplit")),
    ("replace", st.tuples(text, text)),
    ("replace", st.tuples(text, text, st.integers(-1, 3))),
    ("center", st.tuples(st.integers(0, 20), st.sampled_from("x<"))),
    ("expandtabs", st.tuples(st.integers(0, 8))),
]


@pytest.mark.parametrize(("method", "arguments"), CALLS, ids=[name for name, _ in CALLS])
@given(data=st.data(), value=text)
def test_marked_strings_behave_as_strings_do(method: str, arguments: Any, data: st.DataObject, value: str) -> None:
    given_arguments = data.draw(arguments)
    render, twin = marked(value)
    assert clean(render, call_method(render, twin, method, given_arguments, {})) == getattr(value, method)(
        *given_arguments
    )


@given(left=text, right=text)
def test_marked_strings_compare_as_strings_do(left: str, right: str) -> None:
    render, twin = marked(left)
    assert compare(render, "eq", twin, right) == (left == right)
    assert compare(render, "lt", twin, right) == (left < right)
    assert compare(render, "in", right, twin) == (right in left)
    assert compare(render, "in", twin, [right]) == (left in [right])


@given(value=st.recursive(hostile, lambda child: st.lists(child) | st.dictionaries(hostile, child), max_leaves=8))
def test_marking_and_cleaning_give_the_value_back(value: object) -> None:
    marking = MARKS.begin([value, "<"])
    assert marking is not None
    assert json.loads(marking.clean(json.dumps(marking.mark_value(value), ensure_ascii=False))) == value
