"""The only mover of every state machine: a literal table, a state, an event."""

import enum
from collections.abc import Mapping
from typing import TypeVar

State = TypeVar("State", bound=enum.Enum)
Event = TypeVar("Event", bound=enum.Enum)

Table = Mapping[State, Mapping[Event, State]]


class IllegalTransition(AssertionError):
    """A state machine was given an event that its table does not list: always our bug, never the caller's."""


def advance(table: Table[State, Event], state: State, event: Event) -> State:
    """Returns the state after the event.

    Raises:
        IllegalTransition: the table has no such entry.
    """
    after = table[state].get(event)
    if after is None:
        raise IllegalTransition(f"{type(state).__name__} {state.name} does not take {event.name}")
    return after
