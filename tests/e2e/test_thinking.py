"""Thinking on the running server: the real model under a template that opens a thought, which it never closes."""

import concurrent.futures
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from ignis.models.registry import open_checkpoint
from tests.e2e.retemplated import with_template
from tests.e2e.server import Server, parse_events

THINKING = (
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}<tool_call>\n"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments }}}\n</tool_call>{% endfor %}'
    "<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n{% if enable_thinking %}<think>\n{% else %}<think>\n\n</think>\n\n{% endif %}"
)
ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "temperature": 0,
    "max_tokens": 2100,
    "stop": [" ", "\n"],
}


@pytest.fixture(scope="module")
def thinker(start_server: Any, real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    checkpoint = open_checkpoint(real_model)
    template = checkpoint.chat_template or ""
    checkpoint.close()
    path = with_template(real_model, template, THINKING, tmp_path_factory.mktemp("thinker") / "thinker.gguf")
    with start_server("--model-artifact", str(path)) as running:
        running.wait_ready()
        yield running


def chat(server: Server, **fields: Any) -> Any:
    return server.client.json("POST", "/v1/chat/completions", {**ASKED, **fields})


def test_a_spent_budget_closes_the_thought_and_the_answer_follows(thinker: Server) -> None:
    before = thinker.metric("ignis_thinking_forced_closes_total")
    body = chat(thinker, thinking_budget=4)
    (choice,) = body["choices"]
    reasoning, content = choice["message"]["reasoning_content"], choice["message"]["content"]
    assert choice["thinking_budget_forced_at"] == 4
    assert "I have to stop thinking here." in reasoning and "think>" not in reasoning + content
    assert choice["finish_reason"] == "stop" and content and content.lstrip("\n") == content
    assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] > 4
    thinker.wait_metric("ignis_thinking_forced_closes_total", before + 1)
    (done,) = [e for e in parse_events(thinker.log_text(), "ignis.request.done") if e.get("thinking_forced") == 4]
    assert "reasoning_redirected_at" not in done


def test_the_end_of_the_turn_in_a_thought_becomes_the_tag(thinker: Server) -> None:
    """Left to itself the model ends its turn inside the reasoning that the template opened."""
    body = chat(thinker, thinking_budget=0)
    (choice,) = body["choices"]
    assert choice["message"]["reasoning_content"] == "The capital of France is Paris."
    assert "thinking_budget_forced_at" not in choice
    done = parse_events(thinker.log_text(), "ignis.request.done")[-1]
    assert (
        0 < int(str(done["reasoning_redirected_at"])) <= body["usage"]["completion_tokens_details"]["reasoning_tokens"]
    )


SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}, "big": {"type": "boolean"}},
    "required": ["city", "big"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("budget", [5, 0])
def test_a_schema_holds_what_comes_after_the_thought(thinker: Server, budget: int) -> None:
    """Whether the budget closed the thought, or the model by ending its turn inside it."""
    form = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}}
    (choice,) = chat(thinker, thinking_budget=budget, response_format=form, stop=None)["choices"]
    assert choice["message"]["reasoning_content"]
    assert set(json.loads(choice["message"]["content"])) == {"city", "big"}
    assert choice["finish_reason"] == "stop"


def test_messages_think_within_their_budget_and_bring_the_thought_back(thinker: Server) -> None:
    with anthropic.Anthropic(base_url=thinker.base_url.removesuffix("/v1"), api_key="unused", max_retries=0) as sdk:
        drawn = {"temperature": 0}
        fields: Any = {"model": "", "max_tokens": 2100, "messages": ASKED["messages"], "stop_sequences": [" ", "\n"]}
        fields |= {"thinking": {"type": "enabled", "budget_tokens": 4}, "extra_body": drawn}
        whole = sdk.messages.create(**fields)
        thought, said = whole.content
        assert thought.type == "thinking" and "I have to stop thinking here." in thought.thinking and thought.signature
        assert said.type == "text" and said.text
        assert (whole.model_extra or {})["thinking_budget_forced_at"] == 4
        details = whole.usage.output_tokens_details
        assert details is not None and 4 < details.thinking_tokens < whole.usage.output_tokens
        with sdk.messages.stream(**fields) as stream:
            thoughts = [event.thinking for event in stream if event.type == "thinking"]
            gathered = stream.get_final_message()
        assert "".join(thoughts) == thought.thinking
        assert [block.to_dict() for block in gathered.content] == [block.to_dict() for block in whole.content]
        fields["thinking"]["display"] = "omitted"
        hidden = sdk.messages.create(**fields).content[0]
        assert hidden.type == "thinking" and not hidden.thinking and hidden.signature != thought.signature
        silent = sdk.messages.create(
            **{**fields, "thinking": {"type": "disabled"}, "stop_sequences": [], "max_tokens": 30}
        )
        assert [block.type for block in silent.content] == ["text"]


def test_a_thought_that_goes_in_circles_is_cut_back_and_ends_in_an_answer(thinker: Server) -> None:
    (sea,) = thinker.client.json("POST", "/v1/tokenize", {"prompt": " sea", "return_token_ids": True})["token_ids"]
    before = {action: thinker.metric("ignis_reasoning_loops_total", action=action) for action in ("nudged", "closed")}
    body = chat(thinker, thinking_budget=0, logit_bias={sea: 100}, stop=[" sea"])
    (choice,) = body["choices"]
    reasoning = choice["message"]["reasoning_content"]
    assert choice["finish_reason"] == "stop"
    assert reasoning.count("[loop cut]") == 2 and "I have to stop thinking here." in reasoning
    details = body["usage"]["completion_tokens_details"]
    assert body["usage"]["completion_tokens"] < 2000 and details["rewound_tokens"] > 500
    thinker.wait_metric("ignis_reasoning_loops_total", before["nudged"] + 2, action="nudged")
    thinker.wait_metric("ignis_reasoning_loops_total", before["closed"] + 1, action="closed")


def test_thoughts_beside_each_other_are_those_of_each_alone(thinker: Server) -> None:
    """Budgets, ends of turns, schemas and loops at once, in eight lanes: no one's force is another's."""
    (sea,) = thinker.client.json("POST", "/v1/tokenize", {"prompt": " sea", "return_token_ids": True})["token_ids"]
    form = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}}
    drawn = {"temperature": 0.8, "repetition_penalty": 1.1, "presence_penalty": 0.5}
    asked: list[dict[str, Any]] = [
        {"thinking_budget": 0, "logit_bias": {sea: 100}, "stop": [" sea"]},
        *({**drawn, "seed": seed, "thinking_budget": 5 + seed} for seed in range(3)),
        *({**drawn, "seed": seed, "thinking_budget": 30, "response_format": form, "stop": None} for seed in range(2)),
        {**drawn, "seed": 9, "thinking_budget": 0, "max_tokens": 80},
        {**drawn, "seed": 9, "enable_thinking": False, "max_tokens": 40},
    ]
    alone = [chat(thinker, **fields)["choices"] for fields in asked]
    with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        together = list(pool.map(lambda fields: chat(thinker, **fields)["choices"], asked))
    assert together == alone


def test_whoever_measures_gets_the_loop(thinker: Server) -> None:
    fields = {"thinking_budget": 0, "logit_bias": {260: 100}, "ignore_eos": True, "max_tokens": 400}
    body = chat(thinker, **fields)
    assert body["usage"]["completion_tokens_details"]["rewound_tokens"] == 0
    assert body["usage"]["completion_tokens"] == 400


@pytest.mark.parametrize("budget", [5, 0])
def test_a_forced_call_comes_after_the_thought(thinker: Server, budget: int) -> None:
    tool = {"type": "function", "function": {"name": "city", "parameters": SCHEMA}}
    fields = {"tools": [tool], "tool_choice": "required", "parallel_tool_calls": False, "thinking_budget": budget}
    (choice,) = chat(thinker, **fields, stop=None)["choices"]
    message = choice["message"]
    assert message["reasoning_content"] and not message["content"]
    (call,) = message["tool_calls"]
    assert set(json.loads(call["function"]["arguments"])) == {"city", "big"}
    assert choice["finish_reason"] == "tool_calls"
    # The thought was told to make the call, not to answer without one.
    assert "without more tool calls" not in message["reasoning_content"]


def test_without_thinking_there_is_neither_budget_nor_reasoning(thinker: Server) -> None:
    (choice,) = chat(thinker, thinking_budget=1, enable_thinking=False)["choices"]
    assert "reasoning_content" not in choice["message"] and "thinking_budget_forced_at" not in choice


def test_a_cap_without_room_for_the_answer_has_no_budget(thinker: Server) -> None:
    (choice,) = chat(thinker, thinking_budget=4, max_tokens=2048)["choices"]
    assert "thinking_budget_forced_at" not in choice


@pytest.mark.parametrize(
    "fields", [{"thinking_budget": 5}, {"thinking_budget": 0, "max_tokens": 60}, {"thinking_budget": 3, "n": 2}]
)
def test_a_stream_says_the_same_however_reasoning_was_closed(thinker: Server, fields: dict[str, Any]) -> None:
    drawn = {"temperature": 0.9, "seed": 7, "presence_penalty": 1.5, "repetition_penalty": 1.2, **fields}
    whole = chat(thinker, **drawn)["choices"]
    joined = [{"reasoning_content": "", "content": "", "forced": None} for _ in whole]
    for event in thinker.client.events({**ASKED, **drawn, "stream": True}):
        if isinstance(event, str):
            continue
        for choice in event["choices"]:
            into = joined[choice["index"]]
            for name in ("reasoning_content", "content"):
                into[name] += choice["delta"].get(name) or ""
            into["forced"] = choice.get("thinking_budget_forced_at", into["forced"])
    for choice, streamed in zip(whole, joined, strict=True):
        message = choice["message"]
        assert streamed == {
            "reasoning_content": message.get("reasoning_content", ""),
            "content": message["content"],
            "forced": choice.get("thinking_budget_forced_at"),
        }
    json.dumps(whole)
