# SPDX-License-Identifier: Apache-2.0
"""Plans on disk: a class that any process has met is loaded, and whatever is wrong is a miss."""

import json

import numpy as np
import pytest

import axisfold as af
from axisfold.api.launches import forget
from axisfold.config import config
from axisfold.plan import planner, store, writing
from axisfold.runtime.disk import DiskCache

X = np.random.default_rng(0).random((13, 21))
CALLS = {
    "sum": lambda: af.sum(X, axis=1),
    "argmax": lambda: af.argmax(X.T, axis=0),
    "complex": lambda: af.sum(X + 2j * X, axis=0),
    "several": lambda: af.fold(X, ["mean", "max"], axis=0),
    "full": lambda: af.var(X),
    "strided": lambda: af.sum(X[::-2, ::3], axis=0),
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Keep plans in a folder, and note each that a rule writes."""
    made, real = [], writing.write
    monkeypatch.setattr(writing, "write", lambda plan: made.append(plan) or real(plan))
    monkeypatch.setattr(config, "cache_dir", tmp_path)
    anew(monkeypatch)
    yield made
    forget()


def anew(monkeypatch):
    """Forget what a new process does not know."""
    monkeypatch.setattr(planner, "_plans", {})
    forget()


@pytest.mark.parametrize("name", CALLS)
def test_a_second_process_loads_the_code(written, monkeypatch, name):
    first = CALLS[name]()
    count = len(written)
    assert count > 0
    anew(monkeypatch)
    np.testing.assert_array_equal(CALLS[name](), first)
    assert len(written) == count


def test_another_shape_of_the_class_is_served_too(written, monkeypatch):
    af.sum(X, axis=1)
    anew(monkeypatch)
    y = np.ones((17, 21))
    np.testing.assert_array_equal(af.sum(y, axis=1), np.full(17, 21.0))
    assert len(written) == 1


def test_what_is_loaded_can_still_be_read(written, monkeypatch):
    af.sum(X, axis=1)
    anew(monkeypatch)
    af.sum(X, axis=1)
    (plan,) = planner._plans.values()
    assert "for" in str(plan.compiled.ir)
    assert len(written) == 2


@pytest.mark.parametrize(
    "entry",
    [b"", b"[]", b"{}", b"\xff", json.dumps({"scalars": 3}).encode(), b'{"scalars": [["a"]]}'],
)
def test_entries_of_others_are_misses(written, monkeypatch, entry):
    af.sum(X, axis=1)
    (file,) = (config.cache_dir / "plans").iterdir()
    DiskCache(config.cache_dir / "plans").put(file.stem, entry)
    anew(monkeypatch)
    np.testing.assert_allclose(af.sum(X, axis=1), X.sum(axis=1))
    assert len(written) == 2


@pytest.mark.parametrize("kind", ["plans", "cpu"])
def test_entries_under_the_names_of_others_are_misses(written, monkeypatch, kind):
    for axis in (0, 1):
        af.sum(X, axis=axis)
    files = sorted((config.cache_dir / kind).iterdir())
    data = [file.read_bytes() for file in files]
    for file, other in zip(files, [*data[1:], data[0]], strict=True):
        file.write_bytes(other)
    anew(monkeypatch)
    for axis in (0, 1):
        np.testing.assert_allclose(af.sum(X, axis=axis), X.sum(axis=axis))


def test_code_that_is_gone_is_made_again(written, monkeypatch):
    af.sum(X, axis=1)
    for file in (config.cache_dir / "cpu").iterdir():
        file.unlink()
    anew(monkeypatch)
    np.testing.assert_allclose(af.sum(X, axis=1), X.sum(axis=1))
    assert len(written) == 2


@pytest.mark.parametrize("name", ["_fingerprint", "host_key"])
def test_compiler_and_machine_are_in_the_key(written, monkeypatch, name):
    af.sum(X, axis=1)
    anew(monkeypatch)
    monkeypatch.setattr(store, name, lambda: "another")
    af.sum(X, axis=1)
    assert len(written) == 2


def test_the_key_is_the_same_in_every_process():
    facts = [frozenset(order) for order in ([0, 8], [8, 0])]
    assert repr(facts[0]) != repr(facts[1])  # as those of text where hashes differ
    texts = set()
    for each in facts:
        store.stable_text.cache_clear()  # equal keys are one to it
        texts.add(store.stable_text((1, each)))
    assert len(texts) == 1
    assert store.stable_text((1, 2)) != store.stable_text((12,))
