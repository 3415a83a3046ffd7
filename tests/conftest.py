# SPDX-License-Identifier: Apache-2.0
"""Fixtures for all tests: every program is verified after every pass; golden files."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))
pytest.register_assert_rewrite("te_support")


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden files with what the code makes now",
    )
    parser.addoption(
        "--schedules",
        type=int,
        default=150,
        help="how many random schedules tests/property/test_random_schedules.py makes",
    )


@pytest.fixture(autouse=True, scope="session")
def _verify_after_every_pass(tmp_path_factory):
    from axisfold.config import config

    config.verify = True
    # Nothing is left in the user's home; what one worker has compiled, others load.
    folder = tmp_path_factory.getbasetemp()
    config.cache_dir = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "cache"


@pytest.fixture
def golden(request):
    """Compare a text with ``tests/golden/<name>``, or rewrite that file."""
    folder = Path(__file__).parent / "golden"

    def check(name, text):
        path = folder / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing; write it with --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return check


@pytest.fixture
def plans(monkeypatch):
    """The plans of the calls in a test, none of which is known from before."""
    from axisfold.api import launches
    from axisfold.plan import planner

    used, real = [], planner.plan
    monkeypatch.setattr(
        "axisfold.api.fold.plan", lambda *a, **k: used.append(real(*a, **k)) or used[-1]
    )
    launches.forget()
    return used


@pytest.fixture
def vectors(monkeypatch):
    """Let calls be planned for vectors of so many bytes, which LLVM makes of what there is."""
    from axisfold.api import launches
    from axisfold.plan import planner

    def use(count):
        monkeypatch.setattr(planner, "_plans", {})
        monkeypatch.setattr(planner, "host_vector_bytes", lambda: count)
        launches.forget()

    yield use
    launches.forget()
