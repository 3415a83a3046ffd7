# SPDX-License-Identifier: Apache-2.0
"""NumPy's tests of reductions, as they are installed, with our functions in the place of NumPy's.

Their modules are run with a stand-in for NumPy, so that ``np.nansum`` in them is ours.
What differs on purpose is told in docs/coming-from.md, and here by the tests that are left out:
those of warnings, of object arrays and of long double.
"""

import builtins
import functools
import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import axisfold as af
from axisfold.api.catalog import CATALOG

OURS = [name for name in CATALOG if hasattr(np, name)]
OTHER_NAMES = {"amin": "min", "amax": "max"}


def ours(name):
    function = getattr(af, OTHER_NAMES.get(name, name))

    @functools.wraps(getattr(np, name))
    def call(*args, **options):
        # NumPy's functions call their input a.
        return function(*args, **{"x" if key == "a" else key: v for key, v in options.items()})

    return call


class Standin(ModuleType):
    """NumPy with our reductions."""

    def __init__(self):
        super().__init__("numpy")
        for name in (*OURS, *OTHER_NAMES):
            setattr(self, name, ours(name))

    def __getattr__(self, name):
        return getattr(np, name)


class Marks:
    """Marks that say nothing: those of NumPy are not in our configuration."""

    def __getattr__(self, name):
        return lambda *_, **__: lambda test: test


class Unmarked(ModuleType):
    """pytest, without its marks."""

    mark = Marks()
    param = staticmethod(lambda *values, **_: values)

    def __getattr__(self, name):
        return getattr(pytest, name)


STANDINS = {np: Standin(), pytest: Unmarked("pytest")}


def import_standin(name, scope=None, names=None, fromlist=(), level=0):
    """Import as Python does, but stand-ins in the place of some."""
    found = builtins.__import__(name, scope, names, fromlist, level)
    return STANDINS.get(found, found)


@functools.lru_cache
def loaded(name):
    """Return the names of a module of NumPy's tests, which sees the stand-in."""
    path = Path(importlib.util.find_spec(name).origin)
    within = {**vars(builtins), "__import__": import_standin}
    scope = {"__name__": name, "__file__": str(path), "__builtins__": within}
    exec(compile(path.read_text("utf-8"), path, "exec"), scope)  # noqa: S102 - NumPy's own
    return scope


NAN, BASE = "numpy.lib.tests.test_nanfunctions", "numpy.lib.tests.test_function_base"
NUMERIC = "numpy._core.tests.test_numeric"
SHARED = "out result_values scalar subclass"
TESTS = [
    (module, group, f"test_{test}")
    for module, group, tests in (
        (NAN, "TestNanFunctions_MinMax", "out result_values scalar"),
        (NAN, "TestNanFunctions_ArgminArgmax", "mutation result_values scalar subclass"),
        (NAN, "TestNanFunctions_SumProd", f"{SHARED} empty"),
        (NAN, "TestNanFunctions_MeanVarStd", f"{SHARED} ddof"),
        (NAN, "TestNanFunctions_MeanVarStd", "out_dtype_error"),
        (BASE, "TestAverage", "basic returned"),
        (BASE, "TestAverage", "subclasses upcasting"),
        (BASE, "TestAny", "basic nd"),
        (BASE, "TestAll", "basic nd"),
        (BASE, "TestAmax", "basic"),
        (BASE, "TestAmin", "basic"),
        (BASE, "TestPtp", "basic"),
        (NUMERIC, "TestStdVar", "basic scalars ddof1 ddof2 out_scalar"),
        (NUMERIC, "TestStdVarComplex", "basic scalars"),
        (NUMERIC, "TestNonarrayArgs", "count_nonzero prod ptp sum"),
        (NUMERIC, "TestNonarrayArgs", "var_with_mean_keyword std_with_mean_keyword_multiple_axis"),
        (NUMERIC, "TestNonzero", "count_nonzero_axis"),
    )
    for test in tests.split()
]


@pytest.mark.parametrize(("module", "group", "test"), TESTS, ids=[" ".join(t[1:]) for t in TESTS])
def test_numpys(module, group, test):
    getattr(loaded(module)[group](), test)()
