"""Which row of the table a model gets."""

import pytest

from ignis.config_fields import ModelDialect
from ignis.stream.dialects import AUTO, DIALECTS, choose_dialect


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{ messages }}", "none"),
        (None, "none"),
        ("<think></think>", "think"),
        ("tools <tool_call>{'name': ...}</tool_call>", "hermes"),
        ("tools <tool_call> </think>", "qwen_json"),
        ("tools <tool_call><function=x> </think>", "qwen_xml"),
        ("tools <|start_header_id|>", "llama3"),
        ("<|start_header_id|>", "none"),
        ("You are a helpful AI assistant named SmolLM", "smollm2"),
    ],
)
def test_the_template_decides(template: str | None, name: str) -> None:
    assert choose_dialect(template).name == name


def test_the_configuration_wins_and_knows_every_row() -> None:
    assert choose_dialect("<think></think>", "hermes").name == "hermes"
    assert {choice.value for choice in ModelDialect} == {AUTO, *DIALECTS}
