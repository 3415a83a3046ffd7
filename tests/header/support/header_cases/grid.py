# SPDX-License-Identifier: Apache-2.0
"""Whole arrays in one launch: grid_fold and the fold by the last block; clusters."""

import numpy as np
import pytest
from header_support import KERNELS, Machine

from header_cases.oracle import AFFINE, affine, composed, same_affine

SOURCE = KERNELS / "grid.cu"
CLUSTER = KERNELS / "cluster.cu"
FOLDS = [
    ("sum_f32", "f4", "f8", np.add),
    ("sum_i32", "i4", "i8", np.add),
    ("sum_i8", "i1", "i8", np.add),
    ("sum_i64", "i8", "i8", np.add),
    ("max_u16", "u2", "i8", np.maximum),
]


@pytest.mark.parametrize(("kernel", "dtype", "state", "ufunc"), FOLDS)
@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (1, 96), (5, 64), (7, 45)])
def test_arrays_of_any_length_and_alignment(
    machine: Machine,
    kernel: str,
    dtype: str,
    state: str,
    ufunc: np.ufunc,
    blocks: int,
    threads: int,
) -> None:
    draw = np.random.default_rng(blocks)
    for count in (0, 1, 2, 3, 15, 16, 17, 100, 1023, 5000):
        for offset in (0, 1, 3):
            # What lies around the array would show in the result.
            if dtype == "f4":
                x = np.full(count + offset + 20, np.nan, "f4")
                x[offset : offset + count] = draw.integers(-999, 999, count)
            else:
                x = np.full(count + offset + 20, np.iinfo(dtype).max, dtype)
                x[offset : offset + count] = draw.integers(0, 100, count, dtype=dtype)
            out, ticket = np.full(1, -7, state), np.zeros(1, "u4")
            partials = np.full(blocks, -1, state)
            where = (np.int64(offset), np.int64(count))
            machine.launch(SOURCE, kernel, blocks, threads, x, *where, out, partials, ticket)
            data = x[offset : offset + count].astype(state)
            empty = 0 if ufunc is np.add else np.iinfo("i8").min
            assert out[0] == (ufunc.reduce(data) if count else empty), (count, offset)
            assert ticket[0] == 0, "the ticket must be ready for the next launch"


@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (3, 40), (40, 32), (130, 64), (300, 33)])
def test_the_last_block_keeps_the_order(machine: Machine, blocks: int, threads: int) -> None:
    x = affine(blocks * threads, blocks)
    out, partials = np.zeros(1, AFFINE), np.zeros(blocks, AFFINE)
    ticket = np.zeros(1, "u4")
    machine.launch(SOURCE, "ordered", blocks, threads, x, out, partials, ticket)
    assert same_affine(out[0], composed(x))
    machine.launch(SOURCE, "ordered", blocks, threads, x, out, partials, ticket)
    assert same_affine(out[0], composed(x))


def test_a_ticket_for_each_row(machine: Machine) -> None:
    x = np.random.default_rng(2).integers(0, 256, (5, 4 * 50, 7), dtype=np.uint8)
    out, partials = np.zeros((5, 7), "u1"), np.zeros((5, 4, 7), "u1")
    machine.launch(SOURCE, "rows", (4, 5), 50, x, out, partials, np.zeros(5, "u4"))
    assert (out == x.sum(axis=1, dtype="u1")).all()


@pytest.mark.parametrize("cluster", [1, 2, 4, 8])
@pytest.mark.parametrize("threads", [32, 64, 100])
def test_clusters(machine: Machine, cluster: int, threads: int) -> None:
    blocks = 2 * cluster
    x = affine(blocks * threads, cluster)
    first, everyone = np.zeros(2, AFFINE), np.zeros(blocks * threads, AFFINE)
    machine.launch(CLUSTER, "compose_cluster", blocks, threads, x, first, everyone, cluster=cluster)
    for c in range(2):
        mine = slice(c * cluster * threads, (c + 1) * cluster * threads)
        expected = composed(x[mine])
        assert same_affine(first[c], expected)
        assert all(same_affine(item, expected) for item in everyone[mine])


def test_cluster_reductions_in_a_row(machine: Machine) -> None:
    x = np.arange(4 * 50, dtype="f8")
    everyone = np.zeros(200)
    machine.launch(CLUSTER, "sum_cluster", 4, 50, x, everyone, cluster=4)
    assert (everyone == x.sum() + 2 * 200).all()
