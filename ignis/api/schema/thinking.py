"""The fields by which a conversation asks for thinking, for every route that has them under these names."""

from typing import Annotated, Any, Literal

from ignis.api.schema.fields import honoured

EnableThinking = Annotated[
    bool, honoured("Whether the model thinks. Refused where it cannot. Absent: the server's default.")
]
PreserveThinking = Annotated[bool, honoured("Whether reasoning of earlier turns stays in the prompt. Absent: false.")]
ReasoningEffort = Annotated[
    Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    honoured(
        "How much the model thinks; none: not at all. Taken as the nearest one that its template knows, and refused "
        "where that knows none. max drops the server's default budget."
    ),
]
ThinkingBudget = Annotated[
    int,
    honoured(
        "Reasoning tokens after which thinking is closed; 0: no budget. Cut so that 2048 tokens of the cap are left "
        "for the answer; without effect where they are not, or without thinking. Absent: the server's default.",
        ge=0,
    ),
]
TemplateVariables = Annotated[
    dict[str, Any],
    honoured(
        "Variables of the chat template, enable_thinking, preserve_thinking and reasoning_effort among them. "
        "One that the template does not mention is refused."
    ),
]
