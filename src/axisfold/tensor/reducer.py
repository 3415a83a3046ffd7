# SPDX-License-Identifier: Apache-2.0
"""Reducers: what a fold does with elements, as plain Python functions of expressions."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

from axisfold.dtypes import FLOAT32, INT32, SUPPORTED, DType, accumulator, holds
from axisfold.errors import ReducerError
from axisfold.ir.expr import Const, Expr
from axisfold.tensor.values import Composite, Form, components

FACTS: Final = frozenset({"commutative", "ordered", "exact", "idempotent", "first"})
STATE_SPECS: Final = ("acc", "compensated", "compensated_real", "held", "input")
# Graphs of other libraries hold text but no reducers, and may be read by another process.
_PROCESS: Final = os.urandom(6).hex()
_numbers: Final = count()
_tokens: Final[WeakValueDictionary[str, Reducer]] = WeakValueDictionary()


class Reducer:
    """A fold: a state, its identity, and how elements and states join it.

    Parameters
    ----------
    name
        Name in messages and in printed IR.
    state
        Field names with their dtypes.  A dtype is a dtype name, or ``"acc"`` (the accumulator
        dtype of the input: float64, int64, uint64 or complex128), ``"compensated"`` (the same,
        as a TwoSum pair where the input is as wide as the accumulator), ``"compensated_real"``
        (likewise, for a real sum also of complex inputs), ``"input"`` (the input's own dtype;
        floats of 16 bits are held as float32, which is exact), or ``"held"`` (the same, but truth
        values and integers of fewer than 32 bits are held as int32, beside a wider field).
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
    spread
        ``lambda x, r: …``: an element of a result that has the input's shape, from an input
        element (several inputs: ``lambda x, y, r: …``) and what ``finalize`` returned for the
        fold that the element is part of: a value, or names as attributes (``r.mean``); without
        ``finalize`` the state.  A parameter named ``index`` receives what ``lift``'s does.  A
        dict gives several results.  The fold returns these in the place of ``finalize``'s:
        ``x - mean``, or softmax.
    absorb
        ``lambda state, x: …``: a cheaper ``combine(state, lift(x))``.
    tile
        ``lambda t: …``: the state of a short run of elements, by te reductions over the run:
        ``t.sum(lambda x: …)``, ``t.max``, ``t.min``, and ``t.count``.  Used where it is faster.
    facts
        Of ``commutative`` (assumed unless ``ordered``), ``ordered``, ``exact``, ``idempotent``, and
        ``first``: a state that is not the identity stays as it is, whatever later elements are, as
        the index of the first true one.  Where its fields are no floats, folds end there.
    gradient
        ``lambda x, result, upstream: …``, or ``lambda x, y, result, upstream: …`` for several
        inputs: the gradient of a loss by the elements, where ``upstream`` is that by the result.
        All are whole arrays of PyTorch or JAX: the inputs of one rank, ``result`` and
        ``upstream`` with the folded axes of extent 1, or of the elements' shape if there is a
        ``spread`` (several results are attributes, ``result.mean``); what is returned broadcasts
        to the elements' shape, in a tuple for several inputs.  Parameters named ``xp`` (the
        module ``torch`` or ``jax.numpy``), ``axis`` (the folded axes), ``count`` and ``where``
        (which elements are folded, None for all) are filled when asked for.  By default the
        gradient is derived, where there is no ``spread`` and ``combine`` treats each field by
        itself as a sum, product, minimum or maximum.
    absorbing
        The state that no other changes (True of a disjunction, 0 of a product of integers), given
        as ``identity`` is; None, or a function that returns None, where there is none.  A fold that
        has reached it need not read on.

    Raises
    ------
    ReducerError
        ``R101`` to ``R105``: the parts do not fit together.

    Notes
    -----
    Parameters with default values are never filled: ``lambda x, k=k: k * x`` takes one input.

    Examples
    --------
    >>> Reducer("sum", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s)
    Reducer('sum', state={'s': 'acc'}, facts=['commutative'])
    """

    __slots__ = (
        "__weakref__", "absorb", "absorbing", "combine", "facts", "finalize", "gradient",
        "identity", "input_names", "lift", "name", "spread", "state", "tile", "token", "uses_index",
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
        gradient: Callable[..., Any] | None = None,
        spread: Callable[..., Any] | None = None,
        absorbing: Any = None,
    ) -> None:
        self.name = name
        self.state = MappingProxyType(_checked_state(name, state))
        self.identity = _checked_fields(name, self.state, identity, "identity")
        self.absorbing: Mapping[str, Any] = MappingProxyType({})
        if absorbing is not None:
            self.absorbing = _checked_fields(name, self.state, absorbing, "absorbing")
        self.lift, self.combine, self.finalize = lift, combine, finalize
        self.absorb, self.tile, self.gradient = absorb, tile, gradient
        self.spread = spread
        self.facts = checked_facts(name, facts)
        parameters = required_parameters(name, "lift", lift)
        self.uses_index = "index" in parameters
        self.input_names = tuple(p for p in parameters if p != "index")
        if not self.input_names:
            raise ReducerError(f"lift of reducer {name!r} takes no element.", code="R104")
        if len(required_parameters(name, "combine", combine)) != 2:
            raise ReducerError(
                f"combine of reducer {name!r} must take two states.",
                code="R105",
                hint="Write lambda a, b: …",
            )
        if spread is not None:
            self._check_spread(spread)
        self.token = f"{name}-{_PROCESS}-{next(_numbers)}"
        _tokens[self.token] = self

    def _check_spread(self, spread: Callable[..., Any]) -> None:
        given = required_parameters(self.name, "spread", spread)
        self.uses_index = self.uses_index or "index" in given
        if len([p for p in given if p != "index"]) != len(self.input_names) + 1:
            names = ", ".join(self.input_names)
            raise ReducerError(
                f"spread of reducer {self.name!r} must take an element of each input ({names}) and "
                "what finalize returned.",
                code="R116",
                hint=f"Write lambda {names}, r: …",
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
        if spec == "held" and (dtype.is_bool or (dtype.is_integer and dtype.bits < INT32.bits)):
            return Form(INT32)
        if spec in ("held", "input"):
            return Form(FLOAT32 if dtype.is_half else dtype)
        if spec == "compensated_real" and dtype.is_complex:
            dtype = DType("float", dtype.bits // 2)
        if spec in ("acc", "compensated", "compensated_real"):
            held = accumulator(dtype)
            as_wide = held.bits == dtype.bits and not dtype.is_integer
            return Form(held, is_pair=spec != "acc" and as_wide)
        return Form(SUPPORTED[spec])

    def identity_parts(self, field: str, form: Form) -> list[Expr]:
        """Return the real components of a field's identity.

        Raises
        ------
        ReducerError
            ``R106``: the value does not fit the field's dtype.
        """
        return self._constant("identity", field, form, _value(self.identity[field], form))

    def absorbing_parts(self, forms: Mapping[str, Form]) -> list[Expr]:
        """Return the real components of the absorbing state; none, if there is no such state.

        Raises
        ------
        ReducerError
            ``R106``, ``R107``: as of the identity.
        """
        values = {n: _value(given, forms[n]) for n, given in self.absorbing.items()}
        if not values or any(value is None for value in values.values()):
            return []
        return [
            part
            for name, form in forms.items()
            for part in self._constant("absorbing", name, form, values[name])
        ]

    def _constant(self, what: str, field: str, form: Form, value: Any) -> list[Expr]:
        is_number = isinstance(value, (bool, int, float, complex))
        if is_number and not holds(form.dtype, value):
            raise ReducerError(
                f"{what} {value!r} of field {field!r} of reducer {self.name!r} does not fit "
                f"its dtype {form.dtype}.",
                code="R106",
                hint="Give a value of that dtype, or a function of the dtype "
                "such as axisfold.lowest.",
            )
        if is_number or isinstance(value, Const):
            return components(form.coerce(value))
        raise ReducerError(
            f"{what} {value!r} of field {field!r} of reducer {self.name!r} is not a number.",
            code="R107",
        )


def by_token(token: str) -> Reducer:
    """Return the reducer that a token names.

    Raises
    ------
    ReducerError
        ``R132``: this process has none.
    """
    reducer = _tokens.get(token)
    if reducer is None:
        raise ReducerError(
            f"a compiled graph folds with reducer {token!r}, which this process does not have.",
            code="R132",
            hint="Keep the Reducer as long as the graph, and compile again in another process.",
        )
    return reducer


def _value(given: Any, form: Form) -> Any:
    """Return what is given for a field: a value, or a function of its dtype."""
    value = given(form.dtype) if callable(given) else given
    return value.item() if isinstance(value, np.generic) else value


def required_parameters(name: str, what: str, function: Any) -> list[str]:
    """Return the names of the parameters that have to be given.

    Raises
    ------
    ReducerError
        ``R104``: no function, or none that tells its parameters.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ReducerError(
            f"{what} of reducer {name!r} is no function with known parameters: {function!r}.",
            code="R104",
            hint="Wrap it: lambda x: …",
        ) from error
    optional = inspect.Parameter.VAR_KEYWORD
    return [p.name for p in parameters if p.default is p.empty and p.kind is not optional]


def _checked_state(name: str, state: Mapping[str, str]) -> dict[str, str]:
    given: object = state
    if not isinstance(given, Mapping) or not given:
        raise ReducerError(
            f"reducer {name!r} has no state.", code="R101", hint='Give a dict such as {"s": "acc"}.'
        )
    for field, spec in dict[Any, Any](state).items():
        if not str(field).isidentifier() or str(field).startswith("__"):
            raise ReducerError(
                f"state field {field!r} of reducer {name!r} is not a name.", code="R101"
            )
        if not isinstance(spec, str) or (spec not in STATE_SPECS and spec not in SUPPORTED):
            raise ReducerError(
                f"state field {field!r} of reducer {name!r} has unknown dtype {spec!r}.",
                code="R101",
                hint=f"Use {', '.join(STATE_SPECS)} or a dtype name.",
            )
    return dict(state)


def _checked_fields(
    name: str, state: Mapping[str, str], given: Any, what: str
) -> Mapping[str, Any]:
    """Return the value of each field, of the identity or the absorbing state."""
    if not isinstance(given, Mapping):
        if len(state) != 1:
            raise ReducerError(
                f"{what} of reducer {name!r} is one value for {len(state)} fields.",
                code="R102",
                hint="Give a dict with a value for each field.",
            )
        given = {next(iter(state)): given}
    if set(given) != set(state):
        raise ReducerError(
            f"{what} of reducer {name!r} has fields {sorted(given)}, its state {sorted(state)}.",
            code="R102",
        )
    return MappingProxyType(dict(given))


def checked_facts(name: str, facts: Iterable[str]) -> frozenset[str]:
    """Return facts with ``commutative``, which holds unless they say ``ordered``.

    Raises
    ------
    ReducerError
        ``R103``: an unknown fact, or two that exclude each other.
    """
    given = frozenset([facts] if isinstance(facts, str) else facts)
    if not given <= FACTS or {"commutative", "ordered"} <= given:
        raise ReducerError(
            f"facts {sorted(given, key=str)} of reducer {name!r} are not legal.",
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
    if isinstance(result, State):
        fields = dict(result._axisfold_fields)
    elif isinstance(result, Mapping):
        fields = dict(result)
    elif isinstance(result, (tuple, list)):
        fields = dict(zip(names, result, strict=False)) if len(result) == len(names) else {}
    elif len(names) == 1 and (result is not None):
        fields = {names[0]: result}
    else:
        fields = {}
    if set(fields) != set(names):
        raise ReducerError(
            f"{what} of reducer {reducer.name!r} returned {describe(result)}, but the state has "
            f"fields {names}.",
            code="R108",
            hint="Return a dict with exactly these fields, or a tuple in this order.",
        )
    return fields


class State:
    """The fields of a state as attributes (``a.s``)."""

    __slots__ = ("_axisfold_fields", "_axisfold_name")

    def __init__(self, reducer: Reducer, fields: dict[str, Any]) -> None:
        object.__setattr__(self, "_axisfold_name", reducer.name)
        object.__setattr__(self, "_axisfold_fields", fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and NumPy ask for what they know
            raise AttributeError(name)
        fields = self._axisfold_fields
        if name in fields:
            return fields[name]
        raise ReducerError(
            f"the state of reducer {self._axisfold_name!r} has no field {name!r}.",
            code="R109",
            hint=f"Its fields are {list(fields)}.",
        )

    def __setattr__(self, name: str, value: Any) -> None:
        raise ReducerError(
            f"field {name!r} of a state of reducer {self._axisfold_name!r} cannot be set.",
            code="R112",
            hint="Return a new state: a dict with every field.",
        )

    def __repr__(self) -> str:
        return f"state of {self._axisfold_name!r} with fields {list(self._axisfold_fields)}"


def describe(result: Any) -> str:
    """Return what a user's function gave, in a few words."""
    if isinstance(result, Mapping):
        return f"fields {list(result)}"
    if isinstance(result, (tuple, list)):
        return f"{len(result)} values"
    return "one value" if isinstance(result, (Expr, Composite, int, float)) else repr(result)
