# SPDX-License-Identifier: Apache-2.0
"""Memory that programs need beside their arguments: one area per stream, one per graph.

Work on one stream runs in order, so all programs on it share one area, which grows and is never
cleared: partial results may be left in it, and counters are zero again after each program.  A
graph is replayed at any time on any stream, so what is captured gets memory of its own.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

from axisfold.runtime.cuda.driver import Device, api, call, fail, relaxed
from axisfold.runtime.cuda.driver import device as find_device
from axisfold.runtime.cuda.graphs import captured_counters

# Streams whose area is kept; beyond it the one that waited longest loses its own.
_MOST_AREAS: Final = 64
_LEGACY: Final = (0, 1)


@dataclass(slots=True)
class _Memory:
    address: int = 0
    size: int = 0

    def reserve(self, device: Device, stream: int, size: int, *, is_zeroed: bool) -> int:
        """Return the address of at least ``size`` bytes, for work on the stream."""
        if size <= self.size:
            return self.address
        wanted = max(size, 2 * self.size)
        with relaxed():
            address = _allocate(device, stream, wanted)
            if is_zeroed:
                call("cuMemsetD8Async", address, 0, wanted, stream)
            before, self.address, self.size = self.address, address, wanted
            if before:
                _release(device, stream, before)
        return address


@dataclass(slots=True)
class Area:
    """The memory of one stream; the lock keeps the launches of one call together on it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    scratch: _Memory = field(default_factory=_Memory)
    zeroed: _Memory = field(default_factory=_Memory)

    def take(
        self, device: Device, stream: int, scratch_bytes: int, zeroed_bytes: int
    ) -> tuple[int, int]:
        """Return the addresses of scratch and of zeroed memory; call it with the lock held."""
        return (
            self.scratch.reserve(device, stream, scratch_bytes, is_zeroed=False),
            self.zeroed.reserve(device, stream, zeroed_bytes, is_zeroed=True),
        )

    def done(self) -> None:
        """Say that the launches have been made."""


@dataclass(slots=True)
class GraphArea:
    """Memory that belongs to the graph that a stream is captured into, for one call.

    PyTorch's allocator keeps what is allocated during a capture for the graph alone.  In any
    other capture the allocation becomes a node of the graph.  Zeroed memory lies outside of it.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    _tensor: Any = None
    _node: tuple[int, int] | None = None

    def take(
        self, device: Device, stream: int, scratch_bytes: int, zeroed_bytes: int
    ) -> tuple[int, int]:
        """Return the addresses of scratch and of zeroed memory."""
        zeroed = captured_counters(device, stream, zeroed_bytes) if zeroed_bytes else 0
        if not scratch_bytes:
            return 0, zeroed
        torch = sys.modules.get("torch")
        if torch is not None and _is_captured_by(torch, device.index, stream):
            where = torch.device("cuda", device.index)
            self._tensor = torch.empty(scratch_bytes, dtype=torch.uint8, device=where)
            return int(self._tensor.data_ptr()), zeroed
        address = int(call("cuMemAllocAsync", scratch_bytes, stream))
        self._node = address, stream
        return address, zeroed

    def done(self) -> None:
        """Say that the launches have been made: what the graph does next may use the memory."""
        self._tensor = None
        if self._node is not None:
            call("cuMemFreeAsync", *self._node)


def _is_captured_by(torch: Any, index: int, stream: int) -> bool:
    """Whether PyTorch captures a stream, and so keeps for the graph what it allocates now."""
    # Asked of another stream than the captured one, the question may itself be an error.
    if not torch.cuda.is_initialized() or torch._C._cuda_getCurrentRawStream(index) != stream:
        return False
    with torch.cuda.device(index):
        return bool(torch.cuda.is_current_stream_capturing())


_areas: OrderedDict[tuple[int, int, int], Area] = OrderedDict()
_areas_lock = threading.Lock()


def known_area(index: int, stream: int, unique: int) -> Area | None:
    """Return the memory of a stream that is not captured, None if it has none yet.

    Parameters
    ----------
    index
        Number of the stream's device.
    stream, unique
        Its handle, and what tells it from all others.
    """
    key = (index, 0, 0) if stream in _LEGACY else (index, stream, unique)
    with _areas_lock:
        area = _areas.get(key)
        if area is not None:
            _areas.move_to_end(key)
    return area


def area_of(device: Device, stream: int) -> Area | GraphArea:
    """Return the memory for a call whose launches go to a stream of the current device."""
    driver = api()
    status, state = driver.cuStreamIsCapturing(stream)
    if status:
        fail("cuStreamIsCapturing", status)
    if state:
        return GraphArea()
    key = (device.index, 0, 0)
    if stream not in _LEGACY:
        # A new stream may get the handle of one that is gone but whose work still runs.
        status, unique = driver.cuStreamGetId(stream)
        if status:
            fail("cuStreamGetId", status)
        key = (device.index, stream, unique)
    with _areas_lock:
        area = _areas.get(key)
        if area is not None:
            _areas.move_to_end(key)
            return area
        area = _areas[key] = Area()
        oldest = _areas.popitem(last=False) if len(_areas) > _MOST_AREAS else None
    if oldest is not None:
        (index, *_), dropped = oldest
        _drop(find_device(index), dropped)
    return area


def _drop(device: Device, area: Area) -> None:
    """Free the memory of a stream that may be gone; this waits for its work."""
    with area.lock, device.current(), relaxed():
        for memory in (area.scratch, area.zeroed):
            if memory.address:
                call("cuMemFree", memory.address)
                memory.address = memory.size = 0


def _allocate(device: Device, stream: int, size: int) -> int:
    if device.has_pools:
        return int(call("cuMemAllocAsync", size, stream))
    return int(call("cuMemAlloc", size))


def _release(device: Device, stream: int, address: int) -> None:
    """Free memory once the work before on the stream is done."""
    if device.has_pools:
        call("cuMemFreeAsync", address, stream)
    else:
        call("cuMemFree", address)
