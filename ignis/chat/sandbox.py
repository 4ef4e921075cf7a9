"""The Jinja environment that chat templates run in: Hugging Face's dialect, in which every operation is charged.

Jinja's own sandbox keeps a template away from Python. It does not keep it from running for ever, so the code that Jinja
generates is changed to pass every loop turn, call, operator, comparison and text it builds through this class.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import jinja2
from jinja2 import nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, Undefined
from jinja2.sandbox import MAX_RANGE, ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Cycler, Joiner, Namespace
from markupsafe import Markup

from ignis.chat import operations
from ignis.chat.budget import TemplateCut
from ignis.chat.filters import build_filters, build_tests
from ignis.chat.operations import Render

_MAX_FORMAT_CHARACTERS = 256
_OPERATORS: dict[str, Callable[[Render, object, object], object]] = {
    "+": operations.add,
    "*": operations.multiply,
    "**": operations.power,
    "%": operations.modulo,
}


class TemplateRefusal(jinja2.TemplateError):
    """The template called raise_exception."""


class _Charger(CodeGenerator):
    """Jinja's code generator, with the operations that its sandbox leaves alone going through the environment."""

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        self.write("environment.compare(")
        self.visit(node.expr, frame)
        for operand in node.ops:
            self.write(f", {operand.op!r}, ")
            self.visit(operand.expr, frame)
        self.write(")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.concatenate((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        self.write("environment.pairs((")
        for pair in node.items:
            self.write("(")
            self.visit(pair.key, frame)
            self.write(", ")
            self.visit(pair.value, frame)
            self.write("), ")
        self.write("))")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        if not isinstance(node.arg, nodes.Slice):
            super().visit_Getitem(node, frame)
            return
        self.write("environment.cut(")
        self.visit(node.node, frame)
        for bound in (node.arg.start, node.arg.stop, node.arg.step):
            self.write(", ")
            if bound is None:
                self.write("None")
            else:
                self.visit(bound, frame)
        self.write(")")


class _Generation(Extension):
    """{% generation %}...{% endgeneration %} marks the assistant's tokens for training; here it is only a scope."""

    tags = {"generation"}  # noqa: RUF012 - Jinja declares it so

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("pass_on"), [], [], body).set_lineno(line)

    def pass_on(self, caller: Macro) -> str:
        return caller()


class _Namespace(Namespace):
    """namespace(): a template may not reach Python's own attributes by it, nor print what it holds."""

    def __init__(*arguments: Any, **named: object) -> None:
        self, *pairs = arguments  # so that a template may set an attribute called self
        attributes = dict(*pairs, **named)
        for name in attributes:
            _check_attribute(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: object) -> None:
        _check_attribute(name)
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        return "<Namespace>"


def _check_attribute(name: str) -> None:
    if name.startswith("_"):
        raise SecurityError(f"a namespace cannot hold {name!r}")


class _Formatter(SandboxedFormatter):
    """str.format without widths that ask for memory."""

    def __init__(self, environment: "TemplateEnvironment", render: Render) -> None:
        super().__init__(environment)
        self._render = render

    def format_field(self, value: object, format_spec: str) -> str:
        for width in operations.WIDTH.findall(format_spec):
            self._render.budget.width(int(width[:9]))
        self._render.budget.walk(value)
        return str(super().format_field(value, format_spec))

    def convert_field(self, value: object, conversion: str | None) -> object:
        self._render.budget.walk(value)
        return super().convert_field(value, conversion)


class _Dict:
    """dict(...) and dict.fromkeys, without the class itself."""

    def __call__(self, *arguments: Any, **named: object) -> dict[str, object]:
        return dict(*arguments, **named)

    def fromkeys(self, keys: Iterable[object], value: object = None) -> dict[object, object]:
        return dict.fromkeys(keys, value)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """One for each template. Threads may render at the same time: what a rendering owns is the thread's own."""

    code_generator_class = _Charger
    intercepted_binops = frozenset(_OPERATORS)

    def __init__(self, now: Callable[[], datetime]) -> None:
        # Not optimized: the optimizer would run operations while it compiles, outside any budget.
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation], optimized=False, cache_size=0
        )
        self._local = threading.local()
        self._now = now
        self.finalize = _finalize
        self.filters = build_filters(self.current)
        self.tests = build_tests(self.current)
        self.globals = {
            "range": self._range,
            "dict": _Dict(),
            "cycler": Cycler,
            "joiner": Joiner,
            "namespace": _Namespace,
            "raise_exception": _raise_exception,
            "strftime_now": self._strftime_now,
        }

    @contextmanager
    def rendering(self, render: Render) -> Iterator[None]:
        """Makes `render` the one that this thread's operations are charged to."""
        self._local.render = render
        try:
            yield
        finally:
            del self._local.render

    def current(self) -> Render:
        render: Render = self._local.render
        return render

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for modifier in tree.find_all(nodes.EvalContextModifier):
            raise jinja2.TemplateSyntaxError("autoescape is not for chat templates", modifier.lineno)
        tick = nodes.EnvironmentAttribute("tick")
        for node in tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)):
            node.body.insert(0, nodes.ExprStmt(tick, lineno=node.lineno))  # type: ignore[attr-defined]
            if isinstance(node, nodes.For) and node.test is not None:
                node.test = nodes.And(tick, node.test, lineno=node.lineno)
        return tree

    @property
    def tick(self) -> bool:
        """One turn of a loop or one call of a macro. A property, because the generated code can only name it."""
        self._local.render.budget.step()
        return True

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        return _OPERATORS[operator](self._local.render, left, right)

    def compare(self, left: object, *operands: object) -> bool:
        """`operands`: name, value, name, value: a chain as in Python."""
        render: Render = self._local.render
        for symbol, right in zip(operands[::2], operands[1::2], strict=True):
            if not operations.compare(render, str(symbol), left, right):
                return False
            left = right
        return True

    def concatenate(self, parts: tuple[object, ...]) -> str:
        return operations.concatenate(self._local.render, parts)

    def concat(self, parts: Iterable[str]) -> str:
        """Joins what a macro or a block wrote."""
        return operations.join(self._local.render, "", list(parts))

    def pairs(self, pairs: tuple[tuple[object, object], ...]) -> dict[object, object]:
        self._local.render.budget.walk(*(key for key, _ in pairs if isinstance(key, tuple)))
        return dict(pairs)

    def cut(self, value: object, start: object, stop: object, step: object) -> object:
        self._local.render.budget.step((len(value) if isinstance(value, str | list | tuple) else 0) >> 4)
        return value[start:stop:step]  # type: ignore[index]

    def getitem(self, obj: object, argument: object) -> object:
        if isinstance(argument, tuple):
            self._local.render.budget.walk(argument)
        return super().getitem(obj, argument)

    def wrap_str_format(self, value: object) -> Callable[..., str] | None:
        if not isinstance(value, BuiltinMethodType) or value.__name__ not in ("format", "format_map"):
            return None
        template = value.__self__
        if not isinstance(template, str):
            return None
        is_map = value.__name__ == "format_map"

        def format_text(*arguments: Any, **named: object) -> str:
            render = self.current()
            values = arguments[0] if is_map else named
            text: str = _Formatter(self, render).vformat(template, () if is_map else arguments, values)
            render.budget.make(len(text))
            return text

        return format_text

    def call(self, context: Context, callee: object, /, *arguments: object, **named: object) -> object:
        render: Render = self._local.render
        render.budget.step()
        owner = callee.__self__ if isinstance(callee, BuiltinMethodType | MethodType) else None
        if isinstance(callee, BuiltinMethodType) or isinstance(owner, Markup):
            named.pop("_loop_vars", None)
            named.pop("_block_vars", None)
            return operations.call_method(render, owner, callee.__name__, arguments, named)  # type: ignore[attr-defined]
        if isinstance(owner, LoopContext | Cycler | _Dict) or isinstance(callee, _Dict):
            render.budget.walk(*arguments, *named.values())
        elif not (
            isinstance(callee, Macro | BlockReference | LoopContext | Joiner | Undefined | FunctionType)
            or isinstance(owner, TemplateEnvironment | _Generation)
            or callee in (Cycler, Joiner, _Namespace)
        ):
            raise SecurityError(f"{callee!r} is not for templates")
        return super().call(context, callee, *arguments, **named)

    def _range(self, *arguments: int) -> range:
        numbers = range(*arguments)
        if len(numbers) > MAX_RANGE:
            raise TemplateCut(f"it counts to more than {MAX_RANGE}")
        return numbers

    def _strftime_now(self, format: str) -> str:
        if len(format) > _MAX_FORMAT_CHARACTERS:
            raise ValueError(f"strftime_now takes at most {_MAX_FORMAT_CHARACTERS} characters")
        return self._now().strftime(format)


@pass_context
def _finalize(context: Context, value: object) -> object:
    """Charges what is about to be printed. It takes the context so that Jinja does not fold constants through it."""
    environment = context.environment
    assert isinstance(environment, TemplateEnvironment)
    return environment.current().text(value)


def _raise_exception(message: object) -> None:
    raise TemplateRefusal(str(message))
