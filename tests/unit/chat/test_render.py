"""Templates render as Hugging Face renders them: goldens recorded by tests/data/chat/record.py."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ignis.chat.render import ChatTemplate, prompt_text
from ignis.errors import ModelFileError, TemplateError
from ignis.models.registry import open_checkpoint
from tests.fakes.vocabulary import byte_tokenizer

DATA = Path(__file__).parents[2] / "data" / "chat"
CONVERSATIONS: list[dict[str, Any]] = json.loads((DATA / "conversations.json").read_text(encoding="utf-8"))
GOLDENS: dict[str, dict[str, str]] = json.loads((DATA / "goldens.json").read_text(encoding="utf-8"))
CONTROLS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|section|>", "<|end|>", "[INST]", "[/INST]"]


def now() -> datetime:
    return datetime(2026, 7, 4, 12, 0)


@pytest.fixture(scope="module")
def templates(real_model: Path) -> dict[str, ChatTemplate]:
    checkpoint = open_checkpoint(real_model)
    sources = {path.stem: path.read_text(encoding="utf-8") for path in DATA.glob("*.jinja")}
    sources["smollm2"] = checkpoint.chat_template or ""
    checkpoint.close()
    tokenizer = byte_tokenizer(CONTROLS, bos="<s>", eos="</s>")
    return {name: ChatTemplate(source, tokenizer, now) for name, source in sources.items()}


def rendered(template: ChatTemplate, conversation: dict[str, Any]) -> str:
    try:
        return prompt_text(template.render(conversation["messages"], conversation["tools"]))
    except TemplateError as error:
        return f"raises: {error.message.removeprefix('the chat template failed: ')}"


@pytest.mark.parametrize("name", sorted(GOLDENS))
def test_every_conversation_comes_out_as_recorded(templates: dict[str, ChatTemplate], name: str) -> None:
    texts = {conversation["name"]: rendered(templates[name], conversation) for conversation in CONVERSATIONS}
    assert texts == GOLDENS[name]


def render(source: str, *contents: str, **variables: object) -> str:
    template = ChatTemplate(source, byte_tokenizer(CONTROLS, bos="<s>", eos="</s>"), now)
    messages = [{"role": "user", "content": content} for content in contents or ("hi",)]
    return prompt_text(template.render(messages, variables=variables))


def test_a_template_that_asks_for_documents_sees_none_as_from_hugging_face() -> None:
    assert render("{{ 'none' if documents is none else 'some' }}") == "none"


def test_a_template_that_refuses_is_quoted_and_nothing_else() -> None:
    with pytest.raises(TemplateError) as caught:
        render("{{ raise_exception('only one user, please') }}")
    assert (caught.value.message, caught.value.param, caught.value.status) == ("only one user, please", "messages", 400)


def test_a_template_that_fails_says_how() -> None:
    with pytest.raises(TemplateError, match="the chat template failed: 'nothing' is undefined"):
        render("{{ nothing.at_all }}")


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("{% if %}", "malformed at line 1"),
        ("\n\n{{ x | pprint }}", "malformed at line 3: No filter named 'pprint'"),
        ("{% autoescape true %}{% endautoescape %}", "autoescape is not for chat templates"),
        ("x" * (1 << 18), "longer than"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "cannot be compiled"),
        ("{% for x in y %}" * 30 + "{% endfor %}" * 30, "cannot be compiled"),
    ],
)
def test_what_is_no_template_is_refused_when_it_is_read(source: str, fault: str) -> None:
    with pytest.raises(ModelFileError, match=fault):
        render(source)


def test_variables_reach_the_template() -> None:
    assert render("{{ enable_thinking }} {{ missing is defined }}", enable_thinking=False) == "False False"


def test_special_tokens_are_variables_where_the_vocabulary_has_them() -> None:
    assert render("{{ bos_token }}{{ eos_token }}{{ pad_token }}") == "<s></s>"


def test_the_opener_can_be_left_out() -> None:
    template = ChatTemplate("{{ add_generation_prompt }}", byte_tokenizer())
    assert [template.render([], add_generation_prompt=opener) for opener in (True, False)] == [["True"], ["False"]]


def test_values_that_are_nested_too_deeply_are_refused() -> None:
    value: object = "<s>"
    for _ in range(5000):
        value = [value]
    with pytest.raises(TemplateError, match="nested too deeply"):
        render("{{ deep }}", deep=value)


def test_a_lone_surrogate_comes_out_as_a_replacement() -> None:
    assert render("{{ messages[0].content }}", "a\ud800<\ud83d\ude00") == "a\ufffd<\U0001f600"


def test_safe_text_escapes_its_neighbours_as_jinja_does() -> None:
    assert render("{{ ('<b>%s</b>' | safe) % messages[0].content }}", "<i>") == "<b>&lt;i&gt;</b>"
    assert render("{{ '<' + ('<' | safe) + messages[0].content }}", "<s>") == "&lt;<&lt;s&gt;"
