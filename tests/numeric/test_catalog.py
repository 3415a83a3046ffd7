# SPDX-License-Identifier: Apache-2.0
"""Every reduction of the catalogue against exact arithmetic, on any array."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_support import DTYPES, FLAVOURS, LAYOUTS, check, make_array, slices

import axisfold as af
from axisfold.api.catalog import CATALOG

NUMERIC = settings(settings.get_profile("numeric"))
EXTENTS = st.sampled_from([0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33])
# Around the widths of vectors, of a block of vectors, and of tiles of rows.
WIDTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130)


@st.composite
def calls(draw):
    """An array's description, axes and keepdims."""
    rank = draw(st.integers(0, 5))
    shape = tuple(draw(EXTENTS) for _ in range(rank))
    while np.prod(shape, dtype=int) > 2000:
        shape = tuple(max(n // 2, 1) for n in shape)
    positions = st.integers(-rank, rank - 1) if rank else st.nothing()
    several = st.sets(st.integers(0, rank - 1) if rank else st.nothing())
    axis = draw(st.none() | positions | several.map(tuple))
    if isinstance(axis, tuple) and draw(st.booleans()):
        axis = tuple(a - rank for a in axis)
    layout, flavour = draw(st.sampled_from(LAYOUTS)), draw(st.sampled_from(FLAVOURS))
    return shape, axis, draw(st.booleans()), layout, flavour, draw(st.integers(0, 2**32))


def folded_extents(shape, axis):
    if axis is None:
        return list(shape)
    return [shape[a] for a in (axis if isinstance(axis, tuple) else (axis,))]


def reduce_and_check(name, x, axis, keepdims):
    """Check the result, or that it is refused exactly where it has to be."""
    row, function = CATALOG[name], getattr(af, name)
    kept = np.sum(np.empty(x.shape, bool), axis=axis).size
    is_refused = (x.dtype.kind == "c" and not row.takes_complex) or (
        x.dtype.kind == "b" and not row.takes_bool
    )
    if is_refused:
        with pytest.raises(TypeError, match="D301"):
            function(x, axis=axis, keepdims=keepdims)
    elif row.needs_elements and 0 in folded_extents(x.shape, axis) and kept:
        with pytest.raises(ValueError, match="A308"):
            function(x, axis=axis, keepdims=keepdims)
    elif row.nan_by and row.check is not None and has_a_slice_of_nan(x, axis):
        with pytest.raises(ValueError, match="A350"):
            function(x, axis=axis, keepdims=keepdims)
    else:
        check(name, x, axis, keepdims, function(x, axis=axis, keepdims=keepdims))


def has_a_slice_of_nan(x, axis):
    _, rows = slices(x.astype(x.dtype.newbyteorder("=")), axis)
    return any(len(row) and np.isnan(row).all() for _, row in rows)


@pytest.mark.parametrize("name", [name for name in CATALOG if not name.startswith("nan")])
@given(call=calls(), dtype=st.sampled_from(DTYPES))
@settings(NUMERIC, max_examples=3)
def test_random_arrays(name, call, dtype):
    shape, axis, keepdims, layout, flavour, seed = call
    reduce_and_check(name, make_array(shape, dtype, layout, flavour, seed), axis, keepdims)


@pytest.mark.parametrize("name", [name for name in CATALOG if name.startswith("nan")])
@given(call=calls(), dtype=st.sampled_from(["float16", "float32", "float64", "complex64"]))
@settings(NUMERIC, max_examples=3)
def test_random_arrays_with_nan(name, call, dtype):
    shape, axis, keepdims, layout, _, seed = call
    reduce_and_check(name, make_array(shape, dtype, layout, "special", seed), axis, keepdims)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CATALOG)
@given(call=calls())
@settings(NUMERIC, max_examples=100)
def test_random_arrays_of_each_dtype(name, dtype, call):
    shape, axis, keepdims, layout, flavour, seed = call
    reduce_and_check(name, make_array(shape, dtype, layout, flavour, seed), axis, keepdims)


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex64"])
@pytest.mark.parametrize("name", ["sum", "min", "argmax", "var"])
def test_tails_of_vectors(name, dtype, layout):
    for width in WIDTHS:
        x = make_array((3, width), dtype, layout, "plain", width)
        for axis in (0, 1):
            check(name, x, axis, False, getattr(af, name)(x, axis=axis))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CATALOG)
def test_every_tail(name, dtype):
    for width in range(1, 131):
        for layout in ("C", "F"):
            x = make_array((3, width), dtype, layout, "special", width)
            for axis in (0, 1):
                reduce_and_check(name, x, axis, False)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_layouts_of_a_float32_matrix(layout, flavour):
    # Three reducers on few layout classes: every layout is met, also where hypothesis drew none.
    x = make_array((9, 21), "float32", layout, flavour, 7)
    for name in ("sum", "max", "argmin"):
        for axis in (None, 0, 1, (1, 0), ()):
            check(name, x, axis, True, getattr(af, name)(x, axis=axis, keepdims=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_byte_swapped_input_is_left_as_it_was(dtype):
    x = make_array((4, 5), dtype, "swapped", "plain", 3)
    before = x.copy()
    check("sum", x, 0, False, af.sum(x, axis=0))
    assert x.dtype == before.dtype
    assert x.tobytes() == before.tobytes()


def test_python_scalars_and_lists():
    assert af.sum(3) == 3
    assert af.sum(True).dtype == np.int64
    assert af.mean([1, 2, 4]) == 7 / 3
    assert af.max([[1.0, 5.0], [2.0, 3.0]], axis=1).tolist() == [5.0, 3.0]
    assert af.sum([]) == 0.0
    assert af.argmax([[1, 9], [3, 4]]) == 1
    assert af.sum(2**63) == 2**63
    assert af.sum(2**63).dtype == np.uint64


@pytest.mark.parametrize(
    ("dtype", "wanted", "answer"),
    [
        ("int8", "int8", -56),
        ("int8", "float32", 200),
        ("int8", "uint16", 200),
        ("uint8", "bool", True),
        ("float64", "float16", 200),
        ("float32", "complex64", 200 + 0j),
        ("bool", "uint8", 2),
    ],
)
def test_the_dtype_that_was_asked_for(dtype, wanted, answer):
    x = np.array([100, 100]).astype(dtype)
    result = af.sum(x, dtype=wanted)
    assert result.dtype == wanted
    assert result == answer
    assert result == np.sum(x, dtype=wanted)
