# SPDX-License-Identifier: Apache-2.0
"""Nothing outside an array is read, and no input is written."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numeric_support import DTYPES, LAYOUTS, make_array

import axisfold as af
from axisfold.api.catalog import CATALOG

SCRIPT = Path(__file__).parent / "support" / "numeric_support" / "guarded.py"
FEW = (1, 2, 3, 7, 8, 9, 15, 17, 31, 33, 63, 64, 65, 127, 129, 600)


def fold_at_forbidden_pages(names, dtypes, widths):
    arguments = (",".join(names), ",".join(dtypes), ",".join(map(str, widths)))
    done = subprocess.run(
        [sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "no fault\n"), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
def test_no_read_outside_the_array():
    fold_at_forbidden_pages(["sum"], ["float32", "float64", "int8"], FEW)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_read_outside_any_array(dtype):
    others = ("logsumexp", "norm", "count_nonzero", "ptp", "minmax")
    names = [n for n in CATALOG if n not in others and not n.startswith("nan")]
    fold_at_forbidden_pages(names, [dtype], range(1, 131))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_inputs_are_left_alone(layout):
    x = make_array((5, 37), "float32", layout, "special", 1)
    before = x.tobytes()
    for axis in (None, 0, 1):
        af.sum(x, axis=axis)
    af.argmax(x, axis=1)
    assert x.tobytes() == before


def test_changed_elements_are_seen_by_a_remembered_call():
    x = np.ones((4, 9))
    assert af.sum(x) == 36
    x[2, 3] = 11
    assert af.sum(x) == 46
    for _ in range(3):
        x += 1
        np.testing.assert_array_equal(af.sum(x, axis=0), x.sum(0))


def test_results_are_new_arrays():
    x = np.ones((4, 9))
    first = af.sum(x, axis=0)
    first[...] = -1
    assert (af.sum(x, axis=0) == 4).all()
    copy = af.max(x, axis=())
    assert not np.shares_memory(copy, x)
    assert copy.flags.writeable


@pytest.mark.parametrize("make", [np.asmatrix, lambda x: x.view(np.recarray), memoryview])
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_other_array_types_give_what_numpy_gives(make):
    x = make(np.arange(6.0).reshape(2, 3))
    result, want = af.sum(x, axis=0), np.sum(x, axis=0)
    assert type(result) is type(want)
    assert result.tolist() == want.tolist()


def test_a_memory_map(tmp_path):
    x = np.memmap(tmp_path / "x.bin", "float32", "w+", shape=(7, 30))
    x[...] = 2
    assert (af.sum(x, axis=1) == 60).all()
    assert type(af.sum(x, axis=1)) is np.ndarray


def test_many_axes():
    rank = 64
    x = np.arange(4.0).reshape((2,) + (1,) * (rank - 2) + (2,))
    assert af.sum(x) == 6
    assert af.sum(x, axis=0).shape == (1,) * (rank - 2) + (2,)
    assert af.sum(x, axis=tuple(range(1, rank))).tolist() == [1.0, 5.0]
    assert af.argmax(x, keepdims=True).shape == (1,) * rank
    order = np.random.default_rng(0).permutation(12)
    twos = np.arange(2**12, dtype="float64").reshape((2,) * 12).transpose(order)
    axes = tuple(range(0, 12, 2))
    np.testing.assert_array_equal(af.sum(twos, axis=axes), twos.sum(axes))


def test_shapes_that_no_result_fits():
    huge = np.broadcast_to(np.uint8(1), (2**45, 2))
    with pytest.raises(MemoryError):
        af.sum(huge, axis=1)
    assert af.sum(np.broadcast_to(np.uint8(1), (2**40, 0)), axis=()).shape == (2**40, 0)
