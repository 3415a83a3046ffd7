# SPDX-License-Identifier: Apache-2.0
"""The commands and their options; what goes wrong becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

import axisfold
from axisfold.api.catalog import CATALOG, SPREADS
from axisfold.api.explain_text import report
from axisfold.cli.errors import CommandError, one_line
from axisfold.cli.files import check_output, open_array, write_results
from axisfold.cli.listing import SECTIONS, print_sections
from axisfold.cli.options import parse_axis, parse_ops, parse_shape
from axisfold.cli.planning import by_threads, plan_of_shape
from axisfold.cli.report import print_results
from axisfold.cli.terminal import make_console
from axisfold.cli.tracing import check_options, print_trace, trace_of
from axisfold.errors import AxisfoldError
from axisfold.passes.teams import STYLES

# The root of what typer raises for wrong options; its module differs between typer's releases.
UsageProblem: Final[type[Exception]] = typer.BadParameter.__mro__[2]

OPERATIONS: Final = ", ".join([*CATALOG, *SPREADS])

app = typer.Typer(
    name="axisfold",
    help="Fold arrays along axes with compiled reductions, and show the code that does it.",
    add_completion=False,
    pretty_exceptions_enable=False,
)

Op = Annotated[str, typer.Option("--op", help=f"One or several, joined by commas: {OPERATIONS}.")]
AxisOption = Annotated[
    str | None,
    typer.Option("--axis", help="Folded axes, such as 0 or 0,1 or -1.", show_default="all"),
]
ShapeOption = Annotated[str, typer.Option("--shape", help="Such as 4096,4096.")]
DtypeOption = Annotated[str, typer.Option("--dtype", help="Dtype of the elements.")]
OrderOption = Annotated[
    str, typer.Option("--order", help="Order in memory: C, or F for Fortran's.")
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"axisfold {axisfold.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Fold arrays along axes with compiled reductions, and show the code that does it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def fold(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .npy, or .npz or .npz:member.")],
    op: Op,
    axis: AxisOption = None,
    keepdims: Annotated[bool, typer.Option("--keepdims", help="Keep folded axes as 1.")] = False,
    dtype: Annotated[
        str | None,
        typer.Option("--dtype", help="Dtype of sum, prod, mean, var, std.", show_default="NumPy's"),
    ] = None,
    member: Annotated[
        str | None, typer.Option("--member", help="Which array of a .npz.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write here: .npy for one op, .npz for several."),
    ] = None,
) -> None:
    """Fold an array from a file; several operations read it once."""
    try:
        names, axes, given = parse_ops(op), parse_axis(axis), _given(op)
        array = open_array(file, member)
        target = None if output is None else check_output(output, array.source, len(names))
        result = axisfold.fold(array.data, given, axis=axes, keepdims=keepdims, dtype=dtype)
        results = result._asdict() if len(names) > 1 else {names[0]: result}
        if target is not None:
            write_results(target, results)
        print_results(make_console(), array, axes, results, target)
    except (AxisfoldError, CommandError, MemoryError) as error:
        raise typer.Exit(_report(error)) from error


@app.command()
def show(
    op: Op,
    shape: ShapeOption,
    dtype: DtypeOption = "float64",
    axis: AxisOption = None,
    order: OrderOption = "C",
    target: Annotated[
        str, typer.Option("--target", help="What to compile for: llvm, c, cuda or sim.")
    ] = "llvm",
    only: Annotated[
        str | None,
        typer.Option("--only", help=f"One of {', '.join(SECTIONS)}.", show_default=False),
    ] = None,
    style: Annotated[
        str | None,
        typer.Option("--style", help=f"With sim, how threads combine: {', '.join(STYLES)}."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="With sim, threads of a block for each result.")
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="With sim, run it and show what the first block does.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="With --trace: draw it here, as FILE.svg."),
    ] = None,
) -> None:
    """Show how a reduction is computed: plan, te, schedule, loops, device program and source."""
    try:
        extents = parse_shape(shape)
        planned = plan_of_shape(parse_ops(op), extents, dtype, parse_axis(axis), order, target)
        check_options(target, only, style=style, threads=threads, trace=trace, output=output)
        if style is not None or threads is not None:
            planned = by_threads(planned, threads, style)
        if trace:
            print_trace(trace_of(planned, extents, dtype, order), output)
        else:
            print_sections(make_console(), planned.plan, target, only)
    except (AxisfoldError, CommandError, MemoryError) as error:
        raise typer.Exit(_report(error)) from error


@app.command()
def explain(
    op: Op,
    shape: ShapeOption,
    dtype: DtypeOption = "float64",
    axis: AxisOption = None,
    order: OrderOption = "C",
    target: Annotated[
        str, typer.Option("--target", help="llvm, c, sim, cuda or 'cuda -arch=sm_80'.")
    ] = "llvm",
    measure: Annotated[
        bool, typer.Option("--measure", help="Make such an array, call the function, take times.")
    ] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Measure anew how fast this machine reads memory.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print the source too.")] = False,
) -> None:
    """Explain a reduction: rule and reason, program, bytes, and how fast it could be."""
    try:
        spec = axisfold.ArraySpec(parse_shape(shape), dtype, order=order)
        found = axisfold.explain(
            spec, _given(op), parse_axis(axis), target=target, measure=measure, refresh=refresh
        )
        make_console().out(report(found, full=full), end="", highlight=False)
    except (AxisfoldError, CommandError, MemoryError) as error:
        raise typer.Exit(_report(error)) from error


@app.command()
def tune(
    op: Op,
    shape: ShapeOption,
    dtype: DtypeOption = "float64",
    axis: AxisOption = None,
    order: OrderOption = "C",
    seconds: Annotated[
        float, typer.Option("--seconds", help="Begin no candidate after this time.")
    ] = 60.0,
) -> None:
    """Search the fastest parameters for a layout class by measuring, and keep the winner."""
    try:
        spec = axisfold.ArraySpec(parse_shape(shape), dtype, order=order)
        found = axisfold.tune(spec, _given(op), parse_axis(axis), seconds=seconds)
        make_console().out(str(found), end="", highlight=False)
    except (AxisfoldError, CommandError, MemoryError) as error:
        raise typer.Exit(_report(error)) from error


def _given(op: str) -> str | list[str]:
    """Return what the functions take for one reduction or several."""
    names = parse_ops(op)
    return names if len(names) > 1 else names[0]


def _report(error: BaseException) -> int:
    """Write one line about an error and return the exit code for wrong use."""
    text = one_line(error) or "out of memory"
    sys.stderr.write(f"axisfold: {text}\n")
    return 2


def run(args: Sequence[str]) -> int:
    """Run the command line and return the exit code; never a traceback for wrong use."""
    try:
        code = app(args=list(args), standalone_mode=False, prog_name="axisfold")
        sys.stdout.flush()
    except UsageProblem as error:
        return _report(CommandError(f"{_message(error)} Try 'axisfold --help'."))
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has gone
        _discard_output()
        return 1
    except OSError as error:  # a full disk
        _discard_output()
        return _report(CommandError(f"cannot write to stdout: {error.strerror or error}."))
    return code if isinstance(code, int) else 0


def _discard_output() -> None:
    """Send what is still buffered nowhere, so that Python does not fail again as it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: Exception) -> str:
    text = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    return text if text.endswith(".") else f"{text}."
