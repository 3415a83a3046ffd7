# SPDX-License-Identifier: Apache-2.0
"""Where variables range: constant intervals, symbolic domains, and environments of domains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from axisfold.analysis.linear import Linear, Product, expanded
from axisfold.ir.build import as_expr
from axisfold.ir.expr import Binary, Const, Expr, Var
from axisfold.ir.walk import variables

# An environment remembers answers about expressions until it has seen this many.
_MEMORY = 1 << 15


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
    outer
        The environment that this one was made from by one more variable, if it was.
    """

    __slots__ = (
        "_domains", "_facts", "_floors", "_inner", "measures", "outer", "points", "simplified",
    )  # fmt: skip

    def __init__(self, domains: Mapping[Var, Domain] | None = None) -> None:
        self._domains = dict(domains or {})
        self.measures: dict[int, Measure] = {}
        self.simplified: dict[int, tuple[Expr, Expr]] = {}
        self.points: dict[tuple[int, str], Point | None] = {}
        self.outer: Bounds | None = None
        self._inner: dict[tuple[Var, Expr, Expr], Bounds] = {}
        self._facts: list[Linear] | None = None
        self._floors: dict[Var, int] | None = None

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
            inner.outer = self
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

    @property
    def facts(self) -> list[Linear]:
        """Forms known to be >= 0 because every extent is at least 1."""
        if self._facts is None:
            self._facts = []
            for domain in self._domains.values():
                fact = expanded(domain.extent).shifted(-1)
                if fact.terms:
                    self._facts.extend((fact, *_undivided(fact)))
        return self._facts

    def floor(self, var: Var) -> int | float:
        """Return a lower bound of ``var`` that follows from its kind and from the facts."""
        if self._floors is None:
            self._floors = {}
            for fact in self.facts:
                for name, low in _floors(fact):
                    self._floors[name] = max(low, self._floors.get(name, low))
        kind: int | float = var.least if var.is_size else -math.inf
        return max(kind, self._floors.get(var, kind))


def environment(domains: Mapping[Var, Domain]) -> Bounds:
    """Return the environment of some domains; the last ones asked for remember what they know."""
    return _environment(tuple(domains.items()))


@lru_cache(maxsize=64)
def _environment(domains: tuple[tuple[Var, Domain], ...]) -> Bounds:
    if not domains:
        return Bounds()
    *outer, (var, domain) = domains
    return _environment(tuple(outer)).extended(var, domain.min, domain.extent)


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
