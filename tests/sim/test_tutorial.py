# SPDX-License-Identifier: Apache-2.0
"""The schedules that te-era scripts wrote for GPUs, in the simulator, on every tail up to 130.

Each is compiled once; extents are arguments.  Each n runs with a few m, each m with a few n;
``-m slow`` runs the full product.
"""

import numpy as np
import pytest
from te_support.scripts import SCHEDULES, topi_rows, tutorial

from axisfold.build import build

EXTENTS = range(1, 131)
# Around the extents of threads, warps and blocks.
FEW = (1, 32, 130)


@pytest.fixture(scope="module", params=SCHEDULES, ids=lambda f: f.__name__)
def compiled(request):
    schedule, args, answer = request.param()
    return build(schedule, args, "sim"), args, answer


def check(compiled, shapes):
    function, (A, B), answer = compiled
    values = np.random.default_rng(7).integers(-1000, 1000, (130, 130)).astype(A.dtype.name)
    values = values / 64 if A.dtype.is_float else values
    for n, m in shapes:
        a = values[:n, :m].copy()
        wanted = answer(a)
        found = np.full(wanted.shape, 77, B.dtype.name)
        function(a, found, seed=n * 131 + m)
        if A.dtype.is_float:
            np.testing.assert_allclose(found, wanted, rtol=1e-13, err_msg=f"{n} x {m}")
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=f"{n} x {m}")


def test_each_extent_of_the_rows(compiled):
    check(compiled, [(n, m) for n in EXTENTS for m in FEW])


def test_each_extent_of_the_columns(compiled):
    check(compiled, [(n, m) for n in (1, 33) for m in EXTENTS])


@pytest.mark.parametrize("made", [tutorial, topi_rows], ids=lambda f: f.__name__)
def test_no_elements(made):
    schedule, args, answer = made()
    check((build(schedule, args, "sim"), args, answer), [(0, 5), (0, 0), (3, 0), (33, 0)])


@pytest.mark.slow
def test_every_shape(compiled):
    check(compiled, [(n, m) for n in EXTENTS for m in EXTENTS])
