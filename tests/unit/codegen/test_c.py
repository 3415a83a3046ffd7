# SPDX-License-Identifier: Apache-2.0
"""The C that is printed compiles without a warning and does what LLVM's code does, bit for bit."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_support import compiler, operations, programs, statements

from axisfold import te
from axisfold.build import CSource, build
from axisfold.codegen.c import emit_kernel
from axisfold.codegen.c.spelling import constant
from axisfold.dtypes import FLOAT64
from axisfold.errors import UnsupportedError
from axisfold.ir.verify import verify
from axisfold.target import Target, parse

SANITIZED = ["-O0", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"]


def sanitizer():
    """Return the address sanitizer's library, None where gcc brings none."""
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return found if Path(found).is_absolute() else None


def checked_results(calls, folder):
    """Return results of C code that stops at whatever C leaves undefined."""
    asan = sanitizer()
    library = compiler.compiled(
        [c.kernel for c in calls], folder, *(SANITIZED if asan else ["-O1"])
    )
    # The interpreter keeps memory until it ends, which is no leak of ours.
    environment = {"LD_PRELOAD": asan, "ASAN_OPTIONS": "detect_leaks=0"} if asan else {}
    return compiler.results_in_process(library, calls, folder, environment)


def test_every_operation_on_every_dtype(tmp_path):
    cases = operations.all_calls()
    calls = [call for call, _ in cases]
    found, wanted = checked_results(calls, tmp_path), compiler.results_of_llvm(calls)
    for (call, labels), ours, theirs in zip(cases, found, wanted, strict=True):
        for label, a, b in zip(labels, ours, theirs, strict=True):
            if label in operations.LIBRARY:
                np.testing.assert_allclose(a, b, rtol=4 * np.finfo(a.dtype).eps, err_msg=label)
            else:
                compiler.assert_same_bits(a, b, f"{call.kernel.name}, {label}")


@pytest.fixture(scope="module")
def program_calls():
    return {
        (program.__name__, any_layout): programs.calls_of(program, any_layout)
        for program in programs.PROGRAMS
        for any_layout in (False, True)
    }


@pytest.fixture(scope="module")
def library(program_calls, tmp_path_factory):
    kernels = [calls[0].kernel for calls in program_calls.values()]
    kernels.append(statements.greedy())
    path = compiler.compiled(kernels, tmp_path_factory.mktemp("c"), "-O3", "-march=native")
    return ctypes.CDLL(str(path))


def compare(name, calls, found):
    for call, ours, theirs in zip(calls, found, compiler.results_of_llvm(calls), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            if name in programs.INEXACT and a.dtype.kind == "f":
                np.testing.assert_allclose(a, b, rtol=1e-12)
            else:
                compiler.assert_same_bits(a, b, f"{name} of {call.arguments[0].shape}")


@pytest.mark.parametrize("any_layout", [False, True], ids=["declared", "backwards_misaligned"])
@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program, any_layout, program_calls, library):
    calls = program_calls[program.__name__, any_layout]
    compare(program.__name__, calls, [compiler.results_of_c(library, c) for c in calls])


def test_nothing_that_programs_do_is_undefined(program_calls, tmp_path):
    named = [(name, c) for (name, _), calls in program_calls.items() for c in calls]
    written = [make() for make in statements.ALL]
    named += [(c.kernel.name, c) for c in written]
    for call in written:
        verify(call.kernel, level="device")
    found = checked_results([c for _, c in named], tmp_path)
    for (name, call), ours in zip(named, found, strict=True):
        compare(name, [call], [ours])


def test_memory_that_is_not_there(library):
    function = compiler.c_function(library, "greedy", 1, 1)
    result = np.zeros(3)
    assert function(result.ctypes.data, 3) == 0
    np.testing.assert_array_equal(result, [0, 2, 4])
    for n in (2**32, 2**62):  # the square is too much; a single one already does not fit 64 bits
        assert function(result.ctypes.data, n) == 1


@pytest.mark.parametrize(
    ("file", "program"),
    [
        ("row_sum.c", programs.row_sum),
        ("row_sum_rfactor.c", programs.row_sum_rfactor),
        ("row_sum_vectorized.c", programs.row_sum_vectorized),
        ("argmax.c", programs.argmax),
    ],
)
def test_golden(file, program, golden):
    golden(f"c/{file}", emit_kernel(programs.kernel_of(program)[1]))


def test_names_of_c_are_left_to_c():
    source = emit_kernel(statements.awkward_names().kernel)
    assert "int32_t axisfold_main(" in source
    assert "const double *restrict double_1" in source
    assert "double *restrict v_B" in source
    assert "for (int64_t for_1 = 0;" in source
    assert "const double fabs_1 = fabs(double_1[for_1]);" in source
    assert "a_b_1 = a_b * a_b" in source


def test_constants_lose_no_digit():
    assert str(constant(0.1, FLOAT64)) == "0x1.999999999999ap-4"
    assert str(constant(-0.0, FLOAT64)) == "-0.0"
    assert str(constant(1024.5, FLOAT64)) == "1024.5"
    assert str(constant(1e300, FLOAT64)) == "0x1.7e43c8800759cp+996"


def test_a_program_uses_only_what_it_brings():
    source = emit_kernel(programs.kernel_of(programs.row_sum)[1])
    assert "static" not in source
    assert source.count("#include") == 1


def a_schedule():
    return programs.row_sum(te.var("n"), te.var("m"))


def test_build_returns_source():
    s, args = a_schedule()
    found = build(s, args, target="c", name="row_sum")
    assert isinstance(found, CSource)
    assert found.source() == emit_kernel(programs.kernel_of(programs.row_sum)[1])
    assert str(found.ir) == str(build(s, args, name="row_sum").ir)
    assert found.target == parse("c") == Target("c")


def test_source_cannot_be_called():
    s, args = a_schedule()
    with pytest.raises(UnsupportedError) as caught:
        build(s, args, "c", name="row_sum")(np.zeros((2, 2), "float32"), np.zeros(2, "float32"))
    assert str(caught.value) == (
        "kernel 'row_sum' was built for target 'c', which is source and cannot be called. "
        "Write .source() to row_sum.c and compile it (cc -std=c11 -O3 -ffp-contract=off "
        "-c row_sum.c), or build for target 'llvm'. [axisfold-X102]"
    )


def test_there_is_no_other_target():
    with pytest.raises(UnsupportedError) as caught:
        parse("hexagon")
    assert str(caught.value) == (
        "target 'hexagon' is not available in this release. Use 'llvm', 'c', 'sim', 'cuda' or "
        "'cuda -arch=sm_90'. [axisfold-X101]"
    )
