# SPDX-License-Identifier: Apache-2.0
"""Folds of CUDA arrays: planned and compiled for their device once, then a look-up and a launch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

from axisfold.api.fold import Layout, Planned, input_offsets, part_offsets, scalar_values
from axisfold.api.outputs import Make, maker, result_form
from axisfold.api.results import result_type
from axisfold.errors import ArgumentError, DTypeError
from axisfold.runtime.cuda.arrays import View, current_stream, quick_key, view, wait_for
from axisfold.runtime.cuda.call import check_aligned, stream_of
from axisfold.runtime.cuda.driver import api, device
from axisfold.runtime.cuda.program import Bound
from axisfold.runtime.placement import is_on_gpu
from axisfold.target import Target

MAX_SIGNATURES: Final = 4096
# Arrays that lie alike modulo the longest load of a thread are of one signature.
_LOW_BITS: Final = 15

_launches: dict[Hashable, DeviceLaunch] = {}


class Planner(Protocol):
    """Plans a fold of arrays, of which only dtypes, shapes and strides count."""

    def __call__(self, arrays: Sequence[Layout], target: Target) -> Planned:
        """Return the planned fold."""


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
        For each real component: which array, and the byte offset of its first element.
    index
        An address for each placeholder of the element index, which has no memory.
    outputs
        For each result what makes its array, and the byte offsets of its real components.
    wrap
        Packs several results, None for one.
    """

    bound: Bound
    stream: Callable[[], int]
    inputs: tuple[tuple[int, int], ...]
    index: tuple[int, ...]
    outputs: tuple[tuple[Make, tuple[int, ...]], ...]
    wrap: Callable[..., Any] | None

    def __call__(self, like: Any, pointers: Sequence[int]) -> Any:
        """Launch on addresses of this signature and return new results at once.

        Parameters
        ----------
        like
            The first input, beside which the results are allocated.
        pointers
            The inputs' addresses.
        """
        addresses = [pointers[which] + offset for which, offset in self.inputs]
        addresses += self.index
        results = []
        for make, parts in self.outputs:
            result, base = make(like)
            addresses += [base + part for part in parts]
            results.append(result)
        self.bound.run(addresses, self.stream())
        return results[0] if self.wrap is None else self.wrap(*results)


def run_on_device(
    call: Hashable, inputs: Sequence[Any], plan: Planner, keepdims: bool, *, as_tuple: bool = False
) -> Any:
    """Fold device arrays on the current stream of their library, without waiting.

    Parameters
    ----------
    call
        What the launch depends on beside the inputs; one that cannot be hashed is not remembered.
    inputs
        Arrays on one device.
    plan
        Plans the fold when the signature is new.
    keepdims
        As NumPy's.
    as_tuple
        Pack a single result into a tuple, as several are.

    Raises
    ------
    ArgumentError
        ``A202``: an array without plain memory; ``A209``: not all on one device; ``A211``:
        elements that are not aligned; ``A215``: a tensor that is part of a gradient; ``A217``:
        arrays of several libraries.
    DTypeError
        ``D102``: elements in foreign byte order; ``D302``: the library has no such dtype.
    DeviceError
        ``X302``: no driver.
    """
    quick = [quick_key(x) for x in inputs]
    if None not in quick:
        keys, pointers = zip(*quick, strict=True)
        key = (call, *keys, *[p & _LOW_BITS for p in pointers])
        try:
            launch = _launches.get(key)
        except TypeError:  # a list of axes, or an argument that planning refuses
            launch = None
        if launch is not None:
            return launch(inputs[0], pointers)
    return _run_checked(call, inputs, plan, keepdims, as_tuple)


def _run_checked(
    call: Hashable, inputs: Sequence[Any], plan: Planner, keepdims: bool, as_tuple: bool
) -> Any:
    _check_places(inputs)
    api()  # without a driver there is no device array: say that first
    handle = stream_of(inputs)()
    labels = ["x"] if len(inputs) == 1 else [f"input {n}" for n in range(len(inputs))]
    views = [view(label, x, handle) for label, x in zip(labels, inputs, strict=True)]
    for label, v in zip(labels, views, strict=True):
        _check_element(label, v)
        check_aligned(label, v)
    where = _common_device(views)
    pointers = [v.address for v in views]
    quick = [quick_key(x) for x in inputs]
    keys = [v.key if q is None else q[0] for v, q in zip(views, quick, strict=True)]
    key = (call, *keys, *[p & _LOW_BITS for p in pointers])
    try:
        launch = _launches.get(key)
    except TypeError:
        return _bind(views, plan(views, target_of(where)), keepdims, as_tuple)(inputs[0], pointers)
    if launch is None:
        launch = _bind(views, plan(views, target_of(where)), keepdims, as_tuple)
        if len(_launches) >= MAX_SIGNATURES:
            _launches.clear()
        _launches[key] = launch
    others = [v.stream for v in views if v.stream is not None]
    with device(where).current():
        for other in others:
            wait_for(handle, other)
    return launch(inputs[0], pointers)


@lru_cache
def target_of(index: int) -> Target:
    """Return what programs for a device of this process are compiled for."""
    return Target("cuda", arch=device(index).arch)


def _bind(views: Sequence[View], planned: Planned, keepdims: bool, as_tuple: bool) -> DeviceLaunch:
    where, library = _common_device(views), views[0].library
    form = result_form(planned.problem, planned.shape, planned.reduced, keepdims)
    results = planned.traced.results
    outputs = tuple((maker(library, form, r.dtype, where), part_offsets(r)) for r in results)
    program = planned.plan.compiled
    names = tuple(r.name for r in results)
    return DeviceLaunch(
        program.configure(scalar_values(planned, program.kernel), device(where)),
        current_stream(library, where),
        input_offsets(planned, views),
        (0,) * (planned.plan.graph.index is not None),
        outputs,
        result_type(names) if as_tuple or len(names) > 1 else None,
    )


def _check_places(inputs: Sequence[Any]) -> None:
    for n, x in enumerate(inputs):
        if not is_on_gpu(x):
            other = next(m for m, y in enumerate(inputs) if is_on_gpu(y))
            raise ArgumentError(
                f"input {n} is in the memory of the host, but input {other} in that of a CUDA "
                "device.",
                code="A209",
                hint="Copy it to the device, as by cupy.asarray(x) or x.cuda(), or the other to "
                "the host.",
            )


def _check_element(label: str, v: View) -> None:
    if v.dtype[0] in "<>":
        raise DTypeError(
            f"{label} has elements in foreign byte order ({v.dtype}), which no kernel reads.",
            code="D102",
            hint=f"Convert it to {v.dtype[1:]!r}.",
        )


def _common_device(views: Sequence[View]) -> int:
    """Return the device of arrays of one library."""
    found = {v.device: n for n, v in enumerate(views) if v.device is not None}
    if len(found) > 1:
        places = " and ".join(f"input {n} on {index}" for index, n in found.items())
        raise ArgumentError(
            f"the inputs are on different CUDA devices: {places}.",
            code="A209",
            hint="Copy them to one device.",
        )
    libraries = {v.library for v in views}
    if len(libraries) > 1:
        names = " and ".join(sorted(name or "another library" for name in libraries))
        raise ArgumentError(
            f"the inputs are arrays of {names}, so that neither the stream nor the library of the "
            "result is clear.",
            code="A217",
            hint="Convert them without a copy, as by torch.from_dlpack(x) or cupy.from_dlpack(x).",
        )
    return next(iter(found), 0)
