# SPDX-License-Identifier: Apache-2.0
"""A place for the cache, so that tests begin without one and a layout class compiles once."""

from importlib.util import find_spec

import pytest

from axisfold.config import config

# The tests bring arrays of both; where there is no GPU there is often neither.
collect_ignore_glob = [] if find_spec("torch") and find_spec("cupy") else ["test_*.py"]
collect_ignore_glob += [] if find_spec("jax") else ["test_jax*.py"]


@pytest.fixture(autouse=True, scope="session")
def _cache(tmp_path_factory):
    config.cache_dir = tmp_path_factory.mktemp("cache")
