# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/header."""

import importlib.util
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from header_support import Machine
from header_support.paths import EXAMPLES


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("header_examples", EXAMPLES / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


RUNNER = _load()


@pytest.mark.parametrize("count", [1, 30, 97, 5000])
@pytest.mark.parametrize("example", RUNNER.EXAMPLES, ids=lambda e: e.stem)
def test_example(machine: Machine, example: Any, count: int) -> None:
    def launch(stem: str, kernel: str, grid: Any, block: Any, *arguments: Any) -> None:
        machine.launch(EXAMPLES / f"{stem}.cu", kernel, grid, block, *arguments)

    got, expected = example.run(launch, count)
    assert np.allclose(got, expected, rtol=1e-6, atol=1e-30)
    if example.stem not in {"softmax", "higher_dim"}:
        assert (got == expected).all(), "sums of small integers are exact"


def test_every_file_is_run() -> None:
    assert {e.stem for e in RUNNER.EXAMPLES} == {path.stem for path in EXAMPLES.glob("*.cu")}
