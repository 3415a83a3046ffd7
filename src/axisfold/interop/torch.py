# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch, on the host and on CUDA devices."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final

from axisfold.dtypes import INT64, UINT64, DType
from axisfold.errors import ArgumentError, DTypeError
from axisfold.interop.views import HOST, LOW_BITS, Form, Maker, View

NAME: Final = "torch"


def owns(array: Any) -> bool:
    """Whether an object is a tensor."""
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is None or not isinstance(array, tensor):
        return False
    _learn(torch)
    return True


def is_on_gpu(array: Any) -> bool:
    """Whether a tensor is in the memory of a CUDA device."""
    return bool(array.is_cuda)


def is_dtype(value: Any) -> bool:
    """Whether an object is a dtype of PyTorch."""
    kind = getattr(sys.modules.get("torch"), "dtype", None)
    return kind is not None and isinstance(value, kind)


def quick_key(array: Any) -> tuple[Hashable, int] | None:
    """Return what a call depends on, and the address; None if only :func:`view` knows."""
    _, kinds, is_recording, stack_length, is_transformed, forward = _state
    try:
        # As is_watched, without a call of it, since each call of axisfold comes by here.
        if (
            type(array) not in kinds
            or (array.requires_grad and is_recording())
            or stack_length()
            or is_transformed()
            or forward._current_level >= 0
            or array.is_neg()
        ):
            return None
        where, address, dtype = array.get_device(), array.data_ptr(), array.dtype
        # Only what has complex elements is conjugated; its imaginary part is negated.
        if not address or (dtype.is_complex and array.is_conj()):
            return None
        low = 0 if where == HOST else address & LOW_BITS
        return (array.shape, array.stride(), dtype, where, low), address
    except RuntimeError:  # no plain memory: sparse, nested, or seen by a transform such as vmap
        return None


def is_watched(array: Any) -> bool:
    """Whether a gradient, a tracer or a transformation has to see what is done with a tensor."""
    _, kinds, is_recording, stack_length, is_transformed, forward = _state
    return (
        type(array) not in kinds
        or (array.requires_grad and is_recording())
        or stack_length() > 0
        or is_transformed()
        or forward._current_level >= 0
    )


# What tells PyTorch's state, looked up when the first tensor is seen, since every call asks.
_state: tuple[Any, ...] = (None,)


def _learn(torch: Any) -> None:
    global _state  # noqa: PLW0603  (of the one module that is loaded)
    if _state[0] is not torch:
        _state = (
            torch,
            {torch.Tensor, torch.nn.Parameter},
            torch.is_grad_enabled,
            torch._C._len_torch_dispatch_stack,
            torch._C._are_functorch_transforms_active,
            torch.autograd.forward_ad,
        )


def is_differentiated(array: Any) -> bool:
    """Whether operations on a tensor are recorded for derivatives."""
    torch = sys.modules["torch"]
    if array.requires_grad and torch.is_grad_enabled():
        return True
    forward = torch.autograd.forward_ad
    return forward._current_level >= 0 and forward.unpack_dual(array).tangent is not None


def resolved(label: str, array: Any) -> Any:
    """Return a tensor whose values are those in memory: not negated or conjugated when read."""
    is_plain = not array.is_neg() and not array.is_conj()
    return array if is_plain else array.resolve_conj().resolve_neg()


def view(label: str, array: Any, stream: int) -> View:
    """Return a tensor as plain data.

    Raises
    ------
    ArgumentError
        ``A202``: a tensor without plain memory on the host or a CUDA device; ``A215``: one whose
        values are not those in memory, or that is part of a gradient.
    """
    if is_differentiated(array):
        raise ArgumentError(
            f"{label} requires a gradient, and the kernel would not record one.",
            code="A215",
            hint="Pass x.detach(), or call under torch.no_grad().",
        )
    if array.is_neg() or array.is_conj():
        raise ArgumentError(
            f"{label} is a tensor that is negated or conjugated when it is read, which the kernel "
            "would not do.",
            code="A215",
            hint="Pass x.resolve_neg() or x.resolve_conj().",
        )
    try:
        shape, strides, address = tuple(array.shape), array.stride(), array.data_ptr()
    except RuntimeError as error:
        raise _no_memory(label, array) from error
    where = array.get_device()
    is_elsewhere = where == HOST and array.device.type != "cpu"
    if is_elsewhere or (not address and 0 not in shape):
        raise _no_memory(label, array)
    size = array.element_size()
    return View(
        address, shape, tuple(s * size for s in strides),
        str(array.dtype).removeprefix("torch."), size, where,
        library=NAME, owner=array,
    )  # fmt: skip


def _no_memory(label: str, array: Any) -> ArgumentError:
    layout = str(array.layout)
    if layout == "torch.strided":
        return ArgumentError(
            f"{label} is a tensor of device {str(array.device)!r}, which has no memory here.",
            code="A202",
            hint="Pass a tensor with values, on the host or a CUDA device.",
        )
    return ArgumentError(
        f"{label} is a tensor without plain memory (layout {layout}).",
        code="A202",
        hint="Pass x.to_dense(), or of a nested one x.to_padded_tensor(value).",
    )


def stream_of(array: Any) -> Callable[[], int] | None:
    """Return what returns the handle of the current stream of a tensor's device."""
    if not array.is_cuda:
        return None
    return partial(sys.modules["torch"]._C._cuda_getCurrentRawStream, array.get_device())


def result_dtype(dtype: DType, inputs: Sequence[DType]) -> DType:
    """Return PyTorch's int64 in place of uint64, which few of its operations take.

    An input of uint64 shows that they are not needed.
    """
    return INT64 if dtype == UINT64 and UINT64 not in inputs else dtype


def assign(out: Any, result: Any, stream: int) -> None:
    """Write a result into another tensor of its shape, converting its elements."""
    out.copy_(result)


def maker(form: Form, dtype: DType, device: int) -> Maker:
    """Return what makes tensors beside a tensor.

    Raises
    ------
    DTypeError
        ``D302``: this version of PyTorch has no such dtype.
    """
    kind = getattr(sys.modules["torch"], dtype.name, None)
    if kind is None:
        raise DTypeError(
            f"the result is of {dtype}, which this version of PyTorch does not have.",
            code="D302",
            hint="Ask for another with dtype=, or convert the input first.",
        )
    shape, strides = form.shape, form.strides
    allocate = None if device == HOST else _allocator()

    def make(like: Any) -> tuple[Any, int]:
        # Of all that makes a tensor this takes PyTorch the least time, a dtype to read some more.
        result = (
            like.new_empty_strided(shape, strides)
            if like.dtype is kind
            else like.new_empty_strided(shape, strides, dtype=kind)
        )
        return result, result.data_ptr()

    if allocate is None:
        # Tensors have no negative strides, so that no axis of a result is flipped.
        return Maker(make)

    def make_here(like: Any) -> tuple[Any, int]:
        result = allocate(shape, strides, kind)
        # It is made on the current device.
        return (result, result.data_ptr()) if result.get_device() == device else make(like)

    return Maker(make_here)


def _allocator() -> Callable[..., Any] | None:
    """Return what makes a tensor on the current device in the least time.

    PyTorch's own compiled programs call it; None where this version has none.
    """
    guards = getattr(getattr(sys.modules["torch"]._C, "_dynamo", None), "guards", None)
    return getattr(guards, "_empty_strided_cuda", None)
