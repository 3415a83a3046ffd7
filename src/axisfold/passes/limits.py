# SPDX-License-Identifier: Apache-2.0
"""limits: whether a target can run the launches of a program."""

from __future__ import annotations

import math

from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.stmt import Allocate, Kernel, Launch
from axisfold.ir.walk import post_order
from axisfold.passes.place_shared import shared_bytes
from axisfold.target import Target


def check_limits(kernel: Kernel, target: Target) -> None:
    """Refuse launches beyond the target's limits, as far as extents are known.

    Raises
    ------
    UnsupportedError
        ``X126``: too many threads, blocks or blocks of a cluster; ``X127``: too much shared
        memory.
    """
    for node in post_order(kernel.body):
        if isinstance(node, Launch):
            _check_extents(node, target)
            _check_shared(node, target)


def _check_extents(launch: Launch, target: Target) -> None:
    known = {
        tag: extent
        for tag, e in zip(launch.tags, launch.extents, strict=True)
        if (extent := build.as_int(e)) is not None
    }
    for unit, limits in (("threadIdx", target.max_block), ("blockIdx", target.max_grid)):
        for axis, limit in zip("xyz", limits, strict=True):
            extent = known.get(f"{unit}.{axis}", 1)
            if extent > limit:
                raise _too_many(launch, f"{unit}.{axis} has {extent} values", limit, target)
    for unit, limit in (
        ("threadIdx", target.max_threads),
        ("clusterCtaIdx", target.max_cluster),
    ):
        own = {tag: extent for tag, extent in known.items() if tag.startswith(unit)}
        total = math.prod(own.values())
        if total > limit:
            shape = " x ".join(f"{extent} ({tag})" for tag, extent in own.items())
            what = "a block has" if unit == "threadIdx" else "a cluster has"
            parts = "threads" if unit == "threadIdx" else "blocks"
            raise _too_many(launch, f"{what} {shape} = {total} {parts}", limit, target)


def _too_many(launch: Launch, what: str, limit: int, target: Target) -> UnsupportedError:
    return UnsupportedError(
        f"launch {launch.name}: {what}, and target {target} has at most {limit}.",
        code="X126",
        hint="Split the bound axis by a smaller factor.",
    )


def _check_shared(launch: Launch, target: Target) -> None:
    if launch.shared_bytes <= target.shared_bytes:
        return
    sizes = {
        node.buffer.name: shared_bytes(node.buffer)
        for node in post_order(launch.body)
        if isinstance(node, Allocate) and node.offset is not None
    }
    parts = ", ".join(f"{name} {size}" for name, size in sizes.items())
    raise UnsupportedError(
        f"launch {launch.name} needs {launch.shared_bytes} bytes of shared memory for a block "
        f"({parts}), and target {target} has {target.shared_bytes}.",
        code="X127",
        hint="Compute these stages in smaller tiles, further inside.",
    )
