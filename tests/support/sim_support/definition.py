# SPDX-License-Identifier: Apache-2.0
"""Programs as lists of steps, for checks of the simulator against the definition of a race."""

from dataclasses import dataclass

from axisfold import sim
from axisfold.errors import SimulationError
from sim_support import QUOTE

WARP, ELEMENTS = 32, 3


@dataclass(frozen=True)
class Machine:
    """A launch of one-dimensional clusters and blocks."""

    clusters: int
    cluster: int
    block: int

    @property
    def threads(self):
        return self.clusters * self.cluster * self.block

    def group(self, level, thread):
        block = thread // self.block
        match level:
            case "warp":
                return block, thread % self.block // WARP
            case "block":
                return block
            case "cluster":
                return block // self.cluster
            case _:
                return 0

    def share(self, level, a, b):
        return self.group(level, a) == self.group(level, b)


@dataclass(frozen=True)
class Step:
    """What is done: load, store or the level of a barrier; by which threads, at which element."""

    kind: str
    elements: dict


def is_met(machine, step, a, b):
    """Return whether a step is a barrier of a group that has both threads."""
    is_barrier = step.kind not in ("load", "store")
    return is_barrier and a in step.elements and machine.share(step.kind, a, b)


def refused_step(made, arrays, seed):
    """Return the code and the step that is refused, or None.

    The program has one `if (… >= 0) {` for each step.
    """
    try:
        sim.run(made, arrays, seed=seed)
    except SimulationError as error:
        refusal = error
    else:
        return None
    lines = enumerate(str(made).splitlines(), 1)
    conditions = [number for number, text in lines if " >= 0) {" in text]
    line = int(QUOTE.findall(str(refusal))[0][0])
    return refusal.code, conditions.index(line - 1)
