"""What a template is found to do about thinking."""

from pathlib import Path

import pytest

from ignis.chat.render import ChatTemplate
from ignis.chat.thinking import Effort, ThinkingAbility
from tests.fakes.vocabulary import byte_tokenizer

QWEN3 = (Path(__file__).parents[2] / "data" / "chat" / "qwen3.jinja").read_text(encoding="utf-8")
EFFORTS = (
    "{% if reasoning_effort is defined and reasoning_effort not in ['low', 'medium', 'xhigh'] %}"
    "{{ raise_exception('no such effort') }}{% endif %}{{ messages[0].content }}"
)


def ability(source: str) -> ThinkingAbility:
    return ChatTemplate(source, byte_tokenizer()).thinking


def test_qwen3_turns_thinking_on_and_off_and_takes_no_effort() -> None:
    found = ability(QWEN3)
    assert (found.has_switch, found.turns_on, found.turns_off) == (True, True, True)
    assert (found.efforts, found.keeps_history) == ((), False)


def test_a_template_without_the_variables_can_do_nothing() -> None:
    assert ability("{{ messages[0].content }}") == ThinkingAbility(prompt_end="word")


def test_a_switch_that_changes_nothing_or_is_refused_turns_nothing_off() -> None:
    assert not ability("{% set x = enable_thinking %}{{ messages[0].content }}").turns_off
    refusing = "{% if not enable_thinking %}{{ raise_exception('always on') }}{% endif %}{{ messages[0].content }}"
    assert (ability(refusing).turns_on, ability(refusing).turns_off) == (True, False)


def test_an_effort_that_the_template_refuses_is_not_one_of_its_own() -> None:
    assert ability(EFFORTS).efforts == (Effort.LOW, Effort.MEDIUM, Effort.XHIGH)
    assert len(ability("{{ reasoning_effort }}").efforts) == len(Effort) - 1


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (Effort.MINIMAL, Effort.LOW),
        (Effort.LOW, Effort.LOW),
        (Effort.MEDIUM, Effort.MEDIUM),
        (Effort.HIGH, Effort.XHIGH),
        (Effort.XHIGH, Effort.XHIGH),
        (Effort.MAX, Effort.XHIGH),
    ],
)
def test_an_effort_is_rounded_up_and_where_nothing_is_above_down(asked: Effort, expected: Effort) -> None:
    assert ability(EFFORTS).nearest(asked) is expected


def test_a_template_that_reads_only_parts_is_asked_in_parts() -> None:
    source = "{% for m in messages %}{{ m.content[0].text }}{{ enable_thinking }}{% endfor %}"
    assert ability(source).turns_off


def test_the_end_of_a_prompt_is_that_with_thinking_on() -> None:
    assert (
        ability("{{ messages[0].content }}{% if enable_thinking %}<think>\n{% endif %}").prompt_end == "word<think>\n"
    )
