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
        check(run_of(function, a, like, args, dtype), wanted, args, extent)


def run_of(function, a, like, args, dtype):
    if str(args[-1].dtype) == "bfloat16":  # the component of an argmax that is an element
        import torch
        from gpu_support.device import on_device

        outputs = [torch.full(like[0].shape, 77, dtype=torch.int32, device="cuda"),
                   torch.full(like[1].shape, 77, dtype=torch.bfloat16, device="cuda")]  # fmt: skip
        function(on_device(a, dtype), *outputs)
        return [outputs[0].cpu().numpy(), outputs[1].cpu().view(torch.int16).numpy().view("u2")]
    return run(function, [a], like, [dtype])


def check(found, wanted, args, extent):
    for one, expected, tensor in zip(found, wanted, args[1:], strict=True):
        np.testing.assert_array_equal(
            numbers(one, str(tensor.dtype)), expected, err_msg=f"extent {extent}"
        )
