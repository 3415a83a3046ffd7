# SPDX-License-Identifier: Apache-2.0
"""Run every rule for CPUs as on an x86 machine with narrower vectors, and print what was reached.

``python narrower.py CPU CACHE`` sets what the package knows of this machine, so it is a process of
its own.  It prints the bytes of a vector and the names of rules, reached and all, as JSON.
"""

import json
import sys
from pathlib import Path

import numpy as np

import axisfold
from axisfold.api import fold
from axisfold.config import config
from axisfold.plan import planner, rules_cpu, rules_spread_cpu, sizes_cpu
from axisfold.runtime import cpu

# What each CPU lacks.  A name alone would bring what this machine may lack.
WITHOUT = {
    "znver3": ("avx512", "avx10", "amx"),
    "nehalem": ("avx", "amx", "fma", "f16c", "bmi", "lzcnt", "movbe", "vaes", "vpclmulqdq", "gfni"),
}
LONG = (1 << 18) + 77
CASES = [
    ("sum", "float32", (10_001, 5), 1),
    ("max", "float32", (4101, 8), 1),
    ("sum", "float64", (20_011, 16), 1),
    ("argmax", "float32", (4099, 8), 1),
    ("any", "bool", (LONG,), None),
    ("argmax", "bool", (70_001,), None),
    ("all", "bool", (9, 77), 1),
    ("argmax", "int8", (LONG,), None),
    ("sum", "int8", (LONG,), None),
    ("sum", "float16", (LONG,), None),
    ("argmin", "float32", (LONG,), None),
    ("var", "float32", (LONG,), None),
    ("logsumexp", "float32", (9, 3001), 1),
    ("var", "float32", (9, 3001), 1),
    ("argmax", "float32", (70_001,), None),
    ("var", "float64", (7, 5001), 1),
    ("max", "float32", (LONG,), None),
    ("sum", "float64", (9999,), None),
    ("sum", "float32", (1031, 77), 1),
    ("max", "int16", (1031, 77), 1),
    ("sum", "float32", (3, 1032, 77), (0, 2)),
    ("max", "float64", (19, 777), 1),
    ("sum", "float32", (11_003, 3), 0),
    ("count_nonzero", "int16", (1300, 77), 0),
    ("logsumexp", "float32", (40, 1031), 0),
    ("argmax", "float32", (2100, 1201), 0),
    ("var", "float32", (300, 1501), 0),
    ("sum", "float32", (7, 1031), 0),
    ("sum", "float32", (2100, 1201), 0),
    ("max", "int8", (99, 1001), 0),
    ("sum", "float32", (300, 9001), 0),
    ("softmax", "float32", (9, 1031), 1),
    ("softmax", "float32", (301, 77), 0),
    ("softmax", "float64", (301, 77), 0),
]
# Of these all but the last three columns are folded, so that there are gaps between rows.
WITH_GAPS = [
    ("any", "bool", (301, 80)),
    ("argmax", "float32", (301, 80)),
    ("sum", "float32", (301, 80)),
    ("var", "float32", (301, 80)),
]


def drawn(dtype, shape):
    rng = np.random.default_rng(5)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    return (rng.standard_normal(shape) * 9).astype(dtype)


def wanted(name, x, axis):
    wide = x.astype("f8") if x.dtype.kind == "f" else x
    if name == "logsumexp":
        return np.logaddexp.reduce(wide, axis)
    if name == "softmax":
        return np.exp(wide - np.logaddexp.reduce(wide, axis, keepdims=True))
    return getattr(np, name)(wide, axis=axis)


def main(name, folder):
    config.cache_dir = Path(folder)
    features = [
        f"-{f[1:]}" if f[1:].startswith(WITHOUT[name]) else f for f in cpu._host()[1].split(",")
    ]
    cpu._state["host"] = (name, ",".join(features))
    reached, real = set(), planner.plan

    def noted(*arguments):
        plan = real(*arguments)
        reached.add(plan.rule.name)
        return plan

    fold.plan, sizes_cpu.HUGE_ROW = noted, 1 << 18  # so that rows of a small array are far
    cases = [(function, drawn(dtype, shape), axis) for function, dtype, shape, axis in CASES]
    cases += [(function, drawn(dtype, shape)[:, :-3], None) for function, dtype, shape in WITH_GAPS]
    for function, x, axis in cases:
        found = getattr(axisfold, function)(x, axis=axis)
        scale = np.abs(x.astype("f8")).sum() if function == "sum" else 1.0
        np.testing.assert_allclose(
            found, wanted(function, x, axis), 1e-6, 1e-7 * scale, err_msg=f"{function} {x.shape}"
        )
    rules = (*rules_cpu.RULES, *rules_spread_cpu.RULES)
    result = [cpu.host_vector_bytes(), sorted(reached), [r.name for r in rules]]
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
