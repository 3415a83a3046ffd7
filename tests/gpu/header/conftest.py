# SPDX-License-Identifier: Apache-2.0
"""The header cases on a CUDA device."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "header" / "support"))
pytest.register_assert_rewrite("header_cases")


@pytest.fixture(scope="session")
def machine():
    from header_support.device import DeviceMachine

    return DeviceMachine()
