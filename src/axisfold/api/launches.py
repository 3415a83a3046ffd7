# SPDX-License-Identifier: Apache-2.0
"""From arrays of any library to a launch: looked up when their signature was seen before."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from axisfold.api import entries
from axisfold.api.device import bind_device, target_of
from axisfold.api.fold import Layout, Planned
from axisfold.api.host import bind_host
from axisfold.dtypes import SUPPORTED
from axisfold.errors import ArgumentError, DTypeError
from axisfold.interop import numpy, subclasses
from axisfold.interop.libraries import BY_NAME, current_stream, is_on_gpu, library_of
from axisfold.interop.views import HOST, LOW_BITS, Library, View
from axisfold.plan.planner import HOST as HOST_TARGET
from axisfold.runtime.cuda.call import check_aligned
from axisfold.runtime.cuda.driver import api, device
from axisfold.runtime.cuda.streams import wait_for
from axisfold.target import Target
from axisfold.tensor.float8 import FORMATS

MAX_SIGNATURES: Final = 4096

# A launch takes the input beside which results are made, and the inputs' addresses.
Launch = Callable[[Any, Sequence[int]], Any]

launches: Final[dict[Hashable, Launch]] = {}


class Planner(Protocol):
    """Plans a fold of arrays, of which only dtypes, shapes and strides count."""

    def __call__(self, arrays: Sequence[Layout], target: Target, library: Library) -> Planned:
        """Return the planned fold, with results of dtypes that the library has."""


def remember(key: Hashable, launch: Launch) -> None:
    """Keep a launch; a program of endlessly many shapes starts over now and then."""
    if len(launches) >= MAX_SIGNATURES:
        launches.clear()
    launches[key] = launch


def forget() -> None:
    """Plan every call again."""
    launches.clear()
    entries.forget()


def run_planned(
    call: Hashable, inputs: Sequence[Any], plan: Planner, keepdims: bool, *, as_tuple: bool = False
) -> Any:
    """Fold arrays where they are: of a device on the current stream of their library, no waiting.

    Parameters
    ----------
    call
        What the launch depends on beside the inputs; one that cannot be hashed is not remembered.
    inputs
        Arrays in the host's memory or on one device; on the host also numbers and lists.
    plan
        Plans the fold when the signature is new.
    keepdims
        As NumPy's.
    as_tuple
        Pack a single result into a tuple, as several are.

    Raises
    ------
    ArgumentError
        ``A202``: an array without plain memory; ``A209``: not all in one place; ``A211``: elements
        on a device that are not aligned; ``A215``: a tensor that is part of a gradient; ``A217``:
        arrays of several libraries; ``A304``: no array; ``A309``: a masked array.
    DTypeError
        ``D101``: elements that are no numbers; ``D102``: in foreign byte order on a device;
        ``D302``: the library has no such dtype.
    DeviceError
        ``X302``: no driver.
    """
    quick = [library_of(x).quick_key(x) for x in inputs]
    found = [q for q in quick if q is not None]
    if len(found) == len(quick):
        try:
            launch = launches.get((call, *[key for key, _ in found]))
        except TypeError:  # a list of axes, or an argument that planning refuses
            launch = None
        if launch is not None:
            return launch(inputs[0], [address for _, address in found])
    return _run_checked(call, inputs, plan, keepdims, as_tuple)


def _run_checked(
    call: Hashable, inputs: Sequence[Any], plan: Planner, keepdims: bool, as_tuple: bool
) -> Any:
    views, where, library, stream = checked_views(inputs)
    pointers = [v.address for v in views]
    like = next((x for x, v in zip(inputs, views, strict=True) if v.library == library), inputs[0])
    key = (call, *[_key(x, v) for x, v in zip(inputs, views, strict=True)])
    try:
        launch = launches.get(key)
        is_hashable = True
    except TypeError:
        launch, is_hashable = None, False
    if launch is None:
        target = HOST_TARGET if where == HOST else target_of(where)
        planned = plan(views, target, BY_NAME[library])
        if subclasses.is_matrix(like) and len(planned.reduced) < len(planned.shape):
            keepdims = True
        launch = (
            bind_host(views, planned, library, keepdims, as_tuple)
            if where == HOST
            else bind_device(views, planned, library, stream, where, keepdims, as_tuple)
        )
        if is_hashable:
            remember(key, launch)
    if where != HOST:
        _wait(stream(), where, views)
    return launch(like, pointers)


def checked_views(
    inputs: Sequence[Any],
) -> tuple[list[View], int, str, Callable[[], int]]:
    """Return inputs as plain data, their device, their library, and its current stream.

    The errors are those of :func:`run_planned`.
    """
    labels = ["x"] if len(inputs) == 1 else [f"input {n}" for n in range(len(inputs))]
    is_on_device = any(is_on_gpu(x) for x in inputs)
    if is_on_device:
        _check_places(inputs)
        api()  # without a driver there is no device array: say that first
    stream = current_stream(inputs)
    views = [_view(label, x, stream) for label, x in zip(labels, inputs, strict=True)]
    for label, v in zip(labels, views, strict=True):
        _check_element(label, v)
        if is_on_device:
            check_aligned(label, v)
    where, library = _common_place(views)
    return views, where, library, stream


def _view(label: str, x: Any, stream: Callable[[], int]) -> View:
    library = library_of(x)
    array = library.resolved(label, x)
    found = library_of(array).view(label, array, stream())
    # What is read as another library's array still wants results of its own.
    return found if found.library == library.NAME else replace(found, library=library.NAME)


def _key(x: Any, v: View) -> Hashable:
    """Return what :func:`run_planned` looks up, if it can, and all that counts of a view else."""
    quick = library_of(x).quick_key(x)
    # One that was converted lies elsewhere: its own key must not lead to the launch.
    if quick is not None and quick[1] == v.address:
        return quick[0]
    return (v.key, type(x), 0 if v.device == HOST else v.address & LOW_BITS)


def _wait(stream: int, where: int, views: Sequence[View]) -> None:
    others = [v.stream for v in views if v.stream is not None]
    with device(where).current():
        for other in others:
            wait_for(stream, other)


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
    if v.dtype not in SUPPORTED and v.dtype not in FORMATS:
        raise DTypeError(
            f"{label} has elements of {v.dtype}: axisfold reduces numbers and truth values only.",
            code="D101",
            hint=f"Convert to one of {', '.join(SUPPORTED)}.",
        )


def _common_place(views: Sequence[View]) -> tuple[int, str]:
    """Return the device and the one library of arrays."""
    found = {v.device: n for n, v in enumerate(views) if v.device is not None}
    if len(found) > 1:
        places = " and ".join(f"input {n} on {index}" for index, n in found.items())
        raise ArgumentError(
            f"the inputs are on different CUDA devices: {places}.",
            code="A209",
            hint="Copy them to one device.",
        )
    where = next(iter(found), 0)
    libraries = {v.library for v in views}
    if where == HOST and len(libraries) > 1:
        libraries.discard("")  # numbers and lists are in place beside any array
        if subclasses.NAME in libraries:
            libraries.discard(numpy.NAME)
    if len(libraries) > 1:
        names = " and ".join(sorted(name or "another library" for name in libraries))
        raise ArgumentError(
            f"the inputs are arrays of {names}, so that neither the stream nor the library of the "
            "result is clear.",
            code="A217",
            hint="Convert them without a copy, as by torch.from_dlpack(x) or cupy.from_dlpack(x).",
        )
    return where, libraries.pop()
