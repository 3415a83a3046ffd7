# SPDX-License-Identifier: Apache-2.0
"""Where variables range: constant intervals, symbolic domains, and environments of domains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from axisfold.analysis.linear import Linear, Product, expanded
from axisfold.ir.build import as_expr
from axisfold.ir.expr import Binary, Const, Expr, Var
from axisfold.ir.walk import variables

# An environment remembers answers about expressions, and environments inside of it, until it has
# seen so many.
_MEMORY = 1 << 15
_INNER = 1 << 6


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from ``low`` to ``high``, both included; −inf and inf where unbounded."""

    low: int | float = -math.inf
    high: int | float = math.inf

    @property
    def is_point(self) -> bool:
        """Whether it holds one value."""
        return self.low == self.high

    @property
    def is_finite(self) -> bool:
        """Whether both ends are known."""
        return self.low > -math.inf and self.high < math.inf


@dataclass(frozen=True, slots=True)
class Domain:
    """The values ``min <= var < min + extent`` of a variable.

    ``extent >= 1`` is taken for granted: a question is asked about code that runs.
    """

    min: Expr
    extent: Expr


class Measure(NamedTuple):
    """What is known of an expression: its interval, and whether it holds loaded data.

    Arithmetic on indices is assumed not to overflow; arithmetic on data wraps.
    """

    node: Expr
    low: int | float
    high: int | float
    is_data: bool


class NoValue(Exception):
    """An expression that is no arithmetic of indices."""


class Point(dict[Var, int]):
    """Values of variables, and of expressions by their identity, which they keep.

    Sizes that have no value of their own are alike, where they may be; others of which nothing is
    known are 1.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.known: dict[int, tuple[Expr, int]] = {}

    def __missing__(self, var: Var) -> int:
        return max(self.size, var.least) if var.is_size else 1


class Bounds(Mapping[Var, Domain]):
    """An environment: the domain of each variable, outermost first.

    It never changes, and remembers what was asked about expressions under it.

    Parameters
    ----------
    domains
        Domain of each variable; one may read the variables before it.

    Attributes
    ----------
    measures, simplified
        Answers of :func:`axisfold.analysis.intervals.measure` and of
        :func:`axisfold.analysis.simplify.simplify`, by the identity of nodes that they keep alive.
    points
        Values of the variables that :mod:`axisfold.analysis.refute` tries; None where there are
        none.
    outer, added
        The environment that this one was made from by one more variable, if it was.
    """

    __slots__ = (
        "_deciding", "_domains", "_facts", "_floors", "_inner", "_ranging", "added", "measures",
        "outer", "points", "simplified",
    )  # fmt: skip

    def __init__(self, domains: Mapping[Var, Domain] | None = None) -> None:
        self._domains = dict(domains or {})
        self.measures: dict[int, Measure] = {}
        self.simplified: dict[int, tuple[Expr, Expr]] = {}
        self.points: dict[tuple[int, str], Point | None] = {}
        self.outer: Bounds | None = None
        self.added: Var | None = None
        self._inner: dict[tuple[Var, Expr, Expr], Bounds] = {}
        self._facts: Sequence[Linear] | None = None
        self._floors: Mapping[Var, int] | None = None
        self._ranging: dict[frozenset[Var], Bounds] = {}
        self._deciding: dict[frozenset[Var], Bounds] = {}

    def __getitem__(self, var: Var) -> Domain:
        return self._domains[var]

    def __iter__(self) -> Iterator[Var]:
        return iter(self._domains)

    def __len__(self) -> int:
        return len(self._domains)

    def __contains__(self, var: object) -> bool:
        return var in self._domains

    def __repr__(self) -> str:
        return f"Bounds({', '.join(var.name for var in self._domains)})"

    def extended(self, var: Var, min: Any, extent: Any) -> Bounds:
        """Return this environment and one more variable, inside all others.

        The same question has the same answer, with all that it remembers.
        """
        low, count = as_expr(min, var.dtype), as_expr(extent, var.dtype)
        inner = self._inner.get((var, low, count))
        if inner is None:
            inner = Bounds({**self._domains, var: Domain(low, count)})
            inner.outer, inner.added = self, var
            if len(self._inner) >= _INNER:
                self._inner.clear()
            self._inner[var, low, count] = inner
        return inner

    def forget(self) -> None:
        """Drop remembered answers when there are very many; never while one is being found."""
        if len(self.measures) > _MEMORY:
            self.measures.clear()
            self.points.clear()
        if len(self.simplified) > _MEMORY:
            self.simplified.clear()

    def occurring(self, expr: Expr) -> frozenset[Var]:
        """Return the variables of the environment that occur in ``expr``."""
        return variables(expr) & self._domains.keys()

    def bearing(self, names: AbstractSet[Var]) -> set[Var]:
        """Return the variables that decide what is known of some: what bears on it.

        These are what their domains read; and since each extent is at least 1, those whose extents
        read one of them.
        """
        found, size = set(names), -1
        while size != len(found):
            size = len(found)
            for var, domain in self._domains.items():
                read = variables(domain.extent)
                if var in found or not found.isdisjoint(read):
                    found |= {var, *read, *variables(domain.min)}
        return found

    def deciding(self, expr: Expr) -> Bounds:
        """Return the outermost environment under which the same is known of an expression."""
        names = variables(expr)
        if self.outer is None or self.added in names:
            return self
        found = self._deciding.get(names)
        if found is None:
            found, bearing = self, self.bearing(names)
            while found.outer is not None and found.added not in bearing:
                found = found.outer
            self._deciding[names] = found
        return found

    def ranging(self, expr: Expr) -> Bounds:
        """Return the outermost environment under which an expression has the same range."""
        if self.outer is None:  # it lives on, and so would the variables that it is asked of
            return self
        names = variables(expr)
        found = self._ranging.get(names)
        if found is None:
            found, outer = self, self.outer
            if self.floors is outer.floors and self.added not in names:
                found = outer.ranging(expr)
            self._ranging[names] = found
        return found

    @property
    def facts(self) -> Sequence[Linear]:
        """Forms known to be >= 0 because every extent is at least 1."""
        if self._facts is None:
            known: Sequence[Linear] = () if self.outer is None else self.outer.facts
            own = tuple(self._domains) if self.added is None else (self.added,)
            found = [fact for var in own for fact in _facts(self._domains[var].extent)]
            self._facts = (*known, *found) if found else known
        return self._facts

    @property
    def floors(self) -> Mapping[Var, int]:
        """Lower bounds of variables that follow from the facts, outer ones where none is new."""
        if self._floors is None:
            known: Mapping[Var, int] = {} if self.outer is None else self.outer.floors
            skipped = 0 if self.outer is None else len(self.outer.facts)
            for fact in self.facts[skipped:]:
                for name, low in _floors(fact):
                    if name not in known or known[name] < low:
                        known = {**known, name: low}
            self._floors = known
        return self._floors

    def floor(self, var: Var) -> int | float:
        """Return a lower bound of ``var`` that follows from its kind and from the facts."""
        kind: int | float = var.least if var.is_size else -math.inf
        return max(kind, self.floors.get(var, kind))


# The environment in which nothing is known, and from which all others are made.
NOTHING: Final = Bounds()


def environment(domains: Mapping[Var, Domain]) -> Bounds:
    """Return the environment of some domains, which remembers what was asked of it before."""
    env = NOTHING
    for var, domain in domains.items():
        env = env.extended(var, domain.min, domain.extent)
    return env


def _facts(extent: Expr) -> Iterator[Linear]:
    """Yield what is >= 0 because an extent is at least 1."""
    fact = expanded(extent).shifted(-1)
    if fact.terms:
        yield fact
        yield from _undivided(fact)


def _undivided(fact: Linear) -> Iterator[Linear]:
    """From ``f // C + r >= 0``, that is ``f >= -C * r``, yield the form ``f + C * r``."""
    for key, coefficient in fact.terms.items():
        if coefficient != 1 or not isinstance(key, Binary) or key.op != "floordiv":
            continue
        if isinstance(key.b, Const) and int(key.b.value) > 0:
            rest = fact.plus(Linear({key: 1}), -1)
            yield expanded(key.a).plus(rest, int(key.b.value))


def _floors(fact: Linear) -> Iterator[tuple[Var, int]]:
    """Yield lower bounds of single variables that follow from ``fact >= 0``."""
    if len(fact.terms) != 1:
        return
    ((key, coefficient),) = fact.terms.items()
    if coefficient < 0:
        return
    if isinstance(key, Var):
        yield key, -(fact.constant // coefficient)
    elif isinstance(key, Product) and fact.constant < 0:
        # A product of sizes that is at least 1 has no factor 0.
        sizes = [f for f in key.factors if isinstance(f, Var) and f.is_size]
        if len(sizes) == len(key.factors):
            yield from ((size, 1) for size in sizes)
