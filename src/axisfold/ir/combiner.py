# SPDX-License-Identifier: Apache-2.0
"""The typed combiner of a reduction: how two states become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from axisfold.ir.expr import Binary, Const, Expr, Node, Var, separated
from axisfold.ir.walk import substitute_all, uses


@dataclass(frozen=True, slots=True, eq=False)
class Combiner(Node):
    """``result`` merges two states ``lhs`` and ``rhs``; ``identity`` is the state of nothing.

    ``absorbing`` is the state that no other changes; () if there is none.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("result", "identity", "absorbing")
    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[Expr, ...]
    identity: tuple[Expr, ...]
    facts: frozenset[str] = frozenset({"commutative"})
    absorbing: tuple[Expr, ...] = ()

    def pieces(self) -> list[str | Node]:
        """Return te's text, ``comm_reducer(result=[…], lhs=[…], …)``."""
        absorbing: list[str | Node] = []
        if self.absorbing:
            absorbing = [", absorbing_element=[", *separated(self.absorbing), "]"]
        return [
            "comm_reducer(result=[", *separated(self.result), "], lhs=[", *separated(self.lhs),
            "], rhs=[", *separated(self.rhs), "], identity_element=[", *separated(self.identity),
            "]", *absorbing, ")",
        ]  # fmt: skip

    @property
    def is_ordered(self) -> bool:
        """Whether states must be merged in index order."""
        return "ordered" in self.facts

    @property
    def keeps_first(self) -> bool:
        """Whether the first state that is not the identity stays as it is."""
        return "first" in self.facts and not any(v.dtype.is_float for v in self.lhs)

    def merge(self, a: Sequence[Expr], b: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the merged state of two given ones."""
        mapping = dict(zip((*self.lhs, *self.rhs), (*a, *b), strict=True))
        return tuple(substitute_all(self.result, mapping))

    def of_partial(self) -> Combiner:
        """Return the combiner of partial states, which are merged with the identity at the end.

        Sums of floats start from -0.0 there: adding to it changes no number, not even -0.0, so
        that nothing is done for the first element of each partial state.
        """
        identity = tuple(
            Const(-0.0, e.dtype) if self._is_sum(n) else e for n, e in enumerate(self.identity)
        )
        return replace(self, identity=identity) if identity != self.identity else self

    def _is_sum(self, field: int) -> bool:
        """Return whether a part of the state is a sum of floats, which no other part depends on."""
        start, result, own = self.identity[field], self.result[field], self.lhs[field]
        parts = frozenset((own, self.rhs[field]))
        is_sum = isinstance(result, Binary) and result.op == "add" and {result.a, result.b} == parts
        is_zero = isinstance(start, Const) and start.dtype.is_float and start.value == 0
        others = (*self.result[:field], *self.result[field + 1 :])
        return is_sum and is_zero and not any(uses(other, parts) for other in others)
