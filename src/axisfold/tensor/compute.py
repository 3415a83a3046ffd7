# SPDX-License-Identifier: Apache-2.0
"""Computations: a shape, axes, and one expression for each output."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from axisfold.errors import ExpressionError, ReducerError
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import free_vars, post_order, substitute, uses, variables
from axisfold.tensor.axis import Axis, AxisVar, make_axis
from axisfold.tensor.edges import check_indices
from axisfold.tensor.reduce import Reduce
from axisfold.tensor.tensor import Operation, Tensor, as_shape

_claimed: WeakSet[AxisVar] = WeakSet()


class Body(tuple[Expr, ...]):
    """The expressions of a computation; printed in brackets, as te prints them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, self))}]"


@dataclass(frozen=True, slots=True, eq=False)
class ComputeOp(Operation):
    """A computation; ``body`` has one expression for each output, all reductions or none."""

    name: str
    axis: tuple[Axis, ...]
    reduce_axis: tuple[Axis, ...]
    body: Body
    tag: str = ""
    _outputs: list[Tensor] = field(default_factory=list, repr=False)

    @property
    def num_outputs(self) -> int:
        """Number of tensors it makes."""
        return len(self.body)

    @property
    def shape(self) -> tuple[Expr, ...]:
        """Extents of every output."""
        return tuple(axis.extent for axis in self.axis)

    def output(self, index: int) -> Tensor:
        """Return one of its tensors, always the same object."""
        if not self._outputs:
            made = [Tensor(self, i, self.shape, e.dtype) for i, e in enumerate(self.body)]
            self._outputs.extend(made)
        return self._outputs[index]


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Any = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """Describe a tensor by a function from its indices to its element.

    Parameters
    ----------
    shape
        Extents of the result.
    fcompute
        ``lambda i, j: …``; the axes take the parameters' names, ``*i`` gives i0, i1, ….  It
        returns an expression, a reduction, or a tuple of either for several outputs.
    name
        Name in messages and in printed IR.
    tag
        Free text kept with the operation.
    attrs
        Accepted for te scripts and not kept.
    varargs_names
        Names of the axes that ``*i`` stands for, in place of i0, i1, ….

    Returns
    -------
    Tensor or tuple of Tensor
        One for each output.

    Raises
    ------
    ExpressionError
        ``E211``: the function's parameters do not fit the rank; ``E212``: one has a default;
        ``E213``: an axis is used that belongs to no stage here; ``E214``: it returned no
        expression; ``E219``: it is no Python function; ``E224``: the bounds of a reduce axis
        read an inner one; ``E225``: an index lies outside its tensor.
    ReducerError
        ``R201``: a reduction stands below the top level; ``R202``: it stands beside another;
        ``R205``: components of its state are left out.
    """
    extents = as_shape(shape)
    given_function: Any = fcompute
    if not callable(given_function) or inspect.isbuiltin(given_function):
        raise ExpressionError(
            f"compute {name!r} needs a function from indices to an element, not {fcompute!r}.",
            code="E219",
            hint="Write te.compute((n,), lambda i: …).",
        )
    names = _axis_names(fcompute, len(extents), name, varargs_names)
    axes = tuple(
        make_axis(n, build.const(0, e.dtype), e, "data")
        for n, e in zip(names, extents, strict=True)
    )
    result = fcompute(*axes)
    given = list(result) if isinstance(result, (tuple, list)) else [result]
    if not given:
        raise ExpressionError(
            f"the function of compute {name!r} returned no expression.", code="E214"
        )
    body = tuple(_as_body(item, name) for item in given)
    op = make_compute(name, axes, body, tag)
    check_indices(name, (*op.axis, *op.reduce_axis), op.body)
    return tuple(op.outputs) if isinstance(result, (tuple, list)) else op.output(0)


def make_compute(
    name: str, axes: tuple[Axis, ...], body: Sequence[Expr], tag: str = ""
) -> ComputeOp:
    """Return a checked computation over given data axes."""
    reductions = _check_reductions(name, body)
    reduce_axes: tuple[Axis, ...] = ()
    if reductions:
        fresh = _own_axes(reductions[0].axes)
        if fresh is not reductions[0].axes:
            body = [node.with_axes(fresh) for node in reductions]
        reduce_axes = fresh
    op = ComputeOp(name, axes, reduce_axes, Body(body), tag)
    _check_axes(op)
    return op


def _as_body(item: Any, name: str) -> Expr:
    if item is None:
        raise ExpressionError(
            f"the function of compute {name!r} returned None.",
            code="E214",
            hint="Return an expression of its parameters.",
        )
    return build.as_expr(item)


def _axis_names(
    fcompute: Callable[..., Any], rank: int, name: str, varargs_names: Sequence[str] | None
) -> list[str]:
    """Return the axis names that the function's parameters give."""
    names: list[str] = []
    for parameter in inspect.signature(fcompute).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += varargs_names or [f"{parameter.name}{i}" for i in range(rank - len(names))]
        elif parameter.kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ) and (parameter.default is inspect.Parameter.empty):
            names.append(parameter.name)
        else:
            raise ExpressionError(
                f"parameter {parameter.name!r} of compute {name!r} has a default "
                "or is keyword-only.",
                code="E212",
                hint="Every parameter is an axis.",
            )
    if len(names) != rank:
        raise ExpressionError(
            f"compute {name!r} has rank {rank}, but its function takes {len(names)} axes.",
            code="E211",
            hint=f"Give it {rank} parameters, or *indices.",
        )
    return names


def _check_reductions(name: str, body: Sequence[Expr]) -> list[Reduce]:
    """Return the body's reductions: all of it or none, of one reducer, at the top level."""
    nested = post_order(*(child for root in body for child in root.children()))
    top = [e for e in body if isinstance(e, Reduce)]
    if any(isinstance(n, Reduce) for n in nested) or (top and len(top) != len(body)):
        raise ReducerError(
            f"in compute {name!r} a reduction is part of a larger expression.",
            code="R201",
            hint="Reductions stand alone at the top level: compute them in a stage of their own "
            "and use its tensor.",
        )
    first = top[0] if top else None
    if first is not None and any(not first.is_sibling(other) for other in top):
        raise ReducerError(
            f"compute {name!r} returns several different reductions.",
            code="R202",
            hint="Make one te.comm_reducer over tuples, or one stage for each.",
        )
    given = [e.value_index for e in top]
    if first is not None and given != list(range(len(first.source))):
        raise ReducerError(
            f"compute {name!r} returns components {given} of a reduction whose state has "
            f"{len(first.source)}.",
            code="R205",
            hint="Return the whole tuple, and use the tensor of the component.",
        )
    return top


def _own_axes(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Return the axes, cloned if another computation already folds over one of them."""
    if not any(axis.var in _claimed for axis in axes):
        for axis in axes:
            _claimed.add(axis.var)
        return axes
    renamed: dict[Var, Expr] = {}
    clones: list[Axis] = []
    for axis in axes:
        low, extent = substitute(axis.min, renamed), substitute(axis.extent, renamed)
        clone = make_axis(axis.name, low, extent, "reduce")
        renamed[axis.var] = clone.var
        clones.append(clone)
    return tuple(clones)


def _check_axes(op: ComputeOp) -> None:
    """Refuse axes that belong to no loop of this stage, and bounds that read an inner one."""
    own: set[Var] = {axis.var for axis in (*op.axis, *op.reduce_axis)}
    outer = {axis.var for axis in op.axis}
    for axis in op.reduce_axis:
        late = own - outer
        if uses(axis.min, late) or uses(axis.extent, late):
            raise ExpressionError(
                f"the bounds of reduce axis {axis.name!r} of compute {op.name!r} read an axis that "
                "is not outside of it.",
                code="E224",
                hint="Name the axes in the order of their loops: axis=[outer, inner].",
            )
        outer.add(axis.var)
    extents = (e for axis in (*op.axis, *op.reduce_axis) for e in (axis.min, axis.extent))
    for root in (*op.body, *extents):
        if not any(isinstance(v, AxisVar) and v not in own for v in variables(root)):
            continue
        for node in free_vars(root):
            if isinstance(node, AxisVar) and node not in own:
                raise ExpressionError(
                    f"axis {node.name!r} is used in compute {op.name!r} "
                    "but belongs to no loop of it.",
                    code="E213",
                    hint=f"Fold over it, as in te.sum(…, axis={node.name}), or index with an axis "
                    "of this stage.",
                )
