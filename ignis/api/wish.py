"""What a generation route asks for, whatever its body looks like: the one way from a checked body to an order.

A route checks its body, fits its conversation to plain dictionaries and says under which names its client knows the
fields. `api/orders.py` does the rest. Nothing here knows a wire format.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ignis.api.schema.sampling import SamplingFields
from ignis.api.thinking import AskedThinking
from ignis.errors import InvalidRequestError
from ignis.grammar.forms import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the route calls the fields that an error may have to name."""

    prompt: str = "messages"
    max_tokens: str = "max_tokens"
    stop: str = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTool:
    """A function that the model may call."""

    name: str
    param: str
    """Where the body has it: `tools[0].function`, `tools[0]`."""
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    """JSON schema of the arguments."""
    schema_name: str = "parameters"
    """What the route calls it."""
    strict: bool | None = None


class ToolMode(enum.Enum):
    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class ToolChoice:
    mode: ToolMode = ToolMode.AUTO
    name: str | None = None
    """With NAMED."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A prompt that the model's template writes."""

    messages: Sequence[Mapping[str, Any]]
    """As templates take them: role, content, reasoning_content, tool_calls, tool_call_id, name. Already checked."""
    places: Sequence[str] = ()
    """Where the body has what each of them begins with; none: messages[i]."""
    tools: Sequence[FunctionTool] = ()
    tool_choice: ToolChoice = ToolChoice()
    parallel_tool_calls: bool = True
    """False: the answer ends with its first call."""
    thinking: AskedThinking = field(default_factory=AskedThinking)
    """And the variables of the template that the client named (chat_template_kwargs)."""
    begun: str = ""
    """What of the answer stands already: the model goes on with it. It cannot think first."""


@dataclass(frozen=True, slots=True)
class FillIn:
    """Two texts; what stands between them is asked for."""

    prefix: str
    suffix: str


Prompt = Conversation | FillIn | str | tuple[int, ...]
"""What is not a conversation is continued: text, in which control tokens may be spelled, or token ids as they stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One prompt and what is to come of it. What is None takes the server's or the model's default."""

    fields: SamplingFields
    """The body itself: how to draw, which model, which class."""
    prompt: Prompt
    max_tokens: int | None = None
    default_max_tokens: int | None = None
    """The cap where max_tokens is None, cut to what fits; None: the server's."""
    num_answers: int = 1
    stop: str | Sequence[str] | None = None
    form: Form | None = None
    """What the answer's content is held to."""
    top_logprobs: int | None = None
    """None: no log probabilities. n: the drawn token's and those of the n best."""
    prompt_logprobs: int | None = None
    """None: none. n: of the prompt's own tokens, and of the n best at each."""
    names: Names = Names()


def explicit_cap(*, max_tokens: int | None, max_completion_tokens: int | None) -> tuple[int | None, str]:
    """Returns the cap and the name of the field that it came in, or could have come in.

    Raises:
        InvalidRequestError: both are given and differ.
    """
    if max_tokens is None and max_completion_tokens is None:
        return None, "max_tokens or max_completion_tokens"
    if max_tokens is not None and max_completion_tokens is not None and max_tokens != max_completion_tokens:
        raise InvalidRequestError(
            f"max_completion_tokens is {max_completion_tokens} and max_tokens is {max_tokens}: give one, or the same "
            "value",
            "max_completion_tokens",
        )
    if max_completion_tokens is None:
        return max_tokens, "max_tokens"
    return max_completion_tokens, "max_completion_tokens"
