# SPDX-License-Identifier: Apache-2.0
"""Folds of CUDA arrays: planned and compiled for their device once, then a launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from axisfold.api.fold import Layout, Planned, input_offsets, part_offsets, scalar_values
from axisfold.api.outputs import result_form
from axisfold.dtypes import DType
from axisfold.interop.libraries import BY_NAME
from axisfold.interop.views import Form, Output, finished
from axisfold.runtime.cuda.driver import device
from axisfold.runtime.cuda.program import Bound
from axisfold.target import Target


@dataclass(frozen=True, slots=True)
class DeviceLaunch:
    """A bound signature of device arrays: everything about a call but addresses and stream.

    Attributes
    ----------
    bound
        The launches.
    stream
        Returns the handle of the caller's current stream.
    inputs
        For each operand: which array, and the byte offset of its first element.
    index
        An address for each placeholder of the element index, which has no memory.
    outputs
        For each result what makes its array, and the byte offsets of its real components.
    pack
        As :class:`axisfold.api.fold.Planned` has it.
    form, dtypes, initial
        How results lie in the memory that is written, and the dtypes of results and of initial
        values.
    one
        From a single input and its address to the results, as a call does.
    checks
        Nothing: to look at results would be to wait for them.
    """

    bound: Bound
    stream: Callable[[], int]
    inputs: tuple[tuple[int, int], ...]
    index: tuple[int, ...]
    outputs: tuple[Output, ...]
    pack: Callable[..., Any] | None
    form: Form
    dtypes: tuple[DType, ...]
    initial: tuple[DType, ...]
    one: Callable[[Any, int], Any] = field(init=False)
    checks: tuple[()] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "one", _one(self))

    def __call__(self, like: Any, pointers: Sequence[int]) -> Any:
        """Launch on addresses of this signature and return new results at once.

        Parameters
        ----------
        like
            The input beside which the results are made.
        pointers
            The inputs' addresses.
        """
        done = self.results(like, pointers, self.outputs)
        return done[0] if self.pack is None else self.pack(*done)

    def results(self, like: Any, pointers: Sequence[int], outputs: Sequence[Output]) -> list[Any]:
        """Launch and return the results, in memory of ``outputs``."""
        addresses = [pointers[which] + offset for which, offset in self.inputs]
        addresses += self.index
        results = []
        for maker, parts in outputs:
            result, base = maker.allocate(like)
            addresses += [base + part for part in parts]
            results.append(result)
        self.bound.run(addresses, self.stream())
        return finished(outputs, results, like)


@lru_cache
def target_of(index: int) -> Target:
    """Return what programs for a device of this process are compiled for."""
    card = device(index)
    return Target(
        "cuda",
        arch=card.arch,
        multiprocessors=card.attribute("MULTIPROCESSOR_COUNT"),
        l2_bytes=card.attribute("L2_CACHE_SIZE"),
        sm_threads=card.attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
    )


def bind_device(
    arrays: Sequence[Layout],
    planned: Planned,
    library: str,
    stream: Callable[[], int],
    where: int,
    keepdims: bool = False,
) -> DeviceLaunch:
    """Compile a planned fold and bind it to the arrays' signature.

    Parameters
    ----------
    arrays, planned
        Inputs, and what :func:`axisfold.api.fold.plan_fold` returned for them.
    library
        Whose results are wanted.
    stream
        Returns the handle of the caller's current stream.
    where
        Number of the device.
    keepdims
        As NumPy's.
    """
    form = result_form(planned.problem, planned.shape, planned.reduced, keepdims)
    traced, chosen = planned.traced, BY_NAME[library]
    binary = planned.plan.binary
    inputs, index = input_offsets(planned, arrays), (0,) * traced.uses_index
    outputs = tuple((chosen.maker(form, r.dtype, where), part_offsets(r)) for r in traced.results)
    initial = tuple(value.form.dtype for value in traced.initial)
    return DeviceLaunch(
        binary.configure(scalar_values(planned, binary.kernel), device(where)),
        stream,
        inputs,
        index,
        outputs,
        planned.pack,
        form,
        tuple(r.dtype for r in traced.results),
        initial,
    )


def _one(launch: DeviceLaunch) -> Callable[[Any, int], Any]:
    """Return :attr:`DeviceLaunch.one`: for real elements and one real result with little between.

    That is the most frequent call by far, and in it the host may take longer than the device.
    """
    is_plain = len(launch.inputs) == 1 == len(launch.outputs) and not launch.index
    maker, parts = launch.outputs[0]
    if (
        not is_plain
        or launch.pack is not None
        or launch.initial
        or maker.finish is not None
        or parts != (0,)
    ):
        return lambda like, address: launch(like, (address,))
    ((_, offset),) = launch.inputs
    bound, stream, allocate = launch.bound, launch.stream, maker.allocate
    if bound.offsets:

        def run(like: Any, address: int) -> Any:
            result, base = allocate(like)
            bound.run((address + offset, base), stream())
            return result

        return run
    start, record, fail = bound.launch, bound.record.address, bound.fail

    def run_alone(like: Any, address: int) -> Any:
        result, base = allocate(like)
        code = start(record, stream(), address + offset, base)
        if code:
            fail(code)
        return result

    return run_alone
