# SPDX-License-Identifier: Apache-2.0
"""One reducer of a fold: its Python functions become typed expressions over real components."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from axisfold.dtypes import FLOAT64, DType, promote
from axisfold.errors import DTypeError, ReducerError
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Expr, Var
from axisfold.tensor import math
from axisfold.tensor.reducer import Reducer, State, describe, required_parameters, returned_fields
from axisfold.tensor.scene import Scene
from axisfold.tensor.tile import Tile, call_with_index
from axisfold.tensor.tile_pass import Hold, TilePass
from axisfold.tensor.values import Complex, Form, Pair, components, masked

# Another tile form, and the state of a run by it.
OtherForm = tuple[Tile, list[Expr]]


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
    name
        Name of results, by default the reducer's.
    condition
        Function of an element that tells whether it is folded; None for all.
    initial
        Dtype of one more value that is folded, for each input; () if there is none.
    min_count
        Results are NaN where fewer elements were folded; those that have no NaN are not touched.
    unfolded
        Results of the input's shape at elements that the caller does not fold; None for what
        ``spread`` gives there.
    """

    reducer: Reducer
    compute: DType | None = None
    result: DType | None = None
    name: str | None = None
    condition: Callable[..., Any] | None = None
    initial: tuple[DType, ...] = ()
    min_count: int = 0
    unfolded: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One array that a fold returns: its name, dtype and real components."""

    name: str
    dtype: DType
    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class InitialValue:
    """A value that is folded beside the elements, in its own dtype.

    Attributes
    ----------
    form
        How it is held.
    variables
        Its real components.
    """

    form: Form
    variables: tuple[Var, ...]

    @classmethod
    def of(cls, dtype: DType) -> InitialValue:
        """Return a value of a dtype."""
        form = Form(dtype)
        return cls(form, tuple(Var(f"initial{suffix}", form.real) for suffix in form.names))


class MemberTrace:
    """The expressions of one member."""

    def __init__(self, member: Member, scene: Scene) -> None:
        self.member, self.scene = member, scene
        reducer, raw = member.reducer, scene.raw
        if len(raw) != len(reducer.input_names):
            raise ReducerError(
                f"reducer {reducer.name!r} folds {len(reducer.input_names)} inputs "
                f"({', '.join(reducer.input_names)}), but {len(raw)} were given.",
                code="R110",
            )
        values = [f.assemble(e) for f, e in zip(raw, scene.elements, strict=True)]
        self.values = self._computed(values)
        self.input_dtype = _common([member.compute or f.dtype for f in raw])
        self.forms = {n: reducer.form(n, self.input_dtype) for n in reducer.state}
        self.mask = scene.mask
        if member.condition is not None:
            self.mask = build.all_of([self.mask, member.condition(*values)])
        self.lhs = self._variables("a")
        self.rhs = self._variables("b")
        a, b = self._state(self.lhs), self._state(self.rhs)
        self.identity = [e for n, f in self.forms.items() for e in reducer.identity_parts(n, f)]
        self.absorbing = reducer.absorbing_parts(self.forms)
        self.combined = self._returned(reducer.combine(a, b), "combine")
        lifted = self._lift(self.values, scene.run.index)
        self.lifted = self._masked(self._returned(lifted, "lift"), self.identity)
        self.has_tile = False
        self.tile_passes: list[TilePass] = []
        self.tile_heads: list[tuple[Var, Expr]] = []
        self.absorbed = self._absorb(a, lifted)
        self.initial = tuple(InitialValue.of(d) for d in member.initial)
        self.shares: list[tuple[Var, Expr]] = []
        self.holds: list[Hold] = []
        self.onces: list[tuple[Var, Expr]] = []
        self.tile_later: tuple[Expr, ...] = ()
        self.skipping: OtherForm | None = None
        self.narrowing: OtherForm | None = None
        self.finalized = self._finalize(self._started(a) if member.initial else a)
        value = self.finalized
        if reducer.spread is not None:
            value = self._spread(reducer.spread, self.values)
        self.results = self._named(value)

    def _computed(self, values: Sequence[Any]) -> list[Any]:
        """Convert elements to the dtype in which they are folded."""
        dtype = self.member.compute
        return list(values) if dtype is None else [math.cast(dtype, v) for v in values]

    def _lift(self, values: Sequence[Any], index: Any) -> dict[str, Any]:
        reducer = self.member.reducer
        return returned_fields(reducer, call_with_index(reducer.lift, values, index), "lift")

    def _masked(self, parts: Sequence[Expr], otherwise: Sequence[Expr]) -> list[Expr]:
        """Return the components for elements that the mask lets pass, else the other ones."""
        return [masked(self.mask, p, o) for p, o in zip(parts, otherwise, strict=True)]

    def _variables(self, side: str) -> list[Var]:
        return [
            Var(f"{side}_{name}{suffix}", form.real)
            for name, form in self.forms.items()
            for suffix in form.names
        ]

    def _state(self, variables: Sequence[Expr]) -> State:
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
            extra = {"index": self.scene.run.index} if wants_index else {}
            absorbed = self._returned(reducer.absorb(a, *self.values, **extra), "absorb")
            return self._masked(absorbed, self.lhs)
        plain = {n: f.plain(lifted[n]) for n, f in self.forms.items()}
        if self.mask is not build.TRUE:
            # Choosing the element is cheaper than choosing the state, which the next one waits for.
            plain = {n: self._masked_field(n, v) for n, v in plain.items()}
        return self._returned(reducer.combine(a, State(reducer, plain)), "combine")

    def _masked_field(self, name: str, value: Any) -> Any:
        plain = Form(self.forms[name].dtype)
        is_plain = len(components(value)) == len(plain.names)
        form = plain if is_plain else self.forms[name]
        identity = self.member.reducer.identity_parts(name, form)
        return form.assemble(self._masked(components(form.coerce(value)), identity))

    def trace_tile(self) -> None:
        """Trace the tile form; none, if the reducer has none for these elements."""
        function, scene = self.member.reducer.tile, self.scene
        tile = Tile(self.values, scene.run, self.mask)
        returned = None if function is None else function(tile)
        if function is not None and tile.can_narrow and self.mask is build.TRUE:
            is_short = all(r.dtype.is_half for r in self.results)
            narrowing = self._other_form(function, may_narrow=True, may_round=is_short)
            if narrowing is not None and narrowing[0].is_narrow:
                self.narrowing = narrowing
        if function is None or returned is None:
            return
        self.has_tile = True
        state = self._returned(returned, "tile")
        self.tile_passes, self.tile_heads = tile.passes, tile.heads
        self.holds, self.onces = tile.holds, tile.onces
        if self.mask is not build.TRUE:
            some = tile.count > 0
            state = [build.select(some, p, i) for p, i in zip(state, self.identity, strict=True)]
            for counter in scene.counters:
                if counter.mask == self.mask:
                    counter.tile = tile.count
        self.tile_state = state
        self.tile_later = self.later(tile, state)
        if tile.has_choice and self.mask is build.TRUE:
            self.skipping = self._other_form(function, may_skip=True)

    def _other_form(self, function: Callable[[Tile], Any], **may: bool) -> OtherForm | None:
        """Return what the tile function makes of a tile that may do more, and the state."""
        tile = Tile(self.values, self.scene.run, self.mask, **may)
        returned = function(tile)
        return None if returned is None else (tile, self._returned(returned, "tile"))

    def later(self, tile: Tile, state: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the state after a run that comes after all before it, () if that is a merge."""
        if tile.supersedes is None:
            return ()
        is_taken = build.truth(tile.supersedes(self._state(self.lhs)))
        both = zip(state, self.lhs, strict=True)
        return tuple(build.select(is_taken, new, old) for new, old in both)

    def fold_in_tiles(self) -> None:
        """Take part in the tile form of other members: elements go into a state of the run."""
        tile = Tile(self.values, self.scene.run, build.TRUE)
        combiner = Combiner(
            tuple(self.lhs), tuple(self.rhs), tuple(self.combined), tuple(self.identity)
        )
        self.tile_state = list(tile.fold(combiner, self.lifted, self.absorbed))
        self.tile_passes = tile.passes

    def _started(self, a: State) -> State:
        """The state with the caller's initial value in front."""
        reducer = self.member.reducer
        if reducer.uses_index:
            raise ReducerError(
                f"reducer {reducer.name!r} folds the indices of elements, and an initial value "
                "has none.",
                code="R115",
                hint="Leave initial= out.",
            )
        values = [v.form.assemble(v.variables) for v in self.initial]
        lifted = self._lift(self._computed(values), None)
        first = State(reducer, {n: f.coerce(lifted[n]) for n, f in self.forms.items()})
        return self._state(self._returned(reducer.combine(first, a), "combine"))

    def _finalize(self, a: State) -> Any:
        """Return the value of a fold, or a dict of several."""
        reducer = self.member.reducer
        if reducer.finalize is None:
            fields = {n: getattr(a, n) for n in reducer.state}
            is_one = len(fields) == 1 and reducer.spread is None
            value: Any = next(iter(fields.values())) if is_one else fields
        elif len(required_parameters(reducer.name, "finalize", reducer.finalize)) > 1:
            value = reducer.finalize(a, self.scene.count_of(self.mask))
        else:
            value = reducer.finalize(a)
        return _checked_value(reducer, "finalize", value)

    def results_of(self, hold: Hold) -> list[Result]:
        """Return the results from what the tile form holds of each element."""
        return self._named(self._spread(hold.spread, (hold.variable,)))

    def _named(self, value: Any) -> list[Result]:
        named = value if isinstance(value, dict) else {"": value}
        return [self._result(name, v) for name, v in named.items()]

    def _spread(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Return the value of an element, or a dict of several, from its input values."""
        reducer, finalized = self.member.reducer, self.finalized
        if isinstance(finalized, dict):
            fields = {name: self._shared(name, v) for name, v in finalized.items()}
            shared: Any = State(reducer, fields)
        else:
            shared = self._shared("value", finalized)
        value = call_with_index(function, (*values, shared), self.scene.run.index)
        if self.member.unfolded is not None and self.scene.mask is not build.TRUE:
            value = math.select(self.scene.mask, value, self.member.unfolded)
        return _checked_value(reducer, "spread", value)

    def _shared(self, name: str, value: Any) -> Any:
        """Return variables for a value that the elements of a fold share."""
        match value:
            case Complex(re, im):
                return Complex(self._shared(f"{name}_re", re), self._shared(f"{name}_im", im))
            case Pair(hi, lo):
                return Pair(self._shared(name, hi), self._shared(f"{name}_low", lo))
        expr = build.as_expr(value, self.input_dtype)
        variable = Var(f"shared_{name}", expr.dtype)
        self.shares.append((variable, expr))
        return variable

    def _result(self, name: str, value: Any) -> Result:
        own = self.member.name or self.member.reducer.name
        label = f"{own}_{name}" if name else own
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
        return Result(label, dtype, tuple(self._enough(components(form.coerce(value)), label)))

    def _enough(self, parts: Sequence[Expr], label: str) -> Sequence[Expr]:
        """A NaN where too few elements were folded."""
        least = self.member.min_count
        if least <= 0:
            return parts
        if not parts[0].dtype.is_float:
            if self.mask is not build.TRUE:
                raise too_few(label, parts[0].dtype, least)
            return parts
        enough = self.scene.count_of(self.mask) >= least
        if self.member.reducer.spread is not None:
            enough = self._shared("enough", enough)
        nan = build.const(float("nan"), parts[0].dtype)
        return [build.select(enough, part, nan) for part in parts]

    def _own_result(self, value: Any) -> DType:
        """Floats take the input's precision, so that a user's reducer behaves as NumPy's do."""
        given = self.input_dtype
        if isinstance(value, Complex):
            return given if given.is_complex else DType("complex", 128)
        dtype = FLOAT64 if isinstance(value, Pair) else value.dtype
        if dtype == FLOAT64 and given.is_complex:
            return DType("float", given.bits // 2)
        return given if dtype.is_float and given.is_float else dtype


def too_few(label: str, dtype: DType, least: int) -> DTypeError:
    """Return the refusal of a result that may be NaN, of a dtype without one."""
    return DTypeError(
        f"min_count={least} makes a result of fewer elements NaN, but {label} is of {dtype}, which "
        "has none.",
        code="D303",
        hint="Ask for floats with dtype='float64'.",
    )


def _checked_value(reducer: Reducer, what: str, value: Any) -> Any:
    """Return what ``finalize`` or ``spread`` gave, if it is a value or a dict of some."""
    if (
        value is None
        or isinstance(value, (State, tuple, list))
        or (isinstance(value, dict) and not value)
    ):
        raise ReducerError(
            f"{what} of reducer {reducer.name!r} returned {describe(value)}, which is no result.",
            code="R113",
            hint="Return a value such as a.s, or a dict with a name for each result.",
        )
    return value


def _common(dtypes: Sequence[DType]) -> DType:
    common = dtypes[0]
    for dtype in dtypes[1:]:
        common = promote(common, dtype)
    return common
