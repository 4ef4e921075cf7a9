"""What a chat template can read, found out by rendering small conversations with it once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ignis.errors import TemplateError

_NEEDLE = "needle"
_OTHER = "haystack"
_CALL_ID = "needle123"
"""Nine letters and digits: one family of templates refuses any other length."""

_SPACED = '{ "needle":  [1]}'
"""JSON as no template spells it."""

RenderText = Callable[[Sequence[Mapping[str, object]]], str]
"""Renders messages to flat text; raises TemplateError."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the messages that go into a template must be spelled."""

    reads_text: bool = True
    """Content may be a string."""
    reads_parts: bool = False
    """Content may be a list of text parts."""
    reads_empty_calls: bool = True
    """An assistant message with calls may have "" for content; else it needs null."""
    reads_objects: bool = True
    """A call's arguments may be an object; else they must be its JSON text."""
    prints_arguments: bool = False
    """Arguments that are JSON text come out as they are: the model reads its own text again, to the byte."""
    has_developer: bool = False
    """The template has a role of its own for developer messages."""
    has_late_system: bool = True
    """A system message may come after others. Some templates refuse it there, and some drop it without a word."""

    def spell_text(self, text: str) -> object:
        """Text as the template reads it."""
        return text if self.reads_text else [{"type": "text", "text": text}]


def probe_dialect(source: str, render: RenderText) -> Dialect:
    """Tries the spellings that templates differ in. One that fails on all of them gets the common ones."""
    reads_text = _prints(render, [{"role": "user", "content": _NEEDLE}])
    reads_parts = _prints(render, [{"role": "user", "content": [{"type": "text", "text": _NEEDLE}]}])
    reads_empty_calls, reads_objects = next(
        (
            (content is not None, not isinstance(arguments, str))
            for arguments in ({_OTHER: _OTHER}, f'{{"{_OTHER}": "{_OTHER}"}}')
            for content in ("", None)
            if _prints_call(render, content, arguments)
        ),
        (True, True),
    )
    return Dialect(
        reads_text=reads_text or not reads_parts,
        reads_parts=reads_parts,
        reads_empty_calls=reads_empty_calls,
        reads_objects=reads_objects,
        prints_arguments=_prints_call(render, "" if reads_empty_calls else None, _SPACED, _SPACED),
        has_developer="developer" in source,
        has_late_system=_prints_late(render, reads_text=reads_text or not reads_parts),
    )


def _prints(render: RenderText, messages: Sequence[Mapping[str, object]]) -> bool:
    """Whether the needle comes out, and not inside a value printed as Python spells it."""
    try:
        text = render(messages)
    except TemplateError:
        return False
    return _NEEDLE in text and "{'" not in text and "[{" not in text


def _prints_late(render: RenderText, *, reads_text: bool) -> bool:
    def said(role: str, text: str) -> dict[str, object]:
        return {"role": role, "content": text if reads_text else [{"type": "text", "text": text}]}

    turns = [said("user", _OTHER), said("assistant", _OTHER)]
    if not _prints(render, [*turns, said("user", _NEEDLE)]):
        # What refuses even this says nothing of system messages.
        return True
    turns.append(said("user", _OTHER))
    late = [*turns, said("system", _NEEDLE)]
    return _prints(render, late) and not _alike(render, late, [*turns, said("assistant", _NEEDLE)])


def _alike(render: RenderText, left: Sequence[Mapping[str, object]], right: Sequence[Mapping[str, object]]) -> bool:
    """Whether a template makes the same of both: of a role that it does not know it may make another one's words."""
    try:
        return render(left) == render(right)
    except TemplateError:
        return False


def _prints_call(render: RenderText, content: str | None, arguments: object, wanted: str = _NEEDLE) -> bool:
    call = {"id": _CALL_ID, "type": "function", "function": {"name": _NEEDLE, "arguments": arguments}}
    history: list[Mapping[str, object]] = [
        {"role": "user", "content": _OTHER},
        {"role": "assistant", "content": content, "tool_calls": [call]},
        {"role": "tool", "content": _OTHER, "tool_call_id": _CALL_ID, "name": _OTHER},
    ]
    try:
        text = render(history)
    except TemplateError:
        return False
    return wanted in text.replace(_CALL_ID, "") and "{'" not in text
