# SPDX-License-Identifier: Apache-2.0
"""Plans: which rule takes which layout, and how rarely anything is compiled."""

from __future__ import annotations

import gc
import sys
import threading
from contextlib import nullcontext

import numpy as np
import pytest

import axisfold
from axisfold.api.launches import forget, launches
from axisfold.config import config
from axisfold.plan import planner, writing
from axisfold.tensor.reducer import Reducer


@pytest.fixture
def plans(monkeypatch):
    """Plan everything anew, and note each plan that is made."""
    made = []
    real = planner.make_plan

    def noted(*args):
        made.append(real(*args))
        return made[-1]

    monkeypatch.setattr(planner, "make_plan", noted)
    monkeypatch.setattr(planner, "_plans", {})
    monkeypatch.setattr(config, "cache_dir", None)
    forget()
    return made


def ones(*shape):
    return np.ones(shape, "float32")


ANY_STRIDES = ones(64, 1200)[:, ::2]


@pytest.mark.parametrize(
    ("x", "axis", "rule"),
    [
        (ones(64, 600), None, "full"),
        (np.asfortranarray(ones(64, 600)), None, "full"),
        (ones(64, 600)[::-1, ::-1], None, "full"),
        (ones(64, 600), 1, "row"),
        (ones(64, 600).T, 0, "row"),
        (ones(64, 20000), 0, "column"),
        (ones(64, 20000).T, 1, "column"),
        (ones(8, 64, 20000), (0, 1), "column"),
        (ANY_STRIDES, 1, "row"),
    ],
)
def test_the_rule_for_a_layout(plans, x, axis, rule):
    axisfold.sum(x, axis=axis)
    (plan,) = plans
    assert plan.rule.name.startswith(rule)
    assert plan.rule.reason


def test_ordered_reducers_are_never_split(plans):
    ordered = Reducer("o", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s, facts=("ordered",))
    for axis in (0, 1, None):
        axisfold.fold(ones(64, 600), ordered, axis=axis)
    assert {p.rule.name for p in plans} == {"general"}


def test_a_new_size_of_a_known_layout_is_not_compiled(plans):
    for rows, columns in ((64, 9000), (65, 9000), (20, 20001), (200, 8500), (30, 8193)):
        axisfold.sum(np.ones((rows, columns)), axis=0)
    assert len(plans) == 1
    for rows, columns in ((64, 9000), (65, 9001), (2, 20001), (1000, 8500)):
        axisfold.sum(np.ones((rows, columns)), axis=1)
    assert len(plans) == 2
    for n in (5000, 9000, 123_457):
        axisfold.sum(np.ones(n))
    assert len(plans) == 3


def test_a_layout_has_a_few_size_classes(plans):
    for n in (5, 5000, 1 << 18, 600_001, 1 << 22, 4_200_001):
        assert axisfold.sum(np.ones(n)) == n
    assert [p.rule.name for p in plans] == ["full", "long_row", "long_row"]
    plans.clear()
    for rows, columns in ((3, 5000), (16, 1025), (17, 5000), (2045, 1025), (2048, 1025)):
        assert (axisfold.sum(np.ones((rows, columns)), axis=0) == rows).all()
    assert [p.rule.name for p in plans] == ["shallow_column", "column_in_cache", "column_parts"]


def test_views_of_one_layout_share_a_kernel(plans):
    x = np.ones((40, 6, 9000))
    for view in (x, x[::2], x[:, ::3], x[::-1], x[3:5], x[:, :, ::-1]):
        assert (axisfold.sum(view, axis=2) == 9000).all()
    # Kept axes that merge are one axis: at most two numbers of kept axes occur.
    assert len(plans) <= 2


def test_eight_threads_with_new_and_known_signatures(plans):
    names = ("sum", "mean", "min", "argmax", "var")
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-9, 9, (rows, 33)).astype("float32") for rows in range(1, 9)]
    start, wrong = threading.Barrier(8), []

    def work(number):
        start.wait()
        for turn in range(40):
            name, x = names[(number + turn) % 5], arrays[(number * 3 + turn) % 8]
            axis = (None, 0, 1)[turn % 3]
            try:
                got = getattr(axisfold, name)(x, axis=axis)
                np.testing.assert_allclose(
                    got, getattr(np, name)(x, axis=axis), rtol=1e-5, atol=1e-6
                )
            except Exception as error:  # noqa: BLE001  # reported by the main thread
                wrong.append((name, x.shape, axis, error))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    keys = [(p.rule.name, p.layout, id(p.graph)) for p in plans]
    assert len(keys) == len(set(keys))


def test_threads_that_meet_at_one_new_signature_compile_it_once(plans, monkeypatch):
    build = sys.modules["axisfold.build"]  # the attribute of the package is its function
    compiled = []
    real = build.compile_llvm

    def slow(text, name, **options):
        compiled.append(name)
        return real(text, name, **options)

    monkeypatch.setattr(build, "compile_llvm", slow)
    x, start, results = ones(50, 77), threading.Barrier(8), []

    def work():
        start.wait()
        results.append(axisfold.sum(x, axis=1).tolist())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[77.0] * 50] * 8
    assert len(plans) == len(compiled) == 1


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("is_enabled", [True, False])
def test_no_collection_of_cycles_while_a_kernel_is_made(plans, monkeypatch, is_enabled, fails):
    seen, real = [], writing.write

    def watched(plan):
        seen.append(gc.isenabled())
        if fails:
            raise MemoryError
        return real(plan)

    monkeypatch.setattr(writing, "write", watched)
    was_enabled = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        with pytest.raises(MemoryError) if fails else nullcontext():
            axisfold.sum(ones(64, 600), axis=1)
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert seen == [False]


def test_the_memory_of_calls_is_bounded(monkeypatch):
    from axisfold.api import launches as module

    monkeypatch.setattr(module, "MAX_SIGNATURES", 8)
    forget()
    for n in range(1, 40):
        assert axisfold.sum(np.ones(n)) == n
        assert len(launches) <= 8
    for n in range(1, 40):
        assert axisfold.fold(np.ones(n), "sum") == n
        assert len(launches) <= 8
