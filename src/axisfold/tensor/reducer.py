# SPDX-License-Identifier: Apache-2.0
"""Reducers: what a fold does with elements, as plain Python functions of expressions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from axisfold.dtypes import SUPPORTED, DType, accumulator, fits
from axisfold.errors import ReducerError
from axisfold.ir.expr import Const, Expr
from axisfold.tensor.values import Complex, Form, components

FACTS: Final = frozenset({"commutative", "ordered", "exact", "idempotent", "absorbing"})
STATE_SPECS: Final = ("acc", "compensated", "input")


class Reducer:
    """A fold: a state, its identity, and how elements and states join it.

    Parameters
    ----------
    name
        Name in messages and in printed IR.
    state
        Field names with their dtypes.  A dtype is a dtype name, or ``"acc"`` (the accumulator
        dtype of the input: float64, int64, uint64 or complex128), ``"compensated"`` (the same,
        as a TwoSum pair where the input is as wide as the accumulator), or ``"input"`` (the
        input's own dtype; float16 is held as float32, which is exact).
    identity
        The state of no elements: a number for each field, or a function from the field's dtype
        to a number; a bare value if there is one field.  A true identity (±inf, not ±FLT_MAX).
    lift
        From an element to a state: ``lambda x: …``, ``lambda x, y: …`` for several inputs.  A
        parameter named ``index`` receives the flat int64 C-order index of the element over the
        folded axes.  Returns a dict, a tuple in field order, or a bare value for one field.
    combine
        From two states to one: ``lambda a, b: …``; ``a.s`` is field ``s``.  All fields of the
        result are computed before any is stored.
    finalize
        From a state to a result: ``lambda a: …`` or ``lambda a, count: …`` with the number of
        folded elements as an int64.  A dict gives several results.  By default the fields.
    absorb
        ``lambda state, x: …``: a cheaper ``combine(state, lift(x))``.
    tile
        ``lambda t: …``: the state of a short run of elements, by te reductions over the run:
        ``t.sum(lambda x: …)``, ``t.max``, ``t.min``, and ``t.count``.  Used where it is faster.
    facts
        Of ``commutative`` (assumed unless ``ordered``), ``ordered``, ``exact``,
        ``idempotent``, ``absorbing``.

    Raises
    ------
    ReducerError
        ``R101`` to ``R105``: the parts do not fit together.

    Examples
    --------
    >>> Reducer("sum", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s)
    Reducer('sum', state={'s': 'acc'}, facts=['commutative'])
    """

    __slots__ = (
        "__weakref__", "absorb", "combine", "facts", "finalize", "identity", "input_names",
        "lift", "name", "state", "tile", "uses_index",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        state: Mapping[str, str],
        identity: Any,
        lift: Callable[..., Any],
        combine: Callable[..., Any],
        finalize: Callable[..., Any] | None = None,
        absorb: Callable[..., Any] | None = None,
        tile: Callable[..., Any] | None = None,
        facts: Iterable[str] = (),
    ) -> None:
        self.name = name
        self.state = MappingProxyType(_checked_state(name, state))
        self.identity = _checked_identity(name, self.state, identity)
        self.lift, self.combine, self.finalize = lift, combine, finalize
        self.absorb, self.tile = absorb, tile
        self.facts = _checked_facts(name, facts)
        parameters = list(inspect.signature(lift).parameters)
        self.uses_index = "index" in parameters
        self.input_names = tuple(p for p in parameters if p != "index")
        if not self.input_names:
            raise ReducerError(f"lift of reducer {name!r} takes no element.", code="R104")
        if len(inspect.signature(combine).parameters) != 2:
            raise ReducerError(
                f"combine of reducer {name!r} must take two states.",
                code="R105",
                hint="Write lambda a, b: …",
            )

    def __repr__(self) -> str:
        return f"Reducer({self.name!r}, state={dict(self.state)}, facts={sorted(self.facts)})"

    @property
    def is_ordered(self) -> bool:
        """Whether elements must be folded in C order."""
        return "ordered" in self.facts

    def form(self, field: str, dtype: DType) -> Form:
        """Return how a field is held when elements have ``dtype``."""
        spec = self.state[field]
        if spec == "input":
            return Form(DType("float", 32) if dtype == DType("float", 16) else dtype)
        if spec in ("acc", "compensated"):
            held = accumulator(dtype)
            as_wide = held.bits == dtype.bits and dtype.kind in ("float", "complex")
            return Form(held, is_pair=spec == "compensated" and as_wide)
        return Form(SUPPORTED[spec])

    def identity_parts(self, field: str, form: Form) -> list[Expr]:
        """Return the real components of a field's identity.

        Raises
        ------
        ReducerError
            ``R106``: the value does not fit the field's dtype.
        """
        given = self.identity[field]
        value = given(form.dtype) if callable(given) else given
        if isinstance(value, (bool, int, float)) and not fits(value, form.dtype):
            raise ReducerError(
                f"identity {value!r} of field {field!r} of reducer {self.name!r} does not fit "
                f"its dtype {form.dtype}.",
                code="R106",
                hint="Give a value of that dtype, or a function of the dtype "
                "such as axisfold.lowest.",
            )
        parts = components(form.coerce(value))
        if not all(isinstance(p, Const) for p in parts):
            raise ReducerError(
                f"identity of field {field!r} of reducer {self.name!r} is not a constant.",
                code="R107",
            )
        return parts


def _checked_state(name: str, state: Mapping[str, str]) -> dict[str, str]:
    given: object = state
    if not isinstance(given, Mapping) or not given:
        raise ReducerError(
            f"reducer {name!r} has no state.", code="R101", hint='Give a dict such as {"s": "acc"}.'
        )
    for field, spec in state.items():
        if not str(field).isidentifier():
            raise ReducerError(
                f"state field {field!r} of reducer {name!r} is not a name.", code="R101"
            )
        if spec not in STATE_SPECS and spec not in SUPPORTED:
            raise ReducerError(
                f"state field {field!r} of reducer {name!r} has unknown dtype {spec!r}.",
                code="R101",
                hint=f"Use {', '.join(STATE_SPECS)} or a dtype name.",
            )
    return dict(state)


def _checked_identity(name: str, state: Mapping[str, str], identity: Any) -> Mapping[str, Any]:
    if not isinstance(identity, Mapping):
        if len(state) != 1:
            raise ReducerError(
                f"identity of reducer {name!r} is one value for {len(state)} fields.",
                code="R102",
                hint="Give a dict with a value for each field.",
            )
        identity = {next(iter(state)): identity}
    if set(identity) != set(state):
        raise ReducerError(
            f"identity of reducer {name!r} has fields {sorted(identity)}, its state "
            f"{sorted(state)}.",
            code="R102",
        )
    return MappingProxyType(dict(identity))


def _checked_facts(name: str, facts: Iterable[str]) -> frozenset[str]:
    given = frozenset(facts)
    unknown = sorted(given - FACTS)
    if unknown or {"commutative", "ordered"} <= given:
        raise ReducerError(
            f"facts {sorted(given)} of reducer {name!r} are not legal.",
            code="R103",
            hint=f"Choose from {sorted(FACTS)}; commutative and ordered exclude each other.",
        )
    return given if "ordered" in given else given | {"commutative"}


def returned_fields(reducer: Reducer, result: Any, what: str) -> dict[str, Any]:
    """Return what ``lift``, ``combine`` or ``absorb`` gave, by field.

    Raises
    ------
    ReducerError
        ``R108``: fields are missing or unknown.
    """
    names = list(reducer.state)
    if isinstance(result, Mapping):
        fields = dict(result)
    elif isinstance(result, (tuple, list)):
        fields = dict(zip(names, result, strict=False)) if len(result) == len(names) else {}
    elif len(names) == 1 and (result is not None):
        fields = {names[0]: result}
    else:
        fields = {}
    if set(fields) != set(names):
        raise ReducerError(
            f"{what} of reducer {reducer.name!r} returned {_describe(result)}, but the state has "
            f"fields {names}.",
            code="R108",
            hint="Return a dict with exactly these fields, or a tuple in this order.",
        )
    return fields


def _describe(result: Any) -> str:
    if isinstance(result, Mapping):
        return f"fields {list(result)}"
    if isinstance(result, (tuple, list)):
        return f"{len(result)} values"
    return "one value" if isinstance(result, (Expr, Complex, int, float)) else repr(result)
