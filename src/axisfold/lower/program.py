# SPDX-License-Identifier: Apache-2.0
"""The program of a schedule: its arguments checked and given memory, its loops built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from axisfold.errors import ArgumentError, ScheduleError
from axisfold.ir.buffer import Facts
from axisfold.ir.expr import Expr, Var
from axisfold.ir.stmt import STREAMED, For, Kernel, Let
from axisfold.ir.walk import free_vars, statements, variables
from axisfold.lower.divisors import with_divisors
from axisfold.lower.loops import LoopBuilder
from axisfold.lower.storage import Storage, any_argument, argument
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target
from axisfold.tensor.tensor import Operation, Tensor


def lower_schedule(
    schedule: Schedule,
    args: Sequence[Any],
    name: str = "main",
    *,
    any_layout: bool = False,
    layouts: Mapping[Tensor, tuple[Expr, ...]] = MappingProxyType({}),
    facts: Mapping[Tensor, Facts] = MappingProxyType({}),
    target: Target | None = None,
) -> Kernel:
    """Return the loop nest of a schedule.

    Parameters
    ----------
    schedule
        Stages and how each is computed.
    args
        Tensors that the caller binds, in calling order.
    name
        Symbol of the function.
    any_layout
        Give every argument byte strides of its own and promise nothing about it, whatever the
        tensors declare.
    layouts
        Strides, in elements, of the memory that the caller promises to bind to outputs; () for
        C order without gaps, although extents are variable.
    facts
        What else the caller promises of the memory of outputs.
    target
        What the program is for: limits on bound axes are checked then.

    Raises
    ------
    ArgumentError
        ``A101``: an argument is no tensor of the schedule or named twice; ``A102``: an input or
        output is missing; ``A103``: a variable cannot be bound from the arguments; ``A104``: the
        name is no identifier.
    """
    symbol: Any = name
    if not (isinstance(symbol, str) and symbol.isascii() and symbol.isidentifier()):
        raise ArgumentError(f"{name!r} cannot name a function.", code="A104")
    given: Any = args
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(
            f"args is a {type(args).__name__}, not a list of tensors.",
            code="A101",
            hint="Pass them in a list: [A, B].",
        )
    tensors = [_checked(schedule, a, position) for position, a in enumerate(args)]
    if len(set(tensors)) != len(tensors):
        raise ArgumentError("a tensor is named twice in args.", code="A101")
    streamed = [t for t in tensors if target is None and _is_streamed(schedule, t)]
    known = {**dict.fromkeys(streamed, Facts(align=STREAMED)), **facts}
    storage = {
        t: any_argument(t) if any_layout else argument(t, layouts.get(t), known.get(t))
        for t in tensors
    }
    _check_complete(schedule, storage)
    builder = LoopBuilder(schedule, _by_origin(schedule, storage), target)
    outputs = tuple(s.buffer for t, s in storage.items() if t.op.body)
    kernel = Kernel(name, tuple(s.buffer for s in storage.values()), outputs, builder.build())
    kernel = with_divisors(kernel)
    _check_bound(kernel)
    return kernel


def _checked(schedule: Schedule, arg: Any, position: int) -> Tensor:
    if not isinstance(arg, Tensor):
        raise ArgumentError(
            f"args[{position}] is {arg!r}, not a tensor.",
            code="A101",
            hint="Extents are bound from the arrays' shapes and are not listed.",
        )
    if not arg.op.body:
        return arg  # an input may serve for its extents and strides alone
    try:
        schedule[arg]
    except ScheduleError as error:
        raise ArgumentError(
            f"args[{position}], tensor {arg.name!r}, is not part of the schedule.", code="A101"
        ) from error
    return arg


def _is_streamed(schedule: Schedule, tensor: Tensor) -> bool:
    """Return whether an output is written past the caches of a CPU."""
    return bool(tensor.op.body) and schedule[tensor].is_streamed


def _by_origin(schedule: Schedule, storage: dict[Tensor, Storage]) -> dict[Tensor, Storage]:
    """Key the storage by the tensors that consumers know, whatever rfactor replaced."""
    return {
        schedule[t].origin_op.output(t.value_index) if t.op.body else t: given
        for t, given in storage.items()
    }


def _check_complete(schedule: Schedule, storage: dict[Tensor, Storage]) -> None:
    given = {(id(schedule[t].origin_op), t.value_index) for t in storage if t.op.body}
    given |= {(id(t.op), t.value_index) for t in storage}
    for stage in schedule.stages:
        needed = stage.is_output or not stage.op.body
        for tensor in stage.origin_op.outputs if needed else ():
            if (id(stage.origin_op), tensor.value_index) not in given:
                what = "output" if stage.is_output else "input"
                raise ArgumentError(
                    f"{what} {tensor.name!r} is not among args.",
                    code="A102",
                    hint=f"Pass it: args=[…, {_argument_name(stage.origin_op, tensor)}].",
                )


def _argument_name(op: Operation, tensor: Tensor) -> str:
    return op.name if op.num_outputs == 1 else f"{op.name}[{tensor.value_index}]"


def _check_bound(kernel: Kernel) -> None:
    """Refuse a variable that no extent or stride of an argument gives a value."""
    bound = {
        node
        for buffer in kernel.params
        for node in (*buffer.shape, *buffer.strides)
        if isinstance(node, Var)
    }
    layouts = [e for b in kernel.params for e in (*b.shape, *b.strides)]
    used: set[Var] = set().union(*map(variables, layouts))
    for node in statements(kernel.body):
        if isinstance(node, (For, Let)):
            bound.add(node.var)
        # Variables of expressions are asked for later too, those of statements are not.
        used.update(*[variables(e) for e in node.children() if isinstance(e, Expr)])
    if used <= bound:
        return
    for root in (kernel.body, *layouts):
        for node in free_vars(root):
            if node not in bound:
                raise ArgumentError(
                    f"variable {node.name!r} cannot be bound: it is no extent of an argument.",
                    code="A103",
                    hint="Use it as an extent of a placeholder, or a constant in its place.",
                )
