# SPDX-License-Identifier: Apache-2.0
"""The simplifier of index arithmetic, and proofs of conditions.

Rules are local: each takes a node with simple operands.  The driver here applies them bottom-up
until none fires, on an explicit stack, and remembers results by node identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from axisfold.analysis.division import (
    simplify_floordiv,
    simplify_floormod,
    simplify_shift,
    simplify_trunc,
)
from axisfold.analysis.domains import NOTHING, Bounds
from axisfold.analysis.linear import is_index, leaves
from axisfold.analysis.logic import simplify_compare, simplify_extremum, simplify_logic
from axisfold.analysis.sums import simplify_product, simplify_sum
from axisfold.ir.build import binary, cast
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    IfThenElse,
    Not,
    Select,
)

# Operations on indices that are decided by ranges and proofs.
_RANGED: Final = frozenset(
    ("floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "shl", "shr")
)
# Every rule makes an expression smaller or more regular; the limit on how often one node is
# rewritten only guards against a pair of rules that undo each other.
_REWRITES = 64


def simplify(expr: Expr, env: Bounds | None = None) -> Expr:
    """Return an expression of the same value, simpler where something was gained.

    Integer arithmetic of int32 and int64 scalars is put together by a linear normal form, floor
    division and remainder by bounds, comparisons by proof.  What cannot be simplified keeps its
    written shape.  Floats, loads and vectors are kept; the index arithmetic in them is simplified.

    Parameters
    ----------
    expr
        Any expression.
    env
        Domains of variables, outermost first; extents are taken to be at least 1.

    Returns
    -------
    Expr
        ``expr`` itself where nothing changes; simplifying the result again changes nothing.

    Notes
    -----
    Arithmetic on index variables is assumed not to overflow.  Arithmetic on loaded data wraps, and
    only identities that hold when it wraps are used there.  A zero divisor gives 0.
    """
    if _is_settled(expr):
        return expr
    env = NOTHING if env is None else env.deciding(expr)
    env.forget()
    memory = env.simplified
    if (known := memory.get(id(expr))) is not None:
        return known[1]
    stack: list[tuple[Expr, Expr | None]] = [(expr, None)]
    age: dict[int, int] = {}
    while stack:
        node, successor = stack.pop()
        if successor is not None:
            memory[id(node)] = (node, memory[id(successor)][1])
            continue
        if id(node) in memory:
            continue
        current, missing = _over_simple_parts(node, memory)
        if missing:
            stack.append((node, None))
            stack += [(part, None) for part in reversed(missing)]
            continue
        result = _apply(current, env)
        rewrites = age.get(id(node), 0)
        if result is current and _is_free(current):
            object.__setattr__(current, "_is_simple", True)
        if _is_settled(result):
            memory[id(node)] = (node, result)
        elif result is current or rewrites == _REWRITES:
            memory[id(current)] = (current, result)
            memory[id(node)] = (node, result)
        else:
            age[id(result)] = rewrites + 1
            stack.append((node, result))
            stack.append((result, None))
    return memory[id(expr)][1]


def _over_simple_parts(
    node: Expr, memory: Mapping[int, tuple[Expr, Expr]]
) -> tuple[Expr, list[Expr]]:
    """Return a node over what its parts have become, and the parts that have yet to."""
    parts = _parts(node)
    simple: list[Expr] = []
    missing: list[Expr] = []
    is_same = True
    for part in parts:
        if (known := memory.get(id(part))) is not None:
            simple.append(known[1])
            is_same = is_same and known[1] is part
        elif not part.child_fields or hasattr(part, "_is_simple"):  # settled
            simple.append(part)
        else:
            missing.append(part)
    return (node if missing or is_same else _with_parts(node, parts, simple)), missing


def _is_settled(node: Expr) -> bool:
    """Return whether a node is simple, as variables and constants are, in any environment."""
    return not node.child_fields or hasattr(node, "_is_simple")


def _is_free(node: Expr) -> bool:
    """Return whether the rule of a node asks for nothing but its parts, and they are settled.

    A sum asks for ranges where it has quotients, and these are never settled.
    """
    if isinstance(node, Binary):
        if node.op in _RANGED and is_index(node.dtype):
            return False
    elif isinstance(node, Compare) and node.a.dtype.is_integer and node.a.dtype.lanes == 1:
        return False
    return all(map(_is_settled, node.children()))  # type: ignore[arg-type]


def can_prove(condition: Expr, env: Bounds | None = None) -> bool:
    """Return whether ``condition`` holds for all values of the variables; False when unsure.

    Parameters
    ----------
    condition
        A truth value.
    env
        Domains of variables, outermost first; extents are taken to be at least 1.

    Examples
    --------
    >>> from axisfold.ir.expr import Var
    >>> m, ko, ki = Var("m", is_size=True), Var("ko"), Var("ki")
    >>> env = Bounds().extended(ko, 0, m // 16).extended(ki, 0, 16)
    >>> can_prove(ko * 16 + ki < m, env)
    True
    """
    result = simplify(condition, env)
    return isinstance(result, Const) and result.dtype.is_bool and bool(result.value)


def _is_chain(node: Expr) -> bool:
    return isinstance(node, Binary) and node.op in ("add", "sub") and is_index(node.dtype)


def _parts(node: Expr) -> Sequence[Expr]:
    """Return what must be simple before ``node`` is: all operands of a whole sum at once."""
    if _is_chain(node):
        return [leaf for leaf, _ in leaves(node)]
    return node.children()  # type: ignore[return-value]


def _with_parts(node: Expr, parts: Sequence[Expr], simple: Sequence[Expr]) -> Expr:
    """Return a node over other parts."""
    if not _is_chain(node):
        return node.with_children(simple)
    # Rebuild the tree of additions and subtractions over new leaves, right to left.
    fresh = dict(zip(map(id, parts), simple, strict=True))
    done: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(node, False)]
    while stack:
        current, is_ready = stack.pop()
        if not isinstance(current, Binary) or current.op not in ("add", "sub"):
            done.append(fresh[id(current)])
        elif is_ready:
            right, left = done.pop(), done.pop()
            done.append(Binary(current.op, left, right))
        else:
            stack.extend(((current, True), (current.b, False), (current.a, False)))
    return done[0]


def _apply(node: Expr, env: Bounds) -> Expr:
    """Apply the rule of one node whose parts are simple."""
    if isinstance(node, Binary):
        if node.dtype.lanes > 1:
            return node
        if node.op in ("and", "or"):
            return simplify_logic(node, env)
        if isinstance(node.a, Const) and isinstance(node.b, Const) and node.dtype.is_integer:
            return binary(node.op, node.a, node.b)
        return _apply_integer(node, env) if is_index(node.dtype) else node
    if isinstance(node, Compare):
        return simplify_compare(node, env)
    if isinstance(node, Cast):
        return cast(node.dtype.element, node.value) if isinstance(node.value, Const) else node
    if isinstance(node, (Not, Select, IfThenElse, Call)):
        return simplify_logic(node, env)
    return node


def _apply_integer(node: Binary, env: Bounds) -> Expr:
    match node.op:
        case "add" | "sub":
            return simplify_sum(node, env)
        case "mul":
            return simplify_product(node, env)
        case "floordiv":
            return simplify_floordiv(node, env)
        case "floormod":
            return simplify_floormod(node, env)
        case "truncdiv" | "truncmod":
            return simplify_trunc(node, env)
        case "min" | "max":
            return simplify_extremum(node, env)
        case "shl" | "shr":
            return simplify_shift(node, env)
        case _:
            return node
