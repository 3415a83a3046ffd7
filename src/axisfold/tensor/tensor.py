# SPDX-License-Identifier: Apache-2.0
"""Tensors, the operations that make them, and reading an element of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from axisfold.dtypes import INT32, INT64, DType, parse
from axisfold.errors import ExpressionError
from axisfold.ir import build
from axisfold.ir.buffer import Facts, StrideUnit
from axisfold.ir.expr import Const, Expr, Node, Var, separated
from axisfold.ir.walk import post_order
from axisfold.tensor.axis import Axis, as_index


@dataclass(frozen=True, slots=True, eq=False)
class TensorLoad(Expr):
    """``tensor[indices]``: a read at te level, before there is memory."""

    child_fields: ClassVar[tuple[str, ...]] = ("indices",)
    tensor: Tensor
    indices: tuple[Expr, ...]
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.tensor.dtype)

    def children(self) -> tuple[Expr, ...]:
        """Return the indices."""
        return self.indices

    def with_children(self, new: Sequence[Expr]) -> TensorLoad:
        """Return a read at other indices."""
        return TensorLoad(self.tensor, tuple(new))

    def pieces(self) -> list[str | Node]:
        """Return ``name[i, j]``."""
        return [f"{self.tensor.name}[", *separated(self.indices), "]"]


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """One output of an operation.

    Parameters
    ----------
    op
        The operation.
    value_index
        Which of its outputs.
    shape
        Extents; () for rank 0.
    dtype
        Element type.
    """

    op: Operation
    value_index: int
    shape: tuple[Expr, ...]
    dtype: DType

    @property
    def name(self) -> str:
        """Name of the operation, with ``.v0``, ``.v1`` … where it has several outputs."""
        many = self.op.num_outputs > 1
        return f"{self.op.name}.v{self.value_index}" if many else self.op.name

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Any:
        given = indices if isinstance(indices, tuple) else (indices,)
        return _index(self, tuple(given))

    def __call__(self, *indices: Any) -> Any:
        """Return an element; ``T(i, j)`` is ``T[i, j]``."""
        return _index(self, indices)

    def __repr__(self) -> str:
        return f"Tensor({self.name}, rank {self.ndim}, {self.dtype})"


@dataclass(frozen=True, slots=True)
class PartialIndex:
    """``T[i]`` of a tensor with more axes, waiting for ``[j]``."""

    tensor: Tensor
    indices: tuple[Any, ...]

    def __getitem__(self, more: Any) -> Any:
        """Return the element, or wait for more indices."""
        given = more if isinstance(more, tuple) else (more,)
        return _index(self.tensor, self.indices + given)

    def __axisfold_expr__(self) -> Expr:
        """Raise: too few indices name no element."""
        raise _wrong_count(self.tensor, len(self.indices))


def _wrong_count(tensor: Tensor, given: int) -> ExpressionError:
    return ExpressionError(
        f"tensor {tensor.name} has {tensor.ndim} axes, but {given} indices were given.",
        code="E204",
        hint=f"Give {tensor.ndim} indices.",
    )


def _index(tensor: Tensor, indices: tuple[Any, ...]) -> TensorLoad | PartialIndex:
    if len(indices) < tensor.ndim and indices:
        return PartialIndex(tensor, indices)
    if len(indices) != tensor.ndim:
        raise _wrong_count(tensor, len(indices))
    exprs = tuple(build.as_expr(i) for i in indices)
    for position, expr in enumerate(exprs):
        if not expr.dtype.is_integer:
            raise ExpressionError(
                f"index {position} of tensor {tensor.name} has dtype {expr.dtype}.",
                code="E205",
                hint="Indices are integers.",
            )
    return TensorLoad(tensor, exprs)


class Operation:
    """What makes tensors: a placeholder or a computation."""

    __slots__ = ("__weakref__", "_inputs", "_reads")
    name: str
    axis: tuple[Axis, ...] = ()
    reduce_axis: tuple[Axis, ...] = ()
    body: tuple[Expr, ...] = ()

    @property
    def num_outputs(self) -> int:
        """Number of tensors it makes."""
        return 1

    def output(self, index: int) -> Tensor:
        """Return one of its tensors."""
        raise NotImplementedError

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """All of its tensors."""
        return tuple(self.output(i) for i in range(self.num_outputs))

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that its body reads, in order of first use."""
        try:
            return self._inputs  # type: ignore[attr-defined, no-any-return]
        except AttributeError:
            pass
        inputs = tuple({id(read.tensor): read.tensor for read in self.reads}.values())
        object.__setattr__(self, "_inputs", inputs)
        return inputs

    @property
    def reads(self) -> tuple[TensorLoad, ...]:
        """The reads of tensors in its body and in the bounds of its axes, remembered."""
        try:
            return self._reads  # type: ignore[attr-defined, no-any-return]
        except AttributeError:
            pass
        bounds = (end for axis in self.reduce_axis for end in (axis.min, axis.extent))
        nodes = post_order(*self.body, *bounds)
        reads = tuple([node for node in nodes if isinstance(node, TensorLoad)])
        object.__setattr__(self, "_reads", reads)
        return reads


@dataclass(frozen=True, slots=True, eq=False)
class PlaceholderOp(Operation):
    """An input.

    ``strides`` is None for the layout that te gives an argument by default, () for C order without
    gaps.
    """

    name: str
    shape: tuple[Expr, ...]
    dtype: DType
    strides: tuple[Expr, ...] | None = None
    unit: StrideUnit = "element"
    facts: Facts | None = None
    _outputs: list[Tensor] = field(default_factory=list, repr=False)

    def output(self, index: int) -> Tensor:
        """Return the tensor (there is one)."""
        if not self._outputs:
            self._outputs.append(Tensor(self, 0, self.shape, self.dtype))
        return self._outputs[index]


def as_shape(shape: Any) -> tuple[Expr, ...]:
    """Return extents as expressions; one extent stands for a tuple of one.

    Raises
    ------
    ExpressionError
        ``E206``: an extent is neither an int32 nor an int64 >= 0.
    """
    given = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(_extent(e) for e in given)


def _extent(value: Any) -> Expr:
    # te scripts write N / 32 for a number of tiles.
    is_whole = isinstance(value, float) and value.is_integer()
    extent = as_index(int(value) if is_whole else value)
    if extent is None or (isinstance(extent, Const) and extent.value < 0):
        shown = f"{value} of dtype {value.dtype}" if isinstance(value, Expr) else repr(value)
        raise ExpressionError(f"extent {shown} of a shape is no int32 or int64 >= 0.", code="E206")
    return extent


def placeholder(
    shape: Any,
    dtype: Any = "float32",
    name: str = "placeholder",
    *,
    strides: Any = None,
    unit: StrideUnit = "element",
    compact: bool = False,
    align: int | None = None,
    divisible: Mapping[int, int] | Sequence[int] = (),
    facts: Facts | None = None,
) -> Tensor:
    """Return an input tensor.

    Parameters
    ----------
    shape
        Extents: integers, variables or expressions; ``()`` for rank 0.
    dtype
        Element type; None means float32.
    name
        Name in messages and in printed IR.
    strides
        Step of each axis in ``unit``.  By default an input with a variable extent takes any
        strides, and one with constant extents is compact.
    unit
        Whether strides count elements or bytes.
    compact
        Whether elements lie in C order without gaps although extents are variable.  Arrays that do
        not run through a second version of the kernel that assumes nothing of memory.
    align
        Alignment of the first element in bytes, by default that of an element.  Arrays that are
        not aligned run through that second version.
    divisible
        A divisor of the extent of each axis: a dict by axis, or one for each leading axis.  The
        guards of splits by its divisors vanish, and arrays of other extents are refused.
    facts
        The last two as one object.

    Raises
    ------
    ExpressionError
        ``E206``: a bad extent; ``E207``: the strides do not fit the shape; ``E208``: complex;
        ``E215``: ``align`` is no power of two; ``E216``: ``divisible`` does not fit the shape;
        ``E217``: compact, but strides are given.
    DTypeError
        ``D101``: no dtype of axisfold.
    """
    extents = as_shape(shape)
    steps = None if strides is None else tuple(build.as_expr(s, INT64) for s in strides)
    if steps is not None and len(steps) != len(extents):
        raise ExpressionError(
            f"placeholder {name} has {len(extents)} axes but {len(steps)} strides.", code="E207"
        )
    if compact:
        if steps is not None:
            raise ExpressionError(
                f"placeholder {name} is compact, so its strides follow from its shape.", code="E217"
            )
        steps = ()
    element = parse("float32" if dtype is None else dtype)
    if element.is_complex:
        raise ExpressionError(
            f"placeholder {name} is complex, and loop IR knows real numbers only.",
            code="E208",
            hint="Use two placeholders, or axisfold.fold, which does it for you.",
        )
    divisors = _divisors(name, extents, divisible)
    if facts is None and (align is not None or divisors):
        given = align if align is not None else 0 if unit == "byte" else element.itemsize
        facts = Facts(_checked_align(name, given), divisors)
    return PlaceholderOp(name, extents, element, steps, unit, facts).output(0)


def _checked_align(name: str, align: Any) -> int:
    if type(align) is not int or align < 0 or align & (align - 1):
        raise ExpressionError(
            f"placeholder {name}: align={align!r} is no power of two.",
            code="E215",
            hint="Give the alignment in bytes, such as 64.",
        )
    return align


def _divisors(
    name: str, shape: tuple[Expr, ...], divisible: Mapping[int, int] | Sequence[int]
) -> tuple[int, ...]:
    """Return a divisor for each axis, () if nothing is known."""
    known = dict(divisible) if isinstance(divisible, Mapping) else dict(enumerate(divisible))
    for axis, divisor in known.items():
        is_axis = type(axis) is int and 0 <= axis < len(shape)
        if not is_axis or type(divisor) is not int or divisor < 1:
            raise ExpressionError(
                f"placeholder {name}: divisible={divisible!r} is no divisor for each of its "
                f"{len(shape)} axes.",
                code="E216",
                hint="Give a dict such as {1: 16}, or a tuple such as (1, 16).",
            )
        extent = build.as_int(shape[axis])
        if extent is not None and extent % divisor:
            raise ExpressionError(
                f"placeholder {name}: its extent {extent} along axis {axis} is no multiple of "
                f"{divisor}.",
                code="E216",
            )
    return tuple(known.get(axis, 1) for axis in range(len(shape))) if known else ()


def var(name: str = "tindex", dtype: Any = "int32") -> Var:
    """Return a symbolic integer, bound from the shapes of the arguments.

    Raises
    ------
    ExpressionError
        ``E209``: the dtype is neither int32 nor int64.
    """
    return Var(name, _variable_dtype(name, dtype))


def size_var(name: str = "size", dtype: Any = "int32", least: int = 0) -> Var:
    """Return a symbolic integer that is never less than ``least``; see :func:`var`.

    Arrays with smaller extents are refused.

    Raises
    ------
    ExpressionError
        ``E209``: the dtype is neither int32 nor int64; ``E226``: ``least`` is no integer >= 0.
    """
    if type(least) is not int or least < 0:
        raise ExpressionError(
            f"variable {name!r}: least={least!r} is no integer >= 0.",
            code="E226",
            hint="Give the smallest extent that arrays have, such as 64.",
        )
    return Var(name, _variable_dtype(name, dtype), is_size=True, least=least)


def _variable_dtype(name: str, dtype: Any) -> DType:
    parsed = parse(dtype)
    if parsed not in (INT32, INT64):
        raise ExpressionError(
            f"variable {name!r} of dtype {parsed} is neither int32 nor int64.",
            code="E209",
            hint="Variables are extents; pass other values in a placeholder of shape ().",
        )
    return parsed
