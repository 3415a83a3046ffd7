# SPDX-License-Identifier: Apache-2.0
"""Launches written by hand: hardware indices by name, checked and put in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from axisfold.errors import ExpressionError
from axisfold.ir import build
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Launch, Stmt

UNITS: Final = ("blockIdx", "clusterCtaIdx", "threadIdx")
TAGS: Final = tuple(f"{unit}.{axis}" for unit in UNITS for axis in "xyz")


def launch(
    name: str, indices: Mapping[str, tuple[Var, Any]], body: Stmt, shared_bytes: int = 0
) -> Launch:
    """Build the launch of a grid of threads.

    Parameters
    ----------
    name
        Symbol of the kernel.
    indices
        The variable and the extent of each hardware index in use, by tag:
        ``{"blockIdx.x": (block, blocks), "threadIdx.x": (thread, 256)}``.
    body
        What one thread does.
    shared_bytes
        Shared memory of one block, 0 where buffers are not placed.

    Raises
    ------
    ExpressionError
        ``E121``: no such tag; ``E122``: the extent of a block or a cluster is not constant or not
        positive; ``E123``: an index is no integer variable, or an extent is no integer.

    Examples
    --------
    >>> from axisfold.ir.expr import Var
    >>> from axisfold.ir.stmt import Barrier
    >>> thread = Var("threadIdx.x")
    >>> launch("wait", {"threadIdx.x": (thread, 32)}, Barrier("block")).tags
    ('threadIdx.x',)
    """
    for tag, (var, extent) in indices.items():
        _check(tag, var, extent)
    tags = tuple(tag for tag in TAGS if tag in indices)
    variables = tuple(indices[tag][0] for tag in tags)
    extents = tuple(build.as_expr(indices[tag][1], indices[tag][0].dtype) for tag in tags)
    return Launch(name, tags, variables, extents, body, shared_bytes)


def _check(tag: str, var: Any, extent: Any) -> None:
    if tag not in TAGS:
        raise ExpressionError(
            f"{tag!r} is no hardware index.", code="E121", hint=f"Use one of {', '.join(TAGS)}."
        )
    if not isinstance(var, Var) or not var.dtype.is_integer:
        raise ExpressionError(
            f"the index {tag} is held by {var!r}, which is no integer variable.",
            code="E123",
            hint=f"Use Var({tag!r}).",
        )
    size = build.as_expr(extent, var.dtype)
    if not size.dtype.is_integer:
        raise ExpressionError(
            f"the extent {size} of {tag} is no integer.", code="E123", hint="Use an int32 or int64."
        )
    count = build.as_int(size)
    if not tag.startswith("blockIdx") and (count is None or count < 1):
        raise ExpressionError(
            f"the extent {size} of {tag} is no positive constant, but threads and clusters are "
            "laid out when the kernel is compiled.",
            code="E122",
            hint="Use a constant, and let each thread loop over its share of the work.",
        )
