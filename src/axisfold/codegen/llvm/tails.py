# SPDX-License-Identifier: Apache-2.0
"""The rest of an axis: masks ``base + lane < bound``, loads under them, and loops over it."""

from __future__ import annotations

from axisfold.codegen.llvm.arithmetic import convert, intrinsic
from axisfold.codegen.llvm.memory import address, is_contiguous, loaded, stored
from axisfold.codegen.llvm.recent import Place
from axisfold.codegen.llvm.types import memory_type, suffix, value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import INT64, DType
from axisfold.ir import build
from axisfold.ir.expr import Broadcast, Compare, Const, Expr, Load, Node, Ramp
from axisfold.ir.stmt import For
from axisfold.ir.walk import statements


def tail(node: Node | None) -> tuple[Expr, Expr] | None:
    """Return the first index and the bound of a mask of the last lanes, None for other ones."""
    if not isinstance(node, Compare) or node.op != "lt" or node.a.dtype.element != INT64:
        return None
    index, bound = node.a, node.b
    if isinstance(index, Ramp) and build.is_const(index.stride, 1) and isinstance(bound, Broadcast):
        return index.base, bound.value
    return None


def long_tail(node: Node) -> tuple[Expr, Expr] | None:
    """Return what :func:`tail` does of masks that are better computed by short integers."""
    return tail(node) if isinstance(node, Compare) and node.dtype.lanes > 4 else None


def is_rest(loop: For) -> bool:
    """Return whether a loop is the rest of another one, without longer loops in it."""
    inner = (node for node in statements(loop.body) if isinstance(node, For))
    return loop.kind == "rolled" and all(isinstance(node.extent, Const) for node in inner)


def is_shared(node: Load) -> bool:
    """Return whether the last lanes are read by a function: the code of short elements is long."""
    is_short = node.dtype.itemsize <= 2 and is_contiguous(node.buffer, node.index)
    return is_short and tail(node.mask) is not None


def emit_tail(w: Writer, lanes: int, base: str, bound: str) -> str:
    """Append the mask of the lanes below a bound; lanes are counted by short integers."""
    dtype = DType("int", 8 if lanes > 8 else 32, lanes)
    count = convert(w, _left(w, lanes, base, bound), INT64, dtype.element)
    kind = value_type(dtype.element)
    places = "<" + ", ".join(f"{kind} {lane}" for lane in range(lanes)) + ">"
    return w.compare("slt", dtype, places, w.broadcast(count, dtype))


def emit_shared(w: Writer, node: Load, place: Place, mask: str) -> str:
    """Append a read by a function of the module's; lanes that are masked out are 0."""
    dtype = stored(node.dtype)
    kind, flags, kinds = memory_type(dtype), f"<{dtype.lanes} x i1>", suffix(dtype)
    name, load = f"axisfold_part.{kinds}", f"llvm.masked.load.{kinds}.p0"
    w.declarations[load] = f"declare {kind} @{load}(ptr, i32, {flags}, {kind})"
    w.declarations[name] = _PART.format(name=name, kind=kind, lanes=flags, load=load)
    w.recent.forget(node.buffer)
    at = address(w, node.buffer, place, 1)
    return loaded(w, node, w.let(f"call {kind} @{name}(ptr {at}, {flags} {mask})"))


def _left(w: Writer, lanes: int, base: str, bound: str) -> str:
    """Append how many lanes from ``base`` on are below a bound."""
    left = w.binary("sub", INT64, bound, base)
    least = intrinsic(w, "smin", INT64, left, str(lanes))
    return intrinsic(w, "smax", INT64, least, "0")


# One for all places: without masks for short elements in the machine it becomes a branch for each.
_PART = """define internal {kind} @{name}(ptr %from, {lanes} %mask) nounwind noinline {{
  %result = call {kind} @{load}(ptr %from, i32 1, {lanes} %mask, {kind} zeroinitializer)
  ret {kind} %result
}}
"""
