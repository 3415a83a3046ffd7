# SPDX-License-Identifier: Apache-2.0
"""Handles of CUDA streams, and the order of work on different ones."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Final

from axisfold.errors import ArgumentError
from axisfold.runtime.cuda.driver import api, call

LEGACY_STREAM: Final = 1

# Memory that kernels may still read, each with an event after the last of them.
_kept: Final[deque[tuple[Any, Any]]] = deque()
_lock: Final = threading.Lock()


def stream_handle(stream: Any) -> int:
    """Return the handle of a stream: an integer, or an object of a library.

    Raises
    ------
    ArgumentError
        ``A214``: it is neither.
    """
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, numba
        stream = getattr(stream, name, stream)
    if hasattr(stream, "value"):  # a pointer of ctypes, in which None is 0
        stream = stream.value or 0
    if not isinstance(stream, int) or isinstance(stream, bool) or stream < 0:
        raise ArgumentError(
            f"stream={stream!r} is no CUDA stream.",
            code="A214",
            hint="Pass a stream of PyTorch, CuPy, numba or cuda.core, or its handle; None takes "
            "the current one of the arrays' library.",
        )
    return stream


def wait_for(stream: int, other: int) -> None:
    """Let the work that comes next on a stream wait for what another has now."""
    if other == stream or {other, stream} == {0, LEGACY_STREAM}:
        return
    flags = api().CUevent_flags.CU_EVENT_DISABLE_TIMING
    event = call("cuEventCreate", flags)
    call("cuEventRecord", event, other)
    call("cuStreamWaitEvent", stream, event, 0)
    call("cuEventDestroy", event)  # once it is reached


def keep(owner: Any, stream: int) -> None:
    """Keep memory until the work that a stream has now is done, which later calls look for.

    Libraries that we take arrays from by DLPack do not know of our work, and would use the memory
    of an array that is dropped after the call at once.
    """
    event = call("cuEventCreate", api().CUevent_flags.CU_EVENT_DISABLE_TIMING)
    call("cuEventRecord", event, stream)
    with _lock:
        while _kept and not api().cuEventQuery(_kept[0][0])[0]:
            call("cuEventDestroy", _kept.popleft()[0])
        _kept.append((event, owner))
