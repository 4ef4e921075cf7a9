"""Splits an answer's text into reasoning, content and tool calls, and cuts content at the first stop string.

It is the only place that knows where a channel begins and ends. What it has passed on is never taken back:

    a tag that may have begun           is held back until it is one or is not
    the start of a stop string          is held back, in content only: reasoning and calls know no stop strings
    line breaks                         of a channel's start are dropped beside its tags; those of its end are held back
                                        until it goes on, and dropped where a tag ends it
    at the end of the text              half a tag of four characters or more is dropped, anything shorter is text
                                        (where calls are forced, all of it is the half of one, and dropped)

The result does not depend on how the text was cut into pieces.
"""

import enum
from collections.abc import Sequence

from ignis import machine
from ignis.stream.dialects import CallForm, OutputDialect
from ignis.stream.json_calls import JsonBody, JsonCall
from ignis.stream.parts import Content, Part, Reasoning
from ignis.stream.stop import StopMatcher
from ignis.stream.tags import find_tag, held_length
from ignis.stream.tool_calls import CallBody, CallWriter, Schemas
from ignis.stream.xml_calls import XmlBody

_MAX_BARE_HEAD_CHARACTERS = 1 << 16
_LEAST_HALF_TAG = 4
"""So many characters are no accident: <th may begin a table's head, <thi begins nothing but a tag."""


class State(enum.Enum):
    START = enum.auto()
    """Nothing but white space since the answer or a tag."""
    REASONING = enum.auto()
    CONTENT = enum.auto()
    TOOL = enum.auto()


class Event(enum.Enum):
    TEXT = enum.auto()
    THINK_OPEN = enum.auto()
    THINK_CLOSE = enum.auto()
    CALL_OPEN = enum.auto()
    CALL_CLOSE = enum.auto()


TABLE: machine.Table[State, Event] = {
    State.START: {
        Event.TEXT: State.CONTENT,
        Event.THINK_OPEN: State.REASONING,
        Event.THINK_CLOSE: State.START,
        Event.CALL_OPEN: State.TOOL,
    },
    # A call inside reasoning is a thought.
    State.REASONING: {
        Event.THINK_OPEN: State.REASONING,
        Event.THINK_CLOSE: State.START,
    },
    State.CONTENT: {
        Event.THINK_OPEN: State.REASONING,
        Event.THINK_CLOSE: State.CONTENT,
        Event.CALL_OPEN: State.TOOL,
    },
    State.TOOL: {
        Event.CALL_OPEN: State.TOOL,
        Event.CALL_CLOSE: State.START,
    },
}


class Splitter:
    """The text of one answer."""

    def __init__(
        self,
        dialect: OutputDialect,
        *,
        tools: Schemas | None = None,
        is_in_reasoning: bool = False,
        stops: Sequence[str] = (),
        max_calls: int | None = None,
        is_held: bool = False,
        is_forced: bool = False,
    ) -> None:
        """`tools`: what may be called; without any, calls are content. `is_in_reasoning`: the prompt opened it.
        `max_calls`: the text stops where so many calls are complete. `is_held`: the content is held to a form, and a
        tag in it is text. `is_forced`: what is no reasoning is made of calls, so that what was cut off began one.
        """
        self.num_decided_bytes = 0
        """UTF-8 bytes of text that were passed on or dropped; the rest is held back, or is the stop string."""
        self._dialect = dialect
        self._tools = tools if tools and dialect.call_form is not None else {}
        self._events = {tag: event for tag, event in _tag_events(dialect, has_tools=bool(self._tools)) if tag}
        self._tags = {
            state: tuple(tag for tag, event in self._events.items() if event in TABLE[state]) for state in State
        }
        if is_held:
            self._tags[State.CONTENT] = ()
        self._is_forced = is_forced
        # Without tags nothing is looked for: the text is content from its first character.
        self._state = State.REASONING if is_in_reasoning else State.START if self._events else State.CONTENT
        self._steps = {
            State.START: self._start,
            State.REASONING: self._reason,
            State.CONTENT: self._say,
            State.TOOL: self._call,
        }
        self._text = ""
        """Not yet decided."""
        self._follows_tag = False
        self._trims = is_in_reasoning
        """Reasoning has not begun: line breaks are dropped."""
        self._lines = ""
        """Line breaks at the end of the channel, which go out with what follows, or not at all."""
        self._stops = StopMatcher(stops)
        self._writer = CallWriter(max_calls)
        self._probe: JsonCall | None = None
        """Reads what may be a call without a tag."""
        self._num_probed = 0
        self._body: CallBody | None = None
        """None in TOOL: the rest up to its tag is skipped."""
        self._ends_whole = True
        """The text may end where it is: no call is half read."""
        self._parts: list[Part] = []

    @property
    def tags(self) -> tuple[str, ...]:
        """What it looks for."""
        return tuple(self._events)

    @property
    def stop_string(self) -> str | None:
        """The stop string that ended the text; None where none did."""
        return self._stops.found

    def has_stopped(self) -> bool:
        """A stop string or the last allowed call is complete: the text has ended."""
        return self._stops.found is not None or self._writer.is_full()

    @property
    def is_in_reasoning(self) -> bool:
        """What comes next is reasoning, or ends it."""
        return self._state is State.REASONING

    @property
    def has_calls(self) -> bool:
        """There are calls, all of them complete, and the text does not end inside one."""
        writer = self._writer
        return self._ends_whole and 0 < writer.num_closed == writer.num_begun

    def push(self, text: str) -> tuple[Part, ...]:
        """Returns the parts that the text decides; after the end nothing comes any more."""
        if not self.has_stopped():
            self._text += text
            self._run()
        return self._taken()

    def finish(self) -> tuple[Part, ...]:
        """Returns what was held back and turned out to be text."""
        if self.has_stopped():
            return ()
        if self._state is State.TOOL:
            self._ends_whole = self._ends_whole and (self._body is None or self._body.is_whole)
            return ()
        if self._is_forced and self._state is not State.REASONING:
            self._drop(len(self._text))
            return ()
        held = max((held_length(self._text, tag) for tag in self._tags[self._state]), default=0)
        if held >= _LEAST_HALF_TAG:
            self._text = self._text[: len(self._text) - held]
        if self._state is State.REASONING:
            self._think(self._text)
            return self._taken()
        if self._state is State.START:
            self._begin_content()
        self._publish(self._stops.push(self._text)[0])
        if not self.has_stopped():
            self._publish(self._stops.finish())
        self._emit(Content(self._lines))
        self._text = self._lines = ""
        return self._taken()

    def _run(self) -> None:
        while self._text and not self.has_stopped() and self._steps[self._state]():
            pass

    def _taken(self) -> tuple[Part, ...]:
        parts, self._parts = self._parts, []
        return tuple(parts)

    # Each step returns whether the text that is left can be looked at again.

    def _start(self) -> bool:
        text = self._text.lstrip()
        if not text:
            return False
        num_blank = len(self._text) - len(text)
        for tag in self._tags[State.START]:
            if text.startswith(tag):
                self._drop(num_blank)
                self._enter(tag)
                return True
        if any(tag.startswith(text) for tag in self._tags[State.START]):
            return False
        if self._tools and self._dialect.has_bare_calls:
            if text[0] in ";,]" and self._writer.num_closed:
                self._drop(num_blank + 1)
                return True
            if text[0] == "{":
                return self._probe_call(text)
        self._begin_content()
        return True

    def _begin_content(self) -> None:
        if self._follows_tag:
            self._drop(len(self._text) - len(self._text.lstrip("\n")))
        self._move(Event.TEXT)

    def _probe_call(self, text: str) -> bool:
        """Looks whether what begins with a bracket is a call; until that is certain all of it is held back."""
        if self._probe is None:
            writer = CallWriter()
            self._probe, self._num_probed = JsonCall(writer, self._tools), 0
        for character in text[self._num_probed :]:
            self._probe.push(character)
            self._num_probed += 1
            if self._probe.is_begun:
                # It is read again as what it is.
                self._probe = None
                self._drop(len(self._text) - len(text))
                self._move(Event.CALL_OPEN)
                self._open_body()
                return True
            if self._probe.is_bad or self._probe.is_done or self._num_probed > _MAX_BARE_HEAD_CHARACTERS:
                self._probe = None
                self._begin_content()
                return True
        return False

    def _reason(self) -> bool:
        at, tag = find_tag(self._text, self._tags[State.REASONING])
        self._think(self._take(at))
        if not tag:
            return False
        if self._events[tag] is Event.THINK_CLOSE:
            self._drop_lines()
        self._enter(tag)
        return True

    def _say(self) -> bool:
        at, tag = find_tag(self._text, self._tags[State.CONTENT])
        self._publish(self._stops.push(self._take(at))[0])
        if self.has_stopped():
            self._emit(Content(self._lines))
            self._lines = ""
            return False
        if not tag:
            return False
        self._publish(self._stops.finish())
        if self._events[tag] is Event.CALL_OPEN:
            self._drop_lines()
        else:
            self._emit(Content(self._lines))
            self._lines = ""
        self._enter(tag)
        return True

    def _call(self) -> bool:
        if self._body is not None:
            text = self._take(len(self._text))
            rest = self._body.push(text)
            self._parts += self._writer.take()
            self._decide(text)
            if rest is None:
                return False
            # It may begin with what came before: the start of a tag that was held back for one of the call's own.
            self._text = rest
            self._decide(rest, sign=-1)
            self._ends_whole = self._body.is_whole
            self._body = None
            if self._ends_whole and not self._dialect.call_close:
                self._follows_tag = True
                self._move(Event.CALL_CLOSE)
                return True
        at, tag = find_tag(self._text, self._tags[State.TOOL])
        self._drop(at)
        if tag:
            self._enter(tag)
        return bool(tag)

    def _enter(self, tag: str) -> None:
        """Takes a tag that stands at the start of the text."""
        self._drop(len(tag))
        self._follows_tag = True
        event = self._events[tag]
        if event is Event.THINK_OPEN and self._state is not State.REASONING:
            self._trims = True
        self._move(event)
        if event is Event.CALL_OPEN:
            self._open_body()
        elif event is Event.CALL_CLOSE:
            self._body, self._ends_whole = None, True

    def _open_body(self) -> None:
        close = self._dialect.call_close
        self._ends_whole = True
        self._body = (
            XmlBody(self._writer, self._tools, close)
            if self._dialect.call_form is CallForm.XML
            else JsonBody(self._writer, is_single=not close)
        )

    def _move(self, event: Event) -> None:
        self._state = machine.advance(TABLE, self._state, event)

    def _take(self, length: int) -> str:
        taken, self._text = self._text[:length], self._text[length:]
        return taken

    def _drop(self, length: int) -> None:
        self._decide(self._take(length))

    def _drop_lines(self) -> None:
        self._decide(self._lines)
        self._lines = ""

    def _think(self, text: str) -> None:
        if self._trims:
            text = self._without_lines(text)
        self._trims = self._trims and not text
        self._emit(Reasoning(self._hold_lines(text)))

    def _without_lines(self, text: str) -> str:
        kept = text.lstrip("\n")
        self._decide(text[: len(text) - len(kept)])
        return kept

    def _publish(self, text: str) -> None:
        """Passes on content. Only where a call may follow do its last line breaks wait."""
        self._emit(Content(self._hold_lines(text) if self._tools else text))

    def _hold_lines(self, text: str) -> str:
        known = self._lines + text
        free = known.rstrip("\n")
        self._lines = known[len(free) :]
        return free

    def _emit(self, part: Reasoning | Content) -> None:
        if not part.text:
            return
        self._decide(part.text)
        last = self._parts[-1] if self._parts else None
        if isinstance(last, Reasoning | Content) and type(last) is type(part):
            self._parts[-1] = type(part)(last.text + part.text)
        else:
            self._parts.append(part)

    def _decide(self, text: str, sign: int = 1) -> None:
        self.num_decided_bytes += sign * (len(text) if text.isascii() else len(text.encode()))


def _tag_events(dialect: OutputDialect, *, has_tools: bool) -> Sequence[tuple[str, Event]]:
    think = ((dialect.think_open, Event.THINK_OPEN), (dialect.think_close, Event.THINK_CLOSE))
    calls = ((dialect.call_open, Event.CALL_OPEN), (dialect.call_close, Event.CALL_CLOSE))
    return (*think, *calls) if has_tools else think
