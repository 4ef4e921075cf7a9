"""What a route wants of the model, with every default filled in, and the submissions that it becomes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ignis.api.sampling import SEED_MASK
from ignis.engine.lifecycle import LoadedModel
from ignis.scheduler.constraint import Constraint
from ignis.scheduler.request import ReasoningRecord, RequestClass, SamplingParams, Submission
from ignis.stream.dialects import NONE, OutputDialect
from ignis.stream.tool_calls import Schemas

# Far below any logit, and still a number that a float32 holds.
_NEVER = -1e9
_LEAST_TOP_P = 1e-6
"""The most likely token of any vocabulary has as much."""


@dataclass(frozen=True, slots=True)
class Order:
    """One prompt, and the answers to it."""

    model: LoadedModel
    prompt: tuple[int, ...]
    max_tokens: int
    sampling: SamplingParams
    """Of answer 0; answer i draws with seed + i."""
    num_answers: int = 1
    stops: tuple[str, ...] = ()
    ignores_eos: bool = False
    dialect: OutputDialect = NONE
    tools: Schemas = field(default_factory=dict)
    """What the model may call, and the schemas of the arguments."""
    max_calls: int | None = None
    """The answer ends with so many calls."""
    is_held: bool = False
    """The content is held to a form: a tag inside it is text."""
    is_forced: bool = False
    """What is no reasoning is made of calls."""
    held_param: str | None = None
    """The field that the constraints come from."""
    constraints: tuple[Constraint, ...] = ()
    """What each answer may draw; none: anything. Good for one submission."""
    reasoning: tuple[ReasoningRecord, ...] = ()
    """What becomes of each answer's reasoning, where the model may reason."""
    prompt_logprobs: int | None = None
    """None: none. n: log probabilities of the prompt's own tokens, and of the n best at each."""
    continues: bool = False
    """The answer goes on with the prompt's own text: no turn begins between them."""
    request_class: RequestClass = RequestClass.INTERACTIVE
    timeout_s: float | None = None
    waited_s: float = 0.0
    """For the model, which counts against timeout_s."""
    trace: str = ""

    def submissions(self) -> list[Submission]:
        """One for each answer."""
        stop_ids = self.model.special.stop_ids
        # 0 takes the most likely token only, as any share does that it reaches alone.
        sampling = replace(self.sampling, top_p=max(_LEAST_TOP_P, self.sampling.top_p))
        if self.ignores_eos:
            # Kept from being drawn, not only from ending the answer: a control token has no text, and what follows it
            # is another turn.
            banned = {**dict.fromkeys(stop_ids, _NEVER), **dict(sampling.logit_bias)}
            sampling = replace(sampling, logit_bias=tuple(sorted(banned.items())))
            stop_ids = frozenset()
        return [
            Submission(
                prompt=self.prompt,
                max_tokens=self.max_tokens,
                sampling=replace(sampling, seed=(sampling.seed + index) & SEED_MASK),
                stop_ids=stop_ids,
                request_class=self.request_class,
                timeout_s=None if self.timeout_s is None else max(0.0, self.timeout_s - self.waited_s),
                trace=self.trace,
                prompt_logprobs=self.prompt_logprobs,
                constraint=self.constraints[index] if self.constraints else None,
                reasoning=self.reasoning[index] if self.reasoning else None,
            )
            for index in range(self.num_answers)
        ]


def submissions_of(orders: Sequence[Order]) -> list[Submission]:
    """One for each answer, those of the first order first."""
    return [submission for order in orders for submission in order.submissions()]
