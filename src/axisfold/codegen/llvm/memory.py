# SPDX-License-Identifier: Apache-2.0
"""Memory: loads and stores of scalars, vectors and scattered lanes, masked or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from axisfold.analysis.evaluate import constant_lanes
from axisfold.analysis.linear import split_constant
from axisfold.codegen.llvm.arithmetic import narrow_bits, widen_bits
from axisfold.codegen.llvm.recent import Access, Lanes, Place
from axisfold.codegen.llvm.transpose import column
from axisfold.codegen.llvm.types import memory_type, suffix, value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import DType
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Load, Ramp
from axisfold.ir.stmt import STREAMED, Store

# Bytes of a cache line.
LINE: Final = 64
# Lanes that are no more elements apart are read by whole vectors.
MOST_APART: Final = 8


def is_contiguous(buffer: Buffer, index: Expr) -> bool:
    """Return whether the lanes of an index lie side by side."""
    if not isinstance(index, Ramp):
        return False
    step = buffer.dtype.itemsize if buffer.unit == "byte" else 1
    return build.as_int(index.stride) == step


def first_lane(index: Expr) -> Expr:
    """Return the part of an index that the address is computed from."""
    return index.base if isinstance(index, Ramp) else index


def alignment(buffer: Buffer, declared: int) -> int:
    """Return the alignment in bytes that a memory operation may rely on."""
    if declared:
        return declared
    return buffer.dtype.itemsize if buffer.unit == "element" else 1


def stored(dtype: DType) -> DType:
    """Memory dtype as a register dtype: a truth value is a byte, a bfloat16 its bits."""
    is_other = dtype.is_bool or dtype.kind == "bfloat"
    return DType("uint", dtype.bits, dtype.lanes) if is_other else dtype


def address(w: Writer, buffer: Buffer, place: Place, lanes: int) -> str:
    """Append the address of a place, or those of its lanes."""
    unit = "i8" if buffer.unit == "byte" else memory_type(buffer.dtype.element)
    kind = "i64" if lanes == 1 else f"<{lanes} x i64>"
    result = place.pointer
    if place.offset != "0":
        result = w.let(f"getelementptr {unit}, ptr {result}, {kind} {place.offset}")
    if place.constant:
        result = w.let(f"getelementptr {unit}, ptr {result}, i64 {place.constant}")
    return result


def strided(w: Writer, node: Load, pointer: str, offset: str, align: int) -> str:
    """Append a read of lanes that are evenly apart; ``offset`` is a vector.

    Lanes that are a few elements apart come out of whole vectors; others are read one by one,
    which no processor does slower than by a gather.
    """
    buffer, dtype = node.buffer, stored(node.dtype)
    lanes, kind, scalar = dtype.lanes, memory_type(dtype), memory_type(dtype.element)
    unit = "i8" if buffer.unit == "byte" else scalar

    def place(lane: int, step: int = 0) -> str:
        one = w.let(f"extractelement <{lanes} x i64> {offset}, i64 {lane}")
        start = w.let(f"getelementptr {unit}, ptr {pointer}, i64 {one}")
        return w.let(f"getelementptr i8, ptr {start}, i64 {step}") if step else start

    apart = _elements_apart(node, dtype.itemsize if buffer.unit == "byte" else 1)
    around = _whole_vectors(node, apart)
    if around is not None:
        starts = [
            w.let(f"getelementptr {unit}, ptr {pointer}, i64 {around.start + n * lanes}")
            for n in range(apart)
        ]
        parts = [w.let(f"load {kind}, ptr {at}, align {align}") for at in starts]
        if apart == lanes:
            return column(w, dtype, parts, around.early)
        return _every(w, kind, lanes, parts, around.early)
    if 2 <= apart <= min(lanes, MOST_APART) and math.gcd(lanes, _odd(apart)) == 1:
        size = dtype.itemsize
        starts = [place(0, step * lanes * size) for step in range(apart - 1)]
        starts.append(place(lanes - 1, (1 - lanes) * size))
        parts = [w.let(f"load {kind}, ptr {at}, align {align}") for at in starts]
        if node.ahead:
            _ask_for_lines(w, node, starts[0], apart * lanes * size)
        return _picked(w, kind, lanes, parts)
    value = "poison"
    for lane in range(lanes):
        one = w.let(f"load {scalar}, ptr {place(lane)}, align {align}")
        value = w.let(f"insertelement {kind} {value}, {scalar} {one}, i64 {lane}")
    return value


def _elements_apart(node: Load, size: int) -> int:
    """Return how many elements the lanes of a read are apart, 0 where that is no constant."""
    step = build.as_int(node.index.stride) if isinstance(node.index, Ramp) else None
    return step // size if step is not None and step > 0 and step % size == 0 else 0


@dataclass(frozen=True, slots=True)
class _Around:
    """Where whole vectors begin that a read takes its lanes from, and how far before it."""

    start: int
    early: int


def _whole_vectors(node: Load, apart: int) -> _Around | None:
    """Return the whole vectors around a read of private memory.

    These are what the memory was written by, so that it never is memory but registers.  None if
    places are not known, or a vector would reach past the end.
    """
    buffer, lanes = node.buffer, node.dtype.lanes
    base = build.as_int(node.index.base) if isinstance(node.index, Ramp) else None
    if base is None or not buffer.is_on_stack or buffer.unit == "byte":
        return None
    early = base % lanes
    size = math.prod(build.as_int(e) or 0 for e in buffer.allocated_extents)
    is_power = 2 <= apart <= lanes and apart & (apart - 1) == 0
    fits = early < apart and base - early + apart * lanes <= size
    return _Around(base - early, early) if is_power and fits else None


def _every(w: Writer, kind: str, lanes: int, parts: Sequence[str], early: int) -> str:
    """Append every n-th element of n vectors, from one of the first n on; n is a power of two."""
    found = list(parts)
    while len(found) > 1:
        picks = ", ".join(f"i32 {2 * i + early % 2}" for i in range(lanes))
        found = [
            w.let(f"shufflevector {kind} {a}, {kind} {b}, <{lanes} x i32> <{picks}>")
            for a, b in zip(found[::2], found[1::2], strict=True)
        ]
        early //= 2
    return found[0]


def _odd(number: int) -> int:
    """Return the odd factor of a positive number."""
    return number // (number & -number)


def _picked(w: Writer, kind: str, lanes: int, parts: Sequence[str]) -> str:
    """Append every n-th element of n vectors, the last of which starts n - 1 elements early.

    Even strides are halved by taking every second element of two neighbours.  With an odd one no
    two elements have the same place in their vectors: these are blended, and sorted at the end.
    """
    apart, early = len(parts), len(parts) - 1

    def shuffled(a: str, b: str, order: Sequence[int]) -> str:
        picks = ", ".join(f"i32 {i}" for i in order)
        return w.let(f"shufflevector {kind} {a}, {kind} {b}, <{lanes} x i32> <{picks}>")

    found = list(parts)
    while apart % 2 == 0:
        evens = [2 * i for i in range(lanes)]
        late = [i + early if i >= lanes and i + early < 2 * lanes else i for i in evens]
        pairs = list(zip(found[::2], found[1::2], strict=True))
        found = [shuffled(a, b, evens) for a, b in pairs[:-1]]
        found.append(shuffled(*pairs[-1], late))
        apart, early = apart // 2, 0
    if apart == 1:
        return found[0]
    if early:
        moved = [min(i + early, lanes - 1) for i in range(lanes)]
        found[-1] = shuffled(found[-1], "poison", moved)
    blended = found[0]
    for number, part in enumerate(found[1:], 1):
        own = {i * apart % lanes for i in range(lanes) if i * apart // lanes == number}
        blended = shuffled(blended, part, [i + lanes * (i in own) for i in range(lanes)])
    return shuffled(blended, "poison", [i * apart % lanes for i in range(lanes)])


def emit_load(w: Writer, node: Load, place: Place, mask: str | None) -> str:
    """Append a read."""
    buffer, dtype = node.buffer, stored(node.dtype)
    align = alignment(buffer, node.align)
    gathered = dtype.lanes > 1 and not is_contiguous(buffer, node.index)
    kind = memory_type(dtype)
    if not gathered and mask is None and node.cache != "volatile":
        return loaded(w, node, _plain(w, node, place, align))
    lanes = Lanes(place, kind, mask, not gathered)
    if node.cache == "volatile":
        w.recent.forget(buffer)
    elif (known := w.recent.lanes(buffer, lanes)) is not None:
        return loaded(w, node, known)
    value = _lanes(w, node, place, mask, align)
    if node.cache != "volatile":
        w.recent.read_lanes(buffer, lanes, value)
    return loaded(w, node, value)


def _lanes(w: Writer, node: Load, place: Place, mask: str | None, align: int) -> str:
    """Append a read of lanes that are apart, of some lanes, or of what others write."""
    buffer, dtype = node.buffer, stored(node.dtype)
    kind = memory_type(dtype)
    gathered = dtype.lanes > 1 and not is_contiguous(buffer, node.index)
    is_regular = gathered and mask is None and isinstance(node.index, Ramp)
    if is_regular:
        return strided(w, node, place.pointer, place.offset, align)
    if gathered and mask is None and (picked := _known(w, node, place.pointer, align)):
        return picked
    where = address(w, buffer, place, dtype.lanes if gathered else 1)
    if gathered or mask is not None:
        flags = f"<{dtype.lanes} x i1>"
        lanes = mask or "splat (i1 true)"
        pointers = f"<{dtype.lanes} x ptr>" if gathered else "ptr"
        name = f"llvm.masked.{'gather' if gathered else 'load'}.{suffix(dtype)}"
        name += f".v{dtype.lanes}p0" if gathered else ".p0"
        return w.call(
            name,
            kind,
            f"{pointers} {where}",
            f"i32 {align}",
            f"{flags} {lanes}",
            f"{kind} zeroinitializer",
        )
    return w.let(f"load atomic {kind}, ptr {where} monotonic, align {align}")


def _known(w: Writer, node: Load, pointer: str, align: int) -> str:
    """Append a read of private memory at known places as lanes of two of its whole vectors.

    These are what the memory was written by; "" if it takes more, or places are not known.
    """
    buffer, lanes = node.buffer, node.dtype.lanes
    at = constant_lanes(node.index) if buffer.is_on_stack and buffer.unit != "byte" else None
    if at is None:
        return ""
    vectors = sorted({i // lanes for i in at})
    size = math.prod(build.as_int(e) or 0 for e in buffer.allocated_extents)
    if len(vectors) > 2 or (vectors[-1] + 1) * lanes > size:
        return ""
    kind, scalar = memory_type(stored(node.dtype)), memory_type(buffer.dtype.element)
    found = []
    for vector in vectors:
        start = w.let(f"getelementptr {scalar}, ptr {pointer}, i64 {vector * lanes}")
        found.append(w.let(f"load {kind}, ptr {start}, align {align}"))
    picks = ", ".join(f"i32 {vectors.index(i // lanes) * lanes + i % lanes}" for i in at)
    pair = f"{kind} {found[0]}, {kind} {found[-1]}"
    return w.let(f"shufflevector {pair}, <{lanes} x i32> <{picks}>")


def _plain(w: Writer, node: Load, place: Place, align: int) -> str:
    """Append a read of neighbouring lanes, unless their value is known."""
    buffer, dtype = node.buffer, stored(node.dtype)
    access = _access(buffer, place, dtype, align)
    known = w.recent.value(buffer, access)
    if known is not None:
        return known
    value = emit_access(w, buffer, access)
    if node.ahead and dtype.lanes > 1:
        _prefetch(w, node, place, address(w, buffer, place, 1))
    return value


def access_of(node: Load | Store, place: Place) -> Access:
    """Return what a read or a write of neighbouring lanes touches."""
    source = node.dtype if isinstance(node, Load) else node.value.dtype
    return _access(node.buffer, place, stored(source), alignment(node.buffer, node.align))


def _access(buffer: Buffer, place: Place, dtype: DType, align: int) -> Access:
    unit = 1 if buffer.unit == "byte" else buffer.dtype.itemsize
    return Access(place, memory_type(dtype), align, dtype.lanes * dtype.element.itemsize // unit)


def emit_access(w: Writer, buffer: Buffer, access: Access) -> str:
    """Append a read of a place whose value is not known."""
    where = address(w, buffer, access.place, 1)
    value = w.let(f"load {access.kind}, ptr {where}, align {access.align}")
    w.recent.read(buffer, access, value)
    return value


def emit_rewrite(w: Writer, buffer: Buffer, access: Access, value: str) -> None:
    """Append a write of a value as memory holds it."""
    where = address(w, buffer, access.place, 1)
    w.recent.write(buffer, access, value, len(w.lines))
    w.emit(f"store {access.kind} {value}, ptr {where}, align {access.align}")


def _prefetch(w: Writer, node: Load, place: Place, where: str) -> None:
    """Append that memory will be read soon: by the first of the vectors of a line."""
    unit = 1 if node.buffer.unit == "byte" else node.buffer.dtype.itemsize
    if place.constant * unit % LINE >= node.dtype.lanes * node.dtype.itemsize:
        return
    _ask(w, where, node.ahead)


def _ask_for_lines(w: Writer, node: Load, where: str, size: int) -> None:
    """Append that all lines of the lanes will be read soon: by those that begin their rows."""
    assert isinstance(node.index, Ramp)  # noqa: S101  (lanes are apart)
    if split_constant(node.index.base)[1] % (build.as_int(node.index.stride) or 1) == 0:
        for line in range(0, size, LINE):
            _ask(w, where, node.ahead + line)


def _ask(w: Writer, where: str, ahead: int) -> None:
    later = w.let(f"getelementptr i8, ptr {where}, i64 {ahead}")
    w.declarations["prefetch"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
    w.once(f"call void @llvm.prefetch.p0(ptr {later}, i32 0, i32 3, i32 1)")


def loaded(w: Writer, node: Load, value: str) -> str:
    """Append what makes the value in registers of one in memory."""
    if node.dtype.is_bool:
        dtype = stored(node.dtype)
        return w.compare("ne", dtype, value, w.const(0, dtype))
    return widen_bits(w, value, node.dtype) if node.dtype.kind == "bfloat" else value


def emit_store(
    w: Writer,
    stmt: Store,
    place: Place,
    value: str,
    mask: str | None,
    *,
    is_shared: bool = False,
) -> None:
    """Append a write; ``is_shared`` says that other threads may write to lanes masked out."""
    buffer, source = stmt.buffer, stmt.value.dtype
    dtype = stored(source)
    align = alignment(buffer, stmt.align)
    if source.is_bool:
        value = w.let(f"zext {value_type(source)} {value} to {value_type(dtype)}")
    if source.kind == "bfloat":
        value = narrow_bits(w, value, source)
    scattered = dtype.lanes > 1 and not is_contiguous(buffer, stmt.index)
    at = address(w, buffer, place, dtype.lanes if scattered else 1)
    kind, access = memory_type(dtype), _access(buffer, place, dtype, align)
    if mask is not None and not scattered and buffer.scope == "local" and not is_shared:
        # Private memory may be rewritten with what it held: this keeps it promotable to registers.
        old = w.recent.value(buffer, access)
        if old is None:
            old = w.let(f"load {kind}, ptr {at}, align {align}")
        value, mask = w.select(mask, dtype, value, old), None
    if buffer.scope == "local" and dtype.lanes > 1 and value in w.chosen:
        # LLVM would make a masked store of a choice between a value and what memory holds, and
        # some processors take ten times as long for one.
        value = w.let(f"freeze {kind} {value}")
    if not scattered and mask is None:
        if stmt.cache == "volatile":
            w.recent.forget(buffer)
            w.emit(f"store atomic {kind} {value}, ptr {at} monotonic, align {align}")
            return
        hint = ""
        if stmt.cache == "stream" and min(align, dtype.lanes * dtype.itemsize) >= STREAMED:
            w.declarations["stream"] = "!0 = !{i32 1}"
            w.streams, hint = True, ", !nontemporal !0"
        hidden = w.recent.write(buffer, access, value, len(w.lines))
        if hidden is not None:
            w.lines[hidden] = ""
        w.emit(f"store {kind} {value}, ptr {at}, align {align}{hint}")
        return
    w.recent.forget(buffer)
    flags = f"<{dtype.lanes} x i1>"
    where = mask or "splat (i1 true)"
    pointers = f"<{dtype.lanes} x ptr>" if scattered else "ptr"
    name = f"llvm.masked.{'scatter' if scattered else 'store'}.{suffix(dtype)}"
    name += f".v{dtype.lanes}p0" if scattered else ".p0"
    types = f"{kind}, {pointers}, i32, {flags}"
    w.declarations[name] = f"declare void @{name}({types})"
    w.emit(f"call void @{name}({kind} {value}, {pointers} {at}, i32 {align}, {flags} {where})")
