# SPDX-License-Identifier: Apache-2.0
"""Loops, branches, choices, names and allocations as machine code."""

import gc
import re

import numpy as np
import pytest
from te_support.kernels import buffer, index, kernel, loop, run

from axisfold.build import Compiled
from axisfold.codegen.llvm import emit_kernel, symbol
from axisfold.dtypes import INT64
from axisfold.errors import CompileError, ResourceError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Broadcast, Compare, IfThenElse, Load, Ramp, Select, Var
from axisfold.ir.stmt import Allocate, For, If, Kernel, Let, Store


def int64s(*values):
    return np.array(values, "int64")


def plus(a, b):
    return Binary("add", a, b)


def test_a_loop_starts_at_its_minimum_and_may_have_no_rounds():
    B = buffer("B", "int64", 10)
    i, j = Var("i", INT64), Var("j", INT64)
    some = For(i, index(3), index(4), "serial", Store(B, i, i))
    none = For(j, index(0), index(-2), "serial", Store(B, j, index(99)))
    found = np.zeros(10, "int64")
    run(kernel([B], [B], some, none), found)
    np.testing.assert_array_equal(found, [0, 0, 0, 3, 4, 5, 6, 0, 0, 0])


def test_a_stop_condition_ends_a_loop_before_a_round():
    A, B = buffer("A", "int64", 8), buffer("B", "int64", 1)
    i = Var("i", INT64)
    body = Store(B, index(0), plus(Load(B, index(0)), Load(A, i)))
    stop = Compare("gt", Load(B, index(0)), index(10))
    found = int64s(0)
    program = kernel([A, B], [B], For(i, index(0), index(8), "serial", body, stop))
    run(program, int64s(4, 5, 6, 7, 8, 9, 10, 11), found)
    assert found[0] == 15


def test_branches():
    A, B = buffer("A", "int64", 4), buffer("B", "int64", 4)

    def body(i):
        is_even = Compare("eq", Binary("floormod", Load(A, i), index(2)), index(0))
        return build.seq(
            If(is_even, Store(B, i, index(1)), Store(B, i, index(2))),
            If(Compare("gt", Load(A, i), index(2)), Store(B, i, plus(Load(B, i), index(10)))),
        )

    found = np.zeros(4, "int64")
    run(kernel([A, B], [B], loop(4, body)), int64s(1, 2, 3, 4), found)
    np.testing.assert_array_equal(found, [2, 1, 12, 11])


def test_only_the_chosen_side_is_evaluated():
    A, B = buffer("A", "int64", 4), buffer("B", "int64", 4)

    def body(i):
        far = Load(A, Binary("mul", i, index(1 << 40)))  # faults if it is read
        near = plus(far, far)
        inner = IfThenElse(Compare("eq", i, index(0)), near, index(-1))
        return Store(B, i, IfThenElse(Compare("lt", i, index(2)), inner, index(5)))

    found = np.zeros(4, "int64")
    run(kernel([A, B], [B], loop(4, body)), int64s(7, 0, 0, 0), found)
    np.testing.assert_array_equal(found, [14, -1, 5, 5])


def test_a_name_holds_the_value_from_before_a_store():
    B = buffer("B", "int64", 2)
    first, second = index(0), index(1)
    x, y = Var("x", INT64), Var("x", INT64)
    swap = build.seq(Store(B, first, y), Store(B, second, x))
    found = int64s(3, 4)
    run(kernel([B], [B], Let(x, Load(B, first), Let(y, Load(B, second), swap))), found)
    np.testing.assert_array_equal(found, [4, 3])


def test_vectors_of_scalars_and_of_choices():
    B = buffer("B", "int64", 8)
    at = Ramp(index(0), index(1), 8)
    steps = Ramp(index(10), index(-3), 8)
    low = Compare("lt", at, Broadcast(index(4), 8))
    found = np.zeros(8, "int64")
    run(kernel([B], [B], Store(B, at, Select(low, steps, Broadcast(index(7), 8)))), found)
    np.testing.assert_array_equal(found, [10, 7, 4, 1, 7, 7, 7, 7])


def test_a_deep_expression():
    B = buffer("B", "int64", 1)
    deep = index(0)
    start = Load(B, index(0))
    deep = start
    for n in range(3000):
        deep = Binary("add", deep, index(n))
    found = int64s(1)
    run(kernel([B], [B], Store(B, index(0), deep)), found)
    assert found[0] == 1 + sum(range(3000))


def doubled_through(T, B, extent):
    fill = loop(extent, lambda i: Store(T, i, plus(i, i)))
    return Allocate(T, build.seq(fill, loop(extent, lambda i: Store(B, i, Load(T, i)))))


@pytest.mark.parametrize("scope", ["local", "global"])
def test_allocations(scope):
    T, B = buffer("T", "int64", 5, scope=scope), buffer("B", "int64", 5)
    found = np.zeros(5, "int64")
    run(kernel([B], [B], doubled_through(T, B, 5)), found)
    np.testing.assert_array_equal(found, np.arange(5) * 2)


def test_heap_memory_is_aligned_as_promised():
    T, B = buffer("T", "int64", 5), buffer("B", "int64", 5)
    program = kernel([B], [B], doubled_through(T, B, 5))
    assert re.search(
        r"%T = call ptr @llvm\.ptrmask\.p0\.i64\(ptr \S+, i64 -64\)", emit_kernel(program)
    )


def test_neighbours_on_the_heap_are_one_allocation():
    n = Var("n", INT64)
    held = [buffer("S", "int8", 3), *(Buffer(name, INT64, (n,)) for name in "TU")]
    A, B = Buffer("A", INT64, (n,)), buffer("B", "int64", 64)
    body = [loop(3, lambda i: Store(held[0], i, build.cast("int8", plus(i, index(100)))))]
    for number, T in enumerate(held[1:], 1):
        body.append(loop(n, lambda i, T=T, by=number: Store(T, i, plus(Load(A, i), index(by)))))
    body += [loop(n, lambda i: Store(B, i, Load(held[1], i)))]
    body += [loop(n, lambda i: Store(B, plus(i, n), Load(held[2], i)))]
    body += [
        loop(3, lambda i: Store(B, plus(i, plus(n, n)), build.cast("int64", Load(held[0], i))))
    ]
    inner = build.seq(*body)
    for T in reversed(held):
        inner = Allocate(T, inner)
    program = kernel([A, B], [B], inner)
    assert emit_kernel(program).count("call noalias ptr @malloc") == 1
    found = np.zeros(64, "int64")
    run(program, np.arange(30), found, scalars=(30,))
    wanted = [*np.arange(30) + 1, *np.arange(30) + 2, 100, 101, 102, 0]
    np.testing.assert_array_equal(found, wanted)


def test_loops_from_zero_and_to_a_known_end_compute_no_end():
    n, m, i, j = (Var(name, INT64) for name in "nmij")
    A, B = Buffer("A", INT64, (n, m)), buffer("B", "int64", 10)
    parts = [For(i, index(0), n, "serial", Store(B, i, i))]
    parts += [For(j, n, m - n, "serial", Store(B, j, plus(j, j)))]
    program = kernel([A, B], [B], *parts)
    assert not re.search(r"= add nsw i64 (?!%\w+, 1$)|= sub", emit_kernel(program), re.MULTILINE)
    found = np.zeros(10, "int64")
    run(program, int64s(0), found, scalars=(3, 7))
    np.testing.assert_array_equal(found, [0, 1, 2, 6, 8, 10, 12, 0, 0, 0])


@pytest.mark.parametrize("extents", [(-3,), (0,), (0, -5)])
def test_an_allocation_of_nothing(extents):
    n = [Var(f"n{d}", INT64) for d in range(len(extents))]
    T = Buffer("T", INT64, tuple(n))
    A, B = Buffer("A", INT64, tuple(n)), buffer("B", "int64", 1)
    program = kernel([A, B], [B], Allocate(T, Store(B, index(0), index(1))))
    found = int64s(0)
    run(program, int64s(0), found, scalars=extents)
    assert found[0] == 1


@pytest.mark.parametrize("extents", [(2**62,), (2**40, 2**40), (2**61, 8), (2**63 - 1, 1)])
def test_memory_that_is_not_there_is_an_error(extents):
    n = [Var(f"n{d}", INT64) for d in range(len(extents))]
    small = buffer("S", "int64", 8)
    T, A, B = Buffer("T", INT64, tuple(n)), Buffer("A", INT64, tuple(n)), buffer("B", "int64", 1)
    # Places that are known at run time only, or LLVM does without the memory.
    first, second = Load(A, index(0)), Load(A, index(1))
    inner = build.seq(
        Store(small, second, index(1)),
        Store(T, first, index(1)),
        Store(B, index(0), plus(Load(T, second), Load(small, first))),
    )
    program = kernel([A, B], [B], Allocate(small, Allocate(T, inner)))
    found = int64s(0)
    with pytest.raises(ResourceError) as caught:
        run(program, int64s(0, 0), found, scalars=extents)
    assert caught.value.code == "X201"
    assert str(caught.value) == (
        "kernel 'main' could not allocate an intermediate tensor. Attach its stage with "
        "compute_at, so that only a part of it is held. [axisfold-X201]"
    )
    assert found[0] == 0


@pytest.mark.parametrize("name", ["exp", "malloc", "memcpy", "main"])
def test_a_kernel_may_have_the_name_of_a_c_function(name):
    A, B = buffer("A", "float32", 3), buffer("B", "float32", 3)
    exp = loop(3, lambda i: Store(B, i, build.call("exp", Load(A, i))))
    found = np.zeros(3, "float32")
    run(Kernel(name, (A, B), (B,), exp), np.zeros(3, "float32"), found)
    np.testing.assert_array_equal(found, np.ones(3))
    assert symbol(Kernel(name, (A, B), (B,), exp)) == f"axisfold.{name}"


@pytest.mark.parametrize("name", ["Größe", "a b", 'say "hi"', "i.1", "\\", "v.0", "%x"])
def test_any_text_names_a_tensor_or_a_loop(name):
    A, B = buffer(name, "int64", 3), buffer(f"{name}.1", "int64", 3)
    program = kernel([A, B], [B], loop(3, lambda i: Store(B, i, Load(A, i)), name))
    found = np.zeros(3, "int64")
    run(program, int64s(1, 2, 3), found)
    np.testing.assert_array_equal(found, [1, 2, 3])


def test_an_entry_keeps_its_code_alive():
    B = buffer("B", "int64", 1)
    entry = Compiled(kernel([B], [B], Store(B, index(0), index(42)))).entry
    gc.collect()
    found = int64s(0)
    entry(found.ctypes.data)
    assert found[0] == 42


def test_text_that_llvm_refuses_is_a_bug_report():
    from axisfold.runtime.cpu import compile_llvm

    with pytest.raises(CompileError) as caught:
        compile_llvm("define i32 @f() { ret i64 0 }", "f")
    assert caught.value.code == "I201"
    assert str(caught.value).startswith("LLVM refused the code of kernel 'f': ")
    assert str(caught.value).endswith(
        "This is a bug of axisfold; please report it with Function.source(). [axisfold-I201]"
    )


def test_assembly_is_text():
    B = buffer("B", "int64", 1)
    compiled = Compiled(kernel([B], [B], Store(B, index(0), index(42))))
    assert "axisfold.main" in compiled.assembly()
