# SPDX-License-Identifier: Apache-2.0
"""The list of schedules for GPUs on a device, and kernels written by hand."""

import numpy as np
import pytest
from gpu_support.device import run, run_kernel
from gpu_support.forms import TAILS
from gpu_support.schedules import KERNELS, REAL, SMALL, kernel_cases

from axisfold.build import build

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("entry", SMALL, ids=lambda e: e.name)
def test_small(entry):
    schedule, args = entry.make()
    function = build(schedule, args, "cuda")
    for a, wanted, found in entry.cases(args):
        results = [str(b.dtype) for b in args[1:]]
        entry.check(args, run(function, [a], found, [str(args[0].dtype)], results), wanted)


@pytest.mark.parametrize("entry", REAL, ids=lambda e: e.name)
def test_real_sizes(entry):
    import torch

    schedule, args = entry.make()
    function = build(schedule, args, "cuda")
    values = np.random.default_rng(1).integers(-4, 5, entry.shapes[0], dtype="int8")
    x = torch.from_numpy(values).cuda().to(getattr(torch, str(args[0].dtype)))
    wanted = [np.asarray(w) for w in entry.answer(values)]
    outputs = [
        torch.full(w.shape, 77, dtype=getattr(torch, str(b.dtype)), device="cuda")
        for w, b in zip(wanted, args[1:], strict=True)
    ]
    function(x, *outputs)
    entry.check(args, [o.cpu().numpy() for o in outputs], wanted)


@pytest.mark.parametrize("length", TAILS)
@pytest.mark.parametrize("name", ["script tutorial", "script topi_rows", "script topi_all"])
def test_tails_of_scripts(name, length, compiled):
    function, answer = compiled[name]
    for shape in ((length, 3), (3, length), (length, length)):
        a = np.random.default_rng(length).integers(-1000, 1000, shape).astype("i4")
        wanted = answer(a)
        found = run(function, [a], [np.asarray(w, "i4") for w in wanted])
        for one, expected in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, expected)


@pytest.fixture(scope="module")
def compiled():
    made = {}
    for entry in SMALL:
        if entry.name.startswith("script "):
            made[entry.name] = build(*entry.make(), "cuda"), entry.answer
    return made


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name):
    for kernel, extents, arrays, wanted in kernel_cases(name):
        [found] = run_kernel(kernel, arrays, extents)
        np.testing.assert_array_equal(found, wanted)
