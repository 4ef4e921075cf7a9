"""Compiles grammars in worker threads of their own, over a vocabulary that is made once a model."""

import functools
from collections.abc import Callable
from typing import TypeVar

import trio

from ignis.engine.deep_thread import start_deep
from ignis.engine.lifecycle import LoadedModel
from ignis.errors import InternalError, ToolChoiceUnsupportedError, UnsupportedValueError
from ignis.grammar.forms import Form, Freedom
from ignis.grammar.grammar import Calls, compile_grammar
from ignis.grammar.vocabulary import Vocabulary
from ignis.scheduler.constraint import Constraint

Result = TypeVar("Result")

_NUM_WORKERS = 2
_ENDLESS = "this model has no token that ends an answer"


class Grammars:
    """The pool, and the vocabulary of the loaded model."""

    def __init__(self) -> None:
        self._workers = trio.CapacityLimiter(_NUM_WORKERS)
        self._making = trio.Lock()
        self._vocabulary: tuple[LoadedModel, Vocabulary] | None = None

    async def constraints(
        self,
        model: LoadedModel,
        form: Form | None,
        calls: Calls | None,
        *,
        freedom: Freedom,
        num_answers: int,
    ) -> tuple[Constraint, ...]:
        """Makes the constraint of each answer. The arguments are compile_grammar's.

        Raises:
            InvalidRequestError: what is asked for cannot be compiled.
            UnsupportedValueError, ToolChoiceUnsupportedError: it cannot be held, or the model has no token that ends a
            turn.
        """
        if not model.special.stop_ids:
            if form is None:
                raise ToolChoiceUnsupportedError(f"no call can be asked for: {_ENDLESS}")
            raise UnsupportedValueError(f"{form.param} is not served: {_ENDLESS}", form.param)
        vocabulary = await self._of(model)

        def compile_all() -> tuple[Constraint, ...]:
            grammar = compile_grammar(vocabulary, form, calls, freedom)
            return tuple(grammar.start() for _ in range(num_answers))

        # Abandoned on a cancel: compiling has bounds, and ends by itself.
        return await trio.to_thread.run_sync(_deeply, compile_all, abandon_on_cancel=True, limiter=self._workers)

    def forget(self) -> None:
        """Lets go of the vocabulary."""
        self._vocabulary = None

    async def prepare(self, model: LoadedModel) -> None:
        """Makes the model's vocabulary, so that no request pays for it, nor those that run beside one."""
        if model.special.stop_ids:
            await self._of(model)

    async def _of(self, model: LoadedModel) -> Vocabulary:
        async with self._making:
            known = self._vocabulary
            if known is None or known[0] is not model:
                make = functools.partial(Vocabulary, model.tokenizer, model.special.stop_ids, model.vocab_size)
                self._vocabulary = known = (model, await trio.to_thread.run_sync(make, limiter=self._workers))
            return known[1]


def _deeply(work: Callable[[], Result]) -> Result:
    """Runs work in a thread with a deep stack, and waits for it."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # a native library's panic is no Exception
            errors.append(error)

    start_deep(run, "ignis-grammar").join()
    if not errors:
        return results[0]
    if isinstance(errors[0], Exception):
        raise errors[0]
    raise InternalError(f"a grammar broke the compiler: {errors[0]}") from errors[0]
