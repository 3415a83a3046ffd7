# SPDX-License-Identifier: Apache-2.0
"""Writing C-like source: names, blocks, and expressions without needless parentheses.

Shared by the backends that print source.  It knows the grammar of C and nothing of the IR.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Final


class Binding(IntEnum):
    """How tightly a piece of source holds together; higher is tighter."""

    CHOICE = 0
    OR = 1
    AND = 2
    BITS = 3
    COMPARISON = 4
    SUM = 5
    PRODUCT = 6
    PREFIX = 7
    ATOM = 8


@dataclass(frozen=True, slots=True)
class Code:
    """The source of an expression and how tightly it holds together."""

    text: str
    binding: Binding = Binding.ATOM

    def __str__(self) -> str:
        return self.text


_INFIX: Final[dict[str, Binding]] = {
    "||": Binding.OR, "&&": Binding.AND,
    "&": Binding.BITS, "|": Binding.BITS, "^": Binding.BITS,
    "<<": Binding.BITS, ">>": Binding.BITS,
    "<": Binding.COMPARISON, "<=": Binding.COMPARISON, ">": Binding.COMPARISON,
    ">=": Binding.COMPARISON, "==": Binding.COMPARISON, "!=": Binding.COMPARISON,
    "+": Binding.SUM, "-": Binding.SUM,
    "*": Binding.PRODUCT, "/": Binding.PRODUCT, "%": Binding.PRODUCT,
}  # fmt: skip

# Grouped from the left by the grammar, and readers know it.
_CHAINS: Final = frozenset({"+", "-", "*", "&&", "||"})


def total(a: Code, b: Code) -> Code:
    """Return ``a + b`` of integers, whose sums may be grouped at will."""
    first, last = (c.text if c.binding >= Binding.SUM else enclosed(c) for c in (a, b))
    return Code(f"{first} + {last}", Binding.SUM)


def infix(operator: str, a: Code, b: Code) -> Code:
    """Return ``a operator b``.

    Parentheses that the grammar does not need stay where compilers warn without them and readers
    would hesitate: around bit operations, comparisons of comparisons, and ``&&`` in ``||``.
    """
    own = _INFIX[operator]
    return Code(f"{_left(operator, own, a)} {operator} {_right(operator, own, b)}", own)


def _left(operator: str, own: Binding, operand: Code) -> str:
    if operand.binding == own and operator in _CHAINS:
        return operand.text
    return _operand(operator, own, operand)


def _right(operator: str, own: Binding, operand: Code) -> str:
    if operand.binding == own and operator in ("&&", "||"):
        return operand.text
    return _operand(operator, own, operand)


def _operand(operator: str, own: Binding, operand: Code) -> str:
    unclear = (operator == "||" and operand.binding == Binding.AND) or (
        Binding.BITS in (own, operand.binding) and operand.binding < Binding.PREFIX
    )
    return enclosed(operand) if unclear or operand.binding <= own else operand.text


def enclosed(code: Code) -> str:
    """Return the source in parentheses."""
    return f"({code.text})"


def _tight(code: Code) -> str:
    return code.text if code.binding == Binding.ATOM else enclosed(code)


def prefix(operator: str, operand: Code) -> Code:
    """Return ``!a`` or ``-a``."""
    return Code(f"{operator}{_tight(operand)}", Binding.PREFIX)


def volatile(kind: str, place: Code) -> Code:
    """Return an element of memory that other threads write meanwhile."""
    return prefix("*", cast(f"volatile {kind} *", prefix("&", place)))


def cast(kind: str, operand: Code) -> Code:
    """Return ``(kind)a``."""
    text = operand.text if operand.binding == Binding.PREFIX else _tight(operand)
    return Code(f"({kind}){text}", Binding.PREFIX)


def call(function: str, *args: Code) -> Code:
    """Return ``function(a, b)``."""
    return Code(f"{function}({', '.join(a.text for a in args)})")


def choice(condition: Code, then: Code, otherwise: Code) -> Code:
    """Return ``condition ? then : otherwise``."""
    test = condition.text if condition.binding > Binding.AND else enclosed(condition)
    a, b = (p.text if p.binding > Binding.CHOICE else enclosed(p) for p in (then, otherwise))
    return Code(f"{test} ? {a} : {b}", Binding.CHOICE)


def subscript(array: str, index: Code) -> Code:
    """Return ``array[index]``."""
    return Code(f"{array}[{index.text}]")


def digits(value: float) -> str:
    """Return a number that is not negative: in decimal where that is short, else hexadecimal."""
    if value < 1e6 and (value * 1024).is_integer():
        text = repr(value)
        if len(text) <= 9:
            return text
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}p{exponent}"


class Names:
    """Makes names legal and unique, block by block.

    Parameters
    ----------
    reserved
        Words that no name may be.
    """

    def __init__(self, reserved: Collection[str]) -> None:
        self.reserved = frozenset(reserved)
        self.scopes: list[set[str]] = [set()]

    def fresh(self, wanted: str) -> str:
        """Return a name for use in the current block that nothing visible there has."""
        base = legal_name(wanted)
        name, count = base, 0
        while name in self.reserved or any(name in scope for scope in self.scopes):
            count += 1
            name = f"{base}_{count}"
        self.scopes[-1].add(name)
        return name

    def release(self, name: str) -> None:
        """Take back a name of the current block that is not written after all."""
        self.scopes[-1].discard(name)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Names made inside are free again afterwards."""
        self.scopes.append(set())
        try:
            yield
        finally:
            self.scopes.pop()


def legal_name(wanted: str) -> str:
    """Return an identifier as close to ``wanted`` as C allows: ``k.outer`` is ``k_outer``.

    Names with an underscore in front belong to the language, so those get a ``v``.
    """
    name = re.sub(r"\W", "_", wanted, flags=re.ASCII)
    return name if name[:1].isalpha() else f"v{name}"


class Lines:
    """Collects lines, indented by blocks."""

    def __init__(self, indent: str = "    ", width: int = 100) -> None:
        self.lines: list[str] = []
        self.indent, self.width, self.depth = indent, width, 0

    def emit(self, text: str = "") -> None:
        """Append a line of source, continued on more where it is too long."""
        start = self.indent * self.depth
        # What follows an opened block is indented too, so that its head is indented twice.
        more = start + self.indent * (2 if text.endswith("{") else 1)
        rest = f"{start}{text}" if text else ""
        while len(rest) > self.width and (cut := _break(rest, self.width)):
            self.lines.append(rest[:cut].rstrip())
            rest = f"{more}{rest[cut:].lstrip()}"
        self.lines.append(rest)

    def comment(self, text: str) -> None:
        """Append a comment line; ``*/`` inside cannot end it."""
        self.lines.append(f"{self.indent * self.depth}/* {text.replace('*/', '* /')} */")

    def assign(self, target: str, value: Code) -> None:
        """Append ``target = value;``."""
        self.emit(f"{target} = {value};")

    def statements(self, lines: Sequence[str]) -> None:
        """Append lines written elsewhere at depth 0."""
        for line in lines:
            self.emit(line)

    @contextmanager
    def block(self, head: str, tail: str = "") -> Iterator[None]:
        """Append ``head {``, what is written inside one level deeper, and ``}``."""
        self.emit(f"{head} {{" if head else "{")
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.emit(f"}}{tail}")

    def text(self) -> str:
        """Return everything, with a newline at the end."""
        return "\n".join(self.lines) + "\n"


def _break(line: str, width: int) -> int:
    """Return where a line is best cut: between the outermost operands, as late as they fit.

    0 if it cannot be cut.
    """
    best, loosest, depth = 0, (len(line), 0), 0
    start = len(line) - len(line.lstrip())
    for position in range(start, min(width, len(line) - 1)):
        depth += (line[position] in "([{") - (line[position] in ")]}")
        if line[position] == " ":
            binding = _binding_at(line, position)
            if binding is not None and (depth, binding) <= loosest:
                best, loosest = position, (depth, binding)
    return best


def _binding_at(line: str, position: int) -> int | None:
    """Return how tightly a space's neighbours hold together, None where they must not part."""
    if line[position - 1] in ",;":
        return -1
    if line[:position].endswith(" ="):
        return Binding.SUM
    operator = line[position + 1 :].split(" ", 1)[0]
    return Binding.CHOICE if operator in ("?", ":") else _INFIX.get(operator)
