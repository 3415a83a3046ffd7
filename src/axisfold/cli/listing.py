# SPDX-License-Identifier: Apache-2.0
"""The listing of a plan: every stage from the te computation to machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rich.console import Console

from axisfold.cli.errors import CommandError
from axisfold.cli.terminal import print_code, print_heading
from axisfold.codegen.c import emit_kernel as emit_c
from axisfold.ir.stmt import Kernel
from axisfold.plan.planner import Plan
from axisfold.plan.script import schedule_source, te_source
from axisfold.runtime.cuda.program import Program as CudaProgram
from axisfold.target import parse

# name -> heading, language, text
SECTIONS: Final[dict[str, tuple[str, str, Callable[[Plan], str]]]] = {
    "te": ("tensor expression", "python", lambda plan: te_source(plan.graph)),
    "schedule": ("schedule", "python", schedule_source),
    "ir": ("loop IR", "c", lambda plan: str(plan.compiled.ir)),
    "device": ("device program", "c", lambda plan: str(_device(plan))),
    "llvm": ("LLVM IR", "llvm", lambda plan: plan.compiled.source()),
    "c": ("C source", "c", lambda plan: emit_c(plan.compiled.device)),
    "cuda": ("CUDA C++", "cuda", lambda plan: plan.compiled.source),
    "asm": ("machine code", "gas", lambda plan: plan.compiled.assembly()),
}


# What is not shown unless it is asked for, and what a target does not have.
_HIDDEN: Final = {"llvm": ("c", "asm"), "c": ("llvm", "asm"), "cuda": (), "sim": ()}
_ABSENT: Final = {
    "llvm": ("cuda",),
    "c": ("cuda",),
    "cuda": ("ir", "llvm", "c", "asm"),
    "sim": ("llvm", "c", "cuda", "asm"),
}


def _device(plan: Plan) -> Kernel:
    """Return the program that code is generated from."""
    compiled = plan.compiled
    kernel: Kernel = compiled.kernel if isinstance(compiled, CudaProgram) else compiled.device
    return kernel


def print_sections(console: Console, plan: Plan, target: str, only: str | None) -> None:
    """Print one section alone, or the rule and all sections down to the target's source."""
    kind = parse(target).kind
    known = [name for name in SECTIONS if name not in _ABSENT[kind]]
    if only is not None:
        if only not in known:
            of_target = "" if only not in SECTIONS else f" of target {target}"
            raise CommandError(f"--only {only!r} is no section{of_target}. Use {', '.join(known)}.")
        _, language, text = SECTIONS[only]
        print_code(console, text(plan), language)
        return
    print_heading(console, "plan")
    console.print(f"rule {plan.rule.name}: {plan.rule.reason}")
    for name in known:
        heading, language, text = SECTIONS[name]
        if name not in _HIDDEN[kind]:
            console.print()
            print_heading(console, heading)
            print_code(console, text(plan), language)
