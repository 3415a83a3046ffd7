# SPDX-License-Identifier: Apache-2.0
"""How long work takes on a device, by events on its stream."""

from __future__ import annotations

from collections.abc import Callable

from axisfold.runtime.cuda.driver import Device, api, call


def seconds_on_device(
    run: Callable[[], object], device: Device, stream: int, repeats: int
) -> list[float]:
    """Return the times between the events around each run.

    Parameters
    ----------
    run
        Puts work on the stream; it is called once more, first, and that does not count.
    device, stream
        Where the work is done.
    repeats
        How many runs are timed.
    """
    with device.current():
        default = int(api().CUevent_flags.CU_EVENT_DEFAULT)
        begin, end = (call("cuEventCreate", default) for _ in range(2))
        try:
            run()
            times = []
            for _ in range(repeats):
                call("cuEventRecord", begin, stream)
                run()
                call("cuEventRecord", end, stream)
                call("cuEventSynchronize", end)
                times.append(float(call("cuEventElapsedTime", begin, end)) * 1e-3)
            return times
        finally:
            call("cuEventDestroy", begin)
            call("cuEventDestroy", end)


def name_of(device: Device) -> str:
    """Return the name of a device, such as ``NVIDIA H100 80GB HBM3``."""
    raw = call("cuDeviceGetName", 128, device.index)
    return bytes(raw).split(b"\0")[0].decode(errors="replace")
