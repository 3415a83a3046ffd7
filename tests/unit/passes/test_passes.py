# SPDX-License-Identifier: Apache-2.0
"""Each pass on small programs: what it makes, and that the meaning stays."""

import numpy as np
import pytest
from te_support.interpreter import Interpreter, Memory
from te_support.kernels import buffer, index, kernel, loop

from axisfold import te
from axisfold.analysis.bounds import constant_interval
from axisfold.build import build, lower
from axisfold.dtypes import INT64
from axisfold.ir import build as ir
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Broadcast, Compare, IfThenElse, Load, Var
from axisfold.ir.printer import print_stmt
from axisfold.ir.stmt import Allocate, For, If, Let, Seq, Store
from axisfold.ir.verify import verify
from axisfold.ir.walk import post_order
from axisfold.passes.copying import fold_substitute, renamed_loops
from axisfold.passes.growth import MAX_COPIES
from axisfold.passes.hoist_allocations import hoist_allocations
from axisfold.passes.partition_loops import partition_loops
from axisfold.passes.pipelines import device
from axisfold.passes.rewriter import StmtRewriter
from axisfold.passes.simplify_program import simplify_program
from axisfold.passes.unroll_loops import unroll_loops
from axisfold.passes.vectorize_loops import vectorize_loops


def plus(a, b):
    return Binary("add", a, b)


def below(a, b):
    return ir.likely(Compare("lt", a, index(b)))


def text(program):
    return print_stmt(program.body)


def stored(program, count=8):
    """Run a program without inputs; return what it leaves in its one output."""
    (out,) = program.params
    array = np.full(count, -1, out.dtype.to_numpy())
    Interpreter(memory={out: Memory(out, array.view("uint8"))}).run(program.body)
    return array


B = buffer("B", "int64", 8)


# --- rewriter ----------------------------------------------------------------------------------


def test_passes_share_what_is_known_of_extents():
    n, m = Var("n", INT64, is_size=True), Var("m", INT64)
    program = kernel([Buffer("A", INT64, (n, m))], [], Seq(()))
    passes = [StmtRewriter(), StmtRewriter()]
    assert all(each.run(program) is program for each in passes)
    first, second = (each.bounds for each in passes)
    assert first is second
    assert list(first) == [m]  # of sizes that is known anyway
    assert [constant_interval(v, first).low for v in (n, m)] == [0, 0]


# --- hoist_allocations -------------------------------------------------------------------------


def test_memory_of_one_size_leaves_its_loops():
    T = buffer("T", "int64", 4)
    body = Allocate(T, Seq((Store(T, index(0), index(1)), Store(B, index(0), Load(T, index(0))))))
    nest = kernel([B], [B], loop(2, lambda i: loop(3, lambda j: body, "j")))
    moved = hoist_allocations(nest)
    verify(moved)
    assert isinstance(moved.body, Allocate)
    np.testing.assert_array_equal(stored(moved), stored(nest))


def test_memory_whose_size_varies_stays_in_its_loop():
    def rows(i):
        T = Buffer("T", INT64, (plus(i, index(1)),))
        inside = Allocate(T, Seq((Store(T, i, i), Store(B, i, Load(T, i)))))
        return For(Var("j", INT64), index(0), index(2), "serial", inside)

    moved = hoist_allocations(kernel([B], [B], loop(3, rows)))
    verify(moved)
    assert isinstance(moved.body, For)
    assert isinstance(moved.body.body, Allocate)


def test_registers_stay_where_they_are():
    T = buffer("T", "int64", 4, scope="local")
    body = Allocate(T, Seq((Store(T, index(0), index(1)), Store(B, index(0), Load(T, index(0))))))
    program = kernel([B], [B], loop(3, lambda i: body))
    assert hoist_allocations(program) is program


# --- partition_loops ---------------------------------------------------------------------------


def guarded_nest(depth, inner_kind):
    """``depth`` pairs of loops, each with a guard of its own around one store."""
    statement = Store(B, index(0), plus(Load(B, index(0)), index(1)))
    guards, axes = [], []
    for n in range(depth):
        outer, inner = Var(f"o{n}", INT64), Var(f"i{n}", INT64)
        axes.append((outer, inner))
        guards.append(below(plus(Binary("mul", outer, index(2)), inner), 3))
    for guard in guards:
        statement = If(guard, statement)
    for outer, inner in axes:
        statement = For(inner, index(0), index(2), inner_kind, statement)
        statement = For(outer, index(0), index(2), "serial", statement)
    return kernel([B], [B], statement)


def stores(program):  # printed, because copies share what they have in common
    return text(program).count("B[0i64] =")


@pytest.mark.parametrize("inner_kind", ["serial", "vectorized", "unrolled"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_partition_keeps_the_meaning(depth, inner_kind):
    nest = guarded_nest(depth, inner_kind)
    parted = simplify_program(partition_loops(nest))
    verify(parted)
    assert stored(parted)[0] == stored(nest)[0] == 3**depth - 1


def test_the_interior_has_no_guard():
    parted = simplify_program(partition_loops(guarded_nest(1, "vectorized")))
    assert isinstance(parted.body, Seq)
    assert "if" not in print_stmt(parted.body.body[0])


def test_a_deep_nest_does_not_blow_up():
    # Split everywhere it would be 2**12 copies.
    parted = partition_loops(guarded_nest(12, "vectorized"))
    verify(parted)
    assert 1 < stores(parted) <= MAX_COPIES


def test_a_guard_of_the_lower_edge_is_kept_and_correct():
    A = te.placeholder((20,), "int64", name="A")
    T = te.compute((20,), lambda i: A[i] * 3, name="T")
    B = te.compute(
        (20,),
        lambda i: (
            te.if_then_else(i > 1, T[te.max(i - 2, 0)], 0)
            + te.if_then_else(i < 18, T[te.min(i + 2, 19)], 0)
        ),
        name="B",
    )
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], factor=8)
    s[T].compute_at(s[B], outer)
    found, a = np.zeros(20, "int64"), np.arange(20) + 1
    build(s, [A, B])(a, found)
    t = np.pad(a * 3, 2)
    np.testing.assert_array_equal(found, t[:-4] + t[4:])


# --- vectorize_loops ---------------------------------------------------------------------------


def vectorized(extent, body, *params):
    i = Var("i", INT64)
    nest = For(i, index(0), index(extent), "vectorized", body(i))
    program = vectorize_loops(kernel([*params, B], [B], nest))
    verify(program)
    return program


def loads(program):
    return [n for n in post_order(program.body) if isinstance(n, Load)]


def test_a_guard_becomes_a_mask_of_every_access():
    A = buffer("A", "int64", 8)
    program = vectorized(8, lambda i: If(below(i, 5), Store(B, i, Load(A, i))), A)
    assert isinstance(program.body, Store)
    assert program.body.mask is not None
    assert [n.mask is not None for n in loads(program)] == [True]


def test_a_load_that_all_lanes_share_is_masked_too():
    A, W = buffer("A", "int64", 8), buffer("W", "int64", 8)

    def body(i):
        shared = plus(Load(W, index(0)), index(1))  # must not be read if no lane is on
        return If(below(i, 5), Store(B, i, Binary("mul", Load(A, i), shared)))

    assert all(n.mask is not None for n in loads(vectorized(8, body, A, W)))


def test_each_side_of_a_choice_reads_in_its_own_lanes():
    A = buffer("A", "int64", 8)

    def body(i):
        inner = IfThenElse(Compare("lt", i, index(2)), Load(A, i), index(0))
        return Store(B, i, IfThenElse(Compare("lt", i, index(5)), inner, index(9)))

    program = vectorized(8, body, A)
    (load,) = loads(program)
    array = np.full(8, -1, "int64")
    short = np.arange(2) + 10  # the interpreter refuses to read beyond it
    Interpreter(memory={
        A: Memory(A, short.view("uint8")), B: Memory(B, array.view("uint8")),
    }).run(program.body)  # fmt: skip
    np.testing.assert_array_equal(array, [10, 11, 0, 0, 0, 9, 9, 9])
    assert load.mask is not None


def test_a_choice_that_all_lanes_make_alike():
    A = buffer("A", "int64", 8)

    def body(i):
        flag = Compare("lt", Load(A, index(0)), index(3))
        return Store(B, i, IfThenElse(flag, Load(A, i), i))

    verify(vectorized(8, body, A))


def test_both_branches_of_an_if_are_masked():
    program = vectorized(
        8,
        lambda i: If(Compare("lt", i, index(3)), Store(B, i, index(1)), Store(B, i, index(2))),
    )
    np.testing.assert_array_equal(stored(program), [1] * 3 + [2] * 5)


@pytest.mark.parametrize(
    "body",
    [
        lambda i: Store(B, index(0), i),  # all lanes to one place
        lambda i: loop(i, lambda j: Store(B, i, j), "j"),  # rounds differ between lanes
        lambda i: Allocate(
            T := buffer("T", "int64", 1, scope="local"),
            Seq((Store(T, index(0), i), Store(B, i, Load(T, index(0))))),
        ),
    ],
    ids=["one place", "bounds", "allocation"],
)
def test_what_has_no_vector_form_becomes_serial(body):
    i = Var("i", INT64)
    nest = kernel([B], [B], For(i, index(0), index(4), "vectorized", body(i)))
    program = vectorize_loops(nest)
    verify(program)
    assert isinstance(program.body, For)
    assert program.body.kind == "serial"


def test_one_lane_is_a_scalar():
    i = Var("i", INT64)
    nest = kernel([B], [B], For(i, index(0), index(1), "vectorized", Store(B, i, i)))
    assert "ramp" not in text(vectorize_loops(nest))


def test_a_name_becomes_a_vector():
    x = Var("x", INT64)
    program = vectorized(4, lambda i: Let(x, plus(i, index(1)), Store(B, i, x)))
    np.testing.assert_array_equal(stored(program)[:4], [1, 2, 3, 4])


# --- copies and unrolling ----------------------------------------------------------------------


def test_written_out_rounds_have_variables_and_memory_of_their_own():
    def body(i):
        T = Buffer("T", INT64, (plus(i, index(1)),))
        fill = loop(plus(i, index(1)), lambda j: Store(T, j, plus(i, j)), "j")
        return Allocate(T, Seq((fill, Store(B, i, Load(T, i)))))

    i = Var("i", INT64)
    nest = kernel([B], [B], For(i, index(0), index(3), "unrolled", body(i)))
    program = unroll_loops(nest)
    verify(program)
    np.testing.assert_array_equal(stored(program)[:3], [0, 2, 4])


def test_copies_share_no_variable():
    nest = loop(3, lambda i: loop(2, lambda j: Store(B, i, j), "j"))
    copy = renamed_loops(nest)
    verify(kernel([B], [B], nest, copy))
    assert print_stmt(copy) == print_stmt(nest)


def test_substitution_folds():
    i, n = Var("i", INT64), Var("n", INT64)
    T = Buffer("T", INT64, (plus(i, n),))
    statement = Allocate(T, Store(B, plus(i, index(2)), Load(T, i)))
    result = fold_substitute(statement, {i: index(1)})
    assert str(result.buffer.shape[0]) == "((int64)1 + n)"
    assert result.body.index == index(3)
    assert result.body.value.buffer is result.buffer


def test_a_loop_to_unroll_with_a_stop_condition_stays_a_loop():
    i = Var("i", INT64)
    stop = Compare("gt", Load(B, index(0)), index(0))
    nest = For(i, index(0), index(3), "unrolled", Store(B, i, i), stop)
    assert unroll_loops(kernel([B], [B], nest)).body.kind == "serial"


# --- simplify_program --------------------------------------------------------------------------


def test_what_does_nothing_goes():
    T = buffer("T", "int64", 4)
    nothing = loop(3, lambda i: If(Compare("lt", i, Load(B, i)), Seq(())))
    none = loop(0, lambda i: Store(B, i, i))
    named = Let(Var("x", INT64), index(1), Seq(()))
    program = simplify_program(kernel([B], [B], nothing, none, Allocate(T, named)))
    assert program.body == Seq(())


def test_a_loop_of_one_round_and_a_guard_that_holds_vanish():
    program = simplify_program(
        kernel([B], [B], loop(1, lambda i: loop(4, lambda j: If(below(j, 4), Store(B, j, i)))))
    )
    assert text(program).splitlines()[1] == "  B[i] = 0i64"


def test_an_unchanged_program_is_the_same_object():
    program = kernel([B], [B], loop(4, lambda i: Store(B, i, i)))
    for transform in (hoist_allocations, partition_loops, vectorize_loops, unroll_loops):
        assert transform(program) is program, transform.__name__
    assert simplify_program(program) is program


# --- the device program ------------------------------------------------------------------------


def test_a_value_of_an_index_keeps_its_dtype():
    n = te.var("n")
    A = te.placeholder((n,), "int8", name="A")
    T = te.compute((n,), lambda i: i.astype("int8") + A[i], name="T")
    function = build(te.create_schedule(T.op), [A, T])
    found = np.zeros(300, "int8")
    function(np.ones(300, "int8"), found)
    np.testing.assert_array_equal(found, (np.arange(300) + 1).astype("int8"))


def test_indices_are_int64_everywhere():
    n = te.var("n")
    A = te.placeholder((n, n), "int64", name="A")
    T = te.compute((n, n), lambda i, j: A[j, i] + i * j, name="T")
    program = device(lower(te.create_schedule(T.op), [A, T]))
    verify(program, level="device")
    assert "int32" not in str(program)


def test_a_broadcast_value_stays_a_vector():
    i = Var("i", INT64)
    nest = For(i, index(0), index(4), "vectorized", Store(B, i, index(3)))
    (store,) = [
        n for n in post_order(vectorize_loops(kernel([B], [B], nest)).body) if isinstance(n, Store)
    ]
    assert store.value == Broadcast(index(3), 4)
