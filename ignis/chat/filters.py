"""Jinja's filters and tests, charged: each does what Jinja's own does, inside the budget and blind to twins.

Left out, so that a template naming one is refused when it is read: random (the same request must give the same
prompt), pprint, urlize and xmlattr (made for web pages; their cost has no bound worth proving).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from types import GeneratorType
from typing import Any

from jinja2 import filters as jinja_filters
from jinja2 import pass_environment
from jinja2 import tests as jinja_tests
from jinja2.environment import Environment
from jinja2.runtime import Undefined
from markupsafe import Markup

from ignis.chat import operations
from ignis.chat.operations import Render

Function = Callable[..., object]

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_WORD_STARTS = re.compile(r"([-\s({\[<]+)")
_FREE = ("attr", "count", "d", "default", "filesizeformat", "first", "float", "length")
_BY_LENGTH = ("items", "last", "list", "map", "reject", "rejectattr", "reverse", "select", "selectattr")
_BY_CONTENT = ("groupby", "max", "min", "unique")
"""They compare items with each other."""
_BY_WIDTH = ("abs", "batch", "center", "round", "slice")
_COMPARISON_TESTS = {
    "!=": "ne", "<": "lt", "<=": "lteq", "==": "eq", ">": "gt", ">=": "gteq", "eq": "eq", "equalto": "eq", "ge": "gteq",
    "greaterthan": "gt", "gt": "gt", "in": "in", "le": "lteq", "lessthan": "lt", "lt": "lt", "ne": "ne",
}  # fmt: skip


def build_filters(current: Callable[[], Render]) -> dict[str, Any]:
    """`current`: the rendering under way."""
    table: dict[str, Any] = {}
    for name in _FREE:
        table[name] = jinja_filters.FILTERS[name]
    for names, weigh in ((_BY_LENGTH, _weigh_length), (_BY_CONTENT, _weigh_content), (_BY_WIDTH, _weigh_width)):
        for name in names:
            table[name] = _charged(jinja_filters.FILTERS[name], weigh, current)
    for name, function in _OWN.items():
        table[name] = _bound(function, current)
    return table


def build_tests(current: Callable[[], Render]) -> dict[str, Any]:
    table: dict[str, Any] = {**jinja_tests.TESTS}
    for name, symbol in _COMPARISON_TESTS.items():
        table[name] = _comparison(symbol, current)
    for name in ("lower", "upper"):
        table[name] = _bound(_is_cased(f"is{name}"), current)
    return table


def _bound(function: Function, current: Callable[[], Render]) -> Function:
    """Gives a function the rendering under way as its first argument, after the environment if it asks for that."""
    if hasattr(function, "jinja_pass_arg"):

        @pass_environment
        def with_environment(environment: Environment, /, *arguments: object, **named: object) -> object:
            return function(environment, current(), *arguments, **named)

        return with_environment

    def without(*arguments: object, **named: object) -> object:
        return function(current(), *arguments, **named)

    return without


def _charged(function: Function, weigh: Callable[..., None], current: Callable[[], Render]) -> Function:
    """Jinja's own filter, with its arguments weighed first and the items of its result charged as they come."""
    passes = getattr(function, "jinja_pass_arg", None)
    num_passed = 0 if passes is None else 1

    def charged(*arguments: Any, **named: object) -> object:
        render = current()
        passed, value, rest = arguments[:num_passed], arguments[num_passed], arguments[num_passed + 1 :]
        if weigh is _weigh_content and not isinstance(value, str | list | tuple | dict):
            value = list(render.budget.metered(value))
        weigh(render, value, *rest, *named.values())
        result = function(*passed, value, *rest, **named)
        return render.budget.metered(result) if isinstance(result, GeneratorType) else result

    if passes is not None:
        charged.jinja_pass_arg = passes  # type: ignore[attr-defined]
    return charged


def _weigh_length(render: Render, value: object, *rest: object) -> None:
    # A range makes its numbers as they are asked for.
    weight = 8 if isinstance(value, range) else 1
    render.budget.step(weight * len(value) if isinstance(value, str | list | tuple | dict | range) else 0)


def _weigh_content(render: Render, value: object, *rest: object) -> None:
    render.budget.walk(list(value.items()) if isinstance(value, dict) else value)


def _weigh_width(render: Render, value: object, *rest: object) -> None:
    for argument in rest:
        render.budget.width(argument)
    _weigh_length(render, value)


def _comparison(symbol: str, current: Callable[[], Render]) -> Function:
    def test(left: object, right: object) -> bool:
        return operations.compare(current(), symbol, left, right)

    return test


def _is_cased(method: str) -> Function:
    def test(render: Render, value: object) -> object:
        return getattr(render.clean(render.text(value)), method)()

    return test


def _case(method: str) -> Function:
    def change(render: Render, value: object) -> object:
        return operations.call_method(render, render.text(value), method, (), {})

    return change


def _title(render: Render, value: object) -> str:
    """Jinja's title: a word starts after white space, a dash or an opening bracket."""
    text = render.text(value)
    plain = str(render.clean(text))
    render.budget.make(len(text))
    words = [word[0].upper() + word[1:].lower() for word in _WORD_STARTS.split(plain) if word]
    titled = "".join(words)
    if render.marking is None or plain == text:
        return titled
    return render.marking.remark(titled, text) if len(titled) == len(text) else render.marking.mark(titled)


def _trim(render: Render, value: object, chars: str | None = None) -> str:
    return operations.strip(render, render.text(value), chars)


def _replace(render: Render, s: object, old: object, new: object, count: int | None = None) -> str:
    text, old_text, new_text = (str(render.text(value)) for value in (s, old, new))
    return operations.replace(render, text, old_text, new_text, -1 if count is None else count)


@pass_environment
def _join(
    environment: Environment,
    render: Render,
    value: Iterable[object],
    d: object = "",
    attribute: str | int | None = None,
) -> str:
    items: Iterable[object] = render.budget.metered(value)
    if attribute is not None:
        items = map(jinja_filters.make_attrgetter(environment, attribute), items)
    return operations.join(render, str(render.text(d)), [render.text(item) for item in items])


def _indent(render: Render, s: object, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    text = render.text(s)
    render.budget.width(width)
    size = len(width) if isinstance(width, str) else max(width, 0)
    render.budget.make(len(text) + (text.count("\n") + text.count("\r") + 2) * size)
    return jinja_filters.do_indent(text, width, first, blank)


@pass_environment
def _truncate(
    environment: Environment,
    render: Render,
    s: object,
    length: int = 255,
    killwords: bool = False,
    end: str = "...",
    leeway: int | None = None,
) -> str:
    text = render.text(s)
    render.budget.make(len(text) + len(end))
    return jinja_filters.do_truncate(environment, text, length, killwords, end, leeway)


@pass_environment
def _wordwrap(
    environment: Environment,
    render: Render,
    s: object,
    width: int = 79,
    break_long_words: bool = True,
    wrapstring: str | None = None,
    break_on_hyphens: bool = True,
) -> str:
    text = str(render.clean(render.text(s)))
    lines = len(text) // max(width, 1) + 1
    # textwrap copies the rest of a long word for every line that it cuts from it.
    render.budget.make((lines * len(text) >> 4) + len(text) * (1 + len(wrapstring or "")))
    wrapped = jinja_filters.do_wordwrap(environment, text, width, break_long_words, wrapstring, break_on_hyphens)
    return _marked(render, wrapped)


def _wordcount(render: Render, value: object) -> int:
    text = str(render.clean(render.text(value)))
    render.budget.make(len(text))
    return jinja_filters.do_wordcount(text)


def _striptags(render: Render, value: object) -> str:
    text = str(render.clean(render.text(value)))
    render.budget.make((text.count("<") * len(text) >> 4) + len(text))
    return _marked(render, jinja_filters.do_striptags(text))


def _escape(render: Render, value: object) -> object:
    return operations.escape(render, render.text(value))


def _force_escape(render: Render, value: object) -> object:
    return operations.escape(render, str(render.text(value)))


def _safe(render: Render, value: object) -> Markup:
    return Markup(render.text(value))


def _urlencode(render: Render, value: object) -> str:
    render.budget.walk(value)
    return _marked(render, jinja_filters.do_urlencode(render.clean(value)))  # type: ignore[arg-type]


def _dictsort(
    render: Render, value: Mapping[str, object], case_sensitive: bool = False, by: str = "key", reverse: bool = False
) -> list[tuple[str, object]]:
    if by not in ("key", "value"):
        raise ValueError('you can only sort by either "key" or "value"')
    render.budget.walk(value)
    order = _order(render, case_sensitive)
    return sorted(value.items(), key=lambda item: order(item[by == "value"]), reverse=reverse)


@pass_environment
def _sort(
    environment: Environment,
    render: Render,
    value: Iterable[object],
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: str | int | None = None,
) -> list[object]:
    items = list(render.budget.metered(value))
    render.budget.walk(items)
    order = jinja_filters.make_multi_attrgetter(environment, attribute, postprocess=_order(render, case_sensitive))
    return sorted(items, key=order, reverse=reverse)


def _order(render: Render, case_sensitive: bool) -> Callable[[object], Any]:
    """What a value is sorted by: its real characters, in lower case unless case counts."""

    def key(value: object) -> object:
        plain = render.clean(value)
        return plain.lower() if isinstance(plain, str) and not case_sensitive else plain

    return key


def _marked(render: Render, text: str) -> str:
    """For filters whose result cannot be matched with their input: all of it counts as the user's."""
    return text if render.marking is None else render.marking.mark(text)


def _string(render: Render, value: object) -> str:
    return render.text(value)


def _format(render: Render, value: object, *arguments: object, **named: object) -> str:
    if arguments and named:
        raise TypeError("can't handle positional and keyword arguments at the same time")
    return operations.percent_format(render, render.text(value), named or arguments)


def _int(render: Render, value: object, default: int = 0, base: int = 10) -> int:
    number = jinja_filters.do_int(value, default, base)
    render.budget.whole(number)
    return number


def _sum(render: Render, iterable: Iterable[object], attribute: str | int | None = None, start: object = 0) -> object:
    total = start
    for item in render.budget.metered(iterable):
        if isinstance(attribute, str) and isinstance(item, Mapping):
            item = item.get(attribute, Undefined(name=attribute))
        total = operations.add(render, total, item)
    return total


def _tojson(
    render: Render,
    x: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Hugging Face's tojson: no escapes for HTML, and the arguments of json.dumps."""
    render.budget.width(indent if isinstance(indent, int) else len(indent or ""))
    render.budget.width(max(map(len, separators)) if separators else 0)
    render.budget.walk(x)
    if sort_keys:
        x = _sorted_keys(render, x)
    text = json.dumps(x, ensure_ascii=False, indent=indent, separators=separators)
    render.budget.make(len(text))
    if not ensure_ascii:
        return text
    marking = render.marking
    # A twin is not the user's character: it must not be spelled as an escape.
    return _NOT_ASCII.sub(
        lambda match: match[0] if marking is not None and marking.has_twins(match[0]) else json.dumps(match[0])[1:-1],
        text,
    )


def _sorted_keys(render: Render, value: object) -> object:
    """json.dumps would sort by twins."""
    if isinstance(value, dict):
        return {key: _sorted_keys(render, value[key]) for key in sorted(value, key=_order(render, case_sensitive=True))}
    return [_sorted_keys(render, item) for item in value] if isinstance(value, list | tuple) else value


_OWN: Mapping[str, Function] = {
    "capitalize": _case("capitalize"),
    "dictsort": _dictsort,
    "e": _escape,
    "escape": _escape,
    "forceescape": _force_escape,
    "format": _format,
    "indent": _indent,
    "int": _int,
    "join": _join,
    "lower": _case("lower"),
    "replace": _replace,
    "safe": _safe,
    "sort": _sort,
    "string": _string,
    "striptags": _striptags,
    "sum": _sum,
    "title": _title,
    "tojson": _tojson,
    "trim": _trim,
    "truncate": _truncate,
    "upper": _case("upper"),
    "urlencode": _urlencode,
    "wordcount": _wordcount,
    "wordwrap": _wordwrap,
}
