# SPDX-License-Identifier: Apache-2.0
"""The CUDA driver through cuda.bindings: loaded at first use, its errors turned into ours."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NoReturn

from axisfold.errors import (
    ArgumentError,
    DeviceError,
    MissingDependencyError,
    ResourceError,
)

# After these the context is lost: every later call of the process returns the same error.
_STICKY: Final = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        "ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT", "ASSERT", "HARDWARE_STACK_ERROR",
        "ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS", "INVALID_ADDRESS_SPACE", "INVALID_PC",
        "LAUNCH_FAILED", "ECC_UNCORRECTABLE", "NVLINK_UNCORRECTABLE", "CONTEXT_IS_DESTROYED",
        "CONTAINED", "TENSOR_MEMORY_LEAK", "EXTERNAL_DEVICE",
    )
)  # fmt: skip
_lock = threading.Lock()
_api: Any = None
_is_forked = False


def api() -> Any:
    """Return the module ``cuda.bindings.driver``, initialised.

    Raises
    ------
    MissingDependencyError
        ``X301``: cuda.bindings is not installed.
    DeviceError
        ``X302``: there is no driver or no GPU; ``X305``: the process was forked since.
    """
    global _api  # noqa: PLW0603  (made once for the process, as the driver is)
    if _is_forked:
        raise DeviceError(
            "this process was forked after CUDA had been used, and CUDA does not survive that.",
            code="X305",
            hint="Use CUDA in the child only, or start it with multiprocessing's 'spawn'.",
        )
    if _api is None:
        with _lock:
            if _api is None:
                _api = _initialised()
    return _api


def _initialised() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise missing_extra("cuda.bindings") from error
    try:
        status = driver.cuInit(0)[0]
    except (RuntimeError, OSError) as error:  # what the loader raises where there is no library
        raise _no_driver(str(error)) from error
    if status:
        raise _no_driver(f"cuInit returned {status.name}")
    os.register_at_fork(after_in_child=_forget)
    return driver


def _forget() -> None:
    global _is_forked  # noqa: PLW0603  (of the process, as the driver is)
    _is_forked = True


def missing_extra(module: str) -> MissingDependencyError:
    """Return the error that names the extra."""
    return MissingDependencyError(
        f"CUDA needs {module}, which is not installed.",
        code="X301",
        hint="Run: pip install 'axisfold[cuda]'.",
    )


def _no_driver(reason: str) -> DeviceError:
    return DeviceError(
        f"no NVIDIA driver with a GPU was found here: {reason.rstrip('.')}.",
        code="X302",
        hint="Programs for CUDA compile anywhere (name the architecture, as in 'cuda -arch=sm_90') "
        "but run on a GPU only; target 'sim' runs them without one.",
    )


def call(name: str, *args: Any) -> Any:
    """Call a function of the driver and return its result, or a tuple of several.

    Raises
    ------
    DeviceError
        See :func:`fail`.
    ResourceError
        See :func:`fail`.
    """
    status, *values = getattr(api(), name)(*args)
    if status:
        fail(name, status)
    return values[0] if len(values) == 1 else tuple(values)


def fail(name: str, status: Any) -> NoReturn:
    """Raise what a status of the driver stands for.

    Raises
    ------
    ResourceError
        ``X203``: the device has no memory left.
    DeviceError
        ``X304``: a kernel faulted, and the context is lost; ``X303``: anything else.
    """
    _, text = api().cuGetErrorString(status)
    reason = text.decode() if text else "unknown error"
    if status.name == "CUDA_ERROR_OUT_OF_MEMORY":
        raise ResourceError(
            f"{name}: the device has no memory left for the workspace or the code of a kernel.",
            code="X203",
            hint="Free arrays of other libraries, or empty their caches of free memory.",
        )
    if status.name in _STICKY:
        raise DeviceError(
            f"{name} returned {status.name} ({reason}): a kernel that ran before, perhaps of "
            "another library, faulted, and the CUDA context of this process is lost.",
            code="X304",
            hint="Restart the process; compute-sanitizer names the kernel and the access.",
        )
    raise DeviceError(f"{name} returned {status.name} ({reason}).", code="X303")


@dataclass(frozen=True, eq=False)
class Device:
    """A GPU and its primary context, which all libraries of the process share.

    Attributes
    ----------
    index
        Its number in this process.
    context
        The primary context.
    """

    index: int
    context: Any

    def attribute(self, name: str) -> int:
        """Return ``CU_DEVICE_ATTRIBUTE_<name>``."""
        kind = getattr(api().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(call("cuDeviceGetAttribute", kind, self.index))

    @cached_property
    def context_handle(self) -> int:
        """The primary context as an integer."""
        return int(self.context)

    @cached_property
    def capability(self) -> tuple[int, int]:
        """Its compute capability, (9, 0) for sm_90."""
        return (
            self.attribute("COMPUTE_CAPABILITY_MAJOR"),
            self.attribute("COMPUTE_CAPABILITY_MINOR"),
        )

    @property
    def arch(self) -> str:
        """Its architecture, ``sm_90``."""
        major, minor = self.capability
        return f"sm_{major}{minor}"

    @cached_property
    def shared_bytes(self) -> int:
        """Shared memory that one block may ask for."""
        return self.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")

    @cached_property
    def max_threads(self) -> int:
        """Threads of a block."""
        return self.attribute("MAX_THREADS_PER_BLOCK")

    @cached_property
    def max_grid(self) -> tuple[int, ...]:
        """Blocks along x, y and z."""
        return tuple(self.attribute(f"MAX_GRID_DIM_{axis}") for axis in "XYZ")

    @cached_property
    def has_pools(self) -> bool:
        """Whether memory can be allocated in the order of a stream."""
        return bool(self.attribute("MEMORY_POOLS_SUPPORTED"))

    def current(self) -> AbstractContextManager[None]:
        """Return a context manager in which the device is this thread's current one."""
        return _Current(self.context)


class _Current:
    """Makes a context current, and the one of before again."""

    __slots__ = ("context", "is_pushed")

    def __init__(self, context: Any) -> None:
        self.context, self.is_pushed = context, False

    def __enter__(self) -> None:
        driver = api()
        status, current = driver.cuCtxGetCurrent()
        if status:
            fail("cuCtxGetCurrent", status)
        if int(current) != int(self.context):
            call("cuCtxPushCurrent", self.context)
            self.is_pushed = True

    def __exit__(self, *_: object) -> None:
        if self.is_pushed:
            api().cuCtxPopCurrent()


_devices: dict[int, Device] = {}


def count() -> int:
    """Return the number of GPUs; 0 where there is no driver or the extra is missing."""
    try:
        return int(call("cuDeviceGetCount"))
    except (DeviceError, MissingDependencyError):
        return 0


def device(index: int) -> Device:
    """Return a GPU by its number.

    Raises
    ------
    ArgumentError
        ``A213``: there is no such GPU.
    """
    found = _devices.get(index)
    if found is not None:
        return found
    here = int(call("cuDeviceGetCount"))
    if not 0 <= index < here:
        raise ArgumentError(
            f"there is no CUDA device {index}: this process sees {here}.",
            code="A213",
            hint="CUDA_VISIBLE_DEVICES limits what it sees.",
        )
    with _lock:
        if index not in _devices:
            handle = call("cuDeviceGet", index)
            _devices[index] = Device(index, call("cuDevicePrimaryCtxRetain", handle))
    return _devices[index]


class relaxed:
    """Lets this thread allocate and load while some stream is captured into a graph.

    None of what it guards touches the captured stream, so no capture sees it.
    """

    __slots__ = ("before",)

    def __enter__(self) -> None:
        mode = api().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self.before = call("cuThreadExchangeStreamCaptureMode", mode)

    def __exit__(self, *_: object) -> None:
        call("cuThreadExchangeStreamCaptureMode", self.before)
