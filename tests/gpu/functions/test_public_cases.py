# SPDX-License-Identifier: Apache-2.0
"""Reductions that went wrong in public, on a device, those of billions of elements too."""

import pytest
from gpu_support.functions import Functions
from public_cases import REPORTS
from public_cases.case import parameters, run

pytestmark = pytest.mark.gpu

FUNCTIONS = Functions()


@pytest.mark.parametrize("variant", parameters(REPORTS, "gpu", count=3))
def test_public_cases(variant):
    run(variant, FUNCTIONS)
