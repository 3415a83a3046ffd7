# SPDX-License-Identifier: Apache-2.0
"""What importing axisfold loads, asked of a fresh interpreter."""

import json
import subprocess
import sys

import pytest


def loaded_after(code):
    """Return the modules that are loaded after ``code`` ran."""
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def bare():
    return loaded_after("import axisfold")


def packages(modules):
    return {m.partition(".")[0] for m in modules}


def test_an_import_loads_nothing_heavy(bare):
    heavy = {"llvmlite", "rich", "typer", "torch", "cupy", "jax", "cuda", "hypothesis", "unittest"}
    assert not packages(bare) & heavy


def test_numpy_is_all_that_an_import_adds(bare):
    extra = packages(bare) - packages(loaded_after("import numpy")) - {"axisfold"}
    assert extra <= set(sys.stdlib_module_names) | {"__mp_main__"}


def test_an_import_loads_few_of_our_modules(bare):
    ours = {m for m in bare if m.startswith("axisfold")}
    assert ours <= {"axisfold", "axisfold.config", "axisfold.errors", "axisfold.dtypes"}


def test_the_first_fold_loads_the_compiler():
    modules = loaded_after("import axisfold; axisfold.sum([1.0, 2.0])")
    assert "llvmlite" in modules
    assert not packages(modules) & {"rich", "typer", "torch", "cupy", "jax", "cuda"}


def test_a_plan_on_disk_is_loaded_without_what_made_it(tmp_path):
    place = f"import os; os.environ['AXISFOLD_CACHE_DIR'] = {str(tmp_path)!r}"
    fold = f"{place}; import axisfold; axisfold.sum([1.0])"
    makers = {f"axisfold.{m}" for m in ("build", "lower", "passes.pipelines", "plan.writing")}
    assert makers <= loaded_after(fold)
    later = loaded_after(fold)
    assert not later & makers
    assert not {"axisfold.sim", "axisfold.codegen.c", "axisfold.codegen.llvm"} & later


LIBRARIES = {"torch", "cupy", "jax", "jaxlib", "ml_dtypes", "numba"}


@pytest.mark.parametrize(
    ("code", "own"),
    [
        ("x = numpy.ones(3)", set()),
        ("import torch; x = torch.ones(3)", {"torch"}),
        ("import jax.numpy; x = jax.numpy.ones(3)", {"jax", "jaxlib", "ml_dtypes"}),
    ],
)
def test_no_array_library_is_imported(code, own):
    before = packages(loaded_after(f"import numpy; {code}"))
    after = packages(loaded_after(f"import numpy; {code}; import axisfold; axisfold.sum(x)"))
    assert after & LIBRARIES == before & LIBRARIES == own


def test_public_names():
    import axisfold
    from axisfold.api.catalog import CATALOG

    names = dir(axisfold)
    assert len(set(names) - set(CATALOG)) <= 40
    assert names == sorted(axisfold.__all__)
    for name in names:
        assert not name.startswith("_")
        assert getattr(axisfold, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = axisfold.no_such_name


def test_a_star_import_brings_the_public_names():
    code = "from axisfold import *"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(sum([1.0, 2.0]), callable(fold))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["3.0", "True"]


def test_functions_know_their_names_and_signatures():
    import inspect

    import axisfold
    from axisfold.api.catalog import CATALOG, PARAMETERS

    for name, row in CATALOG.items():
        function = getattr(axisfold, name)
        assert (function.__name__, function.__module__) == (name, "axisfold")
        assert function.__doc__.startswith(row.summary)
        parameters = inspect.signature(function).parameters
        assert list(parameters) == ["x", *(p for p in row.signature.split(", ") if p != "*")]
        assert all(parameters[p].default == PARAMETERS[p].default for p in list(parameters)[1:])
