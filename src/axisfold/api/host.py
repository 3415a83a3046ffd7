# SPDX-License-Identifier: Apache-2.0
"""Folds of arrays in the host's memory: a bound signature is a call of machine code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from axisfold.api.calls import host_entry
from axisfold.api.fold import Check, Layout, Planned, host_scalars, input_offsets, part_offsets
from axisfold.api.outputs import result_form
from axisfold.api.targets import Direct
from axisfold.dtypes import DType
from axisfold.interop.libraries import BY_NAME
from axisfold.interop.views import HOST, Form, Output, finished
from axisfold.ir.stmt import STREAMED
from axisfold.plan.graph import LayoutClass
from axisfold.plan.traffic import LINE_BYTES
from axisfold.runtime.entry import Call
from axisfold.runtime.threads import check_status


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """A bound signature of host arrays: everything about a call but the addresses.

    Attributes
    ----------
    entry
        The machine code.
    inputs
        For each real component: which array, and the byte offset of its first element.
    index
        An address for each placeholder of the element index, which has no memory.
    outputs
        For each result what makes its array, and the byte offsets of its real components.
    scalars
        Extents and strides.
    pack, checks
        As :class:`axisfold.api.fold.Planned` has them.
    form, dtypes, initial
        How results lie in the memory that is written, and the dtypes of results and of initial
        values.
    call
        The same for :mod:`axisfold.runtime.entry`; None where it cannot make the result.
    direct
        Which arrays of the caller it writes as they are.
    """

    entry: Callable[..., int]
    inputs: tuple[tuple[int, int], ...]
    index: tuple[int, ...]
    outputs: tuple[Output, ...]
    scalars: tuple[int, ...]
    pack: Callable[..., Any] | None
    checks: tuple[Check, ...]
    form: Form
    dtypes: tuple[DType, ...]
    initial: tuple[DType, ...]
    call: Call | None
    direct: Direct

    def __call__(self, like: Any, pointers: Sequence[int]) -> Any:
        """Run on addresses of this signature and return new results.

        Parameters
        ----------
        like
            The input beside which the results are made.
        pointers
            The inputs' addresses.
        """
        done = self.results(like, pointers, self.outputs)
        return done[0] if self.pack is None else self.pack(*done)

    def one(self, like: Any, address: int) -> Any:
        """As a call, with a single input."""
        return self(like, (address,))

    def results(self, like: Any, pointers: Sequence[int], outputs: Sequence[Output]) -> list[Any]:
        """Run and return the results, in memory of ``outputs``."""
        addresses = [pointers[which] + offset for which, offset in self.inputs]
        addresses += self.index
        results = []
        for maker, parts in outputs:
            result, base = maker.allocate(like)
            addresses += [base + part for part in parts]
            results.append(result)
        status = self.entry(*addresses, *self.scalars)
        if status:
            check_status(status, "fold")
        done = finished(outputs, results, like)
        for check in self.checks:
            check(done)
        return done


def _alignment(layout: LayoutClass) -> int:
    """Return what divides the address of results: short rows write whole lines at many places."""
    if not layout.stores:
        return 1
    return LINE_BYTES if layout.width and layout.inner_kind == "reduced" else STREAMED


def bind_host(
    arrays: Sequence[Layout], planned: Planned, library: str, keepdims: bool = False
) -> HostLaunch:
    """Compile a planned fold and bind it to the arrays' signature.

    Parameters
    ----------
    arrays, planned
        Inputs, and what :func:`axisfold.api.fold.plan_fold` returned for them.
    library
        Whose results are wanted.
    keepdims
        As NumPy's.
    """
    form = result_form(planned.problem, planned.shape, planned.reduced, keepdims)
    traced = planned.traced
    make = BY_NAME[library].maker
    outputs = tuple((make(form, r.dtype, HOST), part_offsets(r)) for r in traced.results)
    entry, scalars = host_entry(planned), host_scalars(planned)
    inputs = input_offsets(planned, arrays)
    index = (0,) * planned.traced.uses_index
    call = None
    is_plain = len(arrays) == 1 and planned.pack is None and not planned.checks
    is_plain = is_plain and planned.rest is None
    if is_plain and not traced.initial and form.is_compact and library == "numpy":
        dtype = traced.results[0].dtype.to_numpy()
        if dtype.isbuiltin == 1:
            offsets = [offset for _, offset in inputs]
            shape = form.shape or None
            call = Call(entry, offsets, len(index), outputs[0][1], scalars, dtype, shape)
    is_direct = library == "numpy" and planned.pack is None and not planned.checks
    return HostLaunch(
        entry,
        inputs,
        index,
        outputs,
        scalars,
        planned.pack,
        planned.checks,
        form,
        tuple(r.dtype for r in traced.results),
        tuple(value.form.dtype for value in traced.initial),
        call,
        Direct.of(
            arrays,
            form,
            traced.results[0].dtype if is_direct else None,
            _alignment(planned.plan.layout),
        ),
    )
