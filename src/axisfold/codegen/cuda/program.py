# SPDX-License-Identifier: Apache-2.0
"""A program as one CUDA C++ source: a function for each launch, and what they call.

The functions take pointers, in the order of the program's parameters and then of its workspace,
and then scalars; :func:`launch_parameters` says which.
"""

from __future__ import annotations

from typing import Final

from axisfold.analysis.bounds import Bounds
from axisfold.codegen.cuda.helpers import Helpers
from axisfold.codegen.cuda.launch import emit_launch
from axisfold.codegen.cuda.spelling import RESERVED, TYPEDEFS
from axisfold.codegen.text import Lines, Names
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Load, Var
from axisfold.ir.stmt import For, Kernel, Launch, Let, Stmt, Store, Ticket
from axisfold.ir.walk import post_order, statements
from axisfold.passes.narrow_indices import narrow_indices, scalar_bounds
from axisfold.passes.rewriter import substatements

# Every operation rounds once: products and sums stay apart.
OPTIONS: Final[tuple[str, ...]] = ("-std=c++17", "-fmad=false")


def launches(kernel: Kernel) -> tuple[Launch, ...]:
    """Return the launches of a program, in the order in which they are written."""
    found: dict[int, Launch] = {}
    waiting: list[Stmt] = [kernel.body]
    while waiting:
        stmt = waiting.pop()
        if isinstance(stmt, Launch):
            found.setdefault(id(stmt), stmt)
        else:
            waiting += reversed(substatements(stmt))
    return tuple(found.values())


def symbol(kernel: Kernel, launch: Launch) -> str:
    """Return the name of a launch's function; launches of one name get a number."""
    return _symbols(kernel)[id(launch)]


def _symbols(kernel: Kernel) -> dict[int, str]:
    names = Names(RESERVED | Helpers.all_names())
    return {id(launch): names.fresh(launch.name) for launch in launches(kernel)}


def launch_parameters(kernel: Kernel, launch: Launch) -> tuple[tuple[Buffer, ...], tuple[Var, ...]]:
    """Return what the function of a launch takes.

    Parameters
    ----------
    kernel
        The program that was given to :func:`emit_program`.
    launch
        One of its launches.

    Returns
    -------
    buffers : tuple of Buffer
        The arguments that the launch touches in the order of ``kernel.params``, then the workspace
        in the order of first use; one pointer each.
    scalars : tuple of Var
        Extents, strides and values computed on the host, in the order of first occurrence; one
        value of the variable's dtype each.
    """
    touched: dict[Buffer, None] = {}
    free: dict[Var, None] = {}
    bound = set(launch.vars)
    for node in post_order(launch.body):
        match node:
            case Load() | Store():
                touched.setdefault(node.buffer)
            case Ticket():
                touched.setdefault(node.counter)
            case Var():
                free.setdefault(node)
            case For() | Let():
                bound.add(node.var)
            case _:
                pass
    workspace = [b for b in touched if b.scope == "global" and b not in kernel.params]
    arguments = [b for b in kernel.params if b in touched]
    return (*arguments, *workspace), tuple(v for v in free if v not in bound)


def emit_program(kernel: Kernel) -> str:
    """Return the CUDA C++ source of a program at the level of threads.

    It needs no header and compiles for every architecture from sm_75 on (launches with clusters:
    sm_90), with :data:`OPTIONS`.
    """
    symbols, helpers = _symbols(kernel), Helpers()
    narrowed = launches(narrow_indices(kernel))
    bounds = scalar_bounds(kernel)
    functions = [
        _function(kernel, old, new, symbols[id(old)], bounds, helpers)
        for old, new in zip(launches(kernel), narrowed, strict=True)
    ]
    head = Lines()
    head.comment(f"{kernel.name}, written by axisfold; compile with {' '.join(OPTIONS)}")
    head.statements([*TYPEDEFS, ""])
    body = "\n".join(functions)
    for source in helpers.sources(body):
        head.statements([*source.split("\n"), ""])
    return head.text() + body


def _function(
    kernel: Kernel, old: Launch, new: Launch, name: str, bounds: Bounds, helpers: Helpers
) -> str:
    parameters = launch_parameters(kernel, old)
    written = {n.buffer for n in statements(new.body) if isinstance(n, Store)}
    # Workspace is written by other blocks while this one runs: reads of it must see that.
    inputs = frozenset(b for b in kernel.params if b not in written)
    return emit_launch(new, name, parameters, inputs, bounds, helpers)
