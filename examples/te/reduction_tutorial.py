# SPDX-License-Identifier: Apache-2.0
"""The reduction tutorial of TVM's te era, with the import changed and nothing else.

Without a GPU the kernel of the last schedule is not compiled, and a sentence says so; the rfactor
kernel is then compiled for the CPU.
"""

import numpy as np

import axisfold.compat.tvm as tvm
from axisfold.compat.tvm import te

# Describe sum of rows ------------------------------------------------------------------------

n = te.var("n")
m = te.var("m")
A = te.placeholder((n, m), name="A")
k = te.reduce_axis((0, m), "k")
B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")

# Schedule the reduction ----------------------------------------------------------------------

s = te.create_schedule(B.op)
print(tvm.lower(s, [A, B], simple_mode=True))

ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
xo, xi = s[B].split(B.op.axis[0], factor=32)
print(tvm.lower(s, [A, B], simple_mode=True))

s[B].bind(xo, te.thread_axis("blockIdx.x"))
s[B].bind(xi, te.thread_axis("threadIdx.x"))
print(tvm.lower(s, [A, B], simple_mode=True))

# Reduction factoring and parallelization -----------------------------------------------------

s = te.create_schedule(B.op)
ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
BF = s.rfactor(B, ki)
print(tvm.lower(s, [A, B], simple_mode=True))

print(s[B].op.body)


def check(function: tvm.Module, dev: tvm.nd.Device) -> None:
    """Compare a kernel with NumPy."""
    nn = 128
    a = tvm.nd.array(np.random.uniform(size=(nn, nn)).astype(A.dtype), dev)  # noqa: NPY002 - as it was
    b = tvm.nd.array(np.zeros(nn, dtype=B.dtype), dev)
    function(a, b)
    tvm.testing.assert_allclose(b.numpy(), np.sum(a.numpy(), axis=1), rtol=1e-4)


check(tvm.build(s, [A, B], "llvm"), tvm.cpu(0))

# Cross thread reduction ----------------------------------------------------------------------

xo, xi = s[B].split(s[B].op.axis[0], factor=32)
s[B].bind(xo, te.thread_axis("blockIdx.x"))
s[B].bind(xi, te.thread_axis("threadIdx.y"))
tx = te.thread_axis("threadIdx.x")
s[B].bind(s[B].op.reduce_axis[0], tx)
s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
s[B].set_store_predicate(tx.var.equal(0))
print(tvm.lower(s, [A, B], simple_mode=True))

try:
    fcuda = tvm.build(s, [A, B], "cuda")
    print(fcuda.imported_modules[0].get_source())
    check(fcuda, tvm.cuda(0))
except tvm.TVMError as error:
    print(error)

# Describe convolution via 2D reduction -------------------------------------------------------

n = te.var("n")
Input = te.placeholder((n, n), name="Input")
Filter = te.placeholder((3, 3), name="Filter")
di = te.reduce_axis((0, 3), name="di")
dj = te.reduce_axis((0, 3), name="dj")
Output = te.compute(
    (n - 2, n - 2),
    lambda i, j: te.sum(Input[i + di, j + dj] * Filter[di, dj], axis=[di, dj]),
    name="Output",
)
s = te.create_schedule(Output.op)
print(tvm.lower(s, [Input, Filter, Output], simple_mode=True))

# Define general commutative reduction operation ----------------------------------------------

n = te.var("n")
m = te.var("m")
product = te.comm_reducer(lambda x, y: x * y, lambda t: tvm.tir.const(1, dtype=t), name="product")
A = te.placeholder((n, m), name="A")
k = te.reduce_axis((0, m), name="k")
B = te.compute((n,), lambda i: product(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
print(tvm.lower(s, [A, B], simple_mode=True))
