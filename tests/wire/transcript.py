r"""Transcripts of one connection, bytes in and bytes out.

    # a comment
    > GET /hello HTTP/1.1        a line that the client sends, with its line end
    >| abc                       bytes that the client sends, as a Python literal, with no line end
    < HTTP/1.1 200 OK            a line that the server sends; lines are held against all that it has sent by then
    <| hello\n                   bytes that the server sends, likewise
    = wait 10                    seconds pass
    = leave                      the client closes its side
    = closed                     the server has closed; `= open` that it has not
    = answered                   every exchange that was begun has ended; where a thread works, silence is no sign
    = told                       the server has begun to send something more, on a socket, where no exchange ends
    = draws a\nb                what the model of the API's routes writes from now on
    = breaks expired a          what it writes, and how that ends
    = refuses EngineFullError   the engine refuses what is submitted with that error
    = guards key origin         the API has a key, and one origin whose pages may use it
    = configures                the API's configuration can be changed
    = loads                     the model is being loaded; `= endless` that it has no token that ends an answer

What changes with every run is written as a star: `date: *`, `x-request-id: *` where the server made it, and in answers
of a model the ids and the time.
"""

import ast
import enum
import re
from dataclasses import dataclass
from pathlib import Path

_CHANGING = (
    (rb"date: [^\r]*", b"date: *"),
    (rb"request-id: req-[0-9a-f]{16}\r", b"request-id: *\r"),
    (rb'"request_id":"req-[0-9a-f]{16}"', b'"request_id":"*"'),
    (rb'"(chatcmpl-|cmpl-|call_|msg_|toolu_|resp_|rs_|fc_)[0-9a-f]{24}"', rb'"\1*"'),
    (rb'"build":"[^"]*"', b'"build":"*"'),
    (rb'"(created|created_at|completed_at)":[0-9]{10}', rb'"\1":*'),
)


class Kind(enum.Enum):
    SEND = ">"
    RECEIVE = "<"
    DO = "="


@dataclass(frozen=True, slots=True)
class Step:
    kind: Kind
    data: bytes


def read_transcript(path: Path) -> list[Step]:
    """Reads a file's steps; neighbours of one kind are one step, except for orders.

    Raises:
        ValueError: a line is of no known form.
    """
    steps: list[Step] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"([<>=])(\|?)(?: (.*))?", line)
        if match is None:
            raise ValueError(f"{path.name}:{number}: {line!r} is no step")
        kind, text = Kind(match[1]), match[3] or ""
        data = _literal(text) if match[2] else text.encode("latin-1") + (b"" if kind is Kind.DO else b"\r\n")
        if steps and kind is steps[-1].kind and kind is not Kind.DO:
            steps[-1] = Step(kind, steps[-1].data + data)
        else:
            steps.append(Step(kind, data))
    return steps


def with_stars(data: bytes) -> bytes:
    """Replaces what changes with every run."""
    for pattern, star in _CHANGING:
        data = re.sub(pattern, star, data)
    return data


def _literal(text: str) -> bytes:
    value = ast.literal_eval(f'b"""{text}"""')
    assert isinstance(value, bytes)
    return value
