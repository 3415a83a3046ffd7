# SPDX-License-Identifier: Apache-2.0
"""Places of truth values: the first one that is wanted ends the fold."""

import re

import numpy as np
import pytest

import axisfold as af
from axisfold.api.catalog.extremes import FIRST_FALSE, FIRST_TRUE
from axisfold.runtime.cpu import host_vector_bytes

# A run of bytes, and a part of four runs, of which threads take some.
RUN = 4 * (8192 - 64)
LENGTH = 32 * RUN + 5 * RUN + 77
EDGES = [0, 1, RUN - 1, RUN, 4 * RUN - 1, 4 * RUN, 32 * RUN - 1, 32 * RUN, LENGTH - 1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["argmax", "nanargmax"])
def test_every_edge(plans, monkeypatch, name, threads):
    monkeypatch.setattr(af.config, "threads", threads)
    opposite = name.replace("max", "min")
    x = np.zeros(LENGTH, bool)
    assert getattr(af, name)(x) == getattr(af, opposite)(~x) == 0
    for place in EDGES:
        for later in (place, LENGTH - 1):
            x[[place, later]] = True
            assert getattr(af, name)(x) == place
            assert getattr(af, opposite)(~x) == place
            x[[place, later]] = False
    assert {p.rule.name for p in plans} == {"first_row"}
    for p in plans:  # parts after the first one that has it are not begun; bytes are searched by 64
        text = str(p.compiled.device)
        assert re.search(r'"parallel" until \(\(int64\*\)state.stop\[0i64\] < ', text)
        lanes = host_vector_bytes()
        assert f"1i64, {lanes})] == broadcast((bool*)tile0[0i64], {lanes})" in text


@pytest.mark.parametrize("length", [3, 1023, 1025, 4100, 1 << 18])
def test_rows_side_by_side(plans, length):
    x = np.zeros((4 * 3 + 3, length), bool)
    x[np.arange(1, 14), np.arange(1, 14) * 41 % length] = True
    x[5:8, -1] = True
    for y in (x, ~x, x[:, ::-1]):
        np.testing.assert_array_equal(af.argmax(y, 1), y.argmax(1))
        np.testing.assert_array_equal(af.argmin(y, 1), y.argmin(1))
    assert {p.rule.name for p in plans} == {"stopping_rows"}


def test_other_axes_and_views():
    x = np.random.default_rng(5).random((31, 70, 5)) < 0.02
    for y in (x, ~x.T, x[::-1, :, ::2], x[:1, :1, :1]):
        for axis in (None, 0, 1, 2):
            np.testing.assert_array_equal(af.argmax(y, axis), y.argmax(axis))
            np.testing.assert_array_equal(af.argmin(y, axis), y.argmin(axis))


def test_beside_others_nothing_ends(plans):
    x = np.arange(70_000) % 1000 == 999
    assert af.fold(x, ["argmax", "argmin", "count_nonzero"]) == (999, 0, 70)
    assert af.argmax(x, where=x) == 999
    assert all(p.rule.name != "first_row" for p in plans)


@pytest.mark.parametrize("reducer", [FIRST_TRUE, FIRST_FALSE], ids=["true", "false"])
def test_laws(reducer):
    af.check_reducer(reducer, "bool", examples=10, kernels=False)
