# SPDX-License-Identifier: Apache-2.0
"""What the text of a program depends on, of the processor that it is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Registers that hold all constants of a function beside the states of a loop.
_MANY: Final = 32


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor; as it is by default, its text is right for all.

    Attributes
    ----------
    vector_bytes, registers
        Bytes of a vector register, and how many there are.
    fuses
        Whether a product and a sum are rounded once.
    has_adders
        Whether adders and multipliers are apart (:mod:`axisfold.codegen.llvm.ports`).
    """

    vector_bytes: int = 16
    registers: int = 16
    fuses: bool = True
    has_adders: bool = False

    @property
    def holds_constants(self) -> bool:
        """Whether registers hold the constants of a function all the time."""
        return self.registers >= _MANY


ANY: Final = Machine()
