# SPDX-License-Identifier: Apache-2.0
"""A program on a device: its machine code, loaded once, and its launches for one set of extents."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NoReturn

from axisfold.errors import LaunchError, UnsupportedError
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Kernel, Launch
from axisfold.runtime.cuda.compile import Cubin, KernelInfo, compile_cuda
from axisfold.runtime.cuda.driver import Device, api, call, fail, relaxed
from axisfold.runtime.cuda.hostplan import Configured, Entry, Limits, plan_host
from axisfold.runtime.cuda.launcher import Launch as Launched
from axisfold.runtime.cuda.launcher import Record, functions
from axisfold.runtime.cuda.workspace import Area, GraphArea, area_of, known_area

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
        kernels = self.functions(device)
        with device.current():
            launches = tuple(
                _bind(launch, kernels[launch.entry.symbol]) for launch in plan.launches
            )
        return Bound(
            device,
            launches,
            tuple(plan.offsets),
            plan.scratch_bytes,
            plan.zeroed_bytes,
            Record(device, launches),
            *functions(),
        )

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


def _bind(launch: Configured, function: Any) -> Launched:
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
    return Launched(launch.entry.symbol, int(function), sizes, launch.pointers, launch.scalars)


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
    record, launch, unique
        The launches in memory, and what makes them; see :mod:`axisfold.runtime.cuda.launcher`.
    """

    device: Device
    launches: tuple[Launched, ...]
    offsets: tuple[tuple[bool, int], ...]
    scratch_bytes: int
    zeroed_bytes: int
    record: Record
    launch: Callable[..., int]
    unique: Callable[[int, int], int]

    def run(self, addresses: Sequence[int], stream: int) -> None:
        """Launch on a stream and return at once.

        Parameters
        ----------
        addresses
            Device addresses of the arguments.
        stream
            Handle of a stream of the device; 0 is the legacy default stream.
        """
        if self.offsets:
            self._run_with_workspace(addresses, stream)
            return
        code = self.launch(self.record.address, stream, *addresses)
        if code:
            self.fail(code)

    def _run_with_workspace(self, addresses: Sequence[int], stream: int) -> None:
        if not self.launches:
            return
        if not self.scratch_bytes and not self.zeroed_bytes:
            code = self.launch(self.record.address, stream, *addresses, *(0 for _ in self.offsets))
            if code:
                self.fail(code)
            return
        unique = self.unique(self.record.address, stream)
        area = None if unique < 0 else known_area(self.device.index, stream, unique)
        if area is not None:
            self._launch(area, addresses, stream)
            return
        with self.device.current():
            self._launch(area_of(self.device, stream), addresses, stream)

    def _launch(self, area: Area | GraphArea, addresses: Sequence[int], stream: int) -> None:
        with area.lock:
            bases = area.take(self.device, stream, self.scratch_bytes, self.zeroed_bytes)
            places = [bases[is_zeroed] + start for is_zeroed, start in self.offsets]
            code = self.launch(self.record.address, stream, *addresses, *places)
            if code:
                self.fail(code)
            area.done()

    def fail(self, code: int) -> NoReturn:
        """Raise what a code of ``launch`` other than 0 stands for."""
        at, status = code >> 32, api().CUresult(code & 0xFFFFFFFF)
        known = at < len(self.launches)
        fail(f"launching {self.launches[at].symbol}" if known else "cuCtxPushCurrent", status)
