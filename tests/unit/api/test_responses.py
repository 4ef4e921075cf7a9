"""POST /v1/responses, whole and streamed, and the routes of what is kept."""

import json
from dataclasses import replace
from typing import Any

import pytest
import trio

from ignis.errors import EngineFullError
from ignis.scheduler.request import FinishReason
from tests.fakes.engine import Script, byte_model, script
from tests.fakes.exchange import FakeExchange
from tests.fakes.response_reader import read_response, without_ids
from tests.unit.api.rig import Rig
from tests.unit.grammar.rig import accepts

PATH = "/v1/responses"
TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}<tool_call></think>{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.reasoning_content or '' }}|{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments }}{% endfor %};{% endfor %}"
    "<assistant>"
)
ALL = '<think>\nhm\n</think>\n\nI ask.\n<tool_call>\n{"name": "f", "arguments": {"a": "\u00e9"}}\n</tool_call>'
F = {"type": "function", "name": "f"}


def rig(*scripts: Script, is_held: bool = False, **settings: Any) -> Rig:
    model = replace(byte_model(template=TEMPLATE), max_context=4096)
    return Rig(*scripts, model=model, is_held=is_held, **settings)


async def make(opened: Rig, **fields: Any) -> dict[str, Any]:
    answer = await opened.answer("POST", PATH, {"input": "Hi", **fields})
    assert answer.status == 200, answer.body
    made: dict[str, Any] = answer.json()
    return made


async def stream(opened: Rig, **fields: Any) -> dict[str, Any]:
    exchange = await opened.call("POST", PATH, {"input": "Hi", "stream": True, **fields})
    assert exchange.stream.is_closed
    for event in exchange.events:
        assert event.event == event.json()["type"]
    return read_response(event.json() for event in exchange.events)


async def refusal(opened: Rig, **fields: Any) -> tuple[int, str, str | None]:
    answer = await opened.answer("POST", PATH, {"input": "Hi", **fields})
    assert answer.status >= 400, answer.body
    error = answer.json()["error"]
    return answer.status, error["code"], error["param"]


def prompt(opened: Rig, index: int = -1) -> str:
    return bytes(opened.engine.submissions[index].prompt).decode()


async def test_an_answer_is_items_of_reasoning_text_and_calls() -> None:
    made = await make(rig(script(ALL)), tools=[F])
    assert made["object"] == "response" and made["status"] == "completed"
    reasoning, message, call = made["output"]
    assert (reasoning["type"], reasoning["content"]) == ("reasoning", [{"type": "reasoning_text", "text": "hm"}])
    assert (message["role"], message["content"][0]["text"]) == ("assistant", "I ask.")
    assert (call["name"], call["arguments"], call["status"]) == ("f", '{"a": "\u00e9"}', "completed")
    assert [item["id"][:3] for item in made["output"]] == ["rs_", "msg", "fc_"]
    assert call["call_id"].startswith("call_")


@pytest.mark.parametrize("tokens_per_event", [1, 7, 1000])
async def test_the_last_event_holds_what_the_deltas_said_and_what_the_body_says(tokens_per_event: int) -> None:
    played = script(ALL, tokens_per_event=tokens_per_event)
    fields: Any = {"tools": [F], "seed": 1, "include": ["message.output_text.logprobs"], "top_logprobs": 2}
    streamed = await stream(rig(played), **fields)
    assert streamed["output"] != []
    assert without_ids(streamed) == without_ids(await make(rig(played), **fields))


async def test_usage_counts_what_was_cached_and_what_was_thought() -> None:
    opened = rig(script("<think>\nhm\n</think>\n\nYes"))
    opened.engine.cached_tokens = 4
    usage = (await make(opened, tools=[F]))["usage"]
    num_prompt = len(prompt(opened))
    assert usage == {
        "input_tokens": num_prompt,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": num_prompt - 4},
        "output_tokens": 25,
        "output_tokens_details": {"reasoning_tokens": 13, "rewound_tokens": 0},
        "total_tokens": num_prompt + 25,
    }


async def test_log_probabilities_are_those_of_the_text_of_the_message() -> None:
    fields: Any = {"include": ["message.output_text.logprobs"], "top_logprobs": 2, "tools": [F]}
    made = await make(rig(script(ALL)), **fields)
    part = made["output"][1]["content"][0]
    assert "".join(entry["token"] for entry in part["logprobs"]) == part["text"]
    assert {len(entry["top_logprobs"]) for entry in part["logprobs"]} == {2}


async def test_the_cap_makes_it_incomplete_and_the_item_too() -> None:
    opened = rig(script("Hello"))
    made = await make(opened, max_output_tokens=2)
    assert (made["status"], made["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert (made["output"][0]["status"], made["output"][0]["content"][0]["text"]) == ("incomplete", "He")
    assert (await stream(rig(script("Hello")), max_output_tokens=2))["status"] == "incomplete"


async def test_a_call_that_was_broken_off_is_incomplete_whatever_ended_the_answer() -> None:
    broken = script('<tool_call>\n{"name": "f", "arguments": {"a": ')
    made = await make(rig(broken), tools=[F])
    assert [(item["type"], item["status"]) for item in made["output"]] == [("function_call", "incomplete")]


async def test_a_model_that_says_nothing_says_an_empty_message() -> None:
    made = await make(rig(script("")))
    assert [item["content"][0]["text"] for item in made["output"]] == [""]
    assert len((await stream(rig(script(""))))["output"]) == 1


@pytest.mark.parametrize(
    ("finish", "code", "status"),
    [(FinishReason.EXPIRED, "request_timeout", 504), (FinishReason.FAULT, "engine_error", 500)],
)
async def test_a_stream_that_breaks_off_ends_with_a_failed_response_and_keeps_what_came(
    finish: FinishReason, code: str, status: int
) -> None:
    failed = await stream(rig(script("Hel", finish)))
    assert (failed["status"], failed["error"]["code"]) == ("failed", code)
    assert failed["output"][0]["content"][0]["text"] == "Hel"
    assert (await refusal(rig(script("Hel", finish))))[:2] == (status, code)


async def test_a_full_engine_is_a_503_before_any_event() -> None:
    opened = rig()
    opened.engine.refusal = EngineFullError("full", retry_after_s=3)
    for is_stream in (False, True):
        answer = await opened.answer("POST", PATH, {"input": "Hi", "stream": is_stream})
        assert (answer.status, answer.header("Retry-After")) == (503, "3")


async def test_what_was_asked_for_and_what_the_defaults_made_of_the_rest_is_echoed() -> None:
    tools = [F, {"type": "web_search", "external_web_access": False}]
    made = await make(
        rig(),
        instructions="Be brief.",
        temperature=0.3,
        max_output_tokens=7,
        metadata={"a": "b"},
        tools=tools,
        tool_choice="none",
        parallel_tool_calls=False,
    )
    assert made["instructions"] == "Be brief."
    assert (made["temperature"], made["top_p"]) == (0.3, 1.0)
    assert (made["max_output_tokens"], made["metadata"]) == (7, {"a": "b"})
    assert (made["tools"], made["tool_choice"], made["parallel_tool_calls"]) == ([F], "none", False)
    assert made["text"] == {"format": {"type": "text"}}


async def test_the_same_seed_is_the_same_submission_as_that_of_a_chat() -> None:
    opened = rig()
    await make(opened, seed=5, temperature=0.5, stop=["x"])
    await opened.chat(seed=5, temperature=0.5, stop=["x"])
    first, second = opened.engine.submissions
    assert replace(first, trace="") == replace(second, trace="")


# Going on


async def test_a_response_goes_on_from_a_kept_one_with_the_same_prompt_as_one_that_repeats_it() -> None:
    opened = rig(script(ALL), script("Wet."), script("Bye"))
    first = await make(opened, tools=[F])
    output: Any = [{"type": "function_call_output", "call_id": first["output"][2]["call_id"], "output": "rain"}]
    second = await make(opened, tools=[F], input=output, previous_response_id=first["id"])
    assert second["previous_response_id"] == first["id"]
    await make(opened, tools=[F], input="And?", previous_response_id=second["id"])
    asked = {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    repeated = [asked, *first["output"], *output, *second["output"], {"role": "user", "content": "And?"}]
    await make(opened, tools=[F], input=repeated, store=False)
    assert prompt(opened, 2) == prompt(opened, 3)
    # The answer stands in the next prompt as the model wrote it.
    assert '<assistant>hm|I ask.f{"a": "\u00e9"};<tool>|rain;<assistant>|Wet.;<user>|And?;' in prompt(opened, 2)


async def test_instructions_are_a_first_system_message_and_not_inherited() -> None:
    opened = rig()
    first = await make(opened, instructions="Be brief.")
    assert prompt(opened) == "<system>|Be brief.;<user>|Hi;<assistant>"
    await make(opened, input="And?", previous_response_id=first["id"])
    assert prompt(opened) == "<user>|Hi;<assistant>|Hello;<user>|And?;<assistant>"


async def test_two_that_go_on_from_the_same_response_do_not_see_each_other() -> None:
    opened = rig(script("A"), script("B"), script("C"))
    first = await make(opened)
    await make(opened, input="left", previous_response_id=first["id"])
    await make(opened, input="right", previous_response_id=first["id"])
    assert prompt(opened) == "<user>|Hi;<assistant>|A;<user>|right;<assistant>"


async def test_what_was_not_kept_cannot_be_gone_on_from() -> None:
    opened = rig()
    first = await make(opened, store=False)
    assert first["store"] is False
    wanted = (400, "previous_response_not_found", "previous_response_id")
    assert await refusal(opened, previous_response_id=first["id"]) == wanted
    assert await refusal(opened, previous_response_id="resp_0") == wanted
    assert len(opened.engine.submissions) == 1


async def test_a_server_that_keeps_nothing_says_so() -> None:
    opened = rig(response_store_bytes=0)
    assert (await make(opened))["store"] is False
    assert await refusal(opened, store=True) == (400, "unsupported_value", "store")


async def test_reasoning_comes_back_sealed_for_a_client_that_keeps_nothing_else() -> None:
    opened = rig(script(ALL), script("Yes"))
    fields: Any = {"tools": [F], "include": ["reasoning.encrypted_content"], "store": False}
    reasoning, message, _ = (await make(opened, **fields))["output"]
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": reasoning["encrypted_content"]}
    await make(opened, **fields, input=[{"role": "user", "content": "Hi"}, sealed, message])
    assert prompt(opened).endswith("<user>|Hi;<assistant>hm|I ask.;<assistant>")
    sealed["encrypted_content"] = "gAAAAB"
    assert await refusal(opened, input=[sealed]) == (400, "invalid_request_error", "input[0].encrypted_content")


async def test_a_reference_is_the_item_that_it_names() -> None:
    opened = rig(script("A"), script("B"))
    first = await make(opened)
    reference = {"type": "item_reference", "id": first["output"][0]["id"]}
    await make(opened, input=[{"role": "user", "content": "Hi"}, reference, {"role": "user", "content": "And?"}])
    assert prompt(opened) == "<user>|Hi;<assistant>|A;<user>|And?;<assistant>"
    assert await refusal(opened, input=[{"id": "msg_0"}]) == (400, "invalid_request_error", "input[0].id")


# Tools


async def test_a_custom_tool_is_called_with_free_text_and_its_history_reads_as_the_model_wrote_it() -> None:
    call = '<tool_call>\n{"name": "patch", "arguments": {"input": "*** \\"a\\""}}\n</tool_call>'
    opened = rig(script(call), script("Done"))
    tool = {"type": "custom", "name": "patch", "description": "Edits.", "format": {"type": "text"}}
    first = await make(opened, tools=[tool])
    (made,) = first["output"]
    assert (made["type"], made["input"], made["status"]) == ("custom_tool_call", '*** "a"', "completed")
    assert made["id"].startswith("ctc_")
    output = {"type": "custom_tool_call_output", "call_id": made["call_id"], "output": "ok"}
    await make(opened, tools=[tool], input=[output], previous_response_id=first["id"])
    assert 'patch{"input": "*** \\"a\\""}' in prompt(opened)
    streamed = await stream(rig(script(call)), tools=[tool])
    assert without_ids(streamed) == without_ids(first)


async def test_a_grammar_of_a_custom_tool_is_shown_to_the_model() -> None:
    opened = rig()
    form = {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}
    await make(opened, tools=[{"type": "custom", "name": "p", "description": "Edits.", "format": form}])
    assert 'Edits.\\n\\nThe text of input must match this lark grammar:\\nstart: \\"a\\"' in prompt(opened)


async def test_the_text_of_a_custom_tool_is_held_to_its_expression() -> None:
    opened = Rig(model=replace(byte_model(template=TEMPLATE.replace("</think>", "")), max_context=4096))
    form = {"type": "grammar", "syntax": "regex", "definition": "[0-9]+|x"}
    tool = {"type": "custom", "name": "p", "format": form}
    for choice in ("auto", "required", {"type": "custom", "name": "p"}):
        for text, is_held in (("12", True), ("x", True), ("12x", False), ("", False)):
            await make(opened, tools=[tool], tool_choice=choice)
            held = opened.engine.submissions[-1].constraint
            assert held is not None
            assert (
                accepts(held, f'<tool_call>\n{{"name": "p", "arguments": {{"input": "{text}"}}}}\n</tool_call>')
                is is_held
            )
    broken = {"type": "custom", "name": "p", "format": {**form, "definition": "("}}
    answer = await opened.answer("POST", PATH, {"input": "Hi", "tools": [broken]})
    assert (answer.status, answer.json()["error"]["param"]) == (400, "tools[0].format.definition")


async def test_a_call_of_a_tool_in_a_namespace_names_both() -> None:
    opened = rig(script('<tool_call>\n{"name": "agents.close", "arguments": {}}\n</tool_call>'), script("ok"))
    tools = [{"type": "namespace", "name": "agents", "tools": [{"type": "function", "name": "close"}]}]
    first = await make(opened, tools=tools)
    (call,) = first["output"]
    assert (call["name"], call["namespace"]) == ("close", "agents")
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}
    await make(opened, tools=tools, input=[{"role": "user", "content": "Hi"}, call, output])
    assert "<assistant>|agents.close{};<tool>|ok;" in prompt(opened)


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "web_search", "external_web_access": False},
        {"type": "web_search", "external_web_access": True, "search_content_types": ["text"]},
        {"type": "tool_search", "execution": "client", "parameters": {}},
    ],
)
async def test_a_search_that_agents_list_is_not_offered(tool: Any) -> None:
    opened = rig()
    made = await make(opened, tools=[tool])
    assert made["tools"] == []
    assert prompt(opened) == "<user>|Hi;<assistant>"


async def test_only_allowed_tools_are_offered() -> None:
    opened = rig()
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "g"}]}
    made = await make(opened, tools=[F, {"type": "function", "name": "g"}], tool_choice=choice)
    assert [tool["name"] for tool in made["tools"]] == ["g"]
    assert '"name": "f"' not in prompt(opened)
    choice["tools"] = [{"type": "function", "name": "h"}]
    assert await refusal(opened, tools=[F], tool_choice=choice) == (400, "invalid_request_error", "tool_choice")


# Refusals


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"input": None}, "invalid_request_error", "input"),
        ({"input": []}, "invalid_request_error", "input"),
        ({"input": 3}, "invalid_request_error", "input"),
        ({"input": [{"type": "computer_call"}]}, "unsupported_value", "input[0].type"),
        ({"input": [{"role": "tool", "content": "x"}]}, "invalid_request_error", "input[0].role"),
        ({"input": [{"role": "user"}]}, "invalid_request_error", "input[0].content"),
        ({"input": [{"type": "message", "content": "x"}]}, "invalid_request_error", "input[0].role"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}]},
            "vision_disabled",
            "input[0].content[0].type",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
            "unsupported_value",
            "input[0].content[0].type",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_text"}]}]},
            "invalid_request_error",
            "input[0].content[0].text",
        ),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "invalid_request_error", "input[0].call_id"),
        ({"input": [{"type": "function_call", "call_id": "c"}]}, "invalid_request_error", "input[0].name"),
        ({"tools": [{"type": "mcp"}]}, "unsupported_value", "tools[0].type"),
        ({"tools": [F, {"type": "web_search"}]}, "unsupported_value", "tools[1].type"),
        ({"tools": [{"type": "web_search_preview"}]}, "unsupported_value", "tools[0].type"),
        ({"tools": [{"type": "code_interpreter"}]}, "unsupported_value", "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "invalid_request_error", "tools[0].name"),
        ({"tools": [F, F]}, "invalid_request_error", "tools[1].name"),
        ({"tools": [{"type": "namespace", "name": "n"}]}, "invalid_request_error", "tools[0].tools"),
        ({"tools": [F], "tool_choice": "any"}, "invalid_request_error", "tool_choice"),
        ({"tools": [F], "tool_choice": {"type": "web_search"}}, "unsupported_value", "tool_choice.type"),
        ({"tools": [F], "tool_choice": {"type": "function"}}, "invalid_request_error", "tool_choice.name"),
        ({"text": {"format": {"type": "json_schema"}}}, "invalid_request_error", "text.format.schema"),
        ({"text": {"format": {"type": "xml"}}}, "invalid_request_error", "text.format.type"),
        (
            {"text": {"format": {"type": "json_object"}}, "structured_outputs": {"regex": "a"}},
            "invalid_request_error",
            "structured_outputs.regex",
        ),
        ({"background": True}, "unsupported_value", "background"),
        ({"generate": False}, "unsupported_value", "generate"),
        ({"stream_id": "a"}, "unsupported_value", "stream_id"),
        ({"conversation": "conv_1"}, "unsupported_value", "conversation"),
        ({"prompt": {"id": "p"}}, "unsupported_value", "prompt"),
        ({"messages": []}, "unsupported_value", "messages"),
        ({"max_tokens": 5}, "unsupported_value", "max_tokens"),
        ({"include": ["everything"]}, "unsupported_value", "include[0]"),
        ({"top_logprobs": 2}, "invalid_sampling_parameter", "top_logprobs"),
        ({"temperature": 3}, "invalid_sampling_parameter", "temperature"),
        ({"max_output_tokens": 0}, "invalid_request_error", "max_output_tokens"),
        ({"max_output_tokens": 5000}, "context_length_exceeded", "max_output_tokens"),
        ({"input": "x" * 5000}, "context_length_exceeded", "input"),
        ({"truncation": "middle"}, "unsupported_value", "truncation"),
        ({"metadata": {"a": 1}}, "invalid_request_error", "metadata.a"),
    ],
)
async def test_a_refusal_is_a_400_that_names_its_field(fields: dict[str, Any], code: str, param: str) -> None:
    opened = rig()
    for is_stream in (False, True):
        assert await refusal(opened, **fields, stream=is_stream) == (400, code, param)
    assert opened.engine.submissions == []


async def test_fields_that_clients_send_and_that_ask_for_nothing_are_taken() -> None:
    answer = await rig().answer(
        "POST",
        PATH,
        {
            "input": "Hi",
            "background": False,
            "client_metadata": {"a": {"b": 1}},
            "include": ["reasoning.encrypted_content", "web_search_call.results"],
            "max_tool_calls": 3,
            "n": 1,
            "prompt_cache_key": "k",
            "prompt_cache_retention": "24h",
            "reasoning": {"summary": "auto"},
            "safety_identifier": "s",
            "service_tier": "flex",
            "stream_options": {"include_obfuscation": True},
            "text": {"format": {"type": "text"}, "verbosity": "low"},
            "truncation": "auto",
            "user": "u",
        },
    )
    assert answer.status == 200
    assert answer.header("X-Ignis-Ignored") is None


# What is kept


async def test_a_kept_response_is_shown_as_it_was_answered_until_it_is_deleted() -> None:
    opened = rig()
    made = await make(opened)
    path = f"{PATH}/{made['id']}"
    assert (await opened.answer("GET", path)).json() == made
    deleted = await opened.answer("DELETE", path)
    assert deleted.json() == {"id": made["id"], "object": "response", "deleted": True}
    for method in ("GET", "DELETE"):
        answer = await opened.answer(method, path)
        assert (answer.status, answer.json()["error"]["code"]) == (404, "response_not_found")


async def test_a_streamed_response_is_kept_as_its_last_event_has_it() -> None:
    opened = rig()
    streamed = await stream(opened)
    assert (await opened.answer("GET", f"{PATH}/{streamed['id']}")).json() == streamed


async def test_input_items_are_all_that_the_model_read_page_by_page() -> None:
    opened = rig(script("A"), script("B"))
    first = await make(opened)
    second = await make(opened, input=[{"role": "user", "content": "And?"}], previous_response_id=first["id"])
    path = f"{PATH}/{second['id']}/input_items"
    whole = (await opened.answer("GET", path, query={"order": "asc"})).json()
    assert [item["content"][0]["text"] for item in whole["data"]] == ["Hi", "A", "And?"]
    assert [item["type"] for item in whole["data"]] == ["message"] * 3
    assert (whole["first_id"], whole["last_id"]) == (whole["data"][0]["id"], whole["data"][2]["id"])
    newest = (await opened.answer("GET", path, query={"limit": "2"})).json()
    assert newest["data"] == whole["data"][:0:-1] and newest["has_more"]
    rest = (await opened.answer("GET", path, query={"limit": "2", "after": newest["last_id"]})).json()
    assert rest["data"] == whole["data"][:1] and not rest["has_more"]
    for query in ({"limit": "0"}, {"limit": "x"}, {"order": "up"}, {"after": "msg_0"}):
        answer = await opened.answer("GET", path, query=query)
        assert (answer.status, answer.json()["error"]["param"]) == (400, next(iter(query)))


async def test_the_count_of_the_input_is_that_of_the_response() -> None:
    opened = rig()
    first = await make(opened, tools=[F], instructions="Be brief.")
    fields = {"input": "And?", "tools": [F], "previous_response_id": first["id"]}
    counted = (await opened.answer("POST", f"{PATH}/input_tokens", fields)).json()
    assert counted["object"] == "response.input_tokens"
    assert counted["input_tokens"] == (await make(opened, **fields))["usage"]["input_tokens"]


# Cancelling


async def test_a_cancelled_response_ends_with_what_came_and_its_request_leaves_the_engine() -> None:
    opened = rig(script("Hello"), is_held=True)
    exchange = FakeExchange("POST", PATH, body={"input": "Hi", "stream": True})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(opened.router, exchange)
        await opened.engine.has_submitted.wait()
        opened.engine.deliver(1, 3)
        await (await exchange.wait_opened()).wait_sent(7)
        response_id = exchange.events[0].json()["response"]["id"]
        shown = (await opened.answer("GET", f"{PATH}/{response_id}")).json()
        assert shown["status"] == "in_progress"
        cancelled = await opened.answer("POST", f"{PATH}/{response_id}/cancel")
    ended = read_response(event.json() for event in exchange.events)
    assert ended["status"] == "cancelled"
    assert ended["output"][0]["content"][0]["text"] == "Hel"
    assert ended["output"][0]["status"] == "incomplete"
    assert cancelled.json() == ended
    assert opened.engine.ended == [(1, FinishReason.CANCELLED)]
    # Asked again, it is shown again.
    assert (await opened.answer("POST", f"{PATH}/{response_id}/cancel")).json() == ended


async def test_what_has_ended_cannot_be_cancelled() -> None:
    opened = rig()
    made = await make(opened)
    answer = await opened.answer("POST", f"{PATH}/{made['id']}/cancel")
    assert (answer.status, answer.json()["error"]["param"]) == (400, "response_id")
    answer = await opened.answer("POST", f"{PATH}/resp_0/cancel")
    assert answer.status == 404


async def test_a_client_that_leaves_ends_its_request_and_nothing_is_kept() -> None:
    opened = rig(script("Hello"), is_held=True)
    exchange = FakeExchange("POST", PATH, body={"input": "Hi", "stream": True})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(opened.router, exchange)
        await (await exchange.wait_opened()).wait_sent(2)
        nursery.cancel_scope.cancel()
    assert opened.engine.ended == [(1, FinishReason.CANCELLED)]
    response_id = exchange.events[0].json()["response"]["id"]
    assert (await opened.answer("GET", f"{PATH}/{response_id}")).status == 404


async def test_events_are_json_on_one_line() -> None:
    exchange = await rig(script("a\nb")).call("POST", PATH, {"input": "Hi", "stream": True})
    assert all(json.loads(event.data) and b"\n" not in event.data for event in exchange.events)
