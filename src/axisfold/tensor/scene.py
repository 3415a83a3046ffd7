# SPDX-License-Identifier: Apache-2.0
"""What the members of a fold share: its inputs, its run, and counts of elements under a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.tensor.float8 import Float8
from axisfold.tensor.tile import Run
from axisfold.tensor.values import Form


@dataclass(slots=True)
class Counter:
    """A field of the state that counts the elements of a mask.

    Attributes
    ----------
    mask
        Whether an element counts.
    lhs, rhs
        The count in two states.
    tile
        The count of a run of elements.
    """

    mask: Expr
    lhs: Var = field(default_factory=lambda: Var("a_count", INT64))
    rhs: Var = field(default_factory=lambda: Var("b_count", INT64))
    tile: Expr = build.FALSE

    @property
    def one(self) -> Expr:
        """What an element adds."""
        return build.cast(INT64, self.mask)


@dataclass(slots=True)
class Scene:
    """What the members of a fold share.

    Attributes
    ----------
    raw
        Forms of the inputs.
    elements
        Variables of their real components.
    count
        Variable of the number of elements.
    run
        Variables of the element's index, and of the run that it is in.
    mask
        Which elements the caller folds; ``TRUE`` for all.
    counters
        A field for each mask under which some member counts elements.
    """

    raw: Sequence[Form | Float8]
    elements: Sequence[tuple[Var, ...]]
    count: Var
    run: Run
    mask: Expr
    counters: list[Counter] = field(default_factory=list)

    def count_of(self, mask: Expr) -> Var:
        """Return how many elements a mask lets pass: a field where that is not known before."""
        if mask is build.TRUE:
            return self.count
        for counter in self.counters:
            if counter.mask == mask:
                return counter.lhs
        self.counters.append(Counter(mask))
        return self.counters[-1].lhs
