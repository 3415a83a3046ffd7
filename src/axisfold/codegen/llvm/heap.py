# SPDX-License-Identifier: Apache-2.0
"""Memory on the heap: allocations that live equally long are one, with one test whether it failed.

Each is aligned to the line of a cache and begins one line after where the one before ends, so that
arrays of the same size, such as the fields of a state, are not the same bytes apart as the sets of
a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from axisfold.codegen.llvm.arithmetic import intrinsic
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import INT64
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Const, Expr
from axisfold.ir.stmt import Allocate, Stmt

_ALIGN: Final = 64


def neighbours(stmt: Allocate) -> tuple[list[Buffer], Stmt]:
    """Return the buffers on the heap that a statement allocates at once, and what uses them."""
    found: list[Buffer] = []
    body: Stmt = stmt
    while isinstance(body, Allocate) and not body.buffer.is_on_stack:
        found.append(body.buffer)
        body = body.body
    return found, body


def sizes(w: Writer, buffers: list[Buffer], emit: Callable[[Expr], str]) -> list[str]:
    """Append how many bytes buffers take; a size beyond 64 bits is the largest there is."""
    return [_size(w, buffer, emit) for buffer in buffers]


def _size(w: Writer, buffer: Buffer, emit: Callable[[Expr], str]) -> str:
    fixed, varying = buffer.dtype.itemsize, []
    for extent in buffer.allocated_extents:
        if isinstance(extent, Const):
            fixed *= max(int(extent.value), 0)
        else:
            varying.append(extent)
    size = str(min(fixed, (1 << 63) - 1))
    for extent in varying:
        rounds = intrinsic(w, "smax", INT64, emit(extent), "0")
        name = "llvm.umul.fix.sat.i64"
        w.declarations[name] = f"declare i64 @{name}(i64, i64, i32)"
        size = w.let(f"call i64 @{name}(i64 {rounds}, i64 {size}, i32 0)")
    return size


def total(w: Writer, sizes: list[str]) -> str:
    """Append how much to ask for; one that is too much for 64 bits asks for all there is."""
    size = sizes[0]
    for other in sizes[1:]:
        size = intrinsic(w, "uadd.sat", INT64, size, other)
    # Room to align, and between neighbours; malloc(0) may return null, which is no failure.
    return intrinsic(w, "uadd.sat", INT64, size, str(2 * _ALIGN * len(sizes) - _ALIGN))


def begin(w: Writer, held: str, buffers: list[Buffer], sizes: list[str]) -> dict[Buffer, str]:
    """Append where buffers begin in the memory that was given to them."""
    w.declarations["ptrmask"] = "declare ptr @llvm.ptrmask.p0.i64(ptr, i64)"
    places: dict[Buffer, str] = {}
    end, gap = held, _ALIGN - 1
    for buffer, size in zip(buffers, sizes, strict=True):
        after = w.let(f"getelementptr i8, ptr {end}, i64 {gap}")
        place = w.let(f"call ptr @llvm.ptrmask.p0.i64(ptr {after}, i64 {-_ALIGN})", buffer.name)
        places[buffer] = place
        if buffer is not buffers[-1]:
            end, gap = w.let(f"getelementptr i8, ptr {place}, i64 {size}"), 2 * _ALIGN - 1
    return places
