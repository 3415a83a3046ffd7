# SPDX-License-Identifier: Apache-2.0
"""Folds of NumPy arrays by the plans for GPUs, in the simulator."""

from functools import partial
from types import SimpleNamespace

import numpy as np
from numpy.lib.stride_tricks import as_strided

from axisfold import sim
from axisfold.api.arguments import item_of, resolve_row
from axisfold.api.dispatch import all_inputs, fold_request, plan_request
from axisfold.api.fold import input_offsets, layouts, part_offsets, result_layouts, scalar_values
from axisfold.api.initial import on_host, values_of
from axisfold.api.options import Operands, Request, named_call
from axisfold.api.outputs import result_form
from axisfold.target import Target

TARGET = Target("sim")


class Functions:
    """axisfold's functions by their names, of NumPy arrays as if they lay on a device."""

    def __getattr__(self, name):
        return partial(self._named, resolve_row(name))

    def _named(self, row, x, axis=None, keepdims=False, **options):
        request, operands = named_call(row, (), axis, keepdims, options)
        return self._packed(request, (x,), operands)

    def fold(self, x, reducer, axis=None, **options):
        inputs = x if isinstance(x, tuple) else (x,)
        reducers = reducer if isinstance(reducer, list) else [reducer]
        operands = Operands.taken_from(options)
        request = fold_request(
            reducers, operands, isinstance(reducer, list), axis, options.pop("keepdims", False),
            options.pop("dtype", None), options.pop("min_count", 0),
        )  # fmt: skip
        assert not options
        return self._packed(request, inputs, operands)

    @staticmethod
    def _packed(request, inputs, operands):
        planned, results = run(request, all_inputs(request, inputs, operands), operands.initial)
        return results[0] if planned.pack is None else planned.pack(*results)


def fold_in_sim(inputs, items, axis=None, keepdims=False, dtype=None, seed=0, is_masked=False):
    """Return the rule's name and the results, one for each of ``items``."""
    items = tuple(map(item_of, items))
    request = Request("fold", items, axis=axis, keepdims=keepdims, dtype=dtype, is_masked=is_masked)
    planned, results = run(request, inputs, seed=seed)
    return planned.plan.rule.name, results


def run(request, inputs, initial=None, seed=0):
    """Return the planned fold of a request, and the arrays that the simulator made for it."""
    planned = plan_request(request, inputs, TARGET)
    problem, plan = planned.problem, planned.plan
    program = plan.compiled.device
    arrays = []
    wanted = [value.form.dtype for value in planned.traced.initial]
    count = len(inputs) - request.is_masked
    values = values_of(request.function, initial, count, len(wanted)) if wanted else []
    placed = [on_host(request.function, *pair) for pair in zip(values, wanted, strict=True)]
    for (which, offset), buffer, (shape, strides) in zip(
        input_offsets(planned, inputs), program.params, layouts(planned), strict=False
    ):
        dtype = buffer.dtype.stored
        if which >= len(inputs):
            arrays.append(_strided(placed[which - len(inputs)], offset, dtype, (1,), (0,)))
            continue
        arrays.append(_strided(inputs[which], offset, dtype, shape, strides))
    if plan.graph.index is not None:
        strides = tuple(a.index_stride for a in problem.reduced)
        shape = tuple(a.extent for a in problem.reduced)
        arrays.append(as_strided(np.zeros(1, "i8"), shape, strides, writeable=False))
    form = result_form(problem, planned.shape, planned.reduced, request.keepdims)
    size = int(np.prod(form.shape))
    written = iter(result_layouts(planned))
    results = []
    for result in planned.traced.results:
        base = np.full(size * result.dtype.itemsize, 0xA5, "u1").view(result.dtype.stored)
        for offset in part_offsets(result):
            part = base if len(result.parts) == 1 else base.view(base.real.dtype)[bool(offset) :]
            shape, steps = zip(*next(written), strict=True)
            arrays.append(as_strided(part, shape, [step * part.itemsize for step in steps]))
        item = base.itemsize
        seen = base.view(result.dtype.to_numpy())[form.first :]
        results.append(as_strided(seen, form.shape, [s * item for s in form.strides]))
    sim.run(program, arrays, scalar_values(planned, program), seed=seed)
    return planned, results


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
