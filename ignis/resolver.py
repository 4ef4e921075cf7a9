"""Looks names up beside whoever waits for them: nothing stops the system's resolver, so nobody has to wait for it."""

import concurrent.futures
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

Place = tuple[int, int, int, str, tuple[Any, ...]]
"""As socket.getaddrinfo has it."""
_Address = tuple[str, int]
_Lookup = concurrent.futures.Future[Sequence[Place]]

_MOST_LOOKUPS = 16
"""At a time. A resolver that answers nobody keeps each one's thread until it gives up, a minute or so."""
_LOOK_S = 0.1

_changed = threading.Condition()
_lookups: dict[_Address, _Lookup] = {}
"""Those under way: who asks for the same name waits for the same one."""


def look_up(address: _Address, look: Callable[[], None]) -> Sequence[Place]:
    """Returns where a host's port is reached.

    Args:
        look: called now and then while it is waited for; what it raises ends the wait, and the lookup goes on.

    Raises:
        OSError: it is not known.
    """
    while (lookup := _joined(address)) is None:
        look()
    while not concurrent.futures.wait([lookup], _LOOK_S).done:
        look()
    return lookup.result()


def _joined(address: _Address) -> _Lookup | None:
    """The lookup of it, begun unless it is under way; None where too many others still are."""
    with _changed:
        if address not in _lookups and len(_lookups) >= _MOST_LOOKUPS:
            _changed.wait(_LOOK_S)
        if address not in _lookups and len(_lookups) < _MOST_LOOKUPS:
            lookup = _Lookup()
            # A daemon: the process' end does not wait for it.
            threading.Thread(target=_run, args=(address, lookup), name="lookup", daemon=True).start()
            # Not before: there may be no thread to be had, and then nobody would ever answer who asks later.
            _lookups[address] = lookup
        return _lookups.get(address)


def _run(address: _Address, lookup: _Lookup) -> None:
    try:
        found: Sequence[Place] | Exception = socket.getaddrinfo(*address, 0, socket.SOCK_STREAM)
    except Exception as error:
        found = error
    with _changed:
        del _lookups[address]
        _changed.notify_all()
    if isinstance(found, Exception):
        lookup.set_exception(found)
    else:
        lookup.set_result(found)
