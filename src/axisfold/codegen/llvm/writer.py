# SPDX-License-Identifier: Apache-2.0
"""Writing a function's text: fresh names, blocks, and the intrinsics that it declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from axisfold.codegen.llvm.machine import ANY, Machine
from axisfold.codegen.llvm.recent import Recent
from axisfold.codegen.llvm.types import constant, splat, value_type
from axisfold.dtypes import DType, Scalar

MAX_NAME: Final = 200
"""Characters kept of a name; LLVM cuts names off at 1024, whether or not they still differ."""

# Instructions whose result depends on nothing but their operands.
_PURE: Final = frozenset(
    (
        "add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "icmp", "fcmp", "select",
        "getelementptr", "fadd", "fsub", "fmul", "fdiv", "sdiv", "udiv", "srem", "urem", "trunc",
        "zext", "sext", "fptrunc", "fpext", "sitofp", "uitofp", "bitcast", "insertelement",
        "extractelement", "shufflevector",
    )
)  # fmt: skip
# Truth values that are known, and where all lanes are.
_TRUE: Final = ("true", "splat (i1 true)")
_FALSE: Final = ("false", "splat (i1 false)")
_NUMBER: Final = re.compile(r"(?:splat \(\w+ )?0x([0-9A-F]{16})\)?")
_PURE_CALL: Final = re.compile(r"@(llvm\.(?!masked)|axisfold\.)")


class Writer:
    """Collects the lines of one function; what was computed before is not computed again.

    Attributes
    ----------
    block
        Label of the block that lines go to.
    is_cold
        Whether lines run so rarely that functions stay calls.
    calls
        How many elementary functions the innermost loop calls in a round.
    declarations
        External functions used, as complete ``declare`` lines; a module's functions share them.
    chosen
        Names of results of ``select``.
    streams
        Whether the function writes past the caches.
    recent
        What this block has read from memory and written to it.
    machine
        The processor that the text is for.
    ones
        Vectors of 1 that LLVM knows nothing of, by type (:mod:`axisfold.codegen.llvm.ports`).
    """

    def __init__(
        self, declarations: dict[str, str] | None = None, *, machine: Machine = ANY
    ) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.block = "entry"
        self.is_cold = False
        self.calls = 0
        self.declarations = {} if declarations is None else declarations
        self.chosen: set[str] = set()
        self.streams = False
        self.recent = Recent()
        self.machine = machine
        self.ones: dict[str, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}
        self._numbers = 0
        # Results of pure instructions in the blocks that dominate this one, and by scope.
        self._known: dict[str, str] = {}
        self._scopes: list[list[str]] = [[]]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is computed inside is not known afterwards: another way may lead there."""
        self._scopes.append([])
        try:
            yield
        finally:
            for text in self._scopes.pop():
                del self._known[text]

    @contextmanager
    def within(self, *, is_cold: bool, calls: int) -> Iterator[None]:
        """What is appended inside is a loop's: it runs rarely, if so, and has so many calls."""
        saved = self.is_cold, self.calls
        self.is_cold, self.calls = self.is_cold or is_cold, calls
        try:
            yield
        finally:
            self.is_cold, self.calls = saved

    @contextmanager
    def at_entry(self) -> Iterator[None]:
        """What is computed inside goes to the head of the function."""
        saved = self.lines, self._known, self._scopes
        self.lines, self._known, self._scopes = self.entry, {}, [[]]
        try:
            yield
        finally:
            self.lines, self._known, self._scopes = saved

    def fresh(self, name: str = "") -> str:
        """Return an unused local name, ``%i`` or ``%i.3``."""
        if not name:
            return self._number()
        candidate = base = _spelled(name)
        while candidate in self._used:
            self._counts[base] = self._counts.get(base, 0) + 1
            candidate = f"{base}.{self._counts[base]}"
        self._used.add(candidate)
        return f"%{candidate}"

    def _number(self) -> str:
        while (candidate := f"v.{self._numbers}") in self._used:
            self._numbers += 1
        self._numbers += 1
        self._used.add(candidate)
        return f"%{candidate}"

    def emit(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def once(self, text: str) -> None:
        """Append an instruction without a result, unless it was appended before."""
        if text not in self._known:
            self.emit(text)
            self._known[text] = ""
            self._scopes[-1].append(text)

    def let(self, text: str, name: str = "") -> str:
        """Append an instruction, unless its result is known, and return the name of its result."""
        known = self._known.get(text)
        if known is not None:
            return known
        result = self.fresh(name)
        self.lines.append(f"  {result} = {text}")
        operation = text.split(" ", 1)[0]
        if operation in _PURE or (operation == "call" and _PURE_CALL.search(text)):
            self._known[text] = result
            self._scopes[-1].append(text)
        return result

    def is_known(self, text: str) -> bool:
        """Return whether an instruction was appended whose result is known."""
        return text in self._known

    def opaque(self, counter: str) -> str:
        """Return a loop's counter so that LLVM does not see how addresses move with it.

        Making them cheaper by that takes a third of its time, and gains nothing in a rest.
        """
        return self.let(f'call i64 asm "", "=r,0"(i64 {counter})')

    def label(self, name: str) -> str:
        """Return a fresh block label."""
        return self.fresh(f"{name}.b")[1:]

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label
        self.recent.clear()

    def branch(self, label: str) -> None:
        """End the block with a jump."""
        self.emit(f"br label %{label}")

    def branch_if(self, condition: str, then: str, otherwise: str) -> None:
        """End the block with a choice."""
        self.emit(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def call(self, function: str, result: str, *args: str) -> str:
        """Append a call of an external function; ``args`` are typed operands."""
        types = ", ".join(_operand_type(a) for a in args)
        self.declarations[function] = f"declare {result} @{function}({types})"
        return self.let(f"call {result} @{function}({', '.join(args)})")

    def const(self, value: Scalar, dtype: DType) -> str:
        """Return a constant of a dtype, the same in every lane."""
        return splat(constant(value, dtype.element), dtype)

    def typed(self, value: str, dtype: DType) -> str:
        """Return a value with its type, as an operand."""
        return f"{value_type(dtype)} {value}"

    def binary(self, instruction: str, dtype: DType, a: str, b: str) -> str:
        """Append a two-operand instruction."""
        if b == "0" and instruction in ("add", "sub"):
            return a
        if a == "0" and instruction == "add":
            return b
        if instruction in ("and", "or"):
            for value, other in ((a, b), (b, a)):
                if value in (_TRUE if instruction == "and" else _FALSE):
                    return other
                if value in (_FALSE if instruction == "and" else _TRUE):
                    return value
        return self.let(f"{instruction} {value_type(dtype)} {a}, {b}")

    def compare(self, predicate: str, dtype: DType, a: str, b: str) -> str:
        """Append a comparison with an ``icmp`` or ``fcmp`` predicate."""
        kind = "fcmp" if dtype.is_float else "icmp"
        if a == b and predicate in ("ord", "uno") and _is_number(a):
            return (_TRUE if predicate == "ord" else _FALSE)[dtype.lanes > 1]
        return self.let(f"{kind} {predicate} {value_type(dtype)} {a}, {b}")

    def select(self, condition: str, dtype: DType, a: str, b: str) -> str:
        """Append a choice, lane by lane."""
        flag = "i1" if dtype.lanes == 1 else f"<{dtype.lanes} x i1>"
        kind = value_type(dtype)
        result = self.let(f"select {flag} {condition}, {kind} {a}, {kind} {b}")
        self.chosen.add(result)
        return result

    def broadcast(self, value: str, dtype: DType) -> str:
        """Copy a scalar to every lane of ``dtype``."""
        if not value.startswith("%"):
            return splat(value, dtype)
        kind, scalar = value_type(dtype), value_type(dtype.element)
        first = self.let(f"insertelement {kind} poison, {scalar} {value}, i64 0")
        mask = f"<{dtype.lanes} x i32> zeroinitializer"
        return self.let(f"shufflevector {kind} {first}, {kind} poison, {mask}")


@lru_cache(maxsize=256)
def _spelled(name: str) -> str:
    """Return a name of letters that LLVM takes; most functions ask for the same ones."""
    base = re.sub(r"[^\w.$-]", "_", name[:MAX_NAME], flags=re.ASCII)
    return f"v{base}" if base[0].isdigit() else base  # ``%0`` counts unnamed values


def _is_number(value: str) -> bool:
    """Return whether a value is a constant float and no NaN."""
    found = _NUMBER.fullmatch(value)
    return found is not None and int(found[1], 16) & ((1 << 63) - 1) <= 0x7FF << 52


def _operand_type(operand: str) -> str:
    if operand.startswith("<"):
        return operand[: operand.index(">") + 1]
    return operand.split(" ", 1)[0]
