"""A chat template, read once and rendered for each request, as Hugging Face's apply_chat_template renders it."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import jinja2

from ignis.chat.budget import Budget, TemplateCut
from ignis.chat.dialect import probe_dialect
from ignis.chat.marks import Marks
from ignis.chat.operations import Render
from ignis.chat.sandbox import TemplateEnvironment, TemplateRefusal
from ignis.chat.thinking import probe_thinking
from ignis.errors import ModelFileError, TemplateError
from ignis.tokenizer import ControlText, Tokenizer, without_surrogates

_MAX_SOURCE_CHARACTERS = 1 << 17
_PROBE_DIVISOR = 16
_ABSENT: Mapping[str, object] = {"documents": None}
"""What Hugging Face always passes and nobody here does: templates test it for none, which undefined is not."""


class ChatTemplate:
    """Immutable and thread-safe."""

    def __init__(self, source: str, tokenizer: Tokenizer, now: Callable[[], datetime] = datetime.now) -> None:
        """Reads the template.

        Raises:
            ModelFileError: it is no template, or uses what chat templates may not.
        """
        self.source = source
        self._tokenizer = tokenizer
        self._special = {
            name: tokenizer.token_text(token)
            for name, token in (("bos_token", tokenizer.bos), ("eos_token", tokenizer.eos))
            if token is not None
        }
        self._marks = Marks(tokenizer.control_spellings, source)
        self._environment = TemplateEnvironment(now)
        if len(source) > _MAX_SOURCE_CHARACTERS:
            raise ModelFileError(f"the chat template is longer than {_MAX_SOURCE_CHARACTERS} characters")
        try:
            self._template = self._environment.from_string(source)
        except jinja2.TemplateSyntaxError as fault:
            raise ModelFileError(f"the chat template is malformed at line {fault.lineno}: {fault.message}") from fault
        except (SyntaxError, RecursionError, MemoryError, ValueError, OverflowError) as fault:
            raise ModelFileError(f"the chat template cannot be compiled: {fault}") from fault
        self.dialect = probe_dialect(source, self._probe)
        word = self.dialect.spell_text("word")
        self.thinking = probe_thinking(source, lambda given: self._probe([{"role": "user", "content": word}], given))

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        tools: Sequence[Mapping[str, object]] | None = None,
        *,
        add_generation_prompt: bool = True,
        variables: Mapping[str, object] | None = None,
    ) -> list[str | ControlText]:
        """Renders a prompt, cut at the control tokens that the template wrote.

        Everything passed in is a user's: none of it becomes a control token, however it is spelled.

        Raises:
            TemplateError: the template refused, failed, or was cut because it would not end.
        """
        given: dict[str, object] = {"messages": messages, "tools": tools, **_ABSENT, **(variables or {})}
        return self._render(given, add_generation_prompt, divisor=1)

    def _probe(self, messages: Sequence[Mapping[str, object]], variables: Mapping[str, object] | None = None) -> str:
        """Renders a few small messages, at a small price: several of these are made while a model loads."""
        given: dict[str, object] = {"messages": messages, "tools": None, **_ABSENT, **(variables or {})}
        return prompt_text(self._render(given, add_generation_prompt=True, divisor=_PROBE_DIVISOR))

    def _render(self, given: dict[str, object], add_generation_prompt: bool, divisor: int) -> list[str | ControlText]:
        try:
            marking = self._marks.begin(list(given.values()))
            if marking is not None:
                given = {name: marking.mark_value(value) for name, value in given.items()}
            render = Render(Budget(_num_characters(given), divisor=divisor), marking)
        except ValueError as fault:
            raise TemplateError(str(fault), "messages") from fault
        except RecursionError as fault:
            raise TemplateError("the messages or tools are nested too deeply", "messages") from fault
        text = self._run(render, {**self._special, **given, "add_generation_prompt": add_generation_prompt})
        pieces = self._tokenizer.split_controls(text)
        if marking is None:
            return pieces
        return [marking.clean(piece) if isinstance(piece, str) else piece for piece in pieces]

    def _run(self, render: Render, variables: dict[str, object]) -> str:
        parts: list[str] = []
        with self._environment.rendering(render):
            try:
                for part in self._template.root_render_func(self._template.new_context(variables)):
                    render.budget.make(len(part))
                    parts.append(part)
            except TemplateRefusal as refusal:
                raise TemplateError(str(refusal), "messages") from refusal
            except TemplateCut as cut:
                raise TemplateError(f"the chat template was cut: {cut}", "messages") from cut
            except RecursionError as fault:
                raise TemplateError("the chat template was cut: it calls itself too often", "messages") from fault
            except Exception as fault:  # whatever a template does wrong, Python raises what it likes
                reason = re.sub(r"\s+", " ", str(fault)) or type(fault).__name__
                raise TemplateError(f"the chat template failed: {reason}", "messages") from fault
        return without_surrogates("".join(parts))


def prompt_text(pieces: Sequence[str | ControlText]) -> str:
    """The prompt as people read it: control tokens spelled out."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces)


def _num_characters(value: object) -> int:
    """The size of an input: its characters, and some for each value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(16 + len(str(key)) + _num_characters(child) for key, child in value.items())
    if isinstance(value, list | tuple):
        return sum(16 + _num_characters(child) for child in value)
    return 1
