# SPDX-License-Identifier: Apache-2.0
"""Arrays that fit a program give its scalars; others are refused before anything runs."""

import numpy as np
import pytest
from sim_support import BLOCK, TID, kernel, launch, put, vector

from axisfold import sim
from axisfold.dtypes import FLOAT32, INT32
from axisfold.errors import ArgumentError, DTypeError, ShapeError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Var


def test_scalars():
    n, m, s = Var("n"), Var("m"), Var("s")
    x = Buffer("x", FLOAT32, (n, m), (s, Var("t")), unit="byte")
    y = Buffer("y", FLOAT32, (n * m,))
    program = kernel(launch(put(y, 0, 0.0), block=1), params=[x, y], outputs=[y])
    found = sim.bind_scalars(program, [np.zeros((3, 8), np.float32)[:, ::2], np.zeros(12, "f4")])
    assert found == {n: 3, m: 4, s: 32, x.strides[1]: 8}


def test_scalars_may_be_given():
    out = vector("out")
    program = kernel(launch(put(out, BLOCK, out.shape[0]), block=1, grid=2), params=[out])
    result = np.zeros(4, np.int32)
    sim.run(program, [result], {out.shape[0]: 7})
    assert result.tolist() == [7, 7, 0, 0]


def refused(error, code, text, *arrays, buffers):
    program = kernel(launch(put(buffers[-1], TID, 0)), params=buffers)
    with pytest.raises(error, match=text) as caught:
        sim.run(program, list(arrays))
    assert caught.value.code == code


def test_what_does_not_fit():
    x = vector("x")
    ok = np.zeros(32, np.int32)
    locked = ok.copy()
    locked.flags.writeable = False
    refused(ArgumentError, "A201", "program takes 1 arrays, but 2 were given", ok, ok, buffers=[x])
    refused(ArgumentError, "A202", "x is a list, not a NumPy array", [1], buffers=[x])
    refused(DTypeError, "D201", "x has dtype float64, but", np.zeros(3), buffers=[x])
    refused(ShapeError, "A203", "x has 2 axes, but", ok.reshape(4, 8), buffers=[x])
    refused(ArgumentError, "A204", "x is an output but read-only", locked, buffers=[x])
    refused(ShapeError, "A206", r"x has strides \(8,\), but .* C order", ok[::2], buffers=[x])


def test_extents_and_strides_that_contradict():
    x, y = vector("x"), Buffer("y", INT32, (Var("y.n"),), (Var("s"),))
    same = Buffer("z", INT32, x.shape)
    a, b = np.zeros(32, np.int32), np.zeros(33, np.int32)
    refused(ShapeError, "A206", "extent 0 of z is 33, but 32 is needed", a, b, buffers=[x, same])
    packed = np.zeros(4, np.dtype([("tag", "u1"), ("a", "i4")]))["a"]
    refused(ShapeError, "A206", "stride 0 of y is 5 bytes", packed, buffers=[y])


def test_extents_of_one_have_any_stride():
    y = Buffer("y", INT32, (Var("n"), Var("m")), (Var("s"), Var("t")))
    result = np.zeros((1, 32), np.int32)[:, ::-1]
    program = kernel(launch(put(y, TID * y.strides[1], TID)), params=[y])
    sim.run(program, [result])
    assert result.tolist() == [list(range(32))]
