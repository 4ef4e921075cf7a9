"""A template that would not end, or would not fit, is cut: soon, and without having made what it wanted to make."""

import tracemalloc

import pytest

from ignis.chat.budget import Budget, TemplateCut
from ignis.chat.render import ChatTemplate
from ignis.errors import IgnisError, TemplateError
from tests.fakes.vocabulary import byte_tokenizer

_GROW = "{{% set n = namespace(x='aaaaaaaa') %}}{{% for i in range(60) %}}{{% set n.x = {} %}}{{% endfor %}}"
_NEST = (
    "{% set n = namespace(a=[1], b=[1]) %}"
    "{% for i in range(60) %}{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor %}"
)
_TUPLE = "{% set n = namespace(a=(1,)) %}{% for i in range(60) %}{% set n.a = (n.a, n.a) %}{% endfor %}"
_LONG = "{% set s = 'ab' * 400000 %}{% for i in range(99999) %}"

ENDLESS = [
    "{% for i in range(10**9) %}x{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) if range(99999) | list | length < 0 %}{% endfor %}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% for x in [1] recursive %}{{ loop([1, 1]) if loop.depth < 60 }}{% endfor %}",
    "{% block a %}{{ self.a() }}{% endblock %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% macro r() %}{% call m() %}{{ r() }}{% endcall %}{% endmacro %}"
    "{{ r() }}",
]
HUGE = [
    "{{ 'a' * 10**10 }}",
    "{{ [0] * 10**9 }}",
    "{{ 10**9 * (1,) }}",
    "{{ 2 ** (2 ** 40) }}",
    "{{ 2 ** -(2 ** 60) }}",
    "{{ 'a' | safe * 10**10 }}",
    "{% set n = namespace(x=3) %}{% for i in range(60) %}{% set n.x = n.x * n.x %}{% endfor %}",
    "{{ ('f' * 100000) | int(base=16) }}",
    *(
        _GROW.format(step)
        for step in (
            "n.x + n.x",
            "n.x ~ n.x",
            "n.x | replace('a', 'aa')",
            "n.x.replace('a', 'aa')",
            "[n.x, n.x] | join(n.x)",
            "n.x.join([n.x, n.x, n.x])",
            "'%s%s' % (n.x, n.x)",
            "'%s%s' | format(n.x, n.x)",
            "'{0}{0}'.format(n.x)",
            "'{a}{a}'.format_map({'a': n.x})",
            "[n.x, n.x] | sum(start='')",
            "n.x | indent(n.x ~ '\\n', true)",
        )
    ),
    "{% set n = namespace(x='aa') %}"
    "{% for i in range(60) %}{% set y %}{{ n.x }}{{ n.x }}{% endset %}{% set n.x = y %}{% endfor %}",
    "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
    *(
        _NEST + use
        for use in (
            "{{ n.a }}",
            "{{ n.a | tojson }}",
            "{{ n.a | string }}",
            "{{ {'a': n.a}.items() }}",
            "{{ 'x' ~ n.a }}",
            "{{ '%s' % [n.a] }}",
            "{{ '{}'.format(n.a) }}",
            "{{ '{!r}'.format(n.a) }}",
            "{{ [n.a] | join }}",
            "{{ n.a | urlencode }}",
            "{{ 'a' | replace(n.a, 'b') }}",
            "{{ n.a == n.b }}",
            "{{ n.a in [n.b] }}",
            "{{ n.a is eq n.b }}",
            "{{ {'a': n.a}.items() | max == {'a': n.b}.items() | max }}",
            "{{ [n.a, n.b] | sort }}",
            "{{ [n.a, n.b] | reverse | max }}",
            "{{ {'a': n.a, 'b': n.b} | dictsort(by='value') }}",
            "{{ [n.a].index(n.b) }}",
            "{{ [n.a] | select('equalto', n.b) | list }}",
            "{% for x in [n.a, n.b] %}{{ loop.changed(x) }}{% endfor %}",
        )
    ),
    *(
        _TUPLE + use
        for use in (
            "{{ {n.a: 1} }}",
            "{{ {}[n.a] }}",
            "{{ {}.get(n.a) }}",
            "{{ n.a in {} }}",
            "{{ dict([(n.a, 1)]) }}",
            "{{ dict.fromkeys([n.a]) }}",
            "{{ [n.a] | unique | list }}",
            "{{ [{'a': n.a}] | groupby('a') }}",
        )
    ),
    "{{ 'a' | center(10**9) }}",
    *(f"{{{{ 'a'.{method}(10**9) }}}}" for method in ("center", "ljust", "rjust", "zfill")),
    "{{ ('\\t' * 1000).expandtabs(10**9) }}",
    "{{ 'a' | indent(10**9, true) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%*d' % (10**9, 1) }}",
    "{{ '%.1000000000f' % 1.5 }}",
    "{{ '%1000000000s' | format(1) }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '{:{}}'.format(1, 10**9) }}",
    "{{ [1] | batch(10**9, 0) | list }}",
    "{{ [1] | slice(10**9, 0) | list }}",
    "{{ [[1]] | tojson(indent=10**9) }}",
    "{{ [[1]] | tojson(separators=('a' * 100000, 'b')) }}",
    "{{ ([range(90000)] * 900) | map('list') | list }}",
    "{{ ([range(90000)] * 900) | map('join') | list }}",
    "{{ ([[1] * 9000] * 900) | sum(start=[]) }}",
    "{{ ('a' * 100000) | wordwrap(1) }}",
    "{{ ('<!--' * 200000) | striptags }}",
    "{{ ('x' * 100000) | replace('', 'y' * 100) }}",
    "{{ ('x' * 100000) | truncate(5, end='y' * 1000000) }}",
    *(
        f"{_LONG}{{% set t = {step} %}}{{% endfor %}}"
        for step in ("s[1:]", "s.upper()", "'c' in s", "s.split('b')", "s | list", "s | title", "s.count('c')")
    ),
    "{% set j = joiner('a' * 900000) %}{% for i in range(99999) %}{{ j() }}{% endfor %}",
    "{% for i in range(99999) %}{{ messages | tojson }}{% endfor %}",
]

FORBIDDEN = [
    "{{ ''.encode() }}",
    "{{ 'a'.translate({97: 'b' * 1000}) }}",
    "{{ (5).to_bytes(10**9, 'big') }}",
    "{{ ''.__class__ }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ messages.append(1) }}",
    "{{ messages[0].update(role='system') }}",
    "{{ '{0.__class__}'.format(messages) }}",
    "{% set n = namespace() %}{% set n.__class__ = 1 %}",
    "{{ namespace(__class__=1) }}",
    "{{ ('a' | safe).unescape() }}",
    "{% import 'os' as os %}",
    "{% include '/etc/passwd' %}",
    "{{ lipsum(n=10**6) }}",
]


def render(source: str) -> list[object]:
    return list(ChatTemplate(source, byte_tokenizer()).render([{"role": "user", "content": "hi"}]))


@pytest.mark.parametrize("source", ENDLESS)
def test_what_would_not_end_is_cut(source: str) -> None:
    with pytest.raises(TemplateError, match="the chat template was cut: "):
        render(source)


@pytest.mark.parametrize("source", HUGE)
def test_what_would_not_fit_is_cut_before_it_is_made(source: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(TemplateError, match="the chat template was cut: "):
            render(source)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 64 << 20


@pytest.mark.parametrize("source", FORBIDDEN)
def test_what_templates_have_no_business_with_is_refused(source: str) -> None:
    try:
        text = render(source)
    except IgnisError:
        return
    assert text == [], "what a template may not have is undefined, and prints as nothing"


def test_a_long_honest_history_is_not_cut() -> None:
    source = "{% for m in messages %}{{ m.role ~ ': ' ~ m.content | trim + '\\n' }}{{ messages | length }}{% endfor %}"
    messages = [{"role": "user", "content": "word " * 200}] * 2000
    assert len(ChatTemplate(source, byte_tokenizer()).render(messages)) == 1


def test_time_is_looked_at_too() -> None:
    times = iter([0.0, 4.0, 6.0])
    budget = Budget(0, clock=lambda: next(times))
    for _ in range(127):
        budget.step()
    with pytest.raises(TemplateCut, match="runs for too long"):
        budget.step()
