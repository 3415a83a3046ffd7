# SPDX-License-Identifier: Apache-2.0
"""Memory of large results is taken over by later ones, and by nothing while somebody has it."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import axisfold
from axisfold.api import launches
from axisfold.config import config
from axisfold.interop import recycled
from axisfold.plan import sizes_cpu

ROWS = 1 << 19  # results of 2 MiB, a huge page


@pytest.fixture(autouse=True)
def small_ones_are_kept(monkeypatch):
    monkeypatch.setattr(recycled, "LARGE", 1 << 20)
    recycled._kept.clear()
    launches.forget()
    yield
    recycled._kept.clear()
    launches.forget()


def pairs(first, rows=ROWS):
    return np.arange(first, first + 2 * rows, dtype="float32").reshape(rows, 2)


def sums(first, rows=ROWS):
    return np.arange(2 * first + 1, 2 * first + 1 + 4 * rows, 4, dtype="float32")


def address(array):
    return array.__array_interface__["data"][0]


def test_a_later_result_takes_over_the_memory():
    result = axisfold.sum(pairs(0), axis=1)
    np.testing.assert_array_equal(result, sums(0))
    held = address(result)
    other = axisfold.sum(pairs(5), axis=1)
    assert not np.shares_memory(result, other)
    del result
    result = axisfold.sum(pairs(9), axis=1)
    assert address(result) == held
    np.testing.assert_array_equal(result, sums(9))
    np.testing.assert_array_equal(other, sums(5))


def test_a_view_keeps_the_memory():
    view = axisfold.sum(pairs(0), axis=1)[1::2].reshape(2, -1)
    others = [axisfold.sum(pairs(n), axis=1) for n in (3, 4)]
    assert not any(np.shares_memory(view, other) for other in others)
    np.testing.assert_array_equal(view.ravel(), sums(0)[1::2])


@pytest.mark.parametrize("flip", [1, -1])
def test_results_of_other_layouts(flip):
    x = np.arange(1 << 19, dtype="float64").reshape(2, 512, 512)[:, ::flip].transpose(2, 1, 0)
    for _ in range(2):
        np.testing.assert_array_equal(axisfold.sum(x, axis=2), x.sum(axis=2))
    assert len(recycled._kept) == 1


def test_a_block_is_neither_too_small_nor_much_too_large():
    axisfold.sum(pairs(0), axis=1)
    (block,) = recycled._kept
    for rows in (4 * ROWS, ROWS // 2):
        kept = axisfold.sum(pairs(0, rows), axis=1)
        assert block in recycled._kept
        np.testing.assert_array_equal(kept, sums(0, rows))


def test_little_is_kept(monkeypatch):
    monkeypatch.setattr(recycled, "MOST_KEPT", 5 << 20)
    several = [axisfold.sum(pairs(n), axis=1) for n in range(4)]
    del several
    assert [len(block) for block in recycled._kept] == [2 << 20, 2 << 20]


def test_small_results_and_a_switch(monkeypatch):
    assert axisfold.sum(pairs(0, 999), axis=1).flags.owndata
    axisfold.sum(pairs(0), axis=1)
    result = axisfold.sum(pairs(0), axis=1)
    monkeypatch.setattr(config, "keep_results", False)
    assert axisfold.sum(pairs(1), axis=1).flags.owndata
    np.testing.assert_array_equal(result, sums(0))
    del result
    assert recycled._kept == []


@pytest.mark.parametrize("advice", ["MADV_HUGEPAGE", "MADV_FREE"])
def test_a_system_that_refuses(monkeypatch, advice):
    monkeypatch.setattr(recycled.mmap, advice, 12345)
    for n in range(2):
        np.testing.assert_array_equal(axisfold.sum(pairs(n), axis=1), sums(n))
    assert len(recycled._kept) == (advice == "MADV_HUGEPAGE")


def test_no_memory_is_an_error_of_numpy(monkeypatch):
    def refuse(*args, **options):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(recycled.mmap, "mmap", refuse)
    assert axisfold.sum(pairs(0), axis=1).flags.owndata


def test_threads_share_nothing():
    wrong = []

    def work(first):
        x, wanted = pairs(first), sums(first)
        wrong.extend(
            first for _ in range(10) if not np.array_equal(axisfold.sum(x, axis=1), wanted)
        )

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 1 <= len(recycled._kept) <= 4


def test_a_process_ends_with_results_that_are_alive():
    text = (
        "import numpy as np, axisfold\n"
        "from axisfold.interop import recycled\n"
        "recycled.LARGE = 1 << 19\n"
        "r = axisfold.sum(np.ones((1 << 18, 2), 'float32'), axis=1)\n"
        "axisfold.kept = [axisfold.sum(np.ones((1 << 18, 2), 'float32'), axis=1)]\n"
        "print(r.flags.owndata, r.sum())\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False 524288.0\n", "")


def test_results_that_are_written_past_the_caches_begin_a_line():
    assert recycled.LARGE <= sizes_cpu.LARGE_RESULTS
