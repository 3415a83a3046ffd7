# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for array libraries, as far as the runtime asks them."""

import sys
from types import SimpleNamespace


class Dtype:
    """An element type that prints as PyTorch's do."""

    def __init__(self, name):
        self.name, self.is_complex = name, name.startswith("complex")

    def __str__(self):
        return f"torch.{self.name}"


class Tensor:
    """A tensor with the layout of a NumPy array."""

    layout = "torch.sparse_coo"

    def __init__(self, like, address, device=0, **state):
        self.shape, self.like, self.address, self.device = like.shape, like, address, device
        self.dtype, self.is_cuda = DTYPES[like.dtype.name], device >= 0
        self.requires_grad = state.get("requires_grad", False)
        self.state = state

    def stride(self):
        return tuple(s // self.like.itemsize for s in self.like.strides)

    def data_ptr(self):
        if self.state.get("is_sparse"):
            raise RuntimeError("no storage")
        return self.address

    def element_size(self):
        return self.like.itemsize

    def get_device(self):
        return self.device

    def is_neg(self):
        return self.state.get("is_neg", False)

    def is_conj(self):
        return False


DTYPES = {name: Dtype(name) for name in ("float32", "float64", "int32")}


class CupyArray:
    """An array of CuPy with the layout of a NumPy array."""

    def __init__(self, like, address, device=0):
        self.shape, self.strides, self.dtype = like.shape, like.strides, like.dtype
        self.itemsize = like.itemsize
        self.data = SimpleNamespace(ptr=address, device_id=device)

    def __dlpack_device__(self):
        return 2, self.data.device_id


def install_libraries(monkeypatch):
    """Put stand-ins of PyTorch and CuPy in place; return PyTorch's."""
    torch = SimpleNamespace(
        Tensor=Tensor,
        is_grad_enabled=lambda: True,
        autograd=SimpleNamespace(forward_ad=SimpleNamespace(_current_level=-1)),
        nn=SimpleNamespace(Parameter=None),
        _C=SimpleNamespace(
            _cuda_getCurrentRawStream=lambda device: 70 + device,
            _len_torch_dispatch_stack=lambda: 0,
            _are_functorch_transforms_active=lambda: False,
        ),
    )
    stream = SimpleNamespace(get_current_stream=lambda device: SimpleNamespace(ptr=80 + device))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ndarray=CupyArray, cuda=stream))
    return torch
