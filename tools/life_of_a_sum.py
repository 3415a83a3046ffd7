# SPDX-License-Identifier: Apache-2.0
"""Write 'the life of a sum' into docs/architecture.md: one kernel, printed after every stage.

Usage: ``python tools/life_of_a_sum.py`` writes the page, ``--check`` says whether it is current.
"""

import sys
from pathlib import Path

import axisfold
from axisfold import te
from axisfold.codegen.llvm import emit_kernel
from axisfold.ir.stmt import Kernel
from axisfold.lower.program import lower_schedule
from axisfold.passes.pipelines import DEVICE, LEGIBLE

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- the life of a sum: begin -->\n", "<!-- the life of a sum: end -->\n"
LLVM_LINES = 40

# The program of the page, in the pieces in which it is shown and run.
COMPUTATION = """\
n, m = te.size_var("n"), te.size_var("m")
A = te.placeholder((n, m), name="A", strides=[te.var("stride"), 1])
k = te.reduce_axis((0, m), "k")
B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
"""
SCHEDULE = """\
s = te.create_schedule(B.op)
_, lane = s[B].split(B.op.reduce_axis[0], factor=4)
lanes = s.rfactor(B, lane)
s[lanes].compute_at(s[B], s[B].op.axis[0])
s[lanes].reorder(s[lanes].op.reduce_axis[0], s[lanes].op.axis[0])
s[lanes].vectorize(s[lanes].op.axis[0])
s[B].unroll(s[B].op.reduce_axis[0])
"""


def fenced(text: str, language: str = "text") -> str:
    """Return a block of code."""
    return f"```{language}\n{text.strip()}\n```\n\n"


def loops(kernel: Kernel) -> str:
    """Return the loops of a kernel without its declarations."""
    lines = str(kernel).rstrip().splitlines()
    start = next(i for i, line in enumerate(lines) if "buffer_map" in line) + 1
    return "\n".join(line[2:] for line in lines[start:-1])


def summary(function: object) -> str:
    """Return the first sentence of a docstring."""
    first = (function.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(first.split()).replace("``", "`")


def life() -> str:
    """Return the generated part of the page."""
    names: dict = {"te": te}
    exec(COMPUTATION, names)  # noqa: S102 - the text that is shown is the text that is run
    text = "### The computation\n\nWhat is folded, over which axis. `n` and `m` are symbols.\n\n"
    text += fenced("from axisfold import te\n\n" + COMPUTATION, "python")
    plain = axisfold.lower(te.create_schedule(names["B"].op), [names["A"], names["B"]], "row_sum")
    text += "With the default schedule this is one loop nest:\n\n" + fenced(str(plain))

    exec(SCHEDULE, names)  # noqa: S102 - as above
    text += (
        "### The schedule\n\nHow it is computed: four partial sums stand in the lanes of a vector "
        "and are added up at the end of each row. The planner writes the same primitives, with "
        "more lanes and several vectors.\n\n"
    )
    text += fenced(SCHEDULE, "python")
    kernel = lower_schedule(names["s"], [names["A"], names["B"]], "row_sum")
    text += (
        "### Lowering\n\n`lower/` makes the loops, and guards where a factor may not divide.\n\n"
    )
    text += fenced(loops(kernel))
    for title, passes in (("legible", LEGIBLE), ("device", DEVICE)):
        text += f"### The {title} pipeline\n\n"
        for transform in passes:
            text += f"**`{transform.__name__}`**: {summary(transform)}\n\n"
            changed = transform(kernel)
            if changed is kernel:
                text += "It leaves this program as it is.\n\n"
            else:
                text += fenced(loops(changed))
            kernel = changed
    lines = emit_kernel(kernel).splitlines()
    text += (
        f"### LLVM IR\n\n`codegen/llvm` writes text, {len(lines)} lines here. They begin\n\n"
        + fenced("\n".join([*lines[:LLVM_LINES], "..."]))
        + "and `runtime/` has llvmlite compile them for the machine at hand. `Function.source()` "
        "is the whole text and `Function.assembly()` what became of it.\n"
    )
    return text


def page() -> str:
    """Return the text of docs/architecture.md with its generated part renewed."""
    current = PAGE.read_text(encoding="utf-8")
    before, after = current.split(BEGIN)[0], current.split(END)[1]
    return f"{before}{BEGIN}\n{life()}\n{END}{after}"


def main() -> int:
    """Write or check the page; return the exit status."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    is_current = PAGE.read_text(encoding="utf-8") == text
    print(f"docs/architecture.md: {'current' if is_current else 'stale; run make docs'}")
    return 0 if is_current else 1


if __name__ == "__main__":
    sys.exit(main())
