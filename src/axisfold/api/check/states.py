# SPDX-License-Identifier: Apache-2.0
"""States of a reducer on NumPy: what its functions say, evaluated expression by expression.

A state is a list of arrays, one for each real component, with one lane for each state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from axisfold.bfloat16 import bits_of, value_of
from axisfold.dtypes import DType, promote
from axisfold.errors import InternalError
from axisfold.ir.expr import Expr, Load, Var
from axisfold.sim.expressions import Expressions, Lanes
from axisfold.tensor.trace import Member, TilePass, trace
from axisfold.tensor.values import Form

Array: TypeAlias = NDArray[Any]
State: TypeAlias = list[Array]


class States:
    """What the functions of a reducer compute for elements of given dtypes.

    Parameters
    ----------
    member
        The reducer, and how elements are converted first.
    dtypes
        Dtypes of the inputs' elements.
    """

    def __init__(self, member: Member, dtypes: Sequence[DType]) -> None:
        self.member, self.dtypes = member, tuple(dtypes)
        self.traced = trace([member], dtypes)
        self.reducer = reducer = member.reducer
        common = reduce(promote, [member.compute or dtype for dtype in dtypes])
        self.forms: dict[str, Form] = {n: reducer.form(n, common) for n in reducer.state}

    def identity(self) -> State:
        """Return the state of no elements."""
        return self._values(self.traced.combiner.identity, {}, 1)

    def absorbing(self) -> State:
        """Return the absorbing state, of a reducer that has one."""
        return self._values(self.traced.combiner.absorbing, {}, 1)

    def lift(self, elements: Sequence[Array], first: int = 0) -> State:
        """Return the states of single elements, numbered from ``first``."""
        mapping = self._element_values(elements, first)
        return self._values(self.traced.lifted, mapping, len(elements[0]))

    def combine(self, a: State, b: State) -> State:
        """Return merged states."""
        combiner = self.traced.combiner
        mapping = dict(zip((*combiner.lhs, *combiner.rhs), (*a, *b), strict=True))
        return self._values(combiner.result, mapping, len(a[0]))

    def absorb(self, a: State, elements: Sequence[Array], index: int) -> State:
        """Return states after one more element each."""
        mapping = {
            **dict(zip(self.traced.combiner.lhs, a, strict=True)),
            **self._element_values(elements, index),
        }
        return self._values(self.traced.absorb, mapping, len(a[0]))

    def fold(self, states: State) -> State:
        """Return the one state of all lanes, merged in pairs of neighbours."""
        count = len(states[0])
        if not count:
            return self.identity()
        while count > 1:
            even, odd = [c[: count & ~1 : 2] for c in states], [c[1::2] for c in states]
            merged = self.combine(even, odd)
            rest = [c[count & ~1 :] for c in states]
            states = [np.concatenate(pair) for pair in zip(merged, rest, strict=True)]
            count = len(states[0])
        return states

    def tile(self, elements: Sequence[Array], first: int = 0) -> State:
        """Return the state of a run of elements by the reducer's ``tile``."""
        count, traced = len(elements[0]), self.traced
        known: dict[Var, Array] = {traced.run.count: np.array([count])}
        head = self._element_values([e[:1] for e in elements], first)
        for variable, value in traced.tile_heads:
            (known[variable],) = self._values([value], head, 1)
        for tile_pass in traced.tile_passes:
            mapping = {**self._element_values(elements, first), **known}
            mapping[traced.run.place] = np.arange(count, dtype=np.int32)
            found = self._run(tile_pass, mapping, count)
            for place in tile_pass.places:
                found[place] = found[place].astype(np.int64) + first
            known.update(zip(tile_pass.results, found, strict=True))
        return self._values(traced.tile_state, known, 1)

    def _run(self, tile_pass: TilePass, mapping: dict[Var, Array], count: int) -> State:
        """Fold one element after the other."""
        combiner = tile_pass.combiner
        values = self._values(tile_pass.sources, mapping, count)
        total = self._values(combiner.identity, {}, 1)
        for n in range(count):
            state = dict(zip(combiner.lhs, total, strict=True))
            if tile_pass.absorb:
                here = {v: a[n : n + 1] if len(a) == count else a for v, a in mapping.items()}
                total = self._values(tile_pass.absorb, {**here, **state}, 1)
                continue
            item = zip(combiner.rhs, (v[n : n + 1] for v in values), strict=True)
            total = self._values(combiner.result, {**state, **dict(item)}, 1)
        return total

    def results(self, state: State, count: int) -> dict[str, Array]:
        """Return what the fold returns for a state of ``count`` elements."""
        mapping = {
            **dict(zip(self.traced.combiner.lhs, state, strict=True)),
            self.traced.count: np.array([count]),
        }
        found = {}
        for result in self.traced.results:
            parts = self._values(result.parts, mapping, 1)
            found[result.name] = _assembled(Form(result.dtype), parts)
        return found

    def fields(self, state: State) -> dict[str, Array]:
        """Return a state's fields as numbers; a compensated one as its sum."""
        found, position = {}, 0
        for name, form in self.forms.items():
            width = len(form.names)
            found[name] = _assembled(form, state[position : position + width])
            position += width
        return found

    def _element_values(self, elements: Sequence[Array], first: int) -> dict[Var, Array]:
        found: dict[Var, Array] = {}
        for variables, values in zip(self.traced.elements, elements, strict=True):
            parts = [values.real, values.imag] if len(variables) == 2 else [values]
            found.update(zip(variables, parts, strict=True))
        found[self.traced.index] = np.arange(first, first + len(elements[0]))
        return found

    def _values(
        self, roots: Sequence[Expr], mapping: Mapping[Var, Array], count: int
    ) -> list[Array]:
        machine = Expressions({}, count, _no_load)
        machine.variables.update(mapping)
        lanes = Lanes(np.arange(count), is_all=True)
        return [np.broadcast_to(machine.value(root, lanes), count) for root in roots]


def _no_load(load: Load, index: Array, mask: Array | None, lanes: Lanes) -> Array:
    raise InternalError(f"{type(load).__name__} has no value in a state.", code="I301")


def stored(numbers: Sequence[Any], dtype: DType) -> Array:
    """Return numbers as an array of a dtype, in the form in which NumPy holds it."""
    if dtype.kind == "bfloat":
        return bits_of(np.array(numbers, np.float64))
    return np.array(numbers, dtype.stored)


def numbers(values: Array, dtype: DType) -> Array:
    """Return the numbers of an array of a dtype."""
    return value_of(values.view(np.uint16)) if dtype.kind == "bfloat" else values


def _assembled(form: Form, parts: Sequence[Array]) -> Array:
    """Return the number that components stand for."""
    if form.dtype.is_complex:
        half, inner = len(parts) // 2, Form(form.real, form.is_pair)
        re, im = _assembled(inner, parts[:half]), _assembled(inner, parts[half:])
        joined = np.empty(re.shape, form.dtype.stored)
        joined.real, joined.imag = re, im
        return joined
    if form.is_pair:  # after an overflow only the total counts, as in values.Pair
        with np.errstate(all="ignore"):
            return np.where(np.isnan(parts[1]), parts[0], parts[0] + parts[1])
    return numbers(parts[0], form.dtype)
