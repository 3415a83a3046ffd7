# SPDX-License-Identifier: Apache-2.0
"""Built functions take arrays of any layout."""

import threading

import numpy as np
import pytest

from axisfold import te
from axisfold.build import Compiled, build
from axisfold.ir.buffer import Facts


def row_sum(n=None, m=None, dtype="int64", **layout):
    n = te.var("n") if n is None else n
    m = te.var("m") if m is None else m
    A = te.placeholder((n, m), dtype, name="A", **layout)
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    return s, A, B


@pytest.fixture(scope="module")
def symbolic():
    s, A, B = row_sum()
    return build(s, [A, B])


@pytest.fixture(scope="module")
def vectorized():
    s, A, B = row_sum()
    _, inner = s[B].split(B.op.axis[0], factor=8)
    s[B].reorder(B.op.reduce_axis[0], inner)
    s[B].vectorize(inner)
    return build(s, [A, B])


BASE = np.arange(7 * 11 * 3, dtype="int64").reshape(7, 11, 3) - 100
RECORDS = np.zeros((7, 11), [("flag", "i1"), ("value", "<i8")])
RECORDS["value"] = BASE[..., 0]
BYTES = np.zeros(7 * 11 * 8 + 1, "uint8")
MISALIGNED = BYTES[1:].view("int64").reshape(7, 11)
MISALIGNED[:] = BASE[..., 1]

VIEWS = {
    "C": np.ascontiguousarray(BASE[..., 0]),
    "F": np.asfortranarray(BASE[..., 0]),
    "sliced": BASE[..., 0],
    "steps": BASE[::2, ::3, 1],
    "reversed": BASE[::-1, ::-2, 2],
    "transposed": BASE[:, :, 0].T,
    "broadcast": np.broadcast_to(BASE[0, :, 0], (5, 11)),
    "one element": np.broadcast_to(np.int64(3), (5, 11)),
    "records": RECORDS["value"],
    "misaligned": MISALIGNED,
    "no rows": BASE[:0, :, 0],
    "no columns": BASE[:, :0, 0],
    "nothing": np.zeros((0, 0), "int64"),
    "one": BASE[:1, :1, 0],
    "read-only": np.frombuffer(BASE.tobytes(), "int64").reshape(7, 33),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", ["symbolic", "vectorized"])
def test_inputs(view, kind, request):
    function, a = request.getfixturevalue(kind), VIEWS[view]
    found = np.full(len(a), 77)
    function(a, found)
    np.testing.assert_array_equal(found, a.sum(axis=1))


def outputs(n):
    wide = np.full((n, 3), 77)
    record = np.full(n, 77, [("flag", "i1"), ("value", "<i8")])
    odd = np.zeros(n * 8 + 1, "uint8")
    return {
        "C": np.full(n, 77),
        "steps": wide[:, 1],
        "reversed": np.full(n, 77)[::-1],
        "records": record["value"],
        "misaligned": odd[1:].view("int64"),
    }


@pytest.mark.parametrize("view", outputs(1))
@pytest.mark.parametrize("kind", ["symbolic", "vectorized"])
def test_outputs(view, kind, request):
    function, b = request.getfixturevalue(kind), outputs(7)[view]
    function(BASE[..., 0], b)
    np.testing.assert_array_equal(b, BASE[..., 0].sum(axis=1))


def test_what_lies_between_the_elements_is_not_written(symbolic):
    wide = np.full((7, 3), 77)
    symbolic(BASE[..., 0], wide[:, 1])
    assert (wide[:, ::2] == 77).all()


def test_interleaved_memory_is_not_shared(symbolic):
    both = np.arange(7 * 12, dtype="int64").reshape(7, 12)
    wanted = both[:, 1:].sum(axis=1)
    symbolic(both[:, 1:], both[:, 0])
    np.testing.assert_array_equal(both[:, 0], wanted)


@pytest.mark.parametrize("view", ["C", "F", "steps", "reversed", "records", "misaligned"])
def test_constant_extents_declare_a_compact_layout_and_take_any(view):
    a = VIEWS[view]
    s, A, B = row_sum(*a.shape)
    function = build(s, [A, B])
    assert "[]" in str(function.ir)
    found = np.full(len(a), 77)
    function(a, found)
    np.testing.assert_array_equal(found, a.sum(axis=1))


def test_declared_strides_in_bytes():
    row, column = te.var("row", "int64"), te.var("column", "int64")
    s, A, B = row_sum(strides=(row, column), unit="byte")
    function = build(s, [A, B])
    for view in ("records", "misaligned", "reversed"):
        found = np.full(len(VIEWS[view]), 77)
        function(VIEWS[view], found)
        np.testing.assert_array_equal(found, VIEWS[view].sum(axis=1))
    assert function.general._code is None  # it never needed the other version


def test_an_array_that_breaks_a_promise_runs_the_version_without_it():
    n, m = te.var("n"), te.var("m")
    s, A, B = row_sum(n, m, strides=(m, 1), facts=Facts(align=64, index_bits=32))
    function = build(s, [A, B])
    memory = np.zeros(64 * 4 + 8, "int64")
    start = -(memory.ctypes.data // 8) % 8
    for offset, width, uses_general in ((0, 8, False), (1, 8, True), (0, 6, False)):
        a = memory[start + offset :][: 4 * width].reshape(4, width)
        a[:] = np.arange(4 * width).reshape(4, width)
        function.general._code = function.general._entry = None
        found = np.full(4, 77)
        function(a, found)
        np.testing.assert_array_equal(found, a.sum(axis=1))
        assert (function.general._code is not None) == uses_general


def test_more_than_2_to_the_31_elements():
    column = np.broadcast_to(np.arange(3)[:, None], (3, 2**31 + 5))
    n, m = te.var("n"), te.var("m")
    X = te.placeholder((n, m), "int64", name="X")
    Y = te.compute((n,), lambda i: X[i, m - 1] + m, name="Y")
    found = np.zeros(3, "int64")
    build(te.create_schedule(Y.op), [X, Y])(column, found)
    np.testing.assert_array_equal(found, np.arange(3) + 5 + 2**31)


@pytest.mark.parametrize("extent", [None, 2**31])
def test_offsets_beyond_2_to_the_31_bytes(extent):
    far = np.zeros((3, 2**31), "uint8")  # untouched pages take no memory
    far[:, -1] = [3, 4, 5]
    width = te.var("m") if extent is None else extent
    X = te.placeholder((3, width), "uint8", name="X")
    Y = te.compute((3,), lambda i: X[i, width - 1], name="Y")
    found = np.zeros(3, "uint8")
    build(te.create_schedule(Y.op), [X, Y])(far, found)
    np.testing.assert_array_equal(found, [3, 4, 5])


def test_the_text_of_a_large_allocation_does_not_wrap():
    A = te.placeholder((65536, 65536), "int8", name="A")
    T = te.compute((65536, 65536), lambda i, j: A[i, j] + 1, name="T")
    B = te.compute((65536,), lambda i: T[i, i], name="B")
    function = build(te.create_schedule(B.op), [A, B])
    assert "[4294967296i64]" in str(function.ir)


def test_an_intermediate_tensor_may_be_an_argument():
    A = te.placeholder((4,), "int64", name="A")
    T = te.compute((4,), lambda i: A[i] + 1, name="T")
    B = te.compute((4,), lambda i: T[i] * 2, name="B")
    t, b = np.zeros(4, "int64"), np.zeros(4, "int64")
    build(te.create_schedule(B.op), [A, B, T])(np.arange(4), b, t)
    np.testing.assert_array_equal(t, np.arange(4) + 1)
    np.testing.assert_array_equal(b, t * 2)


def test_source_ir_and_assembly(symbolic):
    assert symbolic.source().startswith("define i32 @")
    assert str(symbolic.ir).startswith("primfn(A_1: handle, B_1: handle) -> ()")
    assert "ret" in symbolic.assembly()


def test_threads_compile_and_run_side_by_side():
    s, A, B = row_sum()
    shared = Compiled(build(s, [A, B]).ir)
    codes, failures = [], []

    def work(seed):
        try:
            a = np.random.default_rng(seed).integers(0, 9, (5, 6))
            found = np.zeros(5, "int64")
            schedule, X, Y = row_sum()
            build(schedule, [X, Y])(a, found)
            np.testing.assert_array_equal(found, a.sum(axis=1))
            codes.append(shared.code)
        except Exception as error:  # noqa: BLE001  (reported by the main thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(set(map(id, codes))) == 1
