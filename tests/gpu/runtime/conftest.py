# SPDX-License-Identifier: Apache-2.0
"""Functions on a device, and a place for the cache, so that tests begin and end without one."""

from importlib.util import find_spec

import pytest
from cuda_support.schedules import full_sum, row_sums

from axisfold.build import build
from axisfold.config import config
from axisfold.runtime.cuda.driver import count

# The tests bring arrays of both; where there is no GPU there is often neither.
collect_ignore_glob = [] if find_spec("torch") and find_spec("cupy") else ["test_*.py"]
collect_ignore_glob += [] if count() > 1 else ["test_devices.py"]


@pytest.fixture(autouse=True, scope="session")
def _cache(tmp_path_factory):
    config.cache_dir = tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def rows():
    return build(*row_sums(), "cuda", name="rows")


@pytest.fixture(scope="session")
def total():
    return build(*full_sum(), "cuda", name="total")
