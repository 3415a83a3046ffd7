# SPDX-License-Identifier: Apache-2.0
"""2,000 random schedules for threads on a device, compiled and run in several processes.

``--schedules N`` with N other than its default makes N.  A failure names its seed.
"""

import multiprocessing
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import pytest
from gpu_support.random_cases import outcomes_of, start

from axisfold.config import config

pytestmark = pytest.mark.gpu

DEFAULT = 500  # of the option
COUNT = 2000
BATCH = 10


def test_random_schedules(request):
    given = request.config.getoption("--schedules")
    count = COUNT if given == DEFAULT else given
    batches = [range(first, min(first + BATCH, count)) for first in range(0, count, BATCH)]
    # Lowering is Python, so threads would wait for each other.
    workers = min(12, os.cpu_count() or 1)
    with ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), start, (config.cache_dir,)
    ) as pool:
        outcomes = [outcome for found in pool.map(outcomes_of, batches) for outcome in found]
    failed = [text for code, text in outcomes if code == "failed"]
    assert not failed, f"{len(failed)} of {count} fail:\n" + "\n".join(failed[:5])
    codes = Counter(code for code, _ in outcomes)
    sys.stdout.write(f"\n{codes['']} of {count} ran, the others were refused: {codes}\n")
    assert codes[""] >= 0.5 * count, codes
