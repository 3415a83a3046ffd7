# SPDX-License-Identifier: Apache-2.0
"""A program on a device: its machine code, loaded once, and its launches for one set of extents."""

from __future__ import annotations

import ctypes
import re
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any, Final

from axisfold.errors import LaunchError, UnsupportedError
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Kernel, Launch
from axisfold.runtime.cuda.compile import Cubin, KernelInfo, compile_cuda
from axisfold.runtime.cuda.driver import Device, api, call, fail, relaxed
from axisfold.runtime.cuda.hostplan import Configured, Entry, Limits, plan_host
from axisfold.runtime.cuda.workspace import area_of

# Shared memory of a block beyond this has to be asked for.
_PLAIN_SHARED: Final = 48 << 10
_CLUSTER_MAJOR: Final = 9
_PORTABLE_CLUSTER: Final = 8

_loading: Final = threading.RLock()


@dataclass(eq=False)
class Program:
    """A program for threads, its source and its machine code.

    Attributes
    ----------
    kernel
        Host statements and launches.
    source
        CUDA C++.
    arch
        What it is compiled for, ``sm_90``.
    entries
        How each launch of the kernel is called.
    """

    kernel: Kernel
    source: str
    arch: str
    entries: Mapping[Launch, Entry]

    @cached_property
    def cubin(self) -> Cubin:
        """The machine code, made when first needed."""
        return compile_cuda(self.source, self.arch)

    @cached_property
    def binary(self) -> Binary:
        """What the host needs to launch it."""
        return Binary(self.kernel, self.arch, self.entries, self.cubin.code)

    def sass_info(self) -> dict[str, KernelInfo]:
        """Return the resources of each kernel by its symbol."""
        return self.cubin.info()

    def configure(self, values: Mapping[Var, int], device: Device) -> Bound:
        """Return the launches for the values of extents and strides; see :class:`Binary`."""
        return self.binary.configure(values, device)


@dataclass(eq=False)
class Binary:
    """Machine code, and how the host launches it.

    Attributes
    ----------
    kernel
        Host statements and launches, of which the bodies do not matter.
    arch
        What it is compiled for, ``sm_90``.
    entries
        How each launch of the kernel is called.
    code
        The ELF file.
    """

    kernel: Kernel
    arch: str
    entries: Mapping[Launch, Entry]
    code: bytes
    _loaded: dict[int, dict[str, Any]] = field(default_factory=dict, repr=False)

    def configure(self, values: Mapping[Var, int], device: Device) -> Bound:
        """Return the launches for the values of extents and strides.

        Raises
        ------
        LaunchError
            ``X306``: a launch is larger than the device allows.
        UnsupportedError
            ``X308``: the machine code does not run on the device.
        """
        plan = plan_host(self.kernel, self.entries, values)
        limits = _limits(device)
        for launch in plan.launches:
            limits.check(launch)
        functions = self.functions(device)
        with device.current():
            launches = tuple(
                _bind(launch, functions[launch.entry.symbol]) for launch in plan.launches
            )
        return Bound(device, launches, tuple(plan.offsets), plan.scratch_bytes, plan.zeroed_bytes)

    def functions(self, device: Device) -> dict[str, Any]:
        """Return the kernels on a device by their symbols."""
        found = self._loaded.get(device.index)
        if found is not None:
            return found
        _check_arch(self.kernel.name, self.arch, device)
        with _loading, device.current(), relaxed():
            if device.index not in self._loaded:
                module = call("cuModuleLoadData", self.code)
                self._loaded[device.index] = {
                    entry.symbol: call("cuModuleGetFunction", module, entry.symbol.encode())
                    for entry in self.entries.values()
                }
        return self._loaded[device.index]


def _limits(device: Device) -> Limits:
    return Limits(
        f"device {device.index} ({device.arch})",
        device.max_threads,
        device.max_grid,
        device.shared_bytes,
        _PORTABLE_CLUSTER if device.capability[0] >= _CLUSTER_MAJOR else 1,
    )


def _check_arch(name: str, arch: str, device: Device) -> None:
    """Machine code runs on its own architecture and on later ones of the same generation."""
    number, letter = re.fullmatch(r"sm_(\d+)([af]?)", arch).groups()  # type: ignore[union-attr]
    wanted = int(number[:-1]), int(number[-1])
    major, minor = device.capability
    fits = wanted == (major, minor) if letter == "a" else wanted <= (major, minor)
    if wanted[0] != major or not fits:
        raise UnsupportedError(
            f"kernel {name!r} was built for {arch}, and device {device.index} is {device.arch}.",
            code="X308",
            hint=f"Build it for 'cuda -arch={device.arch}'.",
        )


def _bind(launch: Configured, function: Any) -> _Launch:
    kind = api().CUfunction_attribute
    threads = int(
        call("cuFuncGetAttribute", kind.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function)
    )
    x, y, z = launch.block
    if x * y * z > threads:
        raise LaunchError(
            f"kernel {launch.entry.symbol!r} is launched on blocks of {x * y * z} threads, but its "
            f"registers suffice for {threads}.",
            code="X306",
            hint="Bind shorter axes to threadIdx, or unroll less.",
        )
    if launch.shared_bytes > _PLAIN_SHARED:
        attribute = kind.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        with relaxed():
            call("cuFuncSetAttribute", function, attribute, launch.shared_bytes)
    sizes = (*launch.grid, *launch.block, launch.shared_bytes)
    return _Launch(launch.entry.symbol, function, sizes, launch.pointers, launch.scalars)


class _Arguments:
    """The arguments of one launch in memory, and the address of each.

    Each takes 64 bits; the driver reads the first bytes, as many as the parameter has.
    """

    __slots__ = ("address", "pointers", "values")

    def __init__(self, pointers: int, scalars: Sequence[int]) -> None:
        count = pointers + len(scalars)
        self.values: Any = (ctypes.c_int64 * max(count, 1))(*([0] * pointers), *scalars)
        first = ctypes.addressof(self.values)
        self.pointers = (ctypes.c_void_p * max(count, 1))(*range(first, first + 8 * count, 8))
        self.address = ctypes.addressof(self.pointers)


class _Launch:
    """One launch of which only the stream and the addresses are still open."""

    __slots__ = ("_fill", "_free", "_function", "_pick", "_places", "_scalars", "_sizes", "symbol")

    def __init__(
        self,
        symbol: str,
        function: Any,
        sizes: tuple[int, ...],
        places: tuple[int, ...],
        scalars: tuple[int, ...],
    ) -> None:
        self.symbol, self._function, self._sizes = symbol, function, sizes
        self._places, self._scalars = places, scalars
        self._fill = struct.Struct(f"{len(places)}Q").pack_into
        # Of a single place itemgetter gives no tuple.
        self._pick = itemgetter(*places) if len(places) > 1 else None
        # Each thread of the program takes one out, so that none changes the arguments of another.
        self._free: list[_Arguments] = []

    def run(self, launch: Any, addresses: Sequence[int], stream: int) -> None:
        try:
            arguments = self._free.pop()
        except IndexError:
            arguments = _Arguments(len(self._places), self._scalars)
        pick = self._pick
        own = [addresses[place] for place in self._places] if pick is None else pick(addresses)
        self._fill(arguments.values, 0, *own)
        status = launch(self._function, *self._sizes, stream, arguments.address, 0)[0]
        if status:
            fail(f"launching {self.symbol}", status)
        self._free.append(arguments)


@dataclass(frozen=True, slots=True)
class Bound:
    """A program for one set of extents on one device; run it as often as wanted.

    Attributes
    ----------
    device
        Where.
    launches
        The launches in order.
    offsets
        For each allocation whether it must start as zeros, and its offset.
    scratch_bytes, zeroed_bytes
        Memory that a run needs beside the arguments.
    """

    device: Device
    launches: tuple[_Launch, ...]
    offsets: tuple[tuple[bool, int], ...]
    scratch_bytes: int
    zeroed_bytes: int

    def run(self, addresses: Sequence[int], stream: int) -> None:
        """Launch on a stream and return at once.

        Parameters
        ----------
        addresses
            Device addresses of the arguments.
        stream
            Handle of a stream of the device; 0 is the legacy default stream.
        """
        if not self.launches:
            return
        driver = api()
        status, current = driver.cuCtxGetCurrent()
        if status:
            fail("cuCtxGetCurrent", status)
        if int(current) != self.device.context_handle:
            with self.device.current():
                self._launch(driver.cuLaunchKernel, addresses, stream)
        elif self.offsets:
            self._launch(driver.cuLaunchKernel, addresses, stream)
        else:
            for step in self.launches:
                step.run(driver.cuLaunchKernel, addresses, stream)

    def _launch(self, launch: Any, addresses: Sequence[int], stream: int) -> None:
        if not self.scratch_bytes and not self.zeroed_bytes:
            if self.offsets:  # allocations of no bytes
                addresses = [*addresses, *(0 for _ in self.offsets)]
            for step in self.launches:
                step.run(launch, addresses, stream)
            return
        area = area_of(self.device, stream)
        with area.lock:
            bases = area.take(self.device, stream, self.scratch_bytes, self.zeroed_bytes)
            places = [*addresses, *[bases[zeroed] + start for zeroed, start in self.offsets]]
            for step in self.launches:
                step.run(launch, places, stream)
            area.done()
