# SPDX-License-Identifier: Apache-2.0
"""The list of schedules for GPUs: each runs in the simulator, and NVRTC compiles it."""

import numpy as np
import pytest
from gpu_support.forms import FORMS, SUM_TYPES, elements, numbers
from gpu_support.schedules import KERNELS, REAL, SMALL, kernel_cases

from axisfold import sim
from axisfold.build import build
from axisfold.errors import ScheduleError

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")


@pytest.mark.parametrize("entry", SMALL, ids=lambda e: e.name)
def test_in_the_simulator(entry):
    schedule, args = entry.make()
    function = build(schedule, args, "sim")
    for a, wanted, found in entry.cases(args):
        function(a, *found)
        entry.check(args, found, wanted)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_in_the_simulator(name):
    for kernel, extents, arrays, wanted in kernel_cases(name):
        sim.run(kernel, arrays, extents)
        np.testing.assert_array_equal(arrays[1], wanted)


@pytest.mark.parametrize("dtype", SUM_TYPES)
@pytest.mark.parametrize("form", FORMS)
def test_every_dtype(form, dtype):
    make, answer, shape_of = FORMS[form]
    schedule, args = make(dtype)
    function = build(schedule, args, "sim")
    for extent in (2, 35):
        a = elements(shape_of(extent), dtype)
        wanted = [np.asarray(w) for w in answer(numbers(a, dtype))]
        found = [
            np.full(w.shape, 77, b.dtype.stored) for w, b in zip(wanted, args[1:], strict=True)
        ]
        function(a, *found)
        for one, expected, tensor in zip(found, wanted, args[1:], strict=True):
            np.testing.assert_array_equal(numbers(one, str(tensor.dtype)), expected)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("entry", [*SMALL, *REAL], ids=lambda e: e.name)
def test_compiles(entry, arch):
    if entry.has_clusters and arch == "sm_80":
        with pytest.raises(ScheduleError, match="S299"):
            build(*entry.make(), f"cuda -arch={arch}")
        return
    function = build(*entry.make(), f"cuda -arch={arch}")
    # On sm_120 the float64 exponentials of the softmax spill one register pair.
    assert all(info.spilled_bytes <= 8 for info in function.sass_info().values())
