# SPDX-License-Identifier: Apache-2.0
"""Every form of a fold with every dtype, on lengths beside those of warps and blocks."""

import numpy as np
import pytest
from gpu_support.device import run
from gpu_support.forms import FORMS, SUM_TYPES, TAILS, elements, numbers

from axisfold.build import build

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", SUM_TYPES)
@pytest.mark.parametrize("form", FORMS)
def test_tails(form, dtype):
    make, answer, shape_of = FORMS[form]
    schedule, args = make(dtype)
    function = build(schedule, args, "cuda")
    for extent in TAILS:
        a = elements(shape_of(extent), dtype)
        wanted = answer(numbers(a, dtype))
        like = [
            np.empty(np.shape(w), b.dtype.stored) for w, b in zip(wanted, args[1:], strict=True)
        ]
        kinds = [str(b.dtype) for b in args[1:]]
        found = run(function, [a], like, [dtype], kinds)
        for one, expected, kind in zip(found, wanted, kinds, strict=True):
            np.testing.assert_array_equal(numbers(one, kind), expected, f"extent {extent}")
