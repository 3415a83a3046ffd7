# SPDX-License-Identifier: Apache-2.0
"""Integer polynomials over atoms: the normal form in which index arithmetic is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from axisfold.dtypes import DType, fits
from axisfold.ir.build import binary
from axisfold.ir.constants import const
from axisfold.ir.expr import Binary, Const, Expr

# Multiplying sums out is worth it for index expressions only; beyond this it costs and never pays.
_EXPANSION_TERMS = 48
_EXPANSION_DEPTH = 6


class Product:
    """A product of two or more atoms, equal to any reordering of itself.

    Parameters
    ----------
    factors
        The atoms, in the order in which they were written.
    """

    __slots__ = ("_hash", "factors")

    def __init__(self, factors: tuple[Expr, ...]) -> None:
        self.factors = factors
        self._hash = sum(map(hash, factors))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Product) or self._hash != other._hash:
            return False
        return self.factors == other.factors or Counter(self.factors) == Counter(other.factors)


Key = Expr | Product


class Linear:
    """A sum ``coefficient * key + … + constant``; zero coefficients are never stored.

    Parameters
    ----------
    terms
        Coefficient of each key, in the order of first occurrence.
    constant
        The rest.
    """

    __slots__ = ("constant", "terms")

    def __init__(self, terms: dict[Key, int] | None = None, constant: int = 0) -> None:
        self.terms: dict[Key, int] = {} if terms is None else terms
        self.constant = constant

    def add(self, key: Key, coefficient: int) -> None:
        """Add ``coefficient * key`` in place."""
        if not coefficient:
            return
        # Hashing a key is what costs: a new key is hashed once.
        terms, size = self.terms, len(self.terms)
        known = terms.setdefault(key, coefficient)
        if len(terms) != size:
            return
        if known + coefficient:
            terms[key] = known + coefficient
        else:
            del terms[key]

    def plus(self, other: Linear, scale: int = 1) -> Linear:
        """Return ``self + scale * other``."""
        result = Linear(dict(self.terms), self.constant + scale * other.constant)
        for key, coefficient in other.terms.items():
            result.add(key, scale * coefficient)
        return result

    def shifted(self, offset: int) -> Linear:
        """Return ``self + offset``."""
        return Linear(dict(self.terms), self.constant + offset)

    def scaled(self, scale: int) -> Linear:
        """Return ``scale * self``."""
        return Linear().plus(self, scale)

    def times(self, other: Linear) -> Linear:
        """Return the product, multiplied out."""
        result = Linear(None, self.constant * other.constant)
        for left, a in (*self.terms.items(), (None, self.constant)):
            for right, b in (*other.terms.items(), (None, other.constant)):
                if left is None or right is None:
                    key = left if right is None else right
                    if key is not None and a * b:
                        result.add(key, a * b)
                else:
                    result.add(key_of((*factors_of(left), *factors_of(right))), a * b)
        return result


def factors_of(key: Key) -> tuple[Expr, ...]:
    """Return the atoms whose product is ``key``."""
    return key.factors if isinstance(key, Product) else (key,)


def key_of(factors: tuple[Expr, ...]) -> Key:
    """Return the key of a product of one or more atoms."""
    return factors[0] if len(factors) == 1 else Product(factors)


def without(factors: tuple[Expr, ...], removed: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """Return ``factors`` less ``removed`` (a multiset), None where one is missing."""
    rest = list(factors)
    for factor in removed:
        for position, candidate in enumerate(rest):
            if candidate is factor or candidate == factor:
                del rest[position]
                break
        else:
            return None
    return tuple(rest)


def is_index(dtype: DType) -> bool:
    """Return whether scalars of ``dtype`` are index arithmetic: int32 or int64."""
    return dtype.kind == "int" and dtype.bits >= 32 and dtype.lanes == 1


def is_sum(expr: Expr) -> bool:
    """Return whether ``expr`` is an addition or a subtraction."""
    return isinstance(expr, Binary) and expr.op in ("add", "sub")


def leaves(expr: Expr) -> Iterator[tuple[Expr, int]]:
    """Yield the operands of a tree of additions and subtractions with their signs."""
    stack = [(expr, 1)]
    while stack:
        node, sign = stack.pop()
        if isinstance(node, Binary) and node.op in ("add", "sub"):
            stack.append((node.b, sign if node.op == "add" else -sign))
            stack.append((node.a, sign))
        else:
            yield node, sign


def monomial(expr: Expr) -> tuple[int, tuple[Expr, ...]]:
    """Return the constant factor and the other factors of a product (or of one atom)."""
    if not isinstance(expr, Binary) or expr.op != "mul":
        return (int(expr.value), ()) if isinstance(expr, Const) else (1, (expr,))
    coefficient = 1
    factors: list[Expr] = []
    stack: list[Expr] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Const):
            coefficient *= int(node.value)
        elif isinstance(node, Binary) and node.op == "mul":
            stack.append(node.b)
            stack.append(node.a)
        else:
            factors.append(node)
    return coefficient, tuple(factors)


def linear(expr: Expr) -> Linear:
    """Return the normal form of an index expression; sums inside products stay atoms.

    The expression remembers it: it is for reading only.
    """
    known: Linear | None = getattr(expr, "_linear", None)
    if known is not None:
        return known
    if isinstance(expr, Const):
        result = Linear(None, int(expr.value))
    elif not isinstance(expr, Binary):
        result = Linear({expr: 1})
    else:
        result = Linear()
        for leaf, sign in leaves(expr):
            coefficient, factors = monomial(leaf)
            if factors:
                result.add(key_of(factors), sign * coefficient)
            else:
                result.constant += sign * coefficient
    object.__setattr__(expr, "_linear", result)
    return result


def expanded(expr: Expr) -> Linear:
    """Return the normal form with products of sums multiplied out (within reason).

    The expression remembers it: it is for reading only.
    """
    known: Linear | None = getattr(expr, "_expanded", None)
    if known is None:
        known = spread(linear(expr))
        object.__setattr__(expr, "_expanded", known)
    return known


def spread(form: Linear, depth: int = _EXPANSION_DEPTH) -> Linear:
    """Return ``form`` with products of sums multiplied out (within reason)."""
    if depth == 0 or not has_product_of_sum(form):
        return form
    result = Linear(None, form.constant)
    for key, coefficient in form.terms.items():
        product = _multiplied(factors_of(key), depth)
        if product is None:
            result.add(key, coefficient)
        else:
            result = result.plus(product, coefficient)
    return result


def has_product_of_sum(form: Linear) -> bool:
    """Return whether :func:`spread` would find something to multiply out."""
    return any(
        is_sum(factor)
        for key, coefficient in form.terms.items()
        if isinstance(key, Product) or coefficient != 1
        for factor in factors_of(key)
    )


def _multiplied(factors: tuple[Expr, ...], depth: int) -> Linear | None:
    if not any(map(is_sum, factors)):
        return None
    product = Linear(None, 1)
    for factor in factors:
        part = spread(linear(factor), depth - 1) if is_sum(factor) else Linear({factor: 1})
        if (len(product.terms) + 1) * (len(part.terms) + 1) > _EXPANSION_TERMS:
            return None
        product = product.times(part)
    return product


def to_expr(form: Linear, dtype: DType) -> Expr | None:
    """Return the expression of a normal form: terms in order, subtraction for a negative one.

    The constant comes last, or first where no term is positive (``5 - x``).  None where a
    coefficient does not fit ``dtype``.
    """
    if not all(fits(c, dtype) for c in (form.constant, *form.terms.values())):
        return None
    terms = list(form.terms.items())
    lead = next((i for i, (_, c) in enumerate(terms) if c > 0), None)
    constant = form.constant
    if lead is not None:
        key, coefficient = terms.pop(lead)
        result = _term(key, coefficient, dtype)
    elif constant or not terms:
        result, constant = const(constant, dtype), 0
    else:
        key, coefficient = terms.pop(0)
        result = _term(key, coefficient, dtype)
    for key, coefficient in terms:
        op = "add" if coefficient > 0 else "sub"
        result = Binary(op, result, _term(key, abs(coefficient), dtype))  # type: ignore[arg-type]
    if constant and fits(-constant, dtype):
        offset = const(abs(constant), dtype)
        return Binary("add" if constant > 0 else "sub", result, offset)
    return Binary("add", result, const(constant, dtype)) if constant else result


def rendered(form: Linear, otherwise: Expr) -> Expr:
    """Return the expression of ``form``, or ``otherwise`` where its type cannot hold it."""
    found = to_expr(form, otherwise.dtype)
    return otherwise if found is None else found


def _term(key: Key, coefficient: int, dtype: DType) -> Expr:
    first, *others = factors_of(key)
    result = first
    for factor in others:
        result = Binary("mul", result, factor)
    return result if coefficient == 1 else Binary("mul", result, const(coefficient, dtype))


def split_constant(expr: Expr, depth: int = 32) -> tuple[Expr, int]:
    """Return an index and a constant whose sum is ``expr``, which is looked into so deeply."""
    if isinstance(expr, Const):
        return const(0, expr.dtype), int(expr.value)
    if not isinstance(expr, Binary) or not depth or expr.op not in ("add", "sub", "mul"):
        return expr, 0
    a, constant = split_constant(expr.a, depth - 1)
    if expr.op == "mul":
        if not constant or not isinstance(expr.b, Const):
            return expr, 0
        return binary("mul", a, expr.b), constant * int(expr.b.value)
    b, other = split_constant(expr.b, depth - 1)
    if not constant and not other:
        return expr, 0
    return binary(expr.op, a, b), constant + (other if expr.op == "add" else -other)
