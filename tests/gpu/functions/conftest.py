# SPDX-License-Identifier: Apache-2.0
"""A place for the cache; ``AXISFOLD_CACHE_DIR`` shares it among processes that run side by side."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from axisfold.config import config

# The tests bring arrays of both; where there is no GPU there is often neither.
collect_ignore_glob = [] if find_spec("torch") and find_spec("cupy") else ["test_*.py"]
collect_ignore_glob += [] if find_spec("jax") else ["test_jax*.py"]


@pytest.fixture(autouse=True, scope="session")
def _cache(tmp_path_factory):
    given = os.environ.get("AXISFOLD_CACHE_DIR")
    config.cache_dir = Path(given) if given else tmp_path_factory.mktemp("cache")
