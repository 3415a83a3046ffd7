# SPDX-License-Identifier: Apache-2.0
"""Plans for GPUs on disk: a process that meets a known class only loads machine code."""

import json
from dataclasses import replace

import numpy as np
import pytest
from cuda_support import Interface, install

import axisfold as af
from axisfold.api.device import target_of
from axisfold.api.launches import forget
from axisfold.config import config
from axisfold.errors import InternalError
from axisfold.ir.expr import Const, Var
from axisfold.ir.stmt import Kernel, Store
from axisfold.plan import planner, store
from axisfold.runtime.cuda import compile as compiler
from axisfold.runtime.cuda import hosttext
from axisfold.runtime.disk import DiskCache

ADDRESS = 1 << 40
CARD = {
    "MULTIPROCESSOR_COUNT": 132, "L2_CACHE_SIZE": 50 << 20, "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
}  # fmt: skip


class Process:
    """What a process knows, and what it does."""

    def __init__(self, monkeypatch):
        self.monkeypatch, self.written = monkeypatch, []
        real = planner._write
        monkeypatch.setattr(planner, "_write", lambda p: self.written.append(p) or real(p))
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


def test_only_what_a_host_does_is_written():
    n = Var("n")
    kernel = Kernel("bad", (), (), Store(None, n, Const(1, n.dtype)))
    with pytest.raises(InternalError) as caught:
        hosttext.save(kernel, {})
    assert caught.value.code == "I204"
