# SPDX-License-Identifier: Apache-2.0
"""Smart constructors: they convert, promote, broadcast lanes and fold constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from typing import cast as typing_cast

from axisfold.dtypes import BOOL, INT32, Scalar, parse, promote
from axisfold.errors import ExpressionError
from axisfold.ir.constants import FALSE as FALSE
from axisfold.ir.constants import TRUE as TRUE
from axisfold.ir.constants import as_expr as as_expr
from axisfold.ir.constants import as_int as as_int
from axisfold.ir.constants import const as const
from axisfold.ir.constants import is_const as is_const
from axisfold.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    IfThenElse,
    Not,
    Ramp,
    Select,
)
from axisfold.ir.folding import fold_comparison as fold_comparison
from axisfold.ir.folding import fold_integers as fold_integers
from axisfold.ir.intrinsics import INTRINSICS, takes
from axisfold.ir.stmt import Seq, Stmt


def broadcast(value: Expr, lanes: int) -> Expr:
    """Return ``value`` with ``lanes`` lanes."""
    return value if value.dtype.lanes == lanes else Broadcast(value, lanes)


def cast(dtype: object, value: Any) -> Expr:
    """Convert to an element type; constants are folded, lanes kept."""
    target = parse(dtype)
    expr = as_expr(value, target)
    target = target.with_lanes(expr.dtype.lanes)
    if expr.dtype == target:
        return expr
    if isinstance(expr, Broadcast):
        return Broadcast(cast(target.element, expr.value), expr.lanes)
    if isinstance(expr, Const) and (not isinstance(expr.value, float) or target.is_float):
        return const(expr.value, target)
    return Cast(expr, target)


def match_pair(a: Any, b: Any) -> tuple[Expr, Expr]:
    """Bring two operands to one dtype and one number of lanes; numbers follow expressions."""
    if isinstance(a, Expr) and isinstance(b, Expr) and (a.dtype is b.dtype or a.dtype == b.dtype):
        return a, b
    if hasattr(a, "__axisfold_expr__"):
        x = as_expr(a)
        y = as_expr(b, x.dtype)
    else:
        y = as_expr(b)
        x = as_expr(a, y.dtype)
    dtype = promote(x.dtype.element, y.dtype.element)
    x, y = cast(dtype, x), cast(dtype, y)
    lanes = max(x.dtype.lanes, y.dtype.lanes)
    return broadcast(x, lanes), broadcast(y, lanes)


def _is_composite(value: Any) -> bool:
    """Return whether a value has operators of its own."""
    return not isinstance(value, (Expr, int)) and hasattr(value, "__axisfold_composite__")


def operator(op: BinaryOp, a: Any, b: Any) -> Any:
    """Build what a Python operator means, or hand over to a composite operand.

    Raises
    ------
    ExpressionError
        ``E105``: ``/`` between integers; ``E109``: an operation that floats do not have.
    """
    if _is_composite(a) or _is_composite(b):
        return NotImplemented
    x, y = match_pair(a, b)
    if x.dtype.is_bool:
        if op in ("bitand", "bitor"):
            return binary("and" if op == "bitand" else "or", x, y)
        if op == "bitxor":
            return compare("ne", x, y)
        x, y = cast(INT32, x), cast(INT32, y)
    if op == "div" and x.dtype.is_integer:
        raise ExpressionError(
            "`/` between integers is ambiguous.",
            code="E105",
            hint="Use // (floor), te.truncdiv, or convert one side with .astype('float64').",
        )
    return _float_operator(op, x, y) if x.dtype.is_float else binary(op, x, y)


def _float_operator(op: BinaryOp, a: Expr, b: Expr) -> Expr:
    """Build an operator on floats, where ``//`` is ``floor(a / b)`` and ``%`` the rest of it."""
    if op in ("add", "sub", "mul", "div", "min", "max"):
        return binary(op, a, b)
    if op not in ("floordiv", "floormod"):
        raise ExpressionError(
            f"`{op}` is for integers, not for {a.dtype}.",
            code="E109",
            hint="Convert with .astype('int64'), or use te.trunc and te.fmod.",
        )
    quotient = call("floor", binary("div", a, b))
    if op == "floordiv":
        return quotient
    return binary("sub", a, binary("mul", quotient, b))


def negate(value: Any) -> Expr:
    """Build ``-value`` in te's form, ``value*-1``; an unsigned value wraps."""
    expr = as_expr(value)
    if expr.dtype.is_bool:
        expr = cast(INT32, expr)
    lanes, element = expr.dtype.lanes, expr.dtype.element
    if element.kind == "uint":
        return binary("sub", broadcast(const(0, element), lanes), expr)
    return binary("mul", expr, broadcast(const(-1, element), lanes))


def comparison(op: CompareOp, a: Any, b: Any) -> Any:
    """Build a comparison, or hand over to a composite operand."""
    if _is_composite(a) or _is_composite(b):
        return NotImplemented
    return compare(op, *match_pair(a, b))


def binary(op: BinaryOp, a: Expr, b: Expr) -> Expr:
    """Build ``a op b`` on operands of one dtype; integers and truth values are folded."""
    dtype = a.dtype
    if dtype.lanes > 1:
        folded = _fold_lanes(op, a, b)
        if folded is not None:
            return folded
    if dtype.is_integer:
        if dtype.lanes == 1:
            x = a.value if isinstance(a, Const) else None
            y = b.value if isinstance(b, Const) else None
        else:
            x, y = _number(a), _number(b)
        if x is None and y is None:
            return a if a is b and op in ("min", "max") else Binary(op, a, b)
        if isinstance(a, Const) and isinstance(b, Const):
            return const(fold_integers(op, int(a.value), int(b.value)), dtype)
        simpler = _integer_identity(op, a, b, x, y)
        return Binary(op, a, b) if simpler is None else simpler
    if op in ("and", "or"):
        neutral, absorbing = (True, False) if op == "and" else (False, True)
        if is_const(a, neutral) or is_const(b, absorbing):
            return b
        if is_const(b, neutral) or is_const(a, absorbing):
            return a
    if op == "mul" and is_const(b, 1):
        return a
    if op == "mul" and is_const(a, 1):
        return b
    return Binary(op, a, b)


def _fold_lanes(op: BinaryOp, a: Expr, b: Expr) -> Expr | None:
    """Keep sums and products of ramps ramps, and work on broadcasts once."""
    if isinstance(a, Broadcast) and isinstance(b, Broadcast):
        return Broadcast(binary(op, a.value, b.value), a.lanes)
    if not a.dtype.is_integer:
        return None
    if isinstance(a, Ramp) and isinstance(b, Ramp) and op in ("add", "sub"):
        return Ramp(binary(op, a.base, b.base), binary(op, a.stride, b.stride), a.lanes)
    if isinstance(a, Broadcast) and isinstance(b, Ramp) and op in ("add", "mul"):
        a, b = b, a
    if isinstance(a, Ramp) and isinstance(b, Broadcast):
        if op in ("add", "sub"):
            return Ramp(binary(op, a.base, b.value), a.stride, a.lanes)
        if op in ("mul", "shl"):  # a shift multiplies, by 0 where it moves every bit out
            return Ramp(binary(op, a.base, b.value), binary(op, a.stride, b.value), a.lanes)
    return None


def _integer_identity(
    op: BinaryOp, a: Expr, b: Expr, x: Scalar | None, y: Scalar | None
) -> Expr | None:
    """Return what is simpler where ``a`` is the number ``x``, or ``b`` is ``y``."""
    if op == "add":
        return b if x == 0 else a if y == 0 else None
    if op == "sub":
        return a if y == 0 else None
    if op == "mul":
        return b if x == 1 or y == 0 else a if y == 1 or x == 0 else None
    if op in ("shl", "shr"):
        return a if y == 0 else None
    if op in ("floordiv", "truncdiv"):
        return a if y == 1 else None
    if op in ("floormod", "truncmod"):
        return broadcast(const(0, a.dtype), a.dtype.lanes) if y == 1 else None
    return a if op in ("min", "max") and a is b else None


def _number(expr: Expr) -> Scalar | None:
    """Return the value of a (broadcast) constant."""
    if isinstance(expr, Broadcast):
        expr = expr.value
    return expr.value if isinstance(expr, Const) else None


def compare(op: CompareOp, a: Expr, b: Expr) -> Expr:
    """Build a comparison of operands of one dtype."""
    if isinstance(a, Const) and isinstance(b, Const):
        return TRUE if fold_comparison(op, a.value, b.value) else FALSE
    if isinstance(a, Broadcast) and isinstance(b, Broadcast):
        return Broadcast(compare(op, a.value, b.value), a.lanes)
    return Compare(op, a, b)


def truth(value: Any) -> Expr:
    """Return ``value`` as bool: itself, or whether it differs from zero."""
    expr = as_expr(value)
    return expr if expr.dtype.is_bool else compare("ne", *match_pair(expr, 0))


def logical_not(value: Any) -> Expr:
    """Build the negation of a truth value."""
    expr = truth(value)
    if isinstance(expr, Const):
        return FALSE if expr.value else TRUE
    return expr.a if isinstance(expr, Not) else Not(expr)


def all_of(conditions: Iterable[Any]) -> Expr:
    """Build the conjunction; True for none."""
    result: Expr = TRUE
    for condition in conditions:
        result = binary("and", *match_pair(result, truth(condition)))
    return result


def any_of(conditions: Iterable[Any]) -> Expr:
    """Build the disjunction; False for none."""
    result: Expr = FALSE
    for condition in conditions:
        result = binary("or", *match_pair(result, truth(condition)))
    return result


def _choice(node: type[Select] | type[IfThenElse], c: Any, t: Any, f: Any) -> Expr:
    if isinstance(c, bool):
        raise ExpressionError(
            f"the condition is the Python value {c}: `==` compares structure.",
            code="E106",
            hint="Write a.equal(b) or a.not_equal(b) to compare values.",
        )
    condition = truth(c)
    true_value, false_value = match_pair(t, f)
    if isinstance(condition, Const):
        return true_value if condition.value else false_value
    lanes = max(condition.dtype.lanes, true_value.dtype.lanes)
    condition = broadcast(condition, lanes)
    return node(condition, broadcast(true_value, lanes), broadcast(false_value, lanes))


def select(condition: Any, true_value: Any, false_value: Any) -> Expr:
    """Build a choice that evaluates both values."""
    return _choice(Select, condition, true_value, false_value)


def if_then_else(condition: Any, true_value: Any, false_value: Any) -> Expr:
    """Build a choice that evaluates only the chosen value."""
    return _choice(IfThenElse, condition, true_value, false_value)


def call(name: str, *args: Any) -> Expr:
    """Build a call of an intrinsic; integers become float64 where a float is needed.

    Raises
    ------
    ExpressionError
        ``E112``: the function is not one of this dtype.
    """
    row = INTRINSICS[name]
    exprs = list(match_pair(*args)) if len(args) == 2 else [as_expr(args[0])]
    if row.takes == "floats" and not exprs[0].dtype.is_float:
        exprs = [cast("float64", e) for e in exprs]
    dtype = exprs[0].dtype
    if not takes(row, dtype):
        raise ExpressionError(
            f"`{name}` is for integers of 32 or 64 bits, not for {dtype}.",
            code="E112",
            hint="Convert both operands with .astype, to 'uint32' for example.",
        )
    if row.result == "bool":
        dtype = BOOL.with_lanes(dtype.lanes)
    if all(isinstance(e, Broadcast) for e in exprs):
        return broadcast(call(name, *(e.value for e in exprs)), dtype.lanes)  # type: ignore[attr-defined]
    return Call(name, tuple(exprs), dtype)


def likely(condition: Expr) -> Expr:
    """Mark the guard of a tail: loop partition takes it out of the interior."""
    return condition if isinstance(condition, Const) else Call("likely", (condition,), BOOL)


def bare(condition: Expr) -> Expr:
    """Return a condition without the mark of :func:`likely`."""
    if isinstance(condition, Call) and condition.name == "likely":
        return condition.args[0]
    return condition


def conjuncts(condition: Expr) -> list[Expr]:
    """Return the conditions that ``condition`` is the conjunction of; [] for True."""
    found: list[Expr] = []
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Binary) and part.op == "and":
            waiting += [part.b, part.a]
        elif not is_const(part, True):
            found.append(part)
    return found


def minimum(a: Any, b: Any) -> Expr:
    """Build the smaller of two values; a NaN wins, −0 < +0."""
    return binary("min", *match_pair(a, b))


def maximum(a: Any, b: Any) -> Expr:
    """Build the larger of two values; a NaN wins, −0 < +0."""
    return binary("max", *match_pair(a, b))


def ceildiv(a: Any, b: Any) -> Expr:
    """Build ``ceil(a / b)`` in te's form, ``floordiv(a + (b − 1), b)``."""
    x, y = match_pair(a, b)
    return typing_cast("Expr", (x + (y - 1)) // y)


def seq(*statements: Stmt | None) -> Stmt:
    """Join statements; nested sequences are flattened, None is dropped."""
    flat: list[Stmt] = []
    for statement in statements:
        if isinstance(statement, Seq):
            flat.extend(statement.body)
        elif statement is not None:
            flat.append(statement)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def power(a: Any, b: Any) -> Any:
    """Build ``a**b``; small whole exponents are products, so integers stay integers."""
    if isinstance(b, int) and not isinstance(b, bool) and 1 <= b <= 4:
        half = power(a, b // 2) if b > 1 else a
        square = half * half if b > 1 else a
        return square * a if b == 3 else square
    return call("power", *match_pair(a, b))
