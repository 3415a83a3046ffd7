# SPDX-License-Identifier: Apache-2.0
"""Tracing: a reducer's Python functions become typed expressions over real components."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from axisfold.dtypes import FLOAT64, INT64, DType, accumulator, highest, lowest, promote
from axisfold.errors import ReducerError
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Expr, Var
from axisfold.tensor import math
from axisfold.tensor.reducer import Reducer, State, describe, required_parameters, returned_fields
from axisfold.tensor.values import Complex, Form, Pair, components

MAX_COMPONENTS: Final = 128


@dataclass(frozen=True, slots=True)
class Member:
    """One reducer of a fold.

    Parameters
    ----------
    reducer
        What is folded.
    compute
        Dtype to which elements are converted first, or None.
    result
        Dtype of real results: None leaves what ``finalize`` gives, except that floats take the
        element's own float dtype.
    """

    reducer: Reducer
    compute: DType | None = None
    result: DType | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One array that a fold returns: its name, dtype and real components."""

    name: str
    dtype: DType
    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class TilePass:
    """One reduction over a tile: ``result`` names the folded ``source``."""

    result: Var
    combiner: Combiner
    source: Expr


@dataclass(slots=True)
class Traced:
    """One or several reducers on given dtypes, as expressions.

    Attributes
    ----------
    combiner
        Merges states; its ``lhs`` are the state variables everywhere below.
    elements
        For each input the variables of its real components.
    index, count
        Variables of the element's index and of the number of folded elements.
    lifted, absorb
        The state of one element, and the state after one more.
    results
        What the fold returns, over ``combiner.lhs`` and ``count``.
    tile_passes, tile_state
        The tile form, over ``elements``, ``index`` and ``tile_count``; empty if there is none.
    """

    combiner: Combiner
    elements: tuple[tuple[Var, ...], ...]
    index: Var
    count: Var
    tile_count: Var
    uses_index: bool
    lifted: tuple[Expr, ...]
    absorb: tuple[Expr, ...]
    results: list[Result] = field(default_factory=list)
    tile_passes: tuple[TilePass, ...] = ()
    tile_state: tuple[Expr, ...] = ()


class Tile:
    """A short run of elements, given to a reducer's ``tile`` function."""

    def __init__(self, elements: Sequence[Any], index: Var, count: Var) -> None:
        self._elements = elements
        self._index = index
        self.count: Expr = count
        self.passes: list[TilePass] = []

    def sum(self, function: Callable[..., Any]) -> Any:
        """Sum of a function of the elements."""
        return self._reduce(function, "add", lambda d: 0)

    def max(self, function: Callable[..., Any]) -> Any:
        """Largest value of a function of the elements; a NaN wins."""
        return self._reduce(function, "max", lowest)

    def min(self, function: Callable[..., Any]) -> Any:
        """Smallest value of a function of the elements; a NaN wins."""
        return self._reduce(function, "min", highest)

    def _reduce(self, function: Callable[..., Any], op: Any, identity: Any) -> Any:
        value = _call(function, self._elements, self._index)
        if isinstance(value, Complex):
            parts = (self._pass(v, op, identity) for v in (value.re, value.im))
            return Complex(*parts)
        return self._pass(value, op, identity)

    def _pass(self, value: Any, op: Any, identity: Any) -> Var:
        source = build.as_expr(value)
        if op == "add":
            source = build.cast(accumulator(source.dtype), source)
        dtype = source.dtype
        lhs, rhs = Var("lhs", dtype), Var("rhs", dtype)
        start = build.const(identity(dtype), dtype)
        combiner = Combiner((lhs,), (rhs,), (build.binary(op, lhs, rhs),), (start,))
        result = Var(f"tile{len(self.passes)}", dtype)
        self.passes.append(TilePass(result, combiner, source))
        return result


def _call(function: Callable[..., Any], elements: Sequence[Any], index: Any) -> Any:
    """Call a user's function of the elements, with the index if it asks for it."""
    wants_index = "index" in inspect.signature(function).parameters
    return function(*elements, index=index) if wants_index else function(*elements)


def trace(members: Sequence[Member], dtypes: Sequence[DType]) -> Traced:
    """Trace reducers on inputs of the given dtypes, as one state.

    Raises
    ------
    ReducerError
        ``R110``: a reducer takes another number of inputs, or its functions return what does
        not fit the state; ``R114``: the state is too large to be held in registers.
    """
    raw = [Form(d) for d in dtypes]
    elements = tuple(
        tuple(Var(f"x{i}{suffix}", f.real) for suffix in f.names) for i, f in enumerate(raw)
    )
    index, count = Var("index", INT64), Var("count", INT64, is_size=True)
    tile_count = Var("tile_count", INT64, is_size=True)
    parts = [_MemberTrace(m, raw, elements, index, count, tile_count) for m in members]
    facts = frozenset.intersection(*(m.reducer.facts for m in members))
    if any(m.reducer.is_ordered for m in members):
        facts = (facts - {"commutative"}) | {"ordered"}
    combiner = Combiner(
        lhs=tuple(v for p in parts for v in p.lhs),
        rhs=tuple(v for p in parts for v in p.rhs),
        result=tuple(e for p in parts for e in p.combined),
        identity=tuple(e for p in parts for e in p.identity),
        facts=facts,
    )
    if len(combiner.lhs) > MAX_COMPONENTS:
        raise ReducerError(
            f"the state of {', '.join(m.reducer.name for m in members)} has {len(combiner.lhs)} "
            f"components; at most {MAX_COMPONENTS} can be folded at once.",
            code="R114",
            hint="Fold in several calls, each with a part of the state.",
        )
    tiles = [m.reducer.tile for m in members if m.reducer.tile is not None]
    traced = Traced(
        combiner, elements, index, count, tile_count,
        uses_index=any(m.reducer.uses_index for m in members),
        lifted=tuple(e for p in parts for e in p.lifted),
        absorb=tuple(e for p in parts for e in p.absorbed),
        results=[r for p in parts for r in p.results],
    )  # fmt: skip
    if len(tiles) == len(parts):
        for part, tile in zip(parts, tiles, strict=True):
            part.trace_tile(tile)
        traced.tile_passes = tuple(t for p in parts for t in p.tile_passes)
        traced.tile_state = tuple(e for p in parts for e in p.tile_state)
    return traced


class _MemberTrace:
    """The expressions of one member."""

    def __init__(
        self,
        member: Member,
        raw: Sequence[Form],
        elements: Sequence[tuple[Var, ...]],
        index: Var,
        count: Var,
        tile_count: Var,
    ) -> None:
        self.member, self.index, self.count, self.tile_count = member, index, count, tile_count
        reducer = member.reducer
        if len(raw) != len(reducer.input_names):
            raise ReducerError(
                f"reducer {reducer.name!r} folds {len(reducer.input_names)} inputs "
                f"({', '.join(reducer.input_names)}), but {len(raw)} were given.",
                code="R110",
            )
        values = [f.assemble(e) for f, e in zip(raw, elements, strict=True)]
        if member.compute is not None:
            values = [math.cast(member.compute, v) for v in values]
        self.values = values
        self.input_dtype = _common([member.compute or f.dtype for f in raw])
        self.forms = {n: reducer.form(n, self.input_dtype) for n in reducer.state}
        self.lhs = self._variables("a")
        self.rhs = self._variables("b")
        a, b = self._state(self.lhs), self._state(self.rhs)
        self.identity = [e for n, f in self.forms.items() for e in reducer.identity_parts(n, f)]
        self.combined = self._returned(reducer.combine(a, b), "combine")
        lifted = returned_fields(reducer, _call(reducer.lift, values, index), "lift")
        self.lifted = self._returned(lifted, "lift")
        self.absorbed = self._absorb(a, lifted)
        self.results = self._finalize(a)

    def _variables(self, side: str) -> list[Var]:
        return [
            Var(f"{side}_{name}{suffix}", form.real)
            for name, form in self.forms.items()
            for suffix in form.names
        ]

    def _state(self, variables: Sequence[Var]) -> State:
        fields, position = {}, 0
        for name, form in self.forms.items():
            width = len(form.names)
            fields[name] = form.assemble(variables[position : position + width])
            position += width
        return State(self.member.reducer, fields)

    def _returned(self, result: Any, what: str) -> list[Expr]:
        fields = returned_fields(self.member.reducer, result, what)
        return [e for n, f in self.forms.items() for e in components(f.coerce(fields[n]))]

    def _absorb(self, a: State, lifted: dict[str, Any]) -> list[Expr]:
        """The state after one more element; by default combine with the plain lifted state."""
        reducer = self.member.reducer
        if reducer.absorb is not None:
            wants_index = "index" in inspect.signature(reducer.absorb).parameters
            extra = {"index": self.index} if wants_index else {}
            return self._returned(reducer.absorb(a, *self.values, **extra), "absorb")
        plain = {n: f.plain(lifted[n]) for n, f in self.forms.items()}
        return self._returned(reducer.combine(a, State(reducer, plain)), "combine")

    def trace_tile(self, function: Callable[[Tile], Any]) -> None:
        """Trace the tile form."""
        tile = Tile(self.values, self.index, self.tile_count)
        self.tile_state = self._returned(function(tile), "tile")
        self.tile_passes = tile.passes

    def _finalize(self, a: State) -> list[Result]:
        reducer = self.member.reducer
        if reducer.finalize is None:
            fields = {n: getattr(a, n) for n in reducer.state}
            value: Any = fields if len(fields) > 1 else next(iter(fields.values()))
        elif len(required_parameters(reducer.name, "finalize", reducer.finalize)) > 1:
            value = reducer.finalize(a, self.count)
        else:
            value = reducer.finalize(a)
        if (
            value is None
            or isinstance(value, (State, tuple, list))
            or (isinstance(value, dict) and not value)
        ):
            raise ReducerError(
                f"finalize of reducer {reducer.name!r} returned {describe(value)}, which is no "
                "result.",
                code="R113",
                hint="Return a value such as a.s, or a dict with a name for each result.",
            )
        named = value if isinstance(value, dict) else {"": value}
        return [self._result(name, v) for name, v in named.items()]

    def _result(self, name: str, value: Any) -> Result:
        label = f"{self.member.reducer.name}_{name}" if name else self.member.reducer.name
        if not isinstance(value, (Complex, Pair)):
            value = build.as_expr(value, self.input_dtype)
        dtype = self.member.result or self._own_result(value)
        if isinstance(value, Complex) and not dtype.is_complex:
            raise ReducerError(
                f"finalize of reducer {self.member.reducer.name!r} gives a complex value for a "
                f"result of dtype {dtype}.",
                code="R111",
            )
        form = Form(dtype)
        return Result(label, dtype, tuple(components(form.coerce(value))))

    def _own_result(self, value: Any) -> DType:
        """Floats take the input's precision, so that a user's reducer behaves as NumPy's do."""
        given = self.input_dtype
        if isinstance(value, Complex):
            return given if given.is_complex else DType("complex", 128)
        dtype = FLOAT64 if isinstance(value, Pair) else value.dtype
        if dtype == FLOAT64 and given.is_complex:
            return DType("float", given.bits // 2)
        return given if dtype.is_float and given.is_float else dtype


def _common(dtypes: Sequence[DType]) -> DType:
    common = dtypes[0]
    for dtype in dtypes[1:]:
        common = promote(common, dtype)
    return common


__all__ = ["Member", "Result", "State", "Tile", "TilePass", "Traced", "trace"]
