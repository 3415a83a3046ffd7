# SPDX-License-Identifier: Apache-2.0
"""Additions that multipliers take, where a processor's adders have more to do.

AMD's Zen processors add and convert floats at two ports, and multiply, compare and choose at two
others (Software Optimization Guide for AMD Family 19h Processors, "Floating-Point Unit").  Sums
wait for the first two: float32 elements are widened and added, those of float64 take seven
additions.  As ``x + y`` is ``x * 1 + y``, which a fused product rounds once as well, its bits are
the same; the 1 is a value that LLVM does not know, or it would make additions of these products
again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from axisfold.codegen.llvm.machine import Machine
from axisfold.codegen.llvm.types import suffix
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import DType

_ADDITIONS: Final = ("fadd", "fsub")
# What else adders do, and what multipliers do; integers go to any port.
_ADDERS: Final = (*_ADDITIONS, "fpext", "fptrunc", "sitofp", "uitofp", "fptosi")
_MULTIPLIERS: Final = (
    "fmul", "llvm.fma", "llvm.fmuladd", "fcmp", "select", "shufflevector", "llvm.maximum",
    "llvm.minimum",
)  # fmt: skip
_LINE: Final = re.compile(r"  (%[\w.$-]+) = (?:call [^@]*@)?([a-z]+(?:\.[a-z]+)?)")
_NAME: Final = re.compile(r"%[\w.$-]+")
_ADDITION: Final = re.compile(r"  (%\S+) = (fadd|fsub) (<\d+ x \w+>) (.+), ([^,]+)$")
_VECTOR: Final = re.compile(r"<(\d+) x (double|float)>")
_BYTES: Final = {"double": 8, "float": 4}
# Ports of each sort, and the cycles until what depends on a fused product may begin.
_PORTS: Final = 2
_LATENCY: Final = 4
# Registers that a loop needs beside the states that it holds: for elements, parts and the 1.
_OTHERS: Final = 6


@dataclass(slots=True)
class _Line:
    """An instruction: where, its result, what it is, of what, and of how many registers."""

    number: int
    result: str
    name: str
    uses: tuple[str, ...]
    weight: int


def balance(
    w: Writer, begin: int, held: Mapping[str, str], kinds: Iterable[str], machine: Machine
) -> None:
    """Let multipliers take additions of a round, until both sorts of ports have as much to do.

    Additions that the next round does not wait for come first; others only where the longer time
    until their results are there costs nothing.

    Parameters
    ----------
    w, begin
        A function that ends with the round, and the line where that begins; it is one block.
    held
        For each state that the loop holds its name in the round and that of its next value.
    kinds
        LLVM's types of these states.
    machine
        What it is compiled for.
    """
    taken = sum(_registers(kind, machine) for kind in kinds)
    if not held or taken + _OTHERS > machine.registers:
        return
    lines = [p for n in range(begin, len(w.lines)) if (p := _parsed(w.lines[n], n, machine))]
    chains = _chains(lines, held)
    adders = sum(p.weight for p in lines if p.name in _ADDERS)
    multipliers = sum(p.weight for p in lines if p.name in _MULTIPLIERS)
    additions = [p for p in lines if p.name in _ADDITIONS and p.weight]
    for line in sorted(additions, key=lambda p: chains.get(p.result, 0)):
        adders, multipliers = adders - line.weight, multipliers + line.weight
        waits = _LATENCY * chains.get(line.result, 0)
        if multipliers > adders or waits > adders / _PORTS:
            return
        w.lines[line.number] = _fused(w, line.number)


def _parsed(line: str, number: int, machine: Machine) -> _Line | None:
    match = _LINE.match(line)
    if match is None:
        return None
    result, name = match.groups()
    uses = tuple(_NAME.findall(line, match.end()))
    is_counted = name in _ADDERS or name in _MULTIPLIERS
    return _Line(number, result, name, uses, _registers(line, machine) if is_counted else 0)


def _registers(text: str, machine: Machine) -> int:
    """Return how many registers the widest vector of floats takes that a text names, or 0."""
    sizes = [int(lanes) * _BYTES[kind] for lanes, kind in _VECTOR.findall(text)]
    return -(-max(sizes) // machine.vector_bytes) if sizes else 0


def _chains(lines: Sequence[_Line], held: Mapping[str, str]) -> dict[str, int]:
    """Return for what the next round waits for how many additions there are on its way there."""
    found: dict[str, int] = {}
    for name, following in held.items():
        ahead = {name: 0}
        for line in lines:
            known = [ahead[use] for use in line.uses if use in ahead]
            if known:
                ahead[line.result] = max(known) + (line.weight > 0)
        behind = {following}
        for line in reversed(lines):
            if line.result in behind and line.result in ahead:
                behind.update(line.uses)
                found[line.result] = max(found.get(line.result, 0), ahead.get(following, 0))
    return found


def _fused(w: Writer, number: int) -> str:
    """Return an addition as a product by 1 to which the other operand is added."""
    match = _ADDITION.match(w.lines[number])
    assert match is not None  # noqa: S101  (it is an addition of vectors)
    result, name, kind, a, b = match.groups()
    before = ""
    if name == "fsub":  # a - b = -b * 1 + a
        negated = w.fresh()
        before = f"  {negated} = fneg {kind} {b}\n"
        a, b = negated, a
    function = f"llvm.fma.{suffix(_dtype(kind))}"
    w.declarations[function] = f"declare {kind} @{function}({kind}, {kind}, {kind})"
    args = f"{kind} {a}, {kind} {_one(w, kind)}, {kind} {b}"
    return f"{before}  {result} = call {kind} @{function}({args})"


def _one(w: Writer, kind: str) -> str:
    """Return a vector of ones that the function has read from memory at its head."""
    if kind not in w.ones:
        dtype = _dtype(kind)
        held = f"@axisfold.ones.{suffix(dtype)}"
        w.declarations[held] = f"{held} = internal constant {kind} {w.const(1.0, dtype)}"
        with w.at_entry():
            w.ones[kind] = w.let(f"load volatile {kind}, ptr {held}", "one")
    return w.ones[kind]


def _dtype(kind: str) -> DType:
    ((lanes, element),) = _VECTOR.findall(kind)
    return DType("float", 8 * _BYTES[element], int(lanes))
