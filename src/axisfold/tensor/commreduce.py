# SPDX-License-Identifier: Apache-2.0
"""te's reducers: comm_reducer and the built-in sum, min and max over te axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from axisfold.dtypes import DType, fits, highest, lowest, parse
from axisfold.errors import ReducerError
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Const, Expr, Var
from axisfold.tensor.axis import Axis
from axisfold.tensor.reduce import make_reduce
from axisfold.tensor.reducer import checked_facts


class CommReducer:
    """A reducer of te: call it with what is folded and over which axes.

    Parameters
    ----------
    fcombine
        ``lambda x, y: …``; for several values both are tuples and so is the result.
    fidentity
        From the dtypes of the values to the identity: a constant or a tuple of constants, whose
        dtypes are the accumulators'.
    name
        Name in messages.
    facts
        What is known of it beyond associativity: ``commutative`` (assumed unless ``ordered``),
        ``ordered``, ``exact``, ``idempotent``.
    absorbing
        As ``fidentity``, the state that no other changes; None if there is none.

    Raises
    ------
    ReducerError
        ``R103``: unknown facts; ``R121``: ``fcombine`` does not take two parameters; ``R122``:
        identity or absorbing state and values do not match; ``R123``: it returns another number
        of values; ``R124``: an identity is no constant; ``R125``: it does not fit the dtype of its
        value.
    """

    def __init__(
        self,
        fcombine: Callable[..., Any],
        fidentity: Callable[..., Any],
        name: str = "reduce",
        facts: Iterable[str] = (),
        absorbing: Callable[..., Any] | None = None,
    ) -> None:
        self.fcombine, self.fidentity, self.name = fcombine, fidentity, name
        self.facts, self.absorbing = checked_facts(name, facts), absorbing
        functions = [("combiner", fcombine), ("identity", fidentity)]
        if absorbing is not None:
            functions.append(("absorbing state", absorbing))
        for what, function in functions:
            if not callable(function):
                raise ReducerError(
                    f"the {what} of {name!r} is no function but {function!r}.",
                    code="R125",
                    hint="Write te.comm_reducer(lambda x, y: …, lambda dtype: te.const(…, dtype)).",
                )
        if len(inspect.signature(fcombine).parameters) != 2:
            raise ReducerError(
                f"the combiner of {name!r} must take two parameters.",
                code="R121",
                hint="Write lambda x, y: …",
            )

    def __call__(
        self,
        expr: Any,
        axis: Any,
        where: Any = None,
        init: Any = None,
        *more: Any,
        absorb: Callable[..., Any] | None = None,
    ) -> Any:
        """Return the reduction of ``expr`` over ``axis``, a tuple if ``expr`` is one.

        Parameters
        ----------
        expr
            Value or tuple of values to fold.
        axis
            A reduce axis or several, outermost first.
        where
            Condition under which an element counts.
        init
            Start in place of the identity.
        absorb
            From the state, given as to ``fcombine``, to the state after one more element: what
            ``fcombine`` of the two gives, but cheaper.

        Raises
        ------
        ReducerError
            ``R123``: ``absorb`` returns another number of values.
        """
        if more or not _is_axis(axis):
            return self._combine_scalars(expr, axis, where, init, *more)
        many = isinstance(expr, (tuple, list))
        values = [build.as_expr(e) for e in (expr if many else [expr])]
        combiner = self.combiner([v.dtype for v in values])
        joined = () if absorb is None else self._absorbed(combiner, absorb)
        parts = make_reduce(combiner, values, axis, where, init, joined)
        return parts if many else parts[0]

    def _combine_scalars(self, *given: Any) -> Any:
        values = [v for v in given if v is not None]
        result = values[0]
        for value in values[1:]:
            result = self.fcombine(result, value)
        return result

    def combiner(self, dtypes: list[DType]) -> Combiner:
        """Return the typed combiner for values of given dtypes."""
        consts = self._state("identities", self.fidentity, dtypes, dtypes)
        absorbing: list[Const] = []
        if self.absorbing is not None:
            held = [c.dtype for c in consts]
            absorbing = self._state("absorbing values", self.absorbing, dtypes, held)
        lhs, rhs = self._sides(consts)
        merged = self.fcombine(*self._packed(lhs, rhs))
        typed = self._typed("combiner", merged, consts)
        return Combiner(lhs, rhs, typed, tuple(consts), self.facts, tuple(absorbing))

    def _state(
        self, what: str, function: Callable[..., Any], dtypes: list[DType], held: list[DType]
    ) -> list[Const]:
        """Return the constants that a function of the dtypes gives, one for each value."""
        given = function(*(d.name for d in dtypes))
        values = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(values) != len(dtypes):
            raise ReducerError(
                f"reducer {self.name!r} folds {len(dtypes)} values but has {len(values)} {what}.",
                code="R122",
            )
        return [self._constant(v, d) for v, d in zip(values, held, strict=True)]

    def _typed(self, what: str, returned: Any, consts: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return a state that a user's function gave, in the dtypes of the identity."""
        results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if len(results) != len(consts):
            raise ReducerError(
                f"the {what} of {self.name!r} returns {len(results)} values for a state of "
                f"{len(consts)}.",
                code="R123",
            )
        return tuple(build.cast(c.dtype, r) for c, r in zip(consts, results, strict=True))

    def _absorbed(self, combiner: Combiner, absorb: Callable[..., Any]) -> tuple[Expr, ...]:
        state = combiner.lhs if len(combiner.lhs) > 1 else combiner.lhs[0]
        return self._typed("absorb", absorb(state), combiner.identity)

    def _constant(self, start: Any, dtype: DType) -> Const:
        """Return an identity: a plain number has the dtype of the value that is folded."""
        if type(start) in (bool, int, float):
            if not fits(start, dtype):
                raise ReducerError(
                    f"identity {start!r} of reducer {self.name!r} does not fit dtype {dtype}.",
                    code="R125",
                    hint="Give a constant of the dtype that the state should have: "
                    "te.const(value, dtype).",
                )
            return build.const(start, dtype)
        expr = build.as_expr(start)
        if not isinstance(expr, Const):
            raise ReducerError(f"an identity of reducer {self.name!r} is no constant.", code="R124")
        return expr

    def _sides(self, consts: list[Const]) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
        """Variables named after the combiner's parameters, numbered where there are several."""
        sides = []
        for parameter in inspect.signature(self.fcombine).parameters:
            many = len(consts) > 1
            names = [f"{parameter}_{i}" if many else parameter for i in range(len(consts))]
            sides.append(tuple(Var(n, c.dtype) for n, c in zip(names, consts, strict=True)))
        return sides[0], sides[1]

    @staticmethod
    def _packed(lhs: tuple[Var, ...], rhs: tuple[Var, ...]) -> tuple[Any, Any]:
        return (lhs, rhs) if len(lhs) > 1 else (lhs[0], rhs[0])


def _is_axis(axis: Any) -> bool:
    return isinstance(axis, (Axis, tuple, list))


def comm_reducer(
    fcombine: Callable[..., Any],
    fidentity: Callable[..., Any],
    name: str = "reduce",
    facts: Iterable[str] = (),
    absorbing: Callable[..., Any] | None = None,
) -> CommReducer:
    """Return a reducer, commutative unless ``facts`` say ``ordered``; see :class:`CommReducer`."""
    return CommReducer(fcombine, fidentity, name, facts, absorbing)


def _larger(x: Any, y: Any) -> Expr:
    return build.maximum(x, y)


def _smaller(x: Any, y: Any) -> Expr:
    return build.minimum(x, y)


sum = CommReducer(lambda x, y: x + y, lambda t: build.const(0, t), "sum")
max = CommReducer(_larger, lambda t: build.const(lowest(parse(t)), t), "max")
min = CommReducer(_smaller, lambda t: build.const(highest(parse(t)), t), "min")

__all__ = ["CommReducer", "comm_reducer", "max", "min", "sum"]
