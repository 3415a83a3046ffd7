# SPDX-License-Identifier: Apache-2.0
"""Numeric tests: axisfold against exact arithmetic."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent / "support"))
pytest.register_assert_rewrite("numeric_support")

# A compile costs up to a tenth of a second: few examples, always the same ones.
settings.register_profile(
    "numeric",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
