# SPDX-License-Identifier: Apache-2.0
"""Reductions that went wrong in public, by machine code of this machine.

``-m slow`` runs each case with every dtype, axis and layout, and those of billions of elements.
"""

import pytest
from public_cases import IDS, REPORTS
from public_cases.case import parameters, run

import axisfold


@pytest.mark.parametrize("variant", parameters(REPORTS, "llvm"))
def test_public_cases(variant):
    run(variant, axisfold)


def test_no_report_is_missing():
    assert [report.id for report in REPORTS] == IDS
    assert len(set(IDS)) == len(IDS)
    without = [report.id for report in REPORTS if not report.cases]
    assert all(id >= "B136" for id in without)
    assert all(report.said and report.answer and report.sources for report in REPORTS)
