# SPDX-License-Identifier: Apache-2.0
"""Where the time of a fold goes that is slower than memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from axisfold.api.measure import Times
from axisfold.api.quantities import count_text, seconds_text, speed_text
from axisfold.plan.read_limit import ReadLimit
from axisfold.plan.traffic import Traffic

# Below this part of the limit there is something to explain.
GOOD: Final = 0.8
# A part of the time, or a lack of speed, that is worth a line.
_NOTABLE: Final = 0.2
_FASTER_IN_CACHE: Final = 1.25


def time_notes(times: Times, traffic: Traffic, limit: ReadLimit, one: ReadLimit) -> tuple[str, ...]:
    """Return what the time beyond the limit is spent on, a line for each cause.

    Parameters
    ----------
    times
        What was measured.
    traffic
        What is moved.
    limit, one
        How fast all threads, and one thread, read memory.
    """
    found = tuple(_causes(times, traffic, limit, one))
    return found or ("no cause stands out: other work on this machine may be one",)


def _causes(times: Times, traffic: Traffic, limit: ReadLimit, one: ReadLimit) -> Iterator[str]:
    outside = times.call - times.kernel
    if outside > _NOTABLE * times.call:
        yield (
            f"call overhead: {seconds_text(outside)} of {seconds_text(times.call)} pass outside of "
            "the kernel, on dispatch and the memory of the results"
        )
    if times.one_thread is not None and times.threads > 1:
        yield from _thread_notes(times, limit, one)
    if times.cached is not None:
        yield from _kernel_notes(times, limit)
    if traffic.written_bytes > _NOTABLE * traffic.moved_bytes:
        yield (
            "results: a line of a result is read before it is written, so that writing costs "
            "about twice what the limit counts"
        )
    if traffic.read_bytes > 2 * traffic.element_bytes:
        part = traffic.element_bytes / traffic.read_bytes
        yield (
            f"strides: {part:.0%} of the bytes of the lines that are read are elements; a layout "
            "without gaps would be as much faster"
        )


def _thread_notes(times: Times, limit: ReadLimit, one: ReadLimit) -> Iterator[str]:
    gain = (times.one_thread or times.kernel) / times.kernel
    possible = limit.bytes_per_second / one.bytes_per_second
    if gain < (1 - _NOTABLE) * possible:
        found = f"{gain:.2f} times as fast as one" if gain > 1 else "no faster than one"
        yield (
            f"threads: {count_text(times.threads, 'thread')} are {found}, while memory allows "
            f"{possible:.2f} times"
        )


def _kernel_notes(times: Times, limit: ReadLimit) -> Iterator[str]:
    speed = 1 / times.cached if times.cached else 0
    together = speed * times.threads
    here = (
        f"on data in its cache one thread folds {speed_text(speed)}, so that "
        f"{count_text(times.threads, 'thread')} reach {speed_text(together)}"
    )
    if together < _FASTER_IN_CACHE * limit.bytes_per_second:
        yield f"kernel: it is bound by arithmetic; {here}"
    else:
        yield f"memory: the kernel waits for it; {here}"
