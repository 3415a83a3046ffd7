# SPDX-License-Identifier: Apache-2.0
"""A te graph as JSON values, and back.

Expressions are rows of one table; a row names earlier rows, so that shared parts are written once
and nothing here is recursive.  What is read is checked like what a user writes: te's own checks,
and each row's operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeVar, get_args

from axisfold.dtypes import BOOL, INT32, INT64, SUPPORTED, DType, fits
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.buffer import Facts, StrideUnit
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    IfThenElse,
    Node,
    Not,
    Select,
    Var,
)
from axisfold.ir.intrinsics import INTRINSICS
from axisfold.ir.verify import is_typed
from axisfold.ir.walk import post_order, uses
from axisfold.tensor.axis import Axis, AxisKind, AxisVar
from axisfold.tensor.compute import ComputeOp, make_compute
from axisfold.tensor.reduce import Reduce, make_reduce
from axisfold.tensor.reducer import checked_facts
from axisfold.tensor.tensor import Operation, PlaceholderOp, Tensor, TensorLoad, as_shape

T = TypeVar("T")
_DTYPES: Final = {name: d for name, d in SUPPORTED.items() if not d.is_complex}
_KINDS: Final = ("var", "size", "axis", "state")
_CHOICES: Final = {"select": Select, "if": IfThenElse}


def malformed(where: str, why: str) -> NoReturn:
    """Refuse a text that :meth:`Trace.to_json` cannot have written.

    Raises
    ------
    ScheduleError
        ``S283``: always.
    """
    raise ScheduleError(
        f"the JSON of a schedule is malformed at {where}: {why}.",
        code="S283",
        hint="Pass the text that s.trace.to_json() returned.",
    )


class GraphWriter:
    """Writes operations and expressions into tables."""

    def __init__(self) -> None:
        self.variables: list[Any] = []
        self.expressions: list[Any] = []
        self.operations: list[Any] = []
        self.numbers: dict[Operation, int] = {}
        self.rows: dict[int, int] = {}
        self.vars: dict[Var, int] = {}
        self.states: set[Var] = set()
        self.alive: list[Node] = []

    def operation(self, op: Operation) -> None:
        """Append an operation, whose inputs are appended already."""
        if isinstance(op, PlaceholderOp):
            row: dict[str, Any] = {"placeholder": op.name, "dtype": str(op.dtype)}
            row["shape"] = self.exprs(op.shape)
            if op.strides is not None:
                row |= {"strides": self.exprs(op.strides), "unit": op.unit}
            if op.facts is not None:
                f = op.facts
                row["facts"] = [f.align, list(f.divisible), f.index_bits, f.stride_align]
        else:
            row = {"compute": op.name}
            row |= {"axis": [self.axis(a) for a in op.axis]}
            row |= {"reduce_axis": [self.axis(a) for a in op.reduce_axis]}
            if isinstance(op, ComputeOp) and op.tag:
                row["tag"] = op.tag
            first = op.body[0]
            if isinstance(first, Reduce):
                row["reduce"] = self.reduction(first)
            else:
                row["body"] = self.exprs(op.body)
        self.numbers[op] = len(self.operations)
        self.operations.append(row)

    def axis(self, axis: Axis) -> list[int]:
        """Return an axis as its variable and its bounds."""
        return [self.var(axis.var), self.expr(axis.min), self.expr(axis.extent)]

    def reduction(self, node: Reduce) -> dict[str, Any]:
        """Return what all components of a reduction share."""
        combiner = node.combiner
        self.states.update((*combiner.lhs, *combiner.rhs))
        row = {
            "lhs": [self.var(v) for v in combiner.lhs],
            "rhs": [self.var(v) for v in combiner.rhs],
            "result": self.exprs(combiner.result),
            "identity": self.exprs(combiner.identity),
            "facts": sorted(combiner.facts),
            "source": self.exprs(node.source),
            "where": self.expr(node.condition),
        }
        optional = {"absorbing": combiner.absorbing, "init": node.init, "absorb": node.absorb}
        return row | {name: self.exprs(values) for name, values in optional.items() if values}

    def var(self, var: Var) -> int:
        """Return the number of a variable."""
        if var not in self.vars:
            kind = "size" if var.is_size else "state" if var in self.states else "var"
            kind = "axis" if isinstance(var, AxisVar) else kind
            self.vars[var] = len(self.variables)
            self.variables.append([kind, var.name, str(var.dtype), *filter(None, [var.least])])
        return self.vars[var]

    def exprs(self, roots: Sequence[Expr]) -> list[int]:
        """Return the row numbers of expressions."""
        return [self.expr(root) for root in roots]

    def expr(self, root: Expr) -> int:
        """Return the row number of an expression."""
        for node in post_order(root):
            if id(node) not in self.rows:
                row = self.row(node)
                self.rows[id(node)] = len(self.expressions)
                self.expressions.append(row)
                self.alive.append(node)
        return self.rows[id(root)]

    def row(self, node: Node) -> list[Any]:
        """Return a node as a row; its children have theirs."""
        match node:
            case Var():
                return ["var", self.var(node)]
            case Const():
                is_float = isinstance(node.value, float)
                return ["const", str(node.dtype), _float(node.value) if is_float else node.value]
            case TensorLoad():
                return ["read", *self.tensor(node.tensor), *map(self.at, node.indices)]
            case Cast():
                return ["cast", str(node.dtype), self.at(node.value)]
            case Binary() | Compare():
                kind = "binary" if isinstance(node, Binary) else "compare"
                return [kind, node.op, self.at(node.a), self.at(node.b)]
            case Not():
                return ["not", self.at(node.a)]
            case Select() | IfThenElse():
                kind = "select" if isinstance(node, Select) else "if"
                parts = (node.condition, node.true_value, node.false_value)
                return [kind, *map(self.at, parts)]
            case Call():
                return ["call", node.name, *map(self.at, node.args)]
            case _:  # Invariant: te has no other nodes.
                raise TypeError(type(node).__name__)

    def tensor(self, tensor: Tensor) -> list[int]:
        """Return a tensor as its operation's number and its place among the outputs."""
        return [self.numbers[tensor.op], tensor.value_index]

    def at(self, node: Node) -> int:
        """Return the row number of a node that has one."""
        return self.rows[id(node)]


def _float(value: float) -> str:
    """Return the bits of a float as text; JSON knows neither infinities nor NaNs."""
    text = value.hex()
    is_negative = math.isnan(value) and math.copysign(1.0, value) < 0
    return f"-{text}" if is_negative else text


class Reading:
    """Checked access to the parts of a JSON value."""

    def __init__(self, value: Any, where: str) -> None:
        self.value, self.where = value, where

    def at(self, key: str | int) -> Reading:
        """Return an item, which must be there."""
        is_list = isinstance(self.value, list) and isinstance(key, int) and key < len(self.value)
        if not is_list and not (isinstance(self.value, dict) and key in self.value):
            malformed(self.where, f"{key!r} is missing")
        return Reading(self.value[key], f"{self.where}[{key!r}]" if self.where else str(key))

    def has(self, key: str) -> bool:
        """Return whether an object has a key."""
        return isinstance(self.value, dict) and key in self.value

    def items(self) -> list[Reading]:
        """Return the items of a list."""
        given = self.a(list)
        return [Reading(v, f"{self.where}[{n}]") for n, v in enumerate(given)]

    def a(self, kind: type[T]) -> T:
        """Return the value, of one type exactly: True is no number."""
        if type(self.value) is not kind:
            malformed(self.where, f"{self.value!r:.60} is no {kind.__name__}")
        return self.value

    def one_of(self, known: Sequence[str]) -> str:
        """Return the value, one of some words."""
        if self.value not in known:
            malformed(self.where, f"{self.value!r:.60} is none of {', '.join(known)}")
        return str(self.value)

    def index(self, found: Sequence[T]) -> T:
        """Return the item of a list that the value numbers."""
        number = self.a(int)
        if not 0 <= number < len(found):
            malformed(self.where, f"there is no number {number} yet")
        return found[number]


class GraphReader:
    """Reads the tables of :class:`GraphWriter`; rows are read when they are first needed."""

    def __init__(self, document: Reading) -> None:
        rows = document.at("variables").items()
        self.vars = [_variable(r) for r in rows]
        self.states = {v for v, r in zip(self.vars, rows, strict=True) if r.value[0] == "state"}
        self.rows = document.at("expressions").items()
        self.nodes: list[Expr] = []
        self.operations: list[Operation] = []
        self.axes: set[AxisVar] = set()
        self.extra: dict[str, Callable[[Reading], Expr]] = {}

    def operation(self, row: Reading) -> None:
        """Read one more operation."""
        op = self.placeholder(row) if row.has("placeholder") else self.compute(row)
        self.operations.append(op)

    def placeholder(self, row: Reading) -> PlaceholderOp:
        """Return an input."""
        strides, facts, unit = None, None, "element"
        shape = as_shape(self.exprs(row.at("shape")))
        if row.has("strides"):
            strides = tuple(self.exprs(row.at("strides")))
            unit = row.at("unit").one_of(get_args(StrideUnit))
            wrong = any(s.dtype not in (INT32, INT64) for s in strides)
            if wrong or len(strides) not in (0, len(shape)):
                malformed(row.where, "the strides do not fit the shape")
        if row.has("facts"):
            align, divisible, bits, step = (row.at("facts").at(n) for n in range(4))
            divisors = tuple(d.a(int) for d in divisible.items())
            if bits.value not in (32, 64) or min(*divisors, step.a(int), align.a(int) + 1) < 1:
                malformed(row.where, "facts are out of range")
            facts = Facts(align.a(int), divisors, bits.value, step.a(int))
        name, dtype = row.at("placeholder").a(str), _dtype(row.at("dtype"))
        return PlaceholderOp(name, shape, dtype, strides, unit, facts)  # type: ignore[arg-type]

    def compute(self, row: Reading) -> ComputeOp:
        """Return a computation, checked as those of te are."""
        name = row.at("compute").a(str)
        axes = tuple(self.axis(r, "data") for r in row.at("axis").items())
        folded = tuple(self.axis(r, "reduce") for r in row.at("reduce_axis").items())
        body: Sequence[Expr]
        if row.has("reduce"):
            body = self.reduction(row.at("reduce"), folded)
        else:
            body = self.exprs(row.at("body"))
        if not body:
            malformed(row.where, "it computes nothing")
        tag = row.at("tag").a(str) if row.has("tag") else ""
        return make_compute(name, axes, body, tag)

    def axis(self, row: Reading, kind: AxisKind) -> Axis:
        """Return an axis, whose variable is its own."""
        var = row.at(0).index(self.vars)
        low, extent = self.expr(row.at(1)), self.expr(row.at(2))
        if not isinstance(var, AxisVar) or var in self.axes:
            malformed(row.where, "its variable is no axis' own")
        if {var.dtype, low.dtype, extent.dtype} not in ({INT32}, {INT64}):
            malformed(row.where, "its variable and its bounds differ in dtype")
        if kind == "data" and not build.is_const(low, 0):
            malformed(row.where, "a data axis starts at 0")
        self.axes.add(var)
        return Axis(var, low, extent, kind)

    def reduction(self, row: Reading, axes: tuple[Axis, ...]) -> tuple[Reduce, ...]:
        """Return every component of a reduction."""
        lhs, rhs = (
            tuple(r.index(self.vars) for r in row.at(side).items()) for side in ("lhs", "rhs")
        )
        result = self.exprs(row.at("result"), of_state=True)
        identity = self.exprs(row.at("identity"))
        absorb = self.exprs(row.at("absorb"), of_state=True) if row.has("absorb") else []
        dtypes = [v.dtype for v in lhs]
        absorbing = self.exprs(row.at("absorbing")) if row.has("absorbing") else []
        states = [rhs, result, identity, *(s for s in (absorb, absorbing) if s)]
        if not lhs or any([e.dtype for e in state] != dtypes for state in states):
            malformed(row.where, "the parts of the reducer differ in dtype")
        if not self.states >= {*lhs, *rhs} or len({*lhs, *rhs}) != len(lhs) + len(rhs):
            malformed(row.where, "its variables are no state's own")
        if not all(isinstance(e, Const) for e in (*identity, *absorbing)):
            malformed(row.where, "an identity, or an absorbing state, is no constant")
        facts = checked_facts("reduce", (r.a(str) for r in row.at("facts").items()))
        combiner = Combiner(lhs, rhs, tuple(result), tuple(identity), facts, tuple(absorbing))
        init = self.exprs(row.at("init")) if row.has("init") else None
        source, where = self.exprs(row.at("source")), self.expr(row.at("where"))
        return make_reduce(combiner, source, axes, where, init, absorb)

    def exprs(self, rows: Reading, *, of_state: bool = False) -> list[Expr]:
        """Return the expressions of a list of row numbers."""
        return [self.expr(r, of_state=of_state) for r in rows.items()]

    def expr(self, row: Reading, *, of_state: bool = False) -> Expr:
        """Return the expression of a row number, which may read a state's variables or not."""
        number = row.a(int)
        if not 0 <= number < len(self.rows):
            malformed(row.where, f"there is no expression {number}")
        while len(self.nodes) <= number:
            self.nodes.append(self.node(self.rows[len(self.nodes)]))
        found = self.nodes[number]
        if not of_state and self.states and uses(found, self.states):
            malformed(row.where, "the state of a reducer is read outside of it")
        return found

    def node(self, row: Reading) -> Expr:
        """Return the node of a row."""
        kind = row.at(0).a(str)
        if kind in self.extra:
            return self.extra[kind](row)
        node = self.plain(kind, row)
        if not isinstance(node, (Var, TensorLoad)) and not is_typed(node):
            malformed(row.where, "its operands do not fit")
        return node

    def plain(self, kind: str, row: Reading) -> Expr:
        """Return the node of a row of te's own kinds, its operands not yet checked."""
        known = self.nodes
        match kind:
            case "var":
                return row.at(1).index(self.vars)
            case "const":
                return _constant(row)
            case "read":
                op, place = row.at(1).index(self.operations), row.at(2)
                indices = [r.index(known) for r in row.items()[3:]]
                read: Expr = place.index(op.outputs)[tuple(indices)]
                return read if isinstance(read, TensorLoad) else malformed(row.where, "its rank")
            case "cast":
                return Cast(row.at(2).index(known), _dtype(row.at(1)))
            case "binary":
                op_name: Any = row.at(1).a(str)
                return Binary(op_name, row.at(2).index(known), row.at(3).index(known))
            case "compare":
                compare: Any = row.at(1).one_of(get_args(CompareOp))
                return Compare(compare, row.at(2).index(known), row.at(3).index(known))
            case "not":
                return Not(row.at(1).index(known))
            case "select" | "if":
                return _CHOICES[kind](*(row.at(n).index(known) for n in (1, 2, 3)))
            case "call":
                name = row.at(1).one_of(tuple(INTRINSICS))
                args = tuple(r.index(known) for r in row.items()[2:])
                flag = INTRINSICS[name].result == "bool" or not args
                return Call(name, args, BOOL if flag else args[0].dtype)
            case _:
                malformed(row.where, f"{kind!r} is no kind of expression")


def _dtype(row: Reading) -> DType:
    return _DTYPES[row.one_of(tuple(_DTYPES))]


def _variable(row: Reading) -> Var:
    kind, name, dtype = row.at(0).one_of(_KINDS), row.at(1).a(str), _dtype(row.at(2))
    if kind == "axis":
        return AxisVar(name, dtype)
    least = max([0, *(r.a(int) for r in row.items()[3:])])
    return Var(name, dtype, is_size=kind == "size", least=least)


def _constant(row: Reading) -> Const:
    dtype, value = _dtype(row.at(1)), row.at(2)
    if dtype.is_float:
        try:
            return build.const(float.fromhex(value.a(str)), dtype)
        except (ValueError, OverflowError):
            malformed(value.where, f"{value.value!r:.60} is no number")
    if dtype.is_bool:
        return build.const(value.a(bool), dtype)
    if not fits(value.a(int), dtype):
        malformed(value.where, f"{value.value!r:.60} does not fit {dtype}")
    return build.const(value.a(int), dtype)
