# SPDX-License-Identifier: Apache-2.0
"""tune() of arrays on a device: times by events, the results of the defaults, kept by card."""

import cupy
import pytest
import torch

import axisfold
from axisfold.api.launches import forget
from axisfold.config import config
from axisfold.plan import planner

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize(
    ("name", "shape", "axis", "rule"),
    [("sum", (1 << 24,), None, "row_split"), ("sum", (4000, 9000), 1, "row"),
     ("mean", (9000, 4096), 0, "column_split"),
     ("sum", (1 << 20, 33), 0, "narrow_split")],
)  # fmt: skip
def test_what_wins_is_right_and_kept(name, shape, axis, rule, library, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "cache_dir", tmp_path)
    monkeypatch.setattr(planner, "_plans", {})
    forget()
    x = torch.rand(shape, device="cuda")
    want = getattr(axisfold, name)(x.double(), axis=axis)
    mine = x if library == "torch" else cupy.from_dlpack(x)
    planner._plans.clear()
    forget()
    found = axisfold.tune(mine, name, axis, progress_bar=False)
    assert found.rule == rule
    assert found.trials
    assert all(t.seconds is None or 0 < t.seconds < 1 for t in found.trials)
    assert not any(t.seconds is None for t in found.trials)
    assert found.is_kept
    assert len(list((tmp_path / "tuned").glob("*.json"))) == 1
    result = torch.as_tensor(getattr(axisfold, name)(mine, axis=axis), device="cuda")
    assert torch.allclose(result.double(), want, rtol=1e-5)
    (plan,) = planner._plans.values()
    assert plan.rule.values == found.values
