# SPDX-License-Identifier: Apache-2.0
"""Every backend computes what docs/semantics.md says: one table holds all of them to it."""

import ctypes
from typing import get_args

import pytest
from c_support import compiler
from semantics_support.programs import programs
from semantics_support.table import DTYPES, TABLE, in_machine_code
from te_support.kernels import run as run_machine_code

from axisfold import sim
from axisfold.analysis.simplify import simplify
from axisfold.ir.expr import BinaryOp, CompareOp, Const
from axisfold.ir.intrinsics import INTRINSICS, takes
from axisfold.ir.verify import _OPERATIONS, verify


@pytest.mark.parametrize("lanes", [1, 4])
def test_sim(lanes):
    for program in programs(TABLE, form="threads", lanes=lanes):
        arrays = program.arrays()
        verify(program.kernel, level="threads")
        sim.run(program.kernel, arrays)
        program.check(arrays[len(program.inputs) :])


@pytest.mark.parametrize("lanes", [1, 3, 4])
def test_machine_code(lanes):
    for program in programs([in_machine_code(row) for row in TABLE], lanes=lanes):
        arrays = program.arrays()
        verify(program.kernel, level="device")
        run_machine_code(program.kernel, *arrays)
        program.check(arrays[len(program.inputs) :])


def test_c(tmp_path):
    made = list(programs(TABLE))
    path = compiler.compiled([p.kernel for p in made], tmp_path, "-O1")
    library = ctypes.CDLL(str(path))
    for program in made:
        arrays = program.arrays()
        places = range(len(program.inputs), len(arrays))
        arguments = [compiler.Argument.of(a) for a in arrays]
        call = compiler.Call(program.kernel, arguments, [], list(places))
        program.check(compiler.results_of_c(library, call))


def test_constants_fold_to_what_would_be_computed():
    folded = 0
    for row in TABLE:
        for n in range(0, len(row.expected), 7):
            values = [v[n] for v in row.operands.values]
            constants = [Const(v, d) for v, d in zip(values, row.operands.dtypes, strict=True)]
            simple = simplify(row.make(*constants))
            if isinstance(simple, Const):
                folded += 1
                assert row.agrees(simple.value, row.expected[n], n), (
                    f"{row.name} of {values}: {simple}"
                )
    assert folded > 5000


def test_the_table_has_every_operation_of_every_dtype():
    wanted = {f"{op} {d}" for d in DTYPES for op in (*_OPERATIONS[d.kind], *get_args(CompareOp))}
    wanted |= {f"cast {a} to {b}" for a in DTYPES for b in DTYPES}
    wanted |= {f"{name} {d}" for d in DTYPES for name in ("select", "if_then_else")}
    wanted |= {
        f"{row.name} {d}"
        for row in INTRINSICS.values()
        for d in DTYPES
        if takes(row, d) and row.takes != "any"
    }
    wanted |= {"not bool", "likely bool", *(f"abs {d}" for d in DTYPES if not d.is_bool)}
    assert wanted <= {row.name for row in TABLE}
    assert {op for ops in _OPERATIONS.values() for op in ops} == set(get_args(BinaryOp))
