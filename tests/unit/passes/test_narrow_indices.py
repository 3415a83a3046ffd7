# SPDX-License-Identifier: Apache-2.0
"""narrow_indices: int32 where every value fits, and the same results."""

import numpy as np
import pytest
from cuda_support import programs
from te_support.kernels import buffer, index

from axisfold import sim
from axisfold.dtypes import INT32, INT64
from axisfold.ir import build
from axisfold.ir.expr import Cast, Compare, Load, Var
from axisfold.ir.stmt import For, If, Kernel, Let, Store
from axisfold.ir.walk import post_order
from axisfold.passes.narrow_indices import narrow_indices

RNG = np.random.default_rng(11)
ROWS, COLUMNS = 5, 1008
WHOLE = {
    "row_sums": (programs.row_sums, "float32", "float32"),
    "row_sums_wide": (lambda: programs.row_sums(64), "float32", "float32"),
    "row_sums_bool": (lambda: programs.row_sums(32, "bool", 96), "bool", "float32"),
    "cluster_sums": (programs.cluster_sums, "float64", "float64"),
    "argmax_of_rows": (programs.argmax_of_rows, "float16", "int64"),
}


def results(program, *inputs, shape=(), dtype="int64"):
    output = np.full(shape, 77).astype(dtype)
    sim.run(program, [*inputs, output])
    return output


@pytest.mark.parametrize("name", WHOLE)
def test_whole_programs_compute_the_same(name):
    make, source, result = WHOLE[name]
    program = make()
    array = RNG.integers(0, 9, (ROWS, COLUMNS)).astype(source)
    found = [
        results(p, array, shape=ROWS, dtype=result) for p in (program, narrow_indices(program))
    ]
    np.testing.assert_array_equal(*found)
    wanted = array.argmax(1) if result == "int64" else array.sum(1, dtype=result)
    np.testing.assert_array_equal(found[0], wanted)


def in_thread(body, count=32, threads=32):
    """Return a program in which thread t runs ``body(B, t)`` on an int64 output."""
    B, t = buffer("B", "int64", count), Var("t", INT64)
    return Kernel("k", (B,), (B,), programs.launch("k", body(B, t), block_x=(t, threads)))


def types_of(program, kind):
    return {n.var.dtype.name for n in post_order(program.body) if isinstance(n, kind)}


def test_a_value_that_outgrows_int32_is_computed_in_int64():
    program = in_thread(lambda B, t: Store(B, t, (t + 65530) * (t + 65530)))
    found = results(narrow_indices(program), shape=32)
    np.testing.assert_array_equal(found, (np.arange(32) + 65530) ** 2)


@pytest.mark.parametrize(("start", "kind"), [(2**31 - 9, INT32), (2**31 - 8, INT64)])
def test_a_loop_is_narrow_if_its_end_is(start, kind):
    i = Var("i", INT64)

    def body(B, t):
        loop = For(i, index(start), index(8), "serial", Store(B, i - start, i * 2))
        return If(t.equal(0), loop)

    program = narrow_indices(in_thread(body, count=8))
    (loop,) = (n for n in post_order(program.body) if isinstance(n, For))
    assert loop.var.dtype == kind
    np.testing.assert_array_equal(results(program, shape=8), (start + np.arange(8)) * 2)


def test_a_guard_whose_sides_may_outgrow_int32_stays():
    n = programs.size("n")

    def guarded(bits):
        A = programs.array("A", "int64", n, bits=bits)
        b, t = Var("b", INT64), Var("t", INT64)
        body = If(b * 32 + t < n, Store(A, b * 32 + t, b))
        blocks = build.ceildiv(n, 32)
        launch = programs.launch("k", body, grid_x=(b, blocks), block_x=(t, 32))
        return narrow_indices(Kernel("k", (A,), (A,), launch))

    sides = {}
    for bits in (32, 64):
        (test,) = (n for n in post_order(guarded(bits).body) if isinstance(n, Compare))
        sides[bits] = test.a.dtype, test.b.dtype
    assert sides == {32: (INT32, INT32), 64: (INT64, INT64)}


def test_offsets_that_a_promise_keeps_small_wrap_on_their_way_at_most():
    n = programs.size("n")
    for bits, kind in ((32, INT32), (64, INT64)):
        A = programs.array("A", "int64", n, n, bits=bits)
        t = Var("t", INT64)
        body = Store(A, (t - n) * n + n * n, t)
        program = narrow_indices(
            Kernel("k", (A,), (A,), programs.launch("k", body, block_x=(t, 4)))
        )
        (store,) = (s for s in post_order(program.body) if isinstance(s, Store))
        assert store.index.dtype == kind
        np.testing.assert_array_equal(results(program, shape=(4, 4))[:, 0], np.arange(4))


def test_names_of_small_values_are_narrow_and_those_of_data_are_not():
    small, loaded = Var("small", INT64), Var("loaded", INT64)

    def body(B, t):
        use = Store(B, t, small * loaded)
        return Let(small, t * 3 + 1, Let(loaded, Load(B, t), use))

    program = narrow_indices(in_thread(body))
    assert [n.var.dtype for n in post_order(program.body) if isinstance(n, Let)] == [INT64, INT32]
    output = np.full(32, 2**40)
    sim.run(program, [output])
    np.testing.assert_array_equal(output, (np.arange(32) * 3 + 1) * 2**40)


def test_data_of_32_bits_are_indices_as_they_are():
    P, A, B = buffer("P", "int32", 32), buffer("A", "float32", 100), buffer("B", "float32", 32)
    t = Var("t", INT64)
    body = Store(B, t, Load(A, Cast(Load(P, t), INT64)))
    program = narrow_indices(
        Kernel("k", (P, A, B), (B,), programs.launch("k", body, block_x=(t, 32)))
    )
    assert Cast not in {type(n) for n in post_order(program.body)}
    places, array = RNG.integers(0, 100, 32).astype("int32"), RNG.random(100).astype("float32")
    found = results(program, places, array, shape=32, dtype="float32")
    np.testing.assert_array_equal(found, array[places])


def test_a_name_of_32_bit_data_is_narrow():
    P, B = buffer("P", "int32", 32), buffer("B", "int64", 32)
    t, place = Var("t", INT64), Var("place", INT64)
    body = Let(place, Cast(Load(P, t), INT64), Store(B, t, place * 4))
    launch = programs.launch("k", body, block_x=(t, 32))
    program = narrow_indices(Kernel("k", (P, B), (B,), launch))
    assert types_of(program, Let) == {"int32"}
    numbers = np.resize([2**31 - 1, -(2**31), 3], 32).astype("int32")
    found = results(program, numbers, shape=32)
    np.testing.assert_array_equal(found, numbers.astype("int64") * 4)


def test_divisions_of_large_numbers_stay_exact():
    program = in_thread(lambda B, t: Store(B, t, (t + 2**35 - 7) // (t + 3) % 1000))
    t = np.arange(32)
    found = results(narrow_indices(program), shape=32)
    np.testing.assert_array_equal(found, (t + 2**35 - 7) // (t + 3) % 1000)


def test_a_narrow_program_stays_the_same_object():
    program = narrow_indices(programs.row_sums())
    assert narrow_indices(program) is program
