# SPDX-License-Identifier: Apache-2.0
"""From arrays of any library to a launch: looked up when their signature was seen before."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from axisfold.api import entries
from axisfold.api.device import DeviceLaunch, bind_device, target_of
from axisfold.api.fold import Layout, Planned
from axisfold.api.host import HostLaunch, bind_host
from axisfold.api.initial import on_device, on_host, values_of
from axisfold.api.options import Operands, Request
from axisfold.api.targets import WIDEST_STORE, Place, direct_out, out_arrays, write_into
from axisfold.dtypes import SUPPORTED, DType
from axisfold.errors import ArgumentError, ArgumentTypeError, DTypeError
from axisfold.interop import numpy, subclasses
from axisfold.interop.libraries import BY_NAME, current_stream, is_on_gpu, library_of
from axisfold.interop.views import HOST, LOW_BITS, Library, View
from axisfold.plan.planner import HOST as HOST_TARGET
from axisfold.runtime.cuda.call import check_aligned, keep_loans
from axisfold.runtime.cuda.driver import api, device
from axisfold.runtime.cuda.streams import wait_for
from axisfold.target import Target
from axisfold.tensor.float8 import FORMATS

MAX_SIGNATURES: Final = 4096

launches: Final[dict[Hashable, HostLaunch | DeviceLaunch]] = {}


class Planner(Protocol):
    """Plans a fold of arrays, of which only dtypes, shapes and strides count."""

    def __call__(self, arrays: Sequence[Layout], target: Target, library: Library) -> Planned:
        """Return the planned fold, with results of dtypes that the library has."""


def remember(key: Hashable, launch: HostLaunch | DeviceLaunch) -> None:
    """Keep a launch; a program of endlessly many shapes starts over now and then."""
    if len(launches) >= MAX_SIGNATURES:
        launches.clear()
    launches[key] = launch


def forget() -> None:
    """Plan every call again."""
    launches.clear()
    entries.forget()


def run_planned(
    request: Request, inputs: Sequence[Any], operands: Operands, call: Hashable, plan: Planner
) -> Any:
    """Fold arrays where they are: of a device on the current stream of their library, no waiting.

    Parameters
    ----------
    request
        What is folded, and how.
    inputs
        Arrays in the host's memory or on one device; on the host also numbers and lists.
    operands
        ``initial`` and ``out``.
    call
        What the launch depends on beside the inputs; one that cannot be hashed is not remembered.
    plan
        Plans the fold when the signature is new.

    Raises
    ------
    ArgumentError
        ``A202``: an array without plain memory; ``A209``: not all in one place; ``A211``: elements
        on a device that are not aligned; ``A215``: a tensor that is part of a gradient; ``A217``:
        arrays of several libraries; ``A304``: no array; ``A309``: a masked array.
    ArgumentTypeError
        ``A343``: ``where`` is not of truth values.
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
            addresses = [address for _, address in found]
            if operands.out is None and operands.initial is None:
                return launch(inputs[0], addresses)
            done = _run_known(launch, request, inputs[0], addresses, operands)
            if done is not None:
                return done
    return _run_checked(request, inputs, operands, call, plan)


def _run_known(
    launch: HostLaunch | DeviceLaunch,
    request: Request,
    like: Any,
    addresses: list[int],
    operands: Operands,
) -> Any:
    """Run a known signature with other operands; None if they have to be looked at closely."""
    if not isinstance(launch, HostLaunch):
        return None
    out = None
    if operands.out is not None:
        out = direct_out(operands.out, launch.direct, addresses)
        if out is None:
            return None
    pairs = _initial_of(launch, request, operands, len(addresses))
    placed = [on_host(request.function, *pair) for pair in pairs]
    pointers = addresses + [numpy.address_of(v) for v in placed]
    if out is None:
        return launch(like, pointers)
    return launch.results(like, pointers, ((out, launch.outputs[0][1]),))[0]


def _run_checked(
    request: Request, inputs: Sequence[Any], operands: Operands, call: Hashable, plan: Planner
) -> Any:
    views, where, library, stream = checked_views(inputs, _labels(request, len(inputs)))
    if request.is_masked and views[-1].dtype != "bool":
        raise ArgumentTypeError(
            f"{request.function}: where is of {views[-1].dtype}, not of truth values.",
            code="A343",
            hint="Compare first, as by x > 0, or convert it to bool.",
        )
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
        keepdims = request.keepdims or (
            subclasses.is_matrix(like) and len(planned.reduced) < len(planned.shape)
        )
        launch = (
            bind_host(views, planned, library, keepdims)
            if where == HOST
            else bind_device(views, planned, library, stream, where, keepdims)
        )
        if is_hashable:
            remember(key, launch)
    if where == HOST:
        return _finish(launch, request, operands, like, views, HOST, library, 0)
    with device(where).current():
        _wait(stream(), views)
        result = _finish(launch, request, operands, like, views, where, library, stream())
        keep_loans(views, stream())
    return result


def _finish(
    launch: HostLaunch | DeviceLaunch,
    request: Request,
    operands: Operands,
    like: Any,
    views: Sequence[View],
    where: int,
    library: str,
    stream: int,
) -> Any:
    """Check the arrays for results, and launch."""
    # Kernels for devices write several elements at once where a new array lets them.
    align = launch.direct.align if isinstance(launch, HostLaunch) else WIDEST_STORE
    place = Place(library, where, stream, align)
    outs = None
    if operands.out is not None:
        outs = out_arrays(
            request.function,
            operands.out,
            [(launch.form, dtype) for dtype in launch.dtypes],
            launch.pack is not None,
            views,
            place,
        )
    pointers = [v.address for v in views]
    pairs = _initial_of(launch, request, operands, len(views))
    placed: list[Any]  # keeps the memory until the launch
    if where == HOST:
        placed = [on_host(request.function, *pair) for pair in pairs]
        pointers += [numpy.address_of(v) for v in placed]
    else:
        make = BY_NAME[library].maker
        placed = [on_device(request.function, *pair, make, like, place) for pair in pairs]
        pointers += [address for address, _ in placed]
    if outs is None:
        return launch(like, pointers)
    return write_into(launch, like, pointers, outs, stream)


def _initial_of(
    launch: HostLaunch | DeviceLaunch, request: Request, operands: Operands, inputs: int
) -> list[tuple[Any, DType]]:
    """Return initial values with the dtypes in which they are folded."""
    if not launch.initial:
        return []
    count = len(launch.initial)
    values = values_of(request.function, operands.initial, inputs - request.is_masked, count)
    return list(zip(values, launch.initial, strict=True))


def _labels(request: Request, count: int) -> list[str]:
    """Return what messages call the inputs."""
    own = count - request.is_masked
    labels = ["x"] if own == 1 else [f"input {n}" for n in range(own)]
    return [*labels, "where"] if request.is_masked else labels


def checked_views(
    inputs: Sequence[Any], labels: Sequence[str] = ()
) -> tuple[list[View], int, str, Callable[[], int]]:
    """Return inputs as plain data, their device, their library, and its current stream.

    Messages call the inputs by labels.  The errors are those of :func:`run_planned`.
    """
    labels = labels or (["x"] if len(inputs) == 1 else [f"input {n}" for n in range(len(inputs))])
    is_on_device = any(is_on_gpu(x) for x in inputs)
    if is_on_device:
        _check_places(labels, inputs)
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


def _wait(stream: int, views: Sequence[View]) -> None:
    for other in [v.stream for v in views if v.stream is not None]:
        wait_for(stream, other)


def _check_places(labels: Sequence[str], inputs: Sequence[Any]) -> None:
    for label, x in zip(labels, inputs, strict=True):
        if not is_on_gpu(x):
            other = next(m for m, y in zip(labels, inputs, strict=True) if is_on_gpu(y))
            raise ArgumentError(
                f"{label} is in the memory of the host, but {other} in that of a CUDA device.",
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
