"""What is said to the person at the terminal, and asked of them beside whatever else the server does."""

import os
import sys

import trio

from ignis.program import NAME

_YES = frozenset({b"y", b"yes"})


def have_streams() -> None:
    """Whoever started this process may have closed its standard streams, as some supervisors do: nothing is read
    there, and what is written is lost. No socket or file gets their numbers, and so the log."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # It gets the lowest number that is free, which is this one.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", errors="backslashreplace", closefd=False)


def complain(message: str) -> None:
    """Writes it to standard error. Parts of it may be a stranger's, and a terminal obeys control characters."""
    lines = ("".join(letter if letter.isprintable() else "?" for letter in line) for line in message.split("\n"))
    print(f"{NAME}:", "\n".join(lines), file=sys.stderr, flush=True)


def is_attended() -> bool:
    """Whether somebody can read a question and answer it: a terminal on both sides, and not in its background."""
    return sys.stdin.isatty() and sys.stderr.isatty() and _is_in_foreground()


async def ask(question: str) -> bool:
    """Writes it to standard error, and waits for a line; yes is `y` or `yes`, in any case. The end of input is a no."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    descriptor = sys.stdin.fileno()
    answer = b""
    while not answer.endswith(b"\n"):
        # Not a thread that reads: it could not be called off, and would hold the terminal at the end of the process.
        await trio.lowlevel.wait_readable(descriptor)
        # The kernel would stop a process that reads from its background, and the line is the shell's.
        part = os.read(descriptor, 1024) if _is_in_foreground() else b""
        if not part:
            sys.stderr.write("\n")
            return False
        answer += part
    return answer.strip().lower() in _YES


def _is_in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        # A terminal, and not the one that this process belongs to.
        return False
