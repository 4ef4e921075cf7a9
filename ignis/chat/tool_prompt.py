"""Tools for models whose template knows nothing of them: the words that their own model cards give, as data.

The system prompt ends with the tools, calls of the history are written as the model writes them, and results come from
the user. A template that prints contents does the rest.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ignis.chat.content import text_of

Message = dict[str, object]


@dataclass(frozen=True, slots=True)
class ToolPrompt:
    """How one model family is told."""

    before: str
    """What the system prompt says before the JSON of the tools."""
    after: str
    calls_open: str
    calls_between: str
    calls_close: str
    arguments: str
    """The key of a call's arguments."""
    result_role: str
    result_open: str = ""
    result_close: str = ""
    joins_results: bool = False
    """Results that follow each other are one message."""
    lists_tools: bool = True
    """The tools are one JSON list; else one a line."""


SMOLLM2 = ToolPrompt(
    before=(
        "You are an expert in composing functions. You are given a question and a set of possible functions. \n"
        "Based on the question, you will need to make one or more function/tool calls to achieve the purpose. \n"
        "If none of the functions can be used, point it out and refuse to answer. \n"
        "If the given question lacks the parameters required by the function, also point it out.\n\n"
        "You have access to the following tools:\n<tools>"
    ),
    after=(
        "</tools>\n\n"
        "The output MUST strictly adhere to the following format, and NO other text MUST be included.\n"
        "The example format is as follows. Please make sure the parameter type is correct. If no function call is "
        "needed, please make the tool calls an empty list '[]'.\n"
        "<tool_call>[\n"
        '{"name": "func_name1", "arguments": {"argument1": "value1", "argument2": "value2"}},\n'
        "... (more tool calls as required)\n"
        "]</tool_call>"
    ),
    calls_open="<tool_call>[\n",
    calls_between=",\n",
    calls_close="\n]</tool_call>",
    arguments="arguments",
    result_role="user",
    result_open="<tool_response>\n",
    result_close="\n</tool_response>",
    joins_results=True,
)
"""From the card of SmolLM2-1.7B-Instruct; results as the families that share its tags write them."""

LLAMA3 = ToolPrompt(
    before="You have access to the following functions:\n\n",
    after=(
        "\n\nTo call a function, please respond with JSON for a function call. "
        'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}. '
        "Do not use variables."
    ),
    calls_open="",
    calls_between="; ",
    calls_close="",
    arguments="parameters",
    result_role="ipython",
)
"""As the template that Meta ships with Llama 3.1 words it."""

TAGGED = ToolPrompt(
    before=(
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
    ),
    after=(
        "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
        "<tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    ),
    calls_open="<tool_call>\n",
    calls_between="\n</tool_call>\n<tool_call>\n",
    calls_close="\n</tool_call>",
    arguments="arguments",
    result_role="user",
    result_open="<tool_response>\n",
    result_close="\n</tool_response>",
    joins_results=True,
    lists_tools=False,
)
"""As the template that comes with Qwen3 words it, for a model of its kind under a plain one."""

TOOL_PROMPTS: Mapping[str, ToolPrompt] = {
    "smollm2": SMOLLM2,
    "llama3": LLAMA3,
    "hermes": TAGGED,
    "qwen_json": TAGGED,
}
"""By the name of the output dialect."""


def tell_tools(
    messages: Sequence[Message], tools: Sequence[Mapping[str, object]] | None, prompt: ToolPrompt
) -> list[Message]:
    """Returns the conversation as plain contents: without tools, only calls and results of its history change."""
    told: list[Message] = []
    is_result = False
    for message in messages:
        if message["role"] == "tool":
            block = f"{prompt.result_open}{text_of(message['content'])}{prompt.result_close}"
            if is_result and prompt.joins_results:
                told[-1] = {**told[-1], "content": f"{told[-1]['content']}\n{block}"}
            else:
                told.append({"role": prompt.result_role, "content": block})
        else:
            told.append(_with_calls(message, prompt))
        is_result = message["role"] == "tool"
    if not tools:
        return told
    spelled = (
        json.dumps(tools, ensure_ascii=False)
        if prompt.lists_tools
        else "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    )
    text = f"{prompt.before}{spelled}{prompt.after}"
    if told and told[0]["role"] == "system":
        own = text_of(told[0]["content"])
        # The part that stays from turn to turn stands first: its prefix is found whatever the tools are.
        return [{**told[0], "content": f"{own}\n\n{text}" if own else text}, *told[1:]]
    return [{"role": "system", "content": text}, *told]


def _with_calls(message: Message, prompt: ToolPrompt) -> Message:
    calls = message.get("tool_calls")
    if not isinstance(calls, list | tuple) or not calls:
        return message
    content = message.get("content")
    said = "" if content is None else text_of(content)
    texts = prompt.calls_between.join(_call_text(call, prompt.arguments) for call in calls)
    written = f"{prompt.calls_open}{texts}{prompt.calls_close}"
    plain = {name: value for name, value in message.items() if name != "tool_calls"}
    return {**plain, "content": f"{said}\n{written}" if said else written}


def _call_text(call: Mapping[str, Mapping[str, object]], key: str) -> str:
    """The arguments stay the model's own text, so that the prefix of its answer is found again."""
    function = call["function"]
    arguments = function.get("arguments") or "{}"
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f'{{"name": {json.dumps(function["name"], ensure_ascii=False)}, "{key}": {text}}}'
