# SPDX-License-Identifier: Apache-2.0
"""Conversions of float16 in integers, beside NumPy's; tests/numeric runs a CPU that needs them."""

import numpy as np
import pytest

from axisfold.runtime import cpu
from axisfold.runtime.cpu import compile_llvm

TYPES = {"float16": "half", "float32": "float", "float64": "double"}
FUNCTIONS = {
    "__extendhfsf2": ("float16", "float32"),
    "__truncsfhf2": ("float32", "float16"),
    "__truncdfhf2": ("float64", "float16"),
}


def converted(name, x):
    source, target = FUNCTIONS[name]
    a, b = TYPES[source], TYPES[target]
    text = f"""{cpu._HALVES.read_text(encoding="utf-8")}
define i32 @f(ptr %from, ptr %to, i64 %count) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr {a}, ptr %from, i64 %i
  %x = load {a}, ptr %at
  %y = call {b} @{name}({a} %x)
  %place = getelementptr {b}, ptr %to, i64 %i
  store {b} %y, ptr %place
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret i32 0
}}
"""
    x, y = x.astype(source), np.empty(x.size, target)
    compile_llvm(text, "f").function(2, 1)(x.ctypes.data, y.ctypes.data, x.size)
    return y


def all_halves():
    return np.arange(1 << 16, dtype="uint16").view("float16")


def same(found, wanted):
    """Whether bits agree, but for those of NaN, of which the sign does."""
    bits = f"u{found.itemsize}"
    are_nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), are_nan)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    np.testing.assert_array_equal(found.view(bits)[~are_nan], wanted.view(bits)[~are_nan])


def test_all_halves_become_floats():
    same(converted("__extendhfsf2", all_halves()), all_halves().astype("float32"))


@pytest.mark.parametrize("name", ["__truncsfhf2", "__truncdfhf2"])
def test_numbers_are_rounded_once(name):
    dtype = FUNCTIONS[name][0]
    halves = all_halves().astype(dtype)
    finite = np.sort(halves[np.isfinite(halves)])
    ties = (finite[1:] + finite[:-1]) / 2
    edges = np.array([65519.996, 65520.0, 65536.0, 1e30, 1e-30, 2**-25, 3 * 2**-26], dtype)
    edges = np.concatenate([edges, np.finfo(dtype).max[None], np.finfo(dtype).tiny[None]])
    near = np.concatenate([halves, ties, edges, -edges])
    with np.errstate(all="ignore"):
        x = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
        same(converted(name, x), x.astype("float16"))
