# SPDX-License-Identifier: Apache-2.0
"""Every row of the semantics table on a device."""

import pytest
from gpu_support.device import run_kernel
from semantics_support.programs import programs
from semantics_support.table import TABLE

pytestmark = pytest.mark.gpu

PROGRAMS = list(programs(TABLE, form="threads"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.kernel.name)
def test_table(program):
    program.check(run_kernel(program.kernel, program.arrays()))
