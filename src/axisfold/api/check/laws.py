# SPDX-License-Identifier: Apache-2.0
"""The laws of reducers, as rows of a table: what is drawn, and which states have to be the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from axisfold.api.check.comparison import Side, Tolerance, are_same, give_the_same
from axisfold.api.check.states import Array, State, States, stored

# The elements of one part of an array: a tuple with one number for each input.
Part: TypeAlias = Sequence[tuple[Any, ...]]
NAMES: Final = "abc"


@dataclass(frozen=True, slots=True)
class Sample:
    """Parts of an array, one after the other, and their states.

    Attributes
    ----------
    states
        The reducer.
    parts
        Elements of each part.
    folded
        The state of each part.
    """

    states: States
    parts: tuple[Part, ...]
    folded: tuple[State, ...]

    @staticmethod
    def of(states: States, parts: tuple[Part, ...]) -> Sample:
        """Return parts with their states."""
        first, folded = 0, []
        for part in parts:
            folded.append(states.fold(states.lift(columns(states, part), first)))
            first += len(part)
        return Sample(states, parts, tuple(folded))

    @property
    def largest(self) -> float:
        """Magnitude of the largest finite element."""
        sizes = [abs(complex(x)) for part in self.parts for element in part for x in element]
        return max((s for s in sizes if np.isfinite(s)), default=0.0)

    @property
    def count(self) -> int:
        """Number of elements of all parts."""
        return sum(map(len, self.parts))


def columns(states: States, part: Part) -> list[Array]:
    """Return a part's elements as one array for each input."""
    inputs = enumerate(states.dtypes)
    return [stored([element[n] for element in part], dtype) for n, dtype in inputs]


@dataclass(frozen=True, slots=True)
class Law:
    """What has to hold for all states.

    Attributes
    ----------
    name, statement
        Name and formula, as the report shows them.
    remedy
        What to do where it is broken.
    applies
        Whether a reducer promises it, for the elements that it is tried on.
    parts
        How many parts are drawn.
    sides
        From a sample to pairs of states that have to be the same.
    is_wild
        Whether elements of any size, infinities and NaN are drawn.
    is_exact
        Whether states have to be the same to the bit.
    """

    name: str
    statement: str
    remedy: str
    applies: Callable[[States], bool]
    parts: int
    sides: Callable[[Sample], list[tuple[Side, Side]]]
    is_wild: bool = False
    is_exact: bool = False

    def broken_sides(self, sample: Sample, ulps: float) -> tuple[Side, Side] | None:
        """Return two sides that are not the same, None if the law holds.

        States with other fields are still the same if the results are, of the state itself and
        after it was merged with another one on either side: fields may have spare freedom.
        """
        states = sample.states
        tolerance = Tolerance(0 if self.is_exact else ulps, sample.largest)
        for left, right in self.sides(sample):
            if are_same(states, left.state, right.state, sample.folded, tolerance):
                continue
            versions = [(left.state, right.state)]
            for other in sample.folded:
                versions.append(
                    (states.combine(left.state, other), states.combine(right.state, other))
                )
                versions.append(
                    (states.combine(other, left.state), states.combine(other, right.state))
                )
            count = sample.count
            if not all(give_the_same(states, a, b, count, tolerance) for a, b in versions):
                return left, right
        return None


def _identity(sample: Sample) -> list[tuple[Side, Side]]:
    states, (a,) = sample.states, sample.folded
    nothing, alone = states.identity(), Side("a", a)
    return [
        (Side("combine(identity, a)", states.combine(nothing, a)), alone),
        (Side("combine(a, identity)", states.combine(a, nothing)), alone),
        # Lanes that no element reaches are merged with each other: a row of 4 in a vector of 8.
        (
            Side("combine(identity, identity)", states.combine(nothing, nothing)),
            Side("identity", nothing),
        ),
    ]


def _associativity(sample: Sample) -> list[tuple[Side, Side]]:
    states, (a, b, c) = sample.states, sample.folded
    left = states.combine(states.combine(a, b), c)
    right = states.combine(a, states.combine(b, c))
    return [(Side("combine(combine(a, b), c)", left), Side("combine(a, combine(b, c))", right))]


def _commutativity(sample: Sample) -> list[tuple[Side, Side]]:
    states, (a, b, *_) = sample.states, sample.folded
    left, right = states.combine(a, b), states.combine(b, a)
    return [(Side("combine(a, b)", left), Side("combine(b, a)", right))]


def _exact(sample: Sample) -> list[tuple[Side, Side]]:
    is_ordered = sample.states.reducer.is_ordered
    return _associativity(sample) + ([] if is_ordered else _commutativity(sample))


def _idempotent(sample: Sample) -> list[tuple[Side, Side]]:
    states, (a,) = sample.states, sample.folded
    return [(Side("combine(a, a)", states.combine(a, a)), Side("a", a))]


def _first(sample: Sample) -> list[tuple[Side, Side]]:
    states, (a, b) = sample.states, sample.folded
    if are_same(states, a, states.identity(), (a,), Tolerance(0, sample.largest)):
        return []
    return [(Side("combine(a, b)", states.combine(a, b)), Side("a", a))]


def _absorbing(sample: Sample) -> list[tuple[Side, Side]]:
    states, (a,) = sample.states, sample.folded
    z = Side("z", states.absorbing())
    return [
        (Side("combine(z, a)", states.combine(z.state, a)), z),
        (Side("combine(a, z)", states.combine(a, z.state)), z),
    ]


def _absorb(sample: Sample) -> list[tuple[Side, Side]]:
    """The first part's state takes the elements of the second one by one, as does the identity."""
    states, (a, _) = sample.states, sample.folded
    own = states.identity()
    elements = columns(states, sample.parts[1])
    first = len(sample.parts[0])
    pairs = []
    for n in range(len(sample.parts[1])):
        element = [column[n : n + 1] for column in elements]
        lifted = states.lift(element, first + n)
        for name, state in (("identity", own), ("a", a)):
            before = f"{name} with b[:{n}]" if n else name
            one = Side(f"absorb({before}, b[{n}])", states.absorb(state, element, first + n))
            both = states.combine(state, lifted)
            pairs.append((one, Side(f"combine({before}, lift(b[{n}]))", both)))
        a, own = states.combine(a, lifted), states.combine(own, lifted)
    return pairs


def _tile(sample: Sample) -> list[tuple[Side, Side]]:
    elements = columns(sample.states, sample.parts[0])
    (a,) = sample.folded
    if not sample.states.traced.tile_state:
        return []  # no tile form for elements of this dtype
    return [(Side("tile(a)", sample.states.tile(elements)), Side("its lifted elements merged", a))]


LAWS: Final = (
    Law(
        "identity",
        "combine(identity, a) = a = combine(a, identity)",
        "The identity is the state of nothing: 0 for sums, 1 for products, axisfold.lowest for "
        "maxima. A start value of another kind is no identity.",
        lambda s: True,
        1,
        _identity,
        is_wild=True,
    ),
    Law(
        "associativity",
        "combine(combine(a, b), c) = combine(a, combine(b, c))",
        "Parts are merged in any grouping: put into the state what a merge needs, such as the "
        "count beside a mean.",
        lambda s: True,
        3,
        _associativity,
    ),
    Law(
        "commutativity",
        "combine(a, b) = combine(b, a)",
        'Parts are merged in any order: declare facts=("ordered",) if the order has a meaning.',
        lambda s: not s.reducer.is_ordered,
        2,
        _commutativity,
    ),
    Law(
        "exact",
        "the laws above hold to the bit, for all elements",
        'Take "exact" out of facts: the functions round.',
        lambda s: "exact" in s.reducer.facts,
        3,
        _exact,
        is_wild=True,
        is_exact=True,
    ),
    Law(
        "idempotent",
        "combine(a, a) = a",
        'Take "idempotent" out of facts: an element that is folded twice would count twice.',
        lambda s: "idempotent" in s.reducer.facts,
        1,
        _idempotent,
    ),
    Law(
        "first",
        "combine(a, b) = a, where a is not the identity and of earlier elements",
        'Take "first" out of facts: later elements still change a state.',
        lambda s: "first" in s.reducer.facts,
        2,
        _first,
        is_wild=True,
        is_exact=True,
    ),
    Law(
        "absorbing",
        "combine(z, a) = z = combine(a, z), where z is the absorbing state",
        "Leave absorbing out: elements beyond the first that makes this state still change it.",
        lambda s: bool(s.traced.combiner.absorbing),
        1,
        _absorbing,
        is_wild=True,
        is_exact=True,
    ),
    Law(
        "absorb",
        "absorb(a, x) = combine(a, lift(x))",
        "absorb is a cheaper way to the same state, also from the identity; without it, "
        "combine(a, lift(x)) is used.",
        lambda s: s.reducer.absorb is not None,
        2,
        _absorb,
    ),
    Law(
        "tile",
        "tile(elements) = their lifted states merged",
        "A tile is a run of any number of elements from one on: t.count says how many.",
        lambda s: s.reducer.tile is not None and bool(s.traced.tile_state),
        1,
        _tile,
    ),
)
