# SPDX-License-Identifier: Apache-2.0
"""Known signatures of device arrays: what is launched, with a driver that takes notes."""

import threading
from functools import partial

import numpy as np
import pytest
from cuda_support import Interface, install

import axisfold as af
from axisfold.api import measure_cuda
from axisfold.api.device import target_of
from axisfold.api.launches import forget, launches
from axisfold.config import config
from axisfold.plan import planner

ADDRESS = 1 << 40
CARD = {
    "MULTIPROCESSOR_COUNT": 4, "L2_CACHE_SIZE": 8 << 20, "MAX_THREADS_PER_MULTIPROCESSOR": 1024,
}  # fmt: skip
FUNCTIONS = {
    "one array, one result": (partial(af.sum, axis=1), 1),
    "the index has no memory": (partial(af.argmax, axis=1), 1),
    "two results": (partial(af.fold, reducer=["min", "max"], axis=1), 2),
}


@pytest.fixture
def fake(monkeypatch):
    made = install(monkeypatch, **CARD)
    monkeypatch.setattr(planner, "_plans", {})
    target_of.cache_clear()
    forget()
    made.places = {ADDRESS: 0, ADDRESS + 4096: 0}
    yield made
    target_of.cache_clear()
    forget()


def array(address=ADDRESS):
    return Interface(np.empty((40, 50), "f4"), address)


def noted(fake, run):
    """Return the arguments of the kernels that a call launches."""
    fake.calls.clear()
    result = run()
    return result, [call[2:] for call in fake.calls if call[0] == "launch"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_known_signature_launches_on_its_own_addresses(fake, name):
    function, results = FUNCTIONS[name]
    function(array())
    (launch,) = launches.values()
    fake.parameters = {step.symbol: 1 + results for step in launch.bound.launches}
    for address in (ADDRESS, ADDRESS + 4096):
        done, [(sizes, stream, pointers)] = noted(fake, lambda a=address: function(array(a)))
        memory = [r.base for r in (done if isinstance(done, tuple) else (done,))]
        assert pointers == (address, *memory)
        made, ((again, _, pointers),) = noted(
            fake, lambda a=address: launch.results(array(a), [a], launch.outputs)
        )
        assert (again, pointers) == (sizes, (address, *(r.base for r in made)))
        assert stream == 0


def test_threads_do_not_mix_up_their_arguments(fake):
    af.sum(array(), axis=1)
    (launch,) = launches.values()
    fake.parameters = {step.symbol: 1 for step in launch.bound.launches}
    both, meet = [ADDRESS, ADDRESS + 4096], threading.Barrier(2)

    def work(address):
        meet.wait()
        for _ in range(50):
            launch(array(address), [address])

    fake.calls.clear()
    threads = [threading.Thread(target=work, args=(a,)) for a in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = [call[4][0] for call in fake.calls if call[0] == "launch"]
    assert sorted(seen) == sorted(both * 50)


def test_tuning_takes_times_by_events_and_keeps_the_winner(fake, monkeypatch, tmp_path):
    monkeypatch.setattr(config, "cache_dir", tmp_path)
    x = Interface(np.empty((4, 1 << 20), "f4"), ADDRESS)
    clock = measure_cuda.seconds_on_device

    def seconds(run, *where):
        rule = next(c.cell_contents for c in run.__closure__ if callable(c.cell_contents))
        return [
            t * (1 + (rule.planned.plan.rule.values != {"unroll": 2})) for t in clock(run, *where)
        ]

    monkeypatch.setattr(measure_cuda, "seconds_on_device", seconds)
    found = af.tune(x, "sum", axis=1, progress_bar=False)
    assert (found.rule, found.values, found.speedup) == ("row_split", {"unroll": 2}, 2.0)
    assert found.is_kept
    assert fake.words().count("write") == 2 * (1 + len(found.trials))  # all of it, and a part
    af.sum(x, axis=1)
    (plan,) = planner._plans.values()
    assert plan.rule.values == {"unroll": 2}
    (record,) = (tmp_path / "tuned").glob("*.json")
    assert "multiprocessors=4" in record.read_text()
