# SPDX-License-Identifier: Apache-2.0
"""Entries: calls that CPython makes without Python code, and everything that is not for them."""

import copy
import ctypes
import gc
import inspect
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

import axisfold as af
from axisfold.api import entries
from axisfold.api.launches import forget, launches
from axisfold.runtime import entry
from axisfold.runtime.threads import INTERRUPTED, pool

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def nothing_known():
    forget()
    yield
    forget()


@pytest.fixture
def python_calls(monkeypatch):
    """Count the calls that reach Python."""
    made = []
    real = launches.get
    from axisfold.api import dispatch

    class Counting(dict):
        def get(self, key, default=None):
            made.append(key)
            return real(key, default)

    monkeypatch.setattr(dispatch, "launches", Counting())
    return made


def known(name):
    return len(entries._entries[name]._records)


@pytest.mark.parametrize(
    "axis", [(), (0,), (-1,), (0, 1), (1, 0), (0, 1, 2), (-3, 2), (0, 1, 2, 3, 4, 5, 6, 7)]
)
def test_tuples_of_axes_are_known(python_calls, axis):
    x = RNG.random((2, 3, 4, 1, 1, 1, 1, 2), dtype="float32")
    first = af.sum(x, axis=axis)
    assert known("sum") == 1
    for keepdims in (False, True):
        af.sum(x, axis=axis, keepdims=keepdims)
    del python_calls[:]
    np.testing.assert_array_equal(af.sum(x, axis), first)
    again = af.sum(x, axis=axis, keepdims=True)
    np.testing.assert_allclose(again, x.sum(axis=axis, keepdims=True), rtol=1e-6)
    assert not python_calls


def test_an_axis_may_be_an_array_of_one_integer():
    x = RNG.random((3, 4), dtype="float32")
    for axis in (np.array(1), (np.array(0), np.array(1)), np.int64(-1)):
        for _ in range(2):
            np.testing.assert_allclose(af.sum(x, axis=axis), x.sum(axis=axis), rtol=1e-6)
    with pytest.raises(TypeError, match="A303"):
        af.sum(x, axis=np.array([0, 1]))


def test_axes_out_of_range_are_no_ones_code():
    x = RNG.random((3, 4), dtype="float32")
    for axis in (None, (), (0,), (0, 1), 0, -1):
        af.sum(x, axis=axis)
    codes = {record.axis for record, _ in entries._entries["sum"]._records}
    assert len(codes) == 6
    for axis in [*codes - {0, -1}, 1 << 64, (1 << 64,), (1 << 70, 0), (0, -9), (8,), 8, -9]:
        with pytest.raises(np.exceptions.AxisError):
            af.sum(x, axis=axis)
    for axis in [(True,), (0.0,), ("0",), (None,)]:
        with pytest.raises(TypeError):
            af.sum(x, axis=axis)


def test_entries_are_possible_here():
    assert entry.is_possible()


def test_a_function_looks_like_one():
    assert repr(af.sum) == "<built-in function sum>"
    assert (af.sum.__name__, af.sum.__module__) == ("sum", "axisfold")
    assert list(inspect.signature(af.sum).parameters)[:2] == ["x", "axis"]
    assert af.sum.__doc__.startswith("Sum of elements.")
    assert pickle.loads(pickle.dumps(af.sum)) is copy.deepcopy(af.sum) is af.sum


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((), {"axis": 0}),
        ((), {"axis": -1}),
        ((), {"axis": 1}),
        ((), {"axis": None, "keepdims": True}),
        ((), {"axis": 1, "keepdims": True}),
        ((), {"keepdims": False, "axis": -2}),
    ],
)
@pytest.mark.parametrize("name", ["sum", "argmax", "any"])
def test_known_calls_give_the_same(name, args, kwargs):
    function = getattr(af, name)
    x = (RNG.random((7, 9)) * 5 - 1).astype("float32")
    first = function(x, *args, **kwargs)
    again = [function(x, *args, **kwargs), function(x.copy(), *args, **kwargs)]
    assert all(type(a) is type(first) and a.dtype == first.dtype for a in again)
    np.testing.assert_array_equal(again, [first, first])


def test_the_second_argument_is_an_axis_only_where_it_is_one():
    x = np.ones((3, 4))
    af.norm(x, axis=0)
    with pytest.raises(Exception, match="ord"):
        af.norm(x, "no order")
    assert known("norm") == 1
    assert af.sum(x, 0).shape == af.sum(x, 0).shape == (4,)


def test_a_known_call_does_not_reach_python(python_calls):
    x = np.ones((4, 6), np.float32)
    af.sum(x, axis=0)
    count = len(python_calls)
    assert known("sum") == 1
    np.testing.assert_array_equal(af.sum(x, axis=0), np.full(6, 4))
    np.testing.assert_array_equal(af.sum(x, 0), np.full(6, 4))
    assert len(python_calls) == count
    af.sum(x, axis=1)
    assert len(python_calls) > count


@pytest.mark.parametrize("name", ["nanargmin", "nanargmax"])
@pytest.mark.parametrize(("dtype", "is_known"), [("?", True), ("i1", True), ("f4", False)])
def test_results_that_cannot_be_refused_are_not_looked_at(python_calls, name, dtype, is_known):
    function, x = getattr(af, name), (RNG.random((5, 77)) * 3).astype(dtype)
    wanted = getattr(np, name)(x, axis=1)
    np.testing.assert_array_equal(function(x, axis=1), wanted)
    count = len(python_calls)
    np.testing.assert_array_equal(function(x, axis=1), wanted)
    assert (len(python_calls) == count) == is_known


def test_what_differs_is_told_apart():
    base = np.arange(48.0).reshape(6, 8)
    views = [base, base.T, base[::2], base[:, ::2], base[::-1], base[None], base.astype("f4")]
    views += [base.view("i8"), np.broadcast_to(base[0], (6, 8)), base[:0]]
    for _ in range(3):
        for x in views:
            for axis in (None, 0, -1):
                np.testing.assert_allclose(af.sum(x, axis=axis), np.sum(x, axis=axis))


def test_complex_results_and_those_without_axes():
    x = (RNG.random(11) + 1j * RNG.random(11)).astype("complex64")
    first, again = af.sum(x), af.sum(x)
    assert type(again) is np.complex64
    assert first == again
    zero = np.array(3.5)
    assert [af.sum(zero), af.sum(zero)] == [3.5, 3.5]


@pytest.mark.parametrize("dtype", [">f8", ">i4"])
def test_foreign_byte_order_stays_in_python(dtype):
    x = np.arange(5).astype(dtype)
    assert [int(af.sum(x)) for _ in range(3)] == [10] * 3
    assert known("sum") == 0


class Derived(np.ndarray):
    """A subclass, which may keep its elements in any way."""


def test_subclasses_and_others_stay_in_python():
    assert [float(af.sum(np.ones(3).view(Derived))) for _ in range(3)] == [3.0] * 3
    assert [float(af.sum(x)) for x in ([1.0, 2.0], 3.0, (4.0,), np.float32(5))] == [3, 3, 4, 5]
    for wrong in (np.ma.masked_array([1.0]), None, "x"):
        with pytest.raises((TypeError, ValueError)):
            af.sum(wrong)
    assert known("sum") == 0


def test_longer_calls_are_known(python_calls):
    x = np.ones(entries.SHORT_ELEMENTS + 1, np.int8)
    expected = af.sum(x)
    af.sum(x, axis=0, keepdims=True)
    del python_calls[:]
    assert af.sum(x) == expected == x.size
    assert af.sum(x, axis=0, keepdims=True).tolist() == [x.size]
    assert python_calls == []


KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * entry.ARGUMENTS[0])


def probe(kernel, x, *, is_short=False, inputs=(0,)):
    """Return an entry that has learnt to answer calls of ``x`` by a kernel of the test's."""

    def function(x, axis=None):
        return "Python"

    made = entry.make_entries({"probe": function}, {"probe": inspect.signature(function)})["probe"]
    made.learn(
        x, None, False, entry.Call(kernel, inputs, 0, (0,), (), x.dtype, None), is_short=is_short
    )
    return made


def test_other_threads_run_beside_longer_kernels():
    x = np.ones(3)
    asleep = ctypes.CDLL(None).usleep
    made = probe(asleep, x, inputs=(20_000 - x.ctypes.data,))
    counted, is_over = [0], threading.Event()

    def count():
        while not is_over.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    made.function(x)
    after = counted[0]
    is_over.set()
    thread.join()
    assert after > before


@pytest.mark.parametrize("is_short", [False, True])
def test_kernels_that_fail_run_again_in_python(is_short):
    x = np.ones(3)
    made = probe(KERNEL(lambda *args: 1), x, is_short=is_short)
    assert made.function(x) == "Python"


def test_what_a_signal_handler_raises_is_raised():
    x = np.ones(3)
    made = probe(KERNEL(lambda *args: INTERRUPTED), x)
    slots = (ctypes.c_void_p * 3).from_address(pool()._call("axisfold_error", ctypes.c_void_p))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(KeyboardInterrupt))
    slots[0] = id(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        made.function(x)


def test_a_longer_kernel_outlives_its_record():
    x, alive = np.ones(3), []

    def forgets(*args):
        made.forget()
        gc.collect()
        alive.append(kernel() is not None)
        return 0

    held = KERNEL(forgets)
    kernel = weakref.ref(held)
    made = probe(held, x)
    del held
    made.function(x)
    assert alive == [True]
    gc.collect()
    assert kernel() is None


def test_large_results_stay_in_python():
    x = np.zeros((entries.MOST_RESULTS + 1, 40), np.int8)  # large arrays do not
    af.sum(x, 1)
    assert known("sum") == 0
    af.sum(x, 0)
    assert known("sum") == 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: af.sum(), TypeError),
        (lambda x: af.sum(x, 2), ValueError),
        (lambda x: af.sum(x, 1 << 70), ValueError),
        (lambda x: af.sum(x, 0, axis=0), TypeError),
        (lambda x: af.sum(x, 1.0), TypeError),
        (lambda x: af.sum(x, axis=True), TypeError),
        (lambda x: af.sum(x, nonsense=1), TypeError),
        (lambda x: af.sum(x, *range(20)), TypeError),
    ],
)
def test_wrong_calls_are_refused_as_before(call, error):
    x = np.ones((2, 2))
    af.sum(x), af.sum(x, 0)
    for _ in range(2):
        with pytest.raises(error):
            call(x)
    assert af.sum(x) == 4


def test_names_that_are_built_at_run_time():
    x = np.ones((2, 3))
    options = {bytes([97, 120, 105, 115]).decode(): 0}
    assert [af.sum(x, **options).tolist() for _ in range(2)] == [[2.0] * 3] * 2


def test_nothing_leaks():
    x, y = np.ones(16, np.float32), np.ones((8, 8))
    dtype = x.dtype
    for _ in range(10):
        af.sum(x), af.sum(y, axis=0)
    before = sys.getrefcount(dtype), sys.getrefcount(y.dtype), len(gc.get_objects())
    kept = [(af.sum(x), af.sum(y, axis=0)) for _ in range(1000)]
    del kept
    after = sys.getrefcount(dtype), sys.getrefcount(y.dtype), len(gc.get_objects())
    assert after[:2] == before[:2]
    assert after[2] - before[2] < 50


def test_the_records_are_bounded(monkeypatch):
    monkeypatch.setattr(entry, "MOST_RECORDS", 5)
    for _ in range(2):
        for n in range(1, 20):
            assert af.sum(np.ones(n)) == n
            assert known("sum") <= 5


def test_threads_share_the_records():
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(300):
            x = np.ones((rng.integers(1, 9), rng.integers(1, 9)), np.float32)
            if not (af.sum(x, axis=0) == x.shape[0]).all() or af.sum(x) != x.size:
                wrong.append(x.shape)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
