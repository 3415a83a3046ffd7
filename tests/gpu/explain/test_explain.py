# SPDX-License-Identifier: Apache-2.0
"""explain() on a device: times by events, and the limit by a kernel of our own."""

import pytest

import axisfold
from axisfold.config import config
from axisfold.plan.read_limit_cuda import cuda_read_limit
from axisfold.runtime.cuda.driver import device

pytestmark = pytest.mark.gpu
torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True, scope="module")
def _cache(tmp_path_factory):
    config.cache_dir = tmp_path_factory.mktemp("cache")


def test_the_read_limit_is_near_what_a_copy_reaches():
    limit = cuda_read_limit(device(0), refresh=True)
    assert limit.threads == 0
    x = torch.ones(1 << 27, device="cuda")
    y = torch.empty_like(x)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    y.copy_(x)
    begin.record()
    y.copy_(x)
    end.record()
    end.synchronize()
    copy = 2 * x.numel() * 4 / (begin.elapsed_time(end) * 1e-3)
    assert limit.bytes_per_second > 0.8 * copy
    assert cuda_read_limit(device(0)) == limit


@pytest.mark.parametrize("axis", [0, 1, None])
def test_explains_what_is_measured(axis):
    x = torch.ones((8192, 16384), device="cuda")
    e = axisfold.explain(x, "sum", axis, repeats=5)
    assert e.target.startswith("cuda -arch=sm_")
    assert e.times.kernel > 0
    assert e.percent == pytest.approx(100 * e.predicted / e.times.kernel)
    assert e.resources
    assert all(r.registers > 0 and r.occupancy.blocks > 0 for r in e.resources)
    assert "multiprocessor" in str(e)
