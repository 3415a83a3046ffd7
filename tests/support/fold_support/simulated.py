# SPDX-License-Identifier: Apache-2.0
"""Folds of NumPy arrays by the plans for GPUs, in the simulator."""

from types import SimpleNamespace

import numpy as np
from numpy.lib.stride_tricks import as_strided

from axisfold import sim
from axisfold.api.arguments import item_of
from axisfold.api.dispatch import plan_request
from axisfold.api.fold import input_offsets, part_offsets, result_layouts, scalar_values
from axisfold.api.options import Request
from axisfold.api.outputs import result_form
from axisfold.target import Target

TARGET = Target("sim")


def fold_in_sim(inputs, items, axis=None, keepdims=False, dtype=None, seed=0, is_masked=False):
    """Return the rule's name and the results, one for each of ``items``."""
    request = Request(
        "fold", tuple(map(item_of, items)), axis=axis, dtype=dtype, is_masked=is_masked
    )
    planned = plan_request(request, inputs, TARGET)
    problem, plan = planned.problem, planned.plan
    program = plan.compiled.device
    axes = [*problem.kept, *problem.reduced]
    arrays = []
    for (which, offset), buffer in zip(
        input_offsets(planned, inputs), program.params, strict=False
    ):
        strides = tuple(a.strides[which] for a in axes)
        shape = tuple(a.extent for a in axes)
        arrays.append(_strided(inputs[which], offset, buffer.dtype.stored, shape, strides))
    if plan.graph.index is not None:
        strides = tuple(a.index_stride for a in problem.reduced)
        shape = tuple(a.extent for a in problem.reduced)
        arrays.append(as_strided(np.zeros(1, "i8"), shape, strides, writeable=False))
    form = result_form(problem, planned.shape, planned.reduced, keepdims)
    size = int(np.prod(form.shape))
    layouts = iter(result_layouts(planned))
    results = []
    for result in planned.traced.results:
        base = np.full(size * result.dtype.itemsize, 0xA5, "u1").view(result.dtype.stored)
        for offset in part_offsets(result):
            part = base if len(result.parts) == 1 else base.view(base.real.dtype)[bool(offset) :]
            shape, steps = zip(*next(layouts), strict=True)
            arrays.append(as_strided(part, shape, [step * part.itemsize for step in steps]))
        item = base.itemsize
        results.append(as_strided(base[form.first :], form.shape, [s * item for s in form.strides]))
    sim.run(program, arrays, scalar_values(planned, program), seed=seed)
    return plan.rule.name, results


def _strided(array, offset, dtype, shape, strides):
    """Return a view from the first element that the kernel visits."""
    if 0 in shape:
        return np.zeros(shape, dtype)
    address, _ = array.__array_interface__["data"]

    interface = {
        "version": 3, "data": (address + offset, True), "shape": shape, "strides": strides,
        "typestr": np.dtype(dtype).str,
    }  # fmt: skip
    return np.asarray(SimpleNamespace(__array_interface__=interface, owner=array))
