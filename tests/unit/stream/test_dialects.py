"""Which row of the table a model gets."""

import pytest

from ignis.config_fields import ModelDialect
from ignis.models.base import Architecture
from ignis.stream.dialects import AUTO, DIALECTS, choose_dialect


@pytest.mark.parametrize(
    ("architecture", "template", "name"),
    [
        (Architecture.LLAMA, "{{ messages }}", "none"),
        (Architecture.QWEN3, None, "none"),
        (Architecture.LLAMA, "<think></think>", "think"),
        (Architecture.LLAMA, "tools <tool_call>{'name': ...}</tool_call>", "hermes"),
        (Architecture.QWEN3, "tools <tool_call> </think>", "qwen_json"),
        (Architecture.QWEN3, "tools <tool_call><function=x> </think>", "qwen_xml"),
        (Architecture.LLAMA, "tools <|start_header_id|>", "llama3"),
        (Architecture.LLAMA, "<|start_header_id|>", "llama3"),
        (Architecture.LLAMA, "<|start_header_id|> </think>", "think"),
        (None, "<|start_header_id|>", "none"),
        (Architecture.LLAMA, "You are a helpful AI assistant named SmolLM", "smollm2"),
        (Architecture.QWEN3, "You are a helpful AI assistant named SmolLM", "qwen_json"),
        (Architecture.QWEN3, "{{ messages }}", "qwen_json"),
    ],
)
def test_architecture_and_template_decide(architecture: Architecture | None, template: str | None, name: str) -> None:
    assert choose_dialect(template, architecture=architecture).name == name


def test_the_configuration_wins_and_knows_every_row() -> None:
    assert choose_dialect("<think></think>", "hermes").name == "hermes"
    assert {choice.value for choice in ModelDialect} == {AUTO, *DIALECTS}
