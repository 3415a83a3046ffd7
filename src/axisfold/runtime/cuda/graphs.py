# SPDX-License-Identifier: Apache-2.0
"""Counters of launches that are captured into a graph: zero when they are given out, and after.

To clear them in the graph would be one more node in front of each launch, which takes as long as a
small kernel.  So each stream of a capture has memory of its own outside of the graph, which goes to
another capture once the graph and all that was made of it are gone: CUDA says that by a callback.
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass, field
from typing import Any, Final

from axisfold.runtime.cuda.driver import Device, api, call, relaxed
from axisfold.runtime.cuda.launcher import release_address

_LEAST_BYTES: Final = 4096


@dataclass(slots=True)
class _Counters:
    """Memory that is zero between the kernels of one stream.

    Attributes
    ----------
    address, size
        On the device.
    is_free
        1 once no graph uses it, which a thread of the driver writes.
    """

    address: int
    size: int
    is_free: ctypes.c_int64 = field(default_factory=ctypes.c_int64)


_lock: Final = threading.Lock()
_all: Final[dict[int, list[_Counters]]] = {}
_of_stream: Final[dict[tuple[int, int, int], _Counters]] = {}


def captured_counters(device: Device, stream: int, size: int) -> int:
    """Return the address of zeros for launches on a stream that is being captured.

    Parameters
    ----------
    device
        The current one.
    stream
        Handle of a stream of it.
    size
        Bytes.
    """
    _, capture, graph, *_ = call("cuStreamGetCaptureInfo", stream)
    key = (device.index, int(capture), stream)
    with _lock:
        found = _of_stream.get(key)
        if found is None or found.size < size:
            for gone in [k for k, counters in _of_stream.items() if counters.is_free.value]:
                del _of_stream[gone]
            found = _of_stream[key] = _taken(device, size)
            _retain(graph, found)
    return found.address


def _taken(device: Device, size: int) -> _Counters:
    """Return counters that no graph uses."""
    mine = _all.setdefault(device.index, [])
    found = next((c for c in mine if c.is_free.value and c.size >= size), None)
    if found is None:
        size = max(size, _LEAST_BYTES)
        with relaxed():
            found = _Counters(int(call("cuMemAlloc", size)), size)
            # Not on the default stream, which may not wait for one that is captured.
            own = call("cuStreamCreate", api().CUstream_flags.CU_STREAM_NON_BLOCKING)
            call("cuMemsetD8Async", found.address, 0, size, own)
            call("cuStreamSynchronize", own)
            call("cuStreamDestroy", own)
        mine.append(found)
    found.is_free.value = 0
    return found


def _retain(graph: Any, counters: _Counters) -> None:
    """Let a graph, and what is made of it, say when it is gone."""
    driver = api()
    kept = call(
        "cuUserObjectCreate",
        ctypes.addressof(counters.is_free),
        driver.CUhostFn(release_address()),
        1,
        int(driver.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
    )
    move = int(driver.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE)
    call("cuGraphRetainUserObject", graph, kept, 1, move)
