# SPDX-License-Identifier: Apache-2.0
"""Every rule for CPUs beside NumPy as machines with narrower vectors than this one's have it."""

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from axisfold.config import config
from axisfold.runtime.cpu import host_vector_bytes

SCRIPT = Path(__file__).resolve().parents[1] / "support" / "fold_support" / "narrower.py"
# Of spreads, those that are rules of folds too are left to tests/numeric/test_spread.py.
OTHERS = ("_elements", "general")


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="takes away features of x86"
)
@pytest.mark.parametrize(("cpu", "vectors"), [("znver3", 32), ("nehalem", 16)])
def test_every_rule_is_right_where_vectors_are_narrower(cpu, vectors):
    done = subprocess.run(
        [sys.executable, SCRIPT, cpu, str(config.cache_dir)], stdout=subprocess.PIPE, check=True
    )
    found, reached, rules = json.loads(done.stdout)
    assert found == min(vectors, host_vector_bytes())
    assert {r for r in rules if not r.endswith(OTHERS)} <= set(reached)
