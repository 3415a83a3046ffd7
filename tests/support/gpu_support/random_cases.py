# SPDX-License-Identifier: Apache-2.0
"""Random schedules for threads on a device, in processes of their own."""

import numpy as np
from te_support.random_threads import REFUSALS, ThreadCase

from axisfold.build import build
from axisfold.config import config
from axisfold.errors import ScheduleError, UnsupportedError
from gpu_support.device import run


def start(folder):
    """Prepare a process: a cache in a folder, and checks after every pass."""
    config.verify = True
    config.cache_dir = folder


def outcomes_of(seeds):
    """Return for each seed the code of a refusal, "" or "failed", and what was wrong."""
    outcomes = []
    for seed in seeds:
        try:
            outcomes.append((check(seed), ""))
        except Exception as error:  # noqa: BLE001 - whatever it is, it names the seed
            outcomes.append(("failed", f"seed {seed}: {type(error).__name__}: {error}"[:1500]))
    return outcomes


def check(seed):
    """Run one case on two shapes; return the code of a refusal, else ""."""
    case = ThreadCase(seed)
    try:
        function = build(case.schedule, case.problem.args, "cuda")
    except (ScheduleError, UnsupportedError) as error:
        if error.code not in REFUSALS:
            raise
        return error.code
    for _ in range(1 if case.sizes else 2):
        inputs = case.inputs(case.sizes or case.extents())
        wanted = case.problem.answer(*inputs)
        for one, expected in zip(run(function, inputs, wanted), wanted, strict=True):
            if one.dtype.kind == "f":
                np.testing.assert_allclose(one, expected, rtol=1e-10, atol=1e-10)
            else:
                np.testing.assert_array_equal(one, expected)
    return ""
