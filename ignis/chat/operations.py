"""What a template may do to strings, numbers and containers: as Python does it, but charged first, blind to twins."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import markupsafe
from jinja2.exceptions import SecurityError
from markupsafe import Markup

from ignis.chat.budget import Budget, TemplateCut
from ignis.chat.marks import Marking

_CONTAINERS = frozenset({dict, list, tuple, type({}.items()), type({}.keys()), type({}.values())})
WIDTH = re.compile(r"\d+")
_PERCENT_FIELD = re.compile(r"%(?:\([^)]*\))?([-#0 +]*[\d*]*(?:\.[\d*]*)?)")


class Render:
    """One rendering under way: its purse and its twins."""

    __slots__ = ("budget", "marking")

    def __init__(self, budget: Budget, marking: Marking | None) -> None:
        self.budget = budget
        self.marking = marking

    def clean(self, value: object) -> object:
        """A string without its twins; anything else as it is."""
        if self.marking is not None and isinstance(value, str):
            return self.marking.clean(value)
        return value

    def text(self, value: object) -> str:
        """str(value), charged."""
        if isinstance(value, str):
            return value
        if type(value) in _CONTAINERS:
            self.budget.walk(value)
        return str(value)


def compare(render: Render, symbol: str, left: object, right: object) -> bool:
    """A comparison by Jinja's name for it."""
    if type(left) in _CONTAINERS or type(right) in _CONTAINERS:
        render.budget.walk(left, right)
        if render.marking is not None and symbol in ("in", "notin") and isinstance(left, str):
            right = [render.clean(item) for item in right] if isinstance(right, list | tuple | dict) else right
    elif isinstance(right, str):
        render.budget.step(len(right) >> 6)
    result: bool = _COMPARISONS[symbol](render.clean(left), render.clean(right))
    return result


_COMPARISONS: Mapping[str, Callable[..., bool]] = MappingProxyType(
    {
        "eq": operator.eq,
        "ne": operator.ne,
        "gt": operator.gt,
        "gteq": operator.ge,
        "lt": operator.lt,
        "lteq": operator.le,
        "in": lambda left, right: left in right,
        "notin": lambda left, right: left not in right,
    }
)


def add(render: Render, left: object, right: object) -> object:
    if isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
        render.budget.make(len(left) + len(right))
        if isinstance(left, Markup) or isinstance(right, Markup):
            return operator.add(escape(render, left), escape(render, right))
    return operator.add(left, right)


def escape(render: Render, value: object) -> object:
    """Escapes text for HTML, as it is done to the neighbours of what a template calls `safe`."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        render.budget.make(5 * len(value))
        escaped = str(markupsafe.escape(render.clean(value)))
        return Markup(escaped if render.marking is None else render.marking.mark(escaped))
    if isinstance(value, tuple):
        return tuple(escape(render, item) for item in value)
    if isinstance(value, Mapping):
        return {key: escape(render, item) for key, item in value.items()}
    return value


def multiply(render: Render, left: object, right: object) -> object:
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, str | list | tuple) and isinstance(times, int):
            render.budget.make(len(sequence) * max(times, 0))
            return operator.mul(left, right)
    product = operator.mul(left, right)
    render.budget.whole(product)
    return product


def power(render: Render, base: object, exponent: object) -> object:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > 1 << 10:
        raise TemplateCut("it makes too large a number")
    return operator.pow(base, exponent)


def modulo(render: Render, left: object, right: object) -> object:
    if isinstance(left, str):
        return percent_format(render, left, right)
    return operator.mod(left, right)


def percent_format(render: Render, template: str, values: object) -> str:
    for match in _PERCENT_FIELD.finditer(template):
        if "*" in match[1]:
            raise TemplateCut("it formats with a computed width")
        for width in WIDTH.findall(match[1]):
            render.budget.width(int(width[:9]))
    render.budget.walk(template, values)
    text = template % (escape(render, values) if isinstance(template, Markup) else values)
    render.budget.make(len(text))
    return text


def concatenate(render: Render, parts: Sequence[object]) -> str:
    texts = [render.text(part) for part in parts]
    render.budget.make(sum(map(len, texts)))
    return "".join(texts)


def replace(render: Render, text: str, old: str, new: str, count: int = -1) -> str:
    """str.replace: found among real characters, cut out of the marked ones."""
    plain = str(render.clean(text))
    old = str(render.clean(old))
    times = plain.count(old) if count < 0 else min(plain.count(old), count)
    render.budget.make(len(text) + times * max(len(new) - len(old), 0))
    if render.marking is None or plain == text:
        return text.replace(old, new, times)
    if not old:
        return text.replace(old, new, times)
    parts: list[str] = []
    start = 0
    for _ in range(times):
        found = plain.index(old, start)
        parts += (text[start:found], new)
        start = found + len(old)
    return "".join((*parts, text[start:]))


def split(render: Render, text: str, separator: str | None = None, maxsplit: int = -1) -> list[str]:
    return _split(render, text, "split", separator, maxsplit)


def rsplit(render: Render, text: str, separator: str | None = None, maxsplit: int = -1) -> list[str]:
    return _split(render, text, "rsplit", separator, maxsplit)


def _split(render: Render, text: str, method: str, separator: str | None, maxsplit: int) -> list[str]:
    render.budget.make(len(text))
    if separator is None or render.marking is None:
        parts: list[str] = getattr(text, method)(separator, maxsplit)
        return parts
    separator = render.marking.clean(separator)
    parts = getattr(render.marking.clean(text), method)(separator, maxsplit)
    start = 0
    for index, part in enumerate(parts):
        parts[index] = text[start : start + len(part)]
        start += len(part) + len(separator)
    return parts


def partition(render: Render, text: str, separator: str) -> tuple[str, str, str]:
    return _partition(render, text, "partition", separator)


def rpartition(render: Render, text: str, separator: str) -> tuple[str, str, str]:
    return _partition(render, text, "rpartition", separator)


def _partition(render: Render, text: str, method: str, separator: str) -> tuple[str, str, str]:
    before, found, _ = getattr(str(render.clean(text)), method)(render.clean(separator))
    middle = len(before) + len(found)
    return text[: len(before)], text[len(before) : middle], text[middle:]


def strip(render: Render, text: str, characters: str | None = None) -> str:
    return lstrip(render, rstrip(render, text, characters), characters)


def lstrip(render: Render, text: str, characters: str | None = None) -> str:
    if render.marking is None or characters is None:
        return text.lstrip(characters)
    return text[len(text) - len(render.marking.clean(text).lstrip(render.marking.clean(characters))) :]


def rstrip(render: Render, text: str, characters: str | None = None) -> str:
    if render.marking is None or characters is None:
        return text.rstrip(characters)
    return text[: len(render.marking.clean(text).rstrip(render.marking.clean(characters)))]


def removeprefix(render: Render, text: str, prefix: str) -> str:
    return text[len(prefix) :] if str(render.clean(text)).startswith(str(render.clean(prefix))) else text


def removesuffix(render: Render, text: str, suffix: str) -> str:
    ends = str(render.clean(text)).endswith(str(render.clean(suffix)))
    return text[: len(text) - len(suffix)] if ends and suffix else text


def join(render: Render, separator: str, items: Sequence[object]) -> str:
    """str.join of items that are already strings."""
    texts = list(render.budget.metered(items))
    render.budget.make(sum(len(text) for text in texts if isinstance(text, str)) + len(separator) * len(texts))
    return separator.join(texts)  # type: ignore[arg-type]


def _padded(method: str) -> Callable[..., str]:
    def pad(render: Render, text: str, *arguments: object) -> str:
        for argument in arguments:
            render.budget.width(argument)
        padded: str = getattr(text, method)(*arguments)
        return padded

    return pad


def expandtabs(render: Render, text: str, tabsize: int = 8) -> str:
    render.budget.make(len(text) + text.count("\t") * max(tabsize, 0))
    return text.expandtabs(tabsize)


def _cased(method: str) -> Callable[..., str]:
    """Upper, lower and the like: they see the real characters, for a twin may stand for a letter."""

    def change(render: Render, text: str) -> str:
        render.budget.make(len(text))
        if render.marking is None or not render.marking.has_twins(text):
            changed: str = getattr(text, method)()
            return changed
        changed = getattr(render.marking.clean(text), method)()
        # Some letters change their number with their case; then only what has no case keeps its twin.
        return render.marking.remark(changed, text) if len(changed) == len(text) else str(getattr(text, method)())

    return change


def _looked_at(method: str) -> Callable[..., object]:
    """A question to a string, asked of its real characters."""

    def ask(render: Render, text: str, *arguments: object) -> object:
        render.budget.step(len(text) >> 4)
        cleaned = [
            tuple(map(render.clean, argument)) if isinstance(argument, tuple) else render.clean(argument)
            for argument in arguments
        ]
        answer: object = getattr(render.clean(text), method)(*cleaned)
        return answer

    return ask


def _lines(render: Render, text: str, keepends: bool = False) -> list[str]:
    render.budget.make(len(text))
    return text.splitlines(keepends)


_STRING_METHODS: Mapping[str, Callable[..., object]] = MappingProxyType(
    {
        "expandtabs": expandtabs,
        "join": join,
        "lstrip": lstrip,
        "partition": partition,
        "removeprefix": removeprefix,
        "removesuffix": removesuffix,
        "replace": replace,
        "rpartition": rpartition,
        "rsplit": rsplit,
        "rstrip": rstrip,
        "split": split,
        "splitlines": _lines,
        "strip": strip,
        **{name: _padded(name) for name in ("center", "ljust", "rjust", "zfill")},
        **{name: _cased(name) for name in ("capitalize", "casefold", "lower", "swapcase", "title", "upper")},
        **{
            name: _looked_at(name)
            for name in (
                "count", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit",
                "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "rfind",
                "rindex", "startswith",
            )
        },
    }
)  # fmt: skip
_CONTAINER_METHODS = frozenset({"copy", "count", "get", "index", "items", "keys", "values"})
_NUMBER_METHODS = frozenset({"as_integer_ratio", "bit_count", "bit_length", "conjugate", "hex", "is_integer"})


def call_method(
    render: Render, owner: object, name: str, arguments: Sequence[object], named: Mapping[str, object]
) -> object:
    """Calls a method of a built-in value.

    Raises:
        SecurityError: a template has no business with this method.
    """
    if isinstance(owner, str):
        owner = str(owner)  # Markup's own methods would escape; only its + and % are known to matter
        method = _STRING_METHODS.get(name)
        if method is not None:
            return method(render, owner, *arguments, **{_PARAMETERS.get(key, key): named[key] for key in named})
    elif type(owner) in _CONTAINERS or isinstance(owner, range):
        if name in _CONTAINER_METHODS:
            render.budget.step(len(owner))  # type: ignore[arg-type]
            if type(owner) is not dict or any(isinstance(argument, tuple) for argument in arguments):
                render.budget.walk(owner, *arguments)
            return getattr(owner, name)(*arguments, **named)
    elif isinstance(owner, int | float) and name in _NUMBER_METHODS:
        return getattr(owner, name)(*arguments, **named)
    raise SecurityError(f"{type(owner).__name__}.{name} is not for templates")


_PARAMETERS = {"sep": "separator"}
"""Python's names of parameters that are spelled out here."""
