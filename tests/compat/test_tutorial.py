# SPDX-License-Identifier: Apache-2.0
"""The reduction tutorial of the te era prints the programs that it printed then.

The texts of ``programs/`` are the tutorial's own, but for three: ``bound_to_threads.txt``, which
differs as the test below says, ``cross_thread.txt`` and ``product.txt``, which it does not show.
"""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
PRINTED = (
    "row_sum", "two_splits", "bound_to_threads", "rfactor", "body", "cross_thread", "cuda",
    "convolution", "product",
)  # fmt: skip
START = re.compile(r"^(?=primfn|\[reduce|no NVIDIA driver|/\* )", re.MULTILINE)


@pytest.fixture(scope="module")
def printed():
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        runpy.run_path(str(ROOT / "examples" / "te" / "reduction_tutorial.py"))
    parts = [part.strip("\n") + "\n" for part in START.split(text.getvalue()) if part]
    return dict(zip(PRINTED, parts, strict=True))


def wanted(name):
    return (PROGRAMS / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [n for n in PRINTED if n != "cuda"])
def test_prints_the_program(printed, name):
    assert printed[name] == wanted(name)


def test_bound_program_has_the_statements_of_the_tutorial():
    # There the guard of the row is asked again in every round of the loops over k; here, as in the
    # program before it, once outside of them.
    def statements(name):
        return sorted(line.strip() for line in wanted(name).splitlines())

    assert statements("bound_to_threads") == statements("bound_to_threads.seed")


def test_store_after_all_reduce_is_guarded_by_the_row(printed):
    # The kernel that the tutorial shows stores B[blockIdx.x*32 + threadIdx.y] of every thread row,
    # also past the end where n is not a multiple of 32.
    store = "if ((threadIdx.x == 0) && (((blockIdx.x*32) + threadIdx.y) < n)) {\n        B_2["
    assert store in printed["cross_thread"]
    assert "@tir.tvm_thread_allreduce(1u32" in printed["cross_thread"]


def test_cuda_prints_its_source_or_says_in_a_sentence_that_there_is_no_gpu(printed):
    text = printed["cuda"]
    assert "__global__" in text or text.endswith("[axisfold-X302]\n")
