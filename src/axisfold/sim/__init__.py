# SPDX-License-Identifier: Apache-2.0
"""Programs for threads run on NumPy: a GPU that finds races and tells what it does.

:func:`run` executes a kernel and raises :class:`axisfold.errors.SimulationError` at the first
fault; :func:`trace` also returns what one block did, step by step, as data, text and a picture.
:mod:`axisfold.sim.observer` says what an observer of a run is told.
:mod:`axisfold.sim.arithmetic` is what each operation computes.
"""

from axisfold.sim.binding import bind_scalars as bind_scalars
from axisfold.sim.machine import run as run
from axisfold.sim.tracing import Trace as Trace
from axisfold.sim.tracing import trace as trace
