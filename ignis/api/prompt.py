"""Renders and tokenises in a small pool of worker threads: a long conversation never holds up the event loop."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import trio

from ignis.api.grammars import Grammars
from ignis.chat.fill_in import fill_in_form, fill_in_prompt
from ignis.chat.instructions import InstructionPolicies
from ignis.chat.prompt import build_prompt, encode_pieces
from ignis.chat.render import ChatTemplate
from ignis.chat.thinking import ThinkingAbility
from ignis.chat.tool_prompt import ToolPrompt
from ignis.engine.lifecycle import LoadedModel, ModelFacts
from ignis.errors import ContextLengthExceededError, UnsupportedValueError
from ignis.stream.dialects import OutputDialect
from ignis.stream.reasoning import ReasoningForm, reasoning_form

Result = TypeVar("Result")

_NUM_WORKERS = 2
_NUM_LONG_WORKERS = 1
_LONG_CHARACTERS = 1 << 17


class Prompts:
    """The pool, and the compiled template of the loaded model."""

    def __init__(self) -> None:
        # Apart, so that long prompts never make a short one wait: a worker whose client left goes on to its end.
        self._short = trio.CapacityLimiter(_NUM_WORKERS)
        self._long = trio.CapacityLimiter(_NUM_LONG_WORKERS)
        self._template: tuple[LoadedModel, ChatTemplate] | None = None
        self._abilities: dict[str, ThinkingAbility] = {}
        """By the source of each template that was compiled; small, and outlives it."""
        self._form: tuple[LoadedModel, OutputDialect, ReasoningForm | None] | None = None
        self.grammars = Grammars()

    async def build(
        self,
        model: LoadedModel,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        variables: Mapping[str, Any],
        policies: InstructionPolicies,
        tool_prompt: ToolPrompt | None,
        max_tokens: int | None,
        begun: str = "",
    ) -> tuple[int, ...]:
        """Returns the ids of a conversation, up to where the answer begins, or up to what of it stands already.

        Raises:
            TemplateError: the template refused it.
            SystemMessagePositionError, DeveloperMessagePositionError: the policies did.
            ContextLengthExceededError: it is far over max_tokens, where that is given.
        """
        size = _num_characters(messages) + _num_characters(tools) + len(begun)
        asked = (messages, tools, variables, policies, tool_prompt, max_tokens, begun)
        return await self._work(size, self._build, model, *asked)

    async def template(self, model: LoadedModel) -> ChatTemplate:
        """Returns the compiled template; compiled when the model was loaded, so that no request pays for it.

        Raises:
            ModelFileError: the template is malformed.
            UnsupportedValueError: the model has none.
        """
        known = self._template
        return known[1] if known is not None and known[0] is model else await self._work(0, self._compiled, model)

    async def try_template(self, model: LoadedModel) -> ChatTemplate:
        """Compiles the template of a model that may yet be refused: that of the one that serves is kept.

        Raises:
            ModelFileError, UnsupportedValueError: as template.
        """
        return await self._work(0, self._compile, model)

    def reasoning_form(self, model: LoadedModel, dialect: OutputDialect) -> ReasoningForm | None:
        """How the model writes its reasoning; None where its dialect has none."""
        known = self._form
        if known is None or known[0] is not model or known[1] != dialect:
            self._form = known = (model, dialect, reasoning_form(model.tokenizer, dialect))
        return known[2]

    async def ability(self, model: ModelFacts) -> ThinkingAbility | None:
        """Returns what the template of a model does about thinking, be it loaded or not; None where it has none.

        Raises:
            ModelFileError: the template is malformed.
        """
        if model.template is None:
            return None
        known = self._abilities.get(model.template)
        if known is None and isinstance(model, LoadedModel):
            return (await self.template(model)).thinking
        return known

    def forget(self) -> None:
        """Lets go of the template, and of its model, with tokenizer and vocabulary."""
        self._template = self._form = None
        self.grammars.forget()

    async def encode(self, model: LoadedModel, text: str) -> tuple[int, ...]:
        """Returns the ids of plain text."""
        return tuple(await self._work(len(text), model.tokenizer.encode, text))

    async def complete(self, model: LoadedModel, text: str, name: str) -> tuple[int, ...]:
        """Returns the ids of a raw prompt: its author may write control tokens, and BOS comes as the model wants it.

        Args:
            name: of the field that holds it.

        Raises:
            ContextLengthExceededError: it is far over the context.
        """
        return await self._work(len(text), _raw_prompt, model, text, name)

    async def fill_in(self, model: LoadedModel, prefix: str, suffix: str) -> tuple[int, ...]:
        """Returns the ids of a prompt for the text between two others.

        Raises:
            UnsupportedValueError: the vocabulary has no tokens for that.
        """
        form = fill_in_form(model.tokenizer)
        if form is None:
            raise UnsupportedValueError(
                f"suffix is not served: the vocabulary of {model.name} has no tokens for text in the middle", "suffix"
            )
        return await self._work(len(prefix) + len(suffix), fill_in_prompt, model.tokenizer, form, prefix, suffix)

    async def decode(self, model: LoadedModel, ids: Sequence[int]) -> str:
        """Returns the text of ids."""
        return await self._work(len(ids), model.tokenizer.decode, ids)

    def _build(
        self,
        model: LoadedModel,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        variables: Mapping[str, Any],
        policies: InstructionPolicies,
        tool_prompt: ToolPrompt | None,
        max_tokens: int | None,
        begun: str,
    ) -> tuple[int, ...]:
        return build_prompt(
            model.tokenizer,
            self._compiled(model),
            messages,
            tools,
            variables=variables,
            policies=policies,
            tool_prompt=tool_prompt,
            max_tokens=max_tokens,
            begun=begun,
        )

    def _compiled(self, model: LoadedModel) -> ChatTemplate:
        """Compiles a model's template once. Two workers that meet here both compile it, and either result will do."""
        known = self._template
        if known is None or known[0] is not model:
            self._template = known = (model, self._compile(model))
        return known[1]

    def _compile(self, model: LoadedModel) -> ChatTemplate:
        if model.template is None:
            is_gguf = model.format.startswith("GGUF")
            lacks = "tokenizer.chat_template" if is_gguf else "chat_template.jinja, or chat_template in its config"
            raise UnsupportedValueError(
                f"the model {model.name} has no chat template: it lacks {lacks}; /v1/completions takes plain text",
                "messages",
            )
        template = ChatTemplate(model.template, model.tokenizer)
        self._abilities[model.template] = template.thinking
        return template

    async def _work(self, size: int, work: Callable[..., Result], *args: Any) -> Result:
        # Abandoned on a cancel: the thread ends by itself, for templates run under a budget.
        return await trio.to_thread.run_sync(
            functools.partial(work, *args),
            abandon_on_cancel=True,
            limiter=self._long if size > _LONG_CHARACTERS else self._short,
        )


def _raw_prompt(model: LoadedModel, text: str, name: str) -> tuple[int, ...]:
    tokenizer, max_tokens = model.tokenizer, model.max_context
    if tokenizer.has_more_tokens(text, max_tokens):
        raise ContextLengthExceededError(
            f"the prompt has more than {max_tokens} tokens, the context holds {max_tokens} with the answer", name
        )
    return encode_pieces(tokenizer, tokenizer.split_controls(text))


def _num_characters(value: object) -> int:
    """Characters of all strings in a value that came as JSON."""
    count = 0
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            count += len(item)
        elif isinstance(item, Mapping):
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
    return count
