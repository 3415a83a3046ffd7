# SPDX-License-Identifier: Apache-2.0
"""The listing of a plan: every stage from the te computation to machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rich.console import Console

from axisfold.cli.errors import CommandError
from axisfold.cli.terminal import print_code, print_heading
from axisfold.codegen.c import emit_kernel as emit_c
from axisfold.plan.planner import Plan
from axisfold.plan.script import schedule_source, te_source

# name -> heading, language, text
SECTIONS: Final[dict[str, tuple[str, str, Callable[[Plan], str]]]] = {
    "te": ("tensor expression", "python", lambda plan: te_source(plan.graph)),
    "schedule": ("schedule", "python", schedule_source),
    "ir": ("loop IR", "c", lambda plan: str(plan.compiled.ir)),
    "device": ("device program", "c", lambda plan: str(plan.compiled.device)),
    "llvm": ("LLVM IR", "llvm", lambda plan: plan.compiled.source()),
    "c": ("C source", "c", lambda plan: emit_c(plan.compiled.device)),
    "asm": ("machine code", "gas", lambda plan: plan.compiled.code.assembly()),
}


# What is not shown unless it is asked for.
_HIDDEN: Final = {"llvm": ("c", "asm"), "c": ("llvm", "asm")}


def print_sections(console: Console, plan: Plan, target: str, only: str | None) -> None:
    """Print one section alone, or the rule and all sections down to the target's source."""
    if only is not None:
        if only not in SECTIONS:
            raise CommandError(f"--only {only!r} is no section. Use {', '.join(SECTIONS)}.")
        _, language, text = SECTIONS[only]
        print_code(console, text(plan), language)
        return
    print_heading(console, "plan")
    console.print(f"rule {plan.rule.name}: {plan.rule.reason}")
    for name, (heading, language, text) in SECTIONS.items():
        if name not in _HIDDEN[target]:
            console.print()
            print_heading(console, heading)
            print_code(console, text(plan), language)
