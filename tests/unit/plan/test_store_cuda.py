# SPDX-License-Identifier: Apache-2.0
"""Plans for GPUs on disk: a process that meets a known class only loads machine code."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from cuda_support import Interface, install

import axisfold as af
from axisfold.api.device import target_of
from axisfold.api.launches import forget
from axisfold.config import config
from axisfold.dtypes import INT64, parse
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Const, Reciprocal, Var
from axisfold.ir.stmt import Kernel, Launch, Let, Store
from axisfold.plan import planner, store, writing
from axisfold.runtime.cuda import compile as compiler
from axisfold.runtime.cuda import hosttext
from axisfold.runtime.cuda.hostplan import Entry, plan_host
from axisfold.runtime.disk import DiskCache

ADDRESS = 1 << 40
CARD = {
    "MULTIPROCESSOR_COUNT": 132, "L2_CACHE_SIZE": 50 << 20, "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
}  # fmt: skip


class Process:
    """What a process knows, and what it does."""

    def __init__(self, monkeypatch):
        self.monkeypatch, self.written = monkeypatch, []
        real = writing.write
        monkeypatch.setattr(writing, "write", lambda p: self.written.append(p) or real(p))
        self.start()

    def start(self, **card):
        """Forget what a new process does not know."""
        self.driver = install(self.monkeypatch, **(CARD | card))
        self.monkeypatch.setattr(planner, "_plans", {})
        self.written.clear()
        compiler.clear_memory()
        target_of.cache_clear()
        forget()

    def first_binary(self):
        """Return what is launched by the first plan."""
        return next(iter(planner._plans.values())).binary

    def launches(self, function, *shape, axis):
        """Fold an array that is on no device, and return what the driver was told."""
        self.driver.places[ADDRESS] = 0
        self.driver.calls.clear()
        function(Interface(np.empty(shape, "f4"), ADDRESS), axis)
        return [call for call in self.driver.calls if call[0] in ("launch", "set")]


@pytest.fixture
def process(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "cache_dir", tmp_path)
    yield Process(monkeypatch)
    target_of.cache_clear()
    forget()


def full_sum(process):
    """A launch of several blocks with a workspace, some of which starts as zeros."""
    return process.launches(af.sum, 1 << 20, axis=None)


def test_a_second_process_loads_the_code(process, monkeypatch):
    first = full_sum(process), process.launches(af.max, 1000, 700, axis=1)
    other = process.launches(af.max, 1004, 700, axis=1)
    assert len(process.written) == 2
    process.start()
    monkeypatch.setattr(compiler, "_nvrtc", lambda: pytest.fail("the compiler is not needed"))
    assert (full_sum(process), process.launches(af.max, 1000, 700, axis=1)) == first
    assert process.launches(af.max, 1004, 700, axis=1) == other
    assert not process.written


def test_whatever_is_wrong_on_disk_is_made_again(process):
    right = full_sum(process)
    (file,) = (config.cache_dir / "plans").iterdir()
    (code,) = (config.cache_dir / "cuda").iterdir()
    disk, key = DiskCache(config.cache_dir / "plans"), file.stem
    whole = json.loads(disk.get(key))
    for changes in (
        None, [], {"code": "none"}, {"code": 3}, {"params": [99]}, {"rows": [[["unknown"], []]]},
        {"rows": [[["const", 1, "no dtype"], []]]}, {"body": ["launch"]}, {"buffers": 3},
    ):  # fmt: skip
        entry = whole | changes if isinstance(changes, dict) else changes
        disk.put(key, json.dumps(entry).encode())
        assert store.find_binary(key, "sm_90") is None
    process.start()
    assert full_sum(process) == right
    assert len(process.written) == 1
    assert json.loads(disk.get(key)) == whole
    code.write_bytes(code.read_bytes()[:-1])
    process.start()
    assert full_sum(process) == right
    assert len(process.written) == 1


@pytest.mark.parametrize("other", [{"MULTIPROCESSOR_COUNT": 66}, {"COMPUTE_CAPABILITY_MINOR": 1}])
def test_another_card_has_plans_of_its_own(process, monkeypatch, other):
    keys = []
    real = store.plan_key
    monkeypatch.setattr(planner, "plan_key", lambda *parts: keys.append(real(*parts)) or keys[-1])
    full_sum(process)
    binary = process.first_binary()
    monkeypatch.setattr(planner, "find_binary", lambda key, arch: replace(binary, arch=arch))
    for card in (other, {}):
        process.start(**card)
        full_sum(process)
    assert keys[0] == keys[2] != keys[1]


def test_another_version_of_nvrtc_has_plans_of_its_own(process, monkeypatch, tmp_path):
    full_sum(process)
    here = compiler.installed_nvrtc()
    assert "cuda_bindings" in here
    (tmp_path / "nvidia_cuda_nvrtc-99.1.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path), str(tmp_path / "none")])
    compiler.installed_nvrtc.cache_clear()
    try:
        assert compiler.installed_nvrtc() == f"{here}, nvidia_cuda_nvrtc-99.1.dist-info"
        for count in (1, 0):  # not found, then found
            process.start()
            full_sum(process)
            assert len(process.written) == count
    finally:
        compiler.installed_nvrtc.cache_clear()


def test_values_of_the_host_are_the_same_after_the_disk():
    m, n = Var("m", INT64), Var("n", INT64)
    small = build.cast("uint32", n)
    value = build.select(
        m < 5, n // 3, build.cast("int64", Reciprocal("shift", small, parse("uint32")))
    )
    more = build.cast("int64", Reciprocal("multiplier", small, parse("uint32")))
    out = Buffer("out", INT64, (m,))
    store_it = Store(out, Const(0, INT64), Const(0, INT64))
    launch = Launch("k", ("blockIdx.x",), (Var("blockIdx.x", INT64),), (m,), store_it, 0)
    p, q = Var("p", INT64), Var("q", INT64)
    body = Let(p, value, Let(q, more, launch))
    kernel = Kernel("k", (Buffer("x", INT64, (m, n)), out), (out,), body)
    entries = {launch: Entry("k", (out,), (p, q))}
    document = json.loads(json.dumps(hosttext.save(kernel, entries)))
    loaded, found = hosttext.load(document)
    theirs = loaded.params[0].shape
    for pair in ((3, 7), (9, 1000), (1, 1)):
        plans = [
            plan_host(k, e, dict(zip(axes, pair, strict=True)))
            for k, e, axes in ((kernel, entries, (m, n)), (loaded, found, theirs))
        ]
        assert plans[0].launches[0].scalars == plans[1].launches[0].scalars


def test_only_what_a_host_does_is_written():
    n = Var("n")
    kernel = Kernel("bad", (), (), Store(None, n, Const(1, n.dtype)))
    with pytest.raises(InternalError) as caught:
        hosttext.save(kernel, {})
    assert caught.value.code == "I204"
