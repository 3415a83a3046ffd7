# SPDX-License-Identifier: Apache-2.0
"""Bank conflicts of patterns whose degree is known."""

import numpy as np
import pytest

from axisfold.sim.banks import conflict_degree

LANES = np.arange(32)


def of(addresses, itemsize=4, threads=LANES):
    return conflict_degree(np.asarray(threads), np.asarray(addresses), itemsize)


@pytest.mark.parametrize(
    ("stride", "degree"),
    [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (6, 2), (8, 8), (16, 16), (31, 1), (32, 32), (33, 1),
     (64, 32)],
)  # fmt: skip
def test_strides_of_words(stride, degree):
    assert of(LANES * stride * 4) == degree


def test_a_column_of_a_tile_and_its_padding():
    assert of(LANES * 32 * 4 + 20) == 32
    assert of(LANES * 33 * 4 + 20) == 1


def test_warps_are_served_one_after_the_other():
    threads = np.arange(1024)
    assert of(threads * 4, threads=threads) == 1
    assert of(np.where(threads < 512, threads, 2 * threads) * 4, threads=threads) == 2


def test_bytes_of_a_word_are_shared():
    assert of(LANES, itemsize=1) == 1
    assert of(LANES * 2, itemsize=2) == 1
    assert of(LANES * 128, itemsize=1) == 32


@pytest.mark.parametrize(("stride", "degree"), [(1, 1), (2, 2), (16, 16), (17, 1)])
def test_doubles_go_by_half_warps(stride, degree):
    assert of(LANES * stride * 8, itemsize=8) == degree


@pytest.mark.parametrize(("itemsize", "count"), [(4, 4), (8, 2), (2, 8)])
def test_vectors_of_16_bytes_go_by_quarters(itemsize, count):
    threads = np.repeat(LANES, count)
    places = np.tile(np.arange(count), 32) * itemsize
    assert of(threads * 16 + places, itemsize, threads) == 1
    assert of(threads * 32 + places, itemsize, threads) == 2


def test_wider_vectors_are_several_accesses():
    threads, place = np.repeat(LANES, 8), np.tile(np.arange(8), 32)
    assert of(threads * 32 + place * 4, 4, threads) == 2
    assert of(threads * 48 + place * 4, 4, threads) == 1


def test_lanes_in_any_order():
    order = np.random.default_rng(0).permutation(64)
    addresses = np.where(order < 32, order, 4 * order) * 4
    assert of(addresses, threads=order) == 4


def test_nobody_and_one():
    assert of([], threads=np.zeros(0, int)) == 1
    assert of([40], threads=[7]) == 1
