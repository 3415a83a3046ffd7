# SPDX-License-Identifier: Apache-2.0
"""Functions of target "sim": programs for threads, run on NumPy arrays by the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from axisfold import sim
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Kernel
from axisfold.runtime.binding import (
    LayoutMismatch,
    bind_layout,
    carry_over,
    check_arrays,
    host_arrays,
)
from axisfold.sim.observer import Observer
from axisfold.target import Target


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel as people read it, and as threads run it."""

    ir: Kernel
    device: Kernel

    def scalars(self, values: Mapping[Var, int]) -> dict[Var, int]:
        """Return the values of extents and strides under the variables of the program."""
        return carry_over(self.ir, self.device, values)


@dataclass(frozen=True, slots=True)
class SimFunction:
    """A schedule that the simulator runs; call it with arrays on the host, outputs are in place.

    Attributes
    ----------
    declared, general
        The program for arrays of the declared layout, and for any.
    target
        What it was made for.
    """

    declared: Program
    general: Program
    target: Target

    @property
    def ir(self) -> Kernel:
        """The loop IR."""
        return self.declared.ir

    @property
    def device(self) -> Kernel:
        """The program of launches."""
        return self.declared.device

    def source(self) -> str:
        """Return the text of the program of launches."""
        return str(self.device)

    def __call__(self, *given: Any, seed: int = 0, observer: Observer | None = None) -> None:
        """Run on arrays in the order of ``args``.

        Parameters
        ----------
        given
            One array for each argument, on the host.
        seed
            Chooses the order in which blocks run.
        observer
            Is told what threads do (:mod:`axisfold.sim.observer`).

        Raises
        ------
        SimulationError
            What a GPU would let pass: see :func:`axisfold.sim.machine.run`.
        """
        arrays = host_arrays(self.ir, given)
        extents = check_arrays(self.ir, arrays)
        program = self.declared
        try:
            values = bind_layout(program.ir, arrays, extents)
        except LayoutMismatch:
            program = self.general
            values = bind_layout(program.ir, arrays, extents)
        scalars = program.scalars(values)
        sim.run(program.device, arrays, scalars, seed=seed, observer=observer)
