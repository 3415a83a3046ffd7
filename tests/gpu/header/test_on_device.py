# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""Every case of header_cases, on a device."""

import pytest
from header_cases.block import *
from header_cases.examples import *
from header_cases.grid import *
from header_cases.higher_dim import *
from header_cases.kps_compute import *
from header_cases.kps_data import *
from header_cases.torch import *
from header_cases.types import *
from header_cases.warp import *

pytestmark = pytest.mark.gpu
