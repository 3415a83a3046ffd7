# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""Every case of header_cases, on the host."""

from collections import Counter

from header_cases import ALL_CASES
from header_cases.block import *
from header_cases.examples import *
from header_cases.grid import *
from header_cases.higher_dim import *
from header_cases.kps_compute import *
from header_cases.kps_data import *
from header_cases.torch import *
from header_cases.types import *
from header_cases.warp import *


def test_no_case_hides_another():
    names = Counter(name for cases in ALL_CASES for name in dir(cases) if name.startswith("test_"))
    assert [name for name, count in names.items() if count > 1] == []
    assert set(names) <= set(globals())
