# SPDX-License-Identifier: Apache-2.0
"""The rules of legal loop IR, as code.

Every program: operands of one dtype and one number of lanes, operations that their dtype has,
integer offsets, bool conditions, masks on vectors only, each variable bound before use and bound
once, each buffer a parameter or allocated around its use, outputs alone are written among the
parameters.  Level ``device`` in addition: no vectorized or unrolled
loop is left, parallel loops do not nest, every index is int64, and local memory has constant
extents.  Level ``threads``: as device, but there are launches in the place of parallel loops; what
touches memory lies in one, all-reduces are expanded, shared memory is placed, and loops may be left
unrolled.
"""

from __future__ import annotations

from typing import Final, Literal

from axisfold.dtypes import BOOL, INT64, DType, Kind
from axisfold.errors import VerifyError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    IfThenElse,
    Load,
    Node,
    Not,
    Ramp,
    Reciprocal,
    Select,
    Var,
)
from axisfold.ir.intrinsics import INTRINSICS, takes
from axisfold.ir.printer import print_stmt
from axisfold.ir.stmt import (
    WARP,
    WORK,
    Allocate,
    AllReduce,
    Attr,
    Barrier,
    For,
    If,
    Kernel,
    Launch,
    Let,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import post_order

Level = Literal["loops", "device", "threads"]


def verify(kernel: Kernel, after: str = "", level: Level = "loops") -> None:
    """Raise if a kernel breaks a rule.

    Raises
    ------
    VerifyError
        ``I101``: names the rule, the statement and the pass that ran last.
    """
    _Verifier(kernel, after, level).run()


class _Verifier:
    def __init__(self, kernel: Kernel, after: str, level: Level) -> None:
        self.kernel, self.after, self.level = kernel, after, level
        self.bound: set[Var] = set()
        self.ever: set[Var] = set()
        self.live: set[Buffer] = set(kernel.params)
        self.checked: dict[int, Node] = {}
        self.is_parallel = False
        self.launch: Launch | None = None

    def run(self) -> None:
        for buffer in self.kernel.params:
            for expr in (*buffer.shape, *buffer.strides):
                self.bound |= {n for n in post_order(expr) if isinstance(n, Var)}
        self.stmt(self.kernel.body)

    def require(self, rule: bool, message: str, stmt: Stmt) -> None:
        if not rule:
            where = f" after {self.after}" if self.after else ""
            raise VerifyError(
                f"{message}{where}, in:\n{print_stmt(stmt)}\n",
                code="I101",
                hint="This is a bug of axisfold; please report it with this text.",
            )

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case For():
                self.loop(stmt)
            case Store():
                self.store(stmt)
            case If():
                self.flag(stmt.condition, 1, stmt)
                self.stmt(stmt.then)
                if stmt.otherwise is not None:
                    self.stmt(stmt.otherwise)
            case Seq():
                self.require(len(stmt.body) != 1, "a sequence of one statement", stmt)
                for part in stmt.body:
                    self.require(not isinstance(part, Seq), "a nested sequence", stmt)
                    self.stmt(part)
            case Allocate():
                self.allocation(stmt)
                self.live.add(stmt.buffer)
                self.stmt(stmt.body)
                self.live.discard(stmt.buffer)
            case Attr():
                self.expr(stmt.value, stmt)
                is_known = self.level == "loops" or stmt.key == WORK
                self.require(is_known, f"hint {stmt.key} is left", stmt)
                self.stmt(stmt.body)
            case AllReduce():
                self.all_reduce(stmt)
            case Launch():
                self.threads(stmt)
            case Shuffle():
                self.shuffle(stmt)
            case Barrier():
                self.inside(stmt)
            case Ticket():
                self.ticket(stmt)
            case Let():
                self.expr(stmt.value, stmt)
                self.require(stmt.value.dtype == stmt.var.dtype, "a name changes the dtype", stmt)
                self.bind(stmt.var, stmt)
                self.stmt(stmt.body)
                self.bound.discard(stmt.var)

    def store(self, stmt: Store) -> None:
        is_free = self.level == "threads" and self.launch is None
        self.require(not is_free, "a store outside a launch", stmt)
        self.access(stmt.buffer, stmt.index, stmt.mask, stmt)
        wanted = stmt.buffer.dtype.with_lanes(stmt.index.dtype.lanes)
        self.expr(stmt.value, stmt)
        self.require(stmt.value.dtype == wanted, "a store changes the dtype", stmt)
        writable = stmt.buffer not in self.kernel.params or stmt.buffer in self.kernel.outputs
        self.require(writable, f"input {stmt.buffer.name} is written", stmt)

    def all_reduce(self, stmt: AllReduce) -> None:
        for value in (*stmt.values, *stmt.threads):
            self.expr(value, stmt)
        self.flag(stmt.condition, 1, stmt)
        live = all(buffer in self.live for buffer in stmt.targets)
        self.require(live, "a target of a reduction is not live", stmt)
        self.require(self.level == "loops", "an all-reduce is left", stmt)

    def shuffle(self, stmt: Shuffle) -> None:
        self.inside(stmt)
        self.expr(stmt.value, stmt)
        self.expr(stmt.lane, stmt)
        self.require(stmt.target in self.live, "a shuffle's target is not live", stmt)
        same = stmt.target.dtype == stmt.value.dtype
        self.require(same, "a shuffle changes the dtype", stmt)
        power = 0 < stmt.width <= WARP and stmt.width & (stmt.width - 1) == 0
        self.require(power, "a segment is no power of two within a warp", stmt)

    def ticket(self, stmt: Ticket) -> None:
        self.inside(stmt)
        for value in (stmt.index, stmt.total):
            self.expr(value, stmt)
        live = stmt.target in self.live and stmt.counter in self.live
        self.require(live, "a ticket's memory is not live", stmt)
        self.require(stmt.target.dtype == BOOL, "a ticket's answer is no bool", stmt)

    def loop(self, loop: For) -> None:
        for end in (loop.min, loop.extent):
            self.expr(end, loop)
            self.require(end.dtype == loop.var.dtype, "a loop's ends differ in dtype", loop)
        if self.level != "loops":
            kinds = ("serial", "rolled", "parallel" if self.level == "device" else "unrolled")
            self.require(loop.kind in kinds, f"a loop is still {loop.kind}", loop)
            nests = loop.kind == "parallel" and self.is_parallel
            self.require(not nests, "a parallel loop lies inside another", loop)
            self.require(loop.var.dtype == INT64, "a loop variable is not int64", loop)
        self.bind(loop.var, loop)
        if loop.stop is not None:
            self.flag(loop.stop, 1, loop)
        around, self.is_parallel = self.is_parallel, self.is_parallel or loop.kind == "parallel"
        self.stmt(loop.body)
        self.is_parallel = around
        self.bound.discard(loop.var)

    def threads(self, launch: Launch) -> None:
        self.require(self.launch is None, "a launch lies inside another", launch)
        self.require(self.level != "device", "a CPU program launches a kernel", launch)
        counts = {len(launch.tags), len(launch.vars), len(launch.extents)}
        self.require(len(counts) == 1, "a launch has indices without extents", launch)
        self.require(len(set(launch.tags)) == len(launch.tags), "a tag is used twice", launch)
        for tag, extent in zip(launch.tags, launch.extents, strict=True):
            self.expr(extent, launch)
            known = isinstance(extent, Const) or tag.startswith("blockIdx")
            self.require(known, f"the extent of {tag} is not constant", launch)
        for var in launch.vars:
            self.bind(var, launch)
        self.launch = launch
        self.stmt(launch.body)
        self.launch = None
        self.bound -= set(launch.vars)

    def inside(self, stmt: Stmt) -> None:
        """Require that a statement is run by threads."""
        is_free = self.level == "threads" and self.launch is None
        self.require(not is_free, f"{type(stmt).__name__} outside a launch", stmt)
        self.require(self.level != "device", f"{type(stmt).__name__} in a CPU program", stmt)

    def allocation(self, stmt: Allocate) -> None:
        buffer = stmt.buffer
        for extent in (*buffer.shape, *buffer.strides):
            self.expr(extent, stmt)
            self.require(extent.dtype.is_integer, "an extent is not an integer", stmt)
        self.require(buffer not in self.live, f"buffer {buffer.name} is allocated twice", stmt)
        self.require(buffer.unit == "element", f"buffer {buffer.name} counts bytes", stmt)
        if self.level == "threads":
            outside = self.launch is None
            self.require(outside == (buffer.scope == "global"), "memory of the wrong scope", stmt)
            is_shared = buffer.scope in ("shared", "cluster")
            self.require(is_shared == (stmt.offset is not None), "memory is not placed", stmt)

    def bind(self, var: Var, stmt: Stmt) -> None:
        # The threads of one index may be started once for each kernel.
        starts = isinstance(stmt, Launch) or (isinstance(stmt, For) and stmt.kind == "bound")
        again = starts and var not in self.bound
        self.require(again or var not in self.ever, f"variable {var.name} is bound twice", stmt)
        self.ever.add(var)
        self.bound.add(var)

    def access(self, buffer: Buffer, index: Expr, mask: Expr | None, stmt: Stmt) -> None:
        self.require(buffer in self.live, f"buffer {buffer.name} is not live", stmt)
        self.expr(index, stmt)
        self.require(index.dtype.is_integer, "an offset is not an integer", stmt)
        if self.level != "loops":
            self.require(index.dtype.element == INT64, "an offset is not int64", stmt)
        if mask is not None:
            self.require(index.dtype.lanes > 1, "a scalar access has a mask", stmt)
            self.flag(mask, index.dtype.lanes, stmt)

    def flag(self, condition: Expr, lanes: int, stmt: Stmt) -> None:
        self.expr(condition, stmt)
        fits = condition.dtype.is_bool and condition.dtype.lanes == lanes
        self.require(fits, "a condition is not a truth value for each lane", stmt)

    def expr(self, root: Expr, stmt: Stmt) -> None:
        for node in post_order(root):
            if isinstance(node, Var):
                self.require(node in self.bound, f"variable {node.name} is not bound", stmt)
            elif isinstance(node, Load):
                self.access_load(node, stmt)
            elif id(node) not in self.checked:
                self.checked[id(node)] = node
                self.require(is_typed(node), f"operands of {type(node).__name__} differ", stmt)

    def access_load(self, node: Load, stmt: Stmt) -> None:
        self.require(node.buffer in self.live, f"buffer {node.buffer.name} is not live", stmt)
        self.require(node.index.dtype.is_integer, "an offset is not an integer", stmt)
        if self.level != "loops":
            self.require(node.index.dtype.element == INT64, "an offset is not int64", stmt)
        if node.mask is not None:
            wanted = BOOL.with_lanes(node.index.dtype.lanes)
            self.require(wanted.lanes > 1, "a scalar access has a mask", stmt)
            self.require(
                node.mask.dtype == wanted, "a mask is not a truth value for each lane", stmt
            )


_ANY: Final = frozenset({"min", "max"})
_REAL: Final = _ANY | {"add", "sub", "mul"}
_INTEGER: Final = _REAL | {
    "floordiv", "floormod", "truncdiv", "truncmod", "bitand", "bitor", "bitxor", "shl", "shr",
}  # fmt: skip
_OPERATIONS: Final[dict[Kind, frozenset[str]]] = {
    "bool": _ANY | {"and", "or"},
    "int": _INTEGER,
    "uint": _INTEGER,
    "float": _REAL | {"div"},
    "bfloat": _REAL | {"div"},
    "complex": frozenset(),
}


def is_typed(node: Node) -> bool:
    """Return whether the operands of a node fit it."""
    parts = [c for c in node.children() if isinstance(c, Expr)]
    match node:
        case Const():
            return node.dtype.lanes == 1
        case Binary():
            return node.a.dtype == node.b.dtype and node.op in _OPERATIONS[node.a.dtype.kind]
        case Compare():
            return node.a.dtype == node.b.dtype and not node.a.dtype.is_complex
        case Select() | IfThenElse():
            flag = node.condition.dtype
            same = node.true_value.dtype == node.false_value.dtype
            return same and flag == DType("bool", 8, node.dtype.lanes)
        case Not():
            return node.a.dtype.is_bool
        case Cast():
            return node.value.dtype.lanes == node.dtype.lanes
        case Call():
            row = INTRINSICS[node.name]
            is_legal = all(takes(row, part.dtype) for part in parts)
            return len(parts) == row.arity and len({p.dtype for p in parts}) == 1 and is_legal
        case Ramp():
            return node.base.dtype == node.stride.dtype and node.base.dtype.lanes == 1
        case Broadcast():
            return node.value.dtype.lanes == 1 and node.lanes > 1
        case Reciprocal():
            return node.dtype.kind == "uint" and node.divisor.dtype.is_integer
        case _:
            return False
