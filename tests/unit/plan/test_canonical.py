# SPDX-License-Identifier: Apache-2.0
"""The canonical form visits the same elements, in the same order where that matters."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axisfold.plan.canonical import LoopAxis, canonicalize

STRIDES = st.sampled_from([0, 8, -8, 16, 24, -24, 48, 5, 1000])


@st.composite
def problems(draw):
    """Extents, strides of one or two inputs, folded axes; often such that axes merge."""
    rank = draw(st.integers(0, 5))
    shape = tuple(draw(st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4])) for _ in range(rank))
    inputs = []
    for _ in range(draw(st.integers(1, 2))):
        if draw(st.booleans()):
            inputs.append(tuple(draw(STRIDES) for _ in shape))
            continue
        order = draw(st.permutations(range(rank)))
        strides, step = [0] * rank, 8
        for axis in reversed(order):
            strides[axis] = step * draw(st.sampled_from([1, 1, 1, -1, 0]))
            step *= max(shape[axis], 1)
        inputs.append(tuple(strides))
    reduced = frozenset(a for a in range(rank) if draw(st.booleans()))
    return shape, tuple(inputs), reduced, draw(st.booleans()), draw(st.booleans())


def address(place, strides):
    return sum(p * s for p, s in zip(place, strides, strict=True))


def visited_by_caller(shape, inputs, reduced):
    """For each place in the result: the addresses and the index of each element, in C order."""
    kept = [a for a in range(len(shape)) if a not in reduced]
    folded = [a for a in range(len(shape)) if a in reduced]
    found = {}
    for outer in product(*(range(shape[a]) for a in kept)):
        rows = []
        for index, inner in enumerate(product(*(range(shape[a]) for a in folded))):
            place = [0] * len(shape)
            for axis, p in zip([*kept, *folded], [*outer, *inner], strict=True):
                place[axis] = p
            rows.append((tuple(address(place, s) for s in inputs), index))
        found[outer] = rows
    return found


def visited_by_kernel(problem, shape, reduced, uses_index):
    """The same, by running the canonical loops and bringing the results into the caller's order."""
    kept = [a for a in range(len(shape)) if a not in reduced]
    compact = [range(shape[a]) for a in problem.out_axes]
    found = {}
    loops = product(*(range(a.extent) for a in problem.kept))
    for coordinates, outer in zip(product(*compact), loops, strict=True):
        rows = []
        for inner in product(*(range(a.extent) for a in problem.reduced)):
            steps = list(zip([*problem.kept, *problem.reduced], [*outer, *inner], strict=True))
            addresses = tuple(
                offset + sum(axis.strides[i] * p for axis, p in steps)
                for i, offset in enumerate(problem.offsets)
            )
            index = sum(a.index_stride * p for a, p in steps) if uses_index else None
            rows.append((addresses, index))
        at = dict.fromkeys(kept, 0)
        for n, (axis, p) in enumerate(zip(problem.out_axes, coordinates, strict=True)):
            at[axis] = shape[axis] - 1 - p if n in problem.flipped else p
        found[tuple(at[a] for a in kept)] = rows
    return found


@given(problem=problems())
@settings(max_examples=400, deadline=None, derandomize=True, database=None)
def test_the_same_elements_are_visited(problem):
    shape, inputs, reduced, keep_order, uses_index = problem
    canonical = canonicalize(shape, inputs, reduced, keep_order=keep_order, uses_index=uses_index)
    wanted = visited_by_caller(shape, inputs, reduced)
    got = visited_by_kernel(canonical, shape, reduced, uses_index)
    assert got.keys() == wanted.keys()
    for place, rows in wanted.items():
        rows = rows if uses_index else [(addresses, None) for addresses, _ in rows]
        if keep_order:
            assert got[place] == rows
        else:
            assert Counter(got[place]) == Counter(rows)


@given(problem=problems())
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_the_form_is_small(problem):
    shape, inputs, reduced, keep_order, uses_index = problem
    found = canonicalize(shape, inputs, reduced, keep_order=keep_order, uses_index=uses_index)
    assert len(found.reduced) >= 1
    assert len(found.kept) <= sum(n != 1 for a, n in enumerate(shape) if a not in reduced)
    for axes in (found.kept, found.reduced):
        assert not any(a.continues(b) for a, b in pairwise(axes))
    for axis in found.kept:
        assert axis.extent != 1
        assert not (axis.extent and any(axis.strides) and all(s <= 0 for s in axis.strides))


def canonical(shape, strides, reduced, keep_order=False, uses_index=False):
    return canonicalize(
        shape, [strides], frozenset(reduced), keep_order=keep_order, uses_index=uses_index
    )


def test_contiguous_axes_merge():
    found = canonical((2, 3, 4), (96, 32, 8), {0, 1, 2})
    assert (found.kept, found.reduced) == ((), (LoopAxis(24, (8,)),))
    found = canonical((2, 3, 4), (96, 32, 8), {2})
    assert (found.kept, found.reduced) == ((LoopAxis(6, (32,)),), (LoopAxis(4, (8,)),))
    assert found.out_axes == (0, 1)


def test_fortran_order_is_sorted():
    found = canonical((2, 3, 4), (8, 16, 48), {0, 1, 2})
    assert found.reduced == (LoopAxis(24, (8,)),)
    found = canonical((2, 3, 4), (8, 16, 48), {1})
    assert found.kept == (LoopAxis(4, (48,)), LoopAxis(2, (8,)))
    assert found.out_axes == (2, 0)


def test_negative_strides_are_flipped_but_not_where_order_counts():
    found = canonical((3, 4), (-32, -8), {0, 1})
    assert (found.reduced, found.offsets) == ((LoopAxis(12, (8,)),), (-88,))
    for options in ({"keep_order": True}, {"uses_index": True}):
        found = canonical((3, 4), (-32, -8), {0, 1}, **options)
        assert [a.strides for a in found.reduced] == [(-8,)]
        assert found.offsets == (0,)
    found = canonical((3, 4), (-32, 8), {1}, keep_order=True)
    assert (found.kept, found.offsets, found.flipped) == ((LoopAxis(3, (32,)),), (-64,), (0,))


def test_inputs_that_step_in_opposite_directions_are_not_flipped():
    found = canonicalize((5,), [(8,), (-8,)], frozenset({0}), keep_order=False, uses_index=False)
    assert (found.reduced, found.offsets) == ((LoopAxis(5, (8, -8)),), (0, 0))


def test_broadcast_axes():
    found = canonical((3, 4), (0, 8), {0})
    assert (found.kept, found.reduced) == ((LoopAxis(4, (8,)),), (LoopAxis(3, (0,)),))
    found = canonical((3, 4, 5), (0, 0, 0), {0, 1, 2})
    assert found.reduced == (LoopAxis(60, (0,)),)


def test_the_index_keeps_axes_apart_that_memory_would_merge():
    # Fortran order: memory goes on from axis 0 to axis 1, the C-order index does not.
    found = canonical((3, 4), (8, 24), {0, 1}, uses_index=True)
    assert found.reduced == (LoopAxis(4, (24,), 1), LoopAxis(3, (8,), 4))
    found = canonical((3, 4), (32, 8), {0, 1}, uses_index=True)
    assert found.reduced == (LoopAxis(12, (8,), 1),)
    found = canonical((3, 7, 4), (224, 32, 8), {0, 2}, uses_index=True)
    assert found.reduced == (LoopAxis(3, (224,), 4), LoopAxis(4, (8,), 1))


def test_very_short_runs_leave_the_innermost_place_to_a_long_axis():
    found = canonical((3, 64), (8, 24), {0, 1}, uses_index=True)
    assert found.reduced == (LoopAxis(3, (8,), 64), LoopAxis(64, (24,), 1))
    found = canonical((3, 99, 64), (8, 2000, 24), {0, 1, 2}, uses_index=True)
    assert [a.extent for a in found.reduced] == [99, 3, 64]  # the nearest of the long ones
    for shape in ((3, 11), (30, 63), (32, 999)):  # not long; not so short
        strides = (8, 8 * shape[0])
        found = canonical(shape, strides, {0, 1}, uses_index=True)
        assert [a.extent for a in found.reduced] == list(shape)[::-1]
    found = canonical((3, 64), (8, 32), {0, 1})  # without an index: as in memory
    assert [a.extent for a in found.reduced] == [64, 3]


def test_nothing_to_fold_is_a_loop_of_one():
    assert canonical((3, 4), (32, 8), ()).reduced == (LoopAxis(1, (0,)),)
    assert canonical((), (), ()).reduced == (LoopAxis(1, (0,)),)
    assert canonical((1, 1), (0, 99), {1}).kept == ()


@pytest.mark.parametrize(
    ("shape", "strides", "reduced", "inner"),
    [
        ((8, 9), (72, 8), {1}, ("reduced", ("unit",))),
        ((8, 9), (72, 8), {0}, ("kept", ("unit",))),
        ((8, 9), (8, 64), {0}, ("reduced", ("unit",))),
        ((8, 9), (8, 64), {1}, ("kept", ("unit",))),
        ((8, 9), (72, -8), {1}, ("reduced", ("unit",))),
        ((8, 9), (144, 16), {1}, ("reduced", ("two",))),
        ((8, 9), (216, 24), {1}, ("reduced", ("any",))),
        ((8, 9), (144, 16), {0}, ("kept", ("two",))),
        ((8, 9), (0, 0), {0, 1}, ("reduced", ("zero",))),
        ((8, 9), (72, 8), {0, 1}, ("reduced", ("unit",))),
        ((8, 1), (8, 8), {1}, ("kept", ("unit",))),
        ((8, 9), (72, 8), (), ("kept", ("unit",))),
        ((8, 9), (0, 8), {0}, ("kept", ("unit",))),
        ((8, 9), (8, 0), {1}, ("kept", ("unit",))),
    ],
)
def test_what_the_innermost_axis_is(shape, strides, reduced, inner):
    assert canonical(shape, strides, reduced).inner([8]) == inner
