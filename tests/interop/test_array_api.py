# SPDX-License-Identifier: Apache-2.0
"""axisfold.array_api: the standard's signatures, dtypes and refusals, alone and in a namespace."""

import importlib
import inspect
import sys

import numpy as np
import pytest

import axisfold
from axisfold import array_api

# The parameters after x, as the standard lists them.
SUMS = ("axis", "dtype", "keepdims")
MOMENTS = ("axis", "correction", "keepdims")
PLAIN = ("axis", "keepdims")
PARAMETERS = {
    "sum": SUMS, "prod": SUMS, "mean": PLAIN, "var": MOMENTS, "std": MOMENTS, "min": PLAIN,
    "max": PLAIN, "argmin": PLAIN, "argmax": PLAIN, "any": PLAIN, "all": PLAIN,
    "count_nonzero": PLAIN,
}  # fmt: skip
# Each function, each layout of results and each kind of elements; each pair would take long.
CASES = [
    ("sum", "uint8", None, False), ("sum", "int16", (0, 2), True), ("sum", "float32", -1, False),
    ("prod", "uint8", (0, 2), False), ("prod", "int16", None, True), ("mean", "float32", 0, True),
    ("mean", "int16", None, False), ("var", "float32", (0, 2), True), ("std", "float32", 1, False),
    ("min", "uint8", (), False), ("max", "float32", (0, 2), True), ("argmin", "int16", 0, True),
    ("argmax", "uint8", None, False), ("any", "uint8", 1, False), ("all", "int16", (0, 1), True),
    ("count_nonzero", "float32", -1, True),
]  # fmt: skip
ELEMENTS = np.array([[[3, 0, 1], [2, 2, 5]], [[0, 0, 4], [1, 7, 7]]])


def test_the_module_is_found_by_its_name():
    assert importlib.import_module("axisfold.array_api") is axisfold.array_api
    assert array_api.__array_api_version__ == "2024.12"
    assert set(array_api.REDUCTIONS) == set(PARAMETERS)
    assert set(array_api.__all__) <= set(dir(array_api))


@pytest.mark.parametrize("name", PARAMETERS)
def test_signatures(name):
    x, *options = inspect.signature(getattr(array_api, name)).parameters.values()
    assert (x.name, x.kind) == ("x", inspect.Parameter.POSITIONAL_ONLY)
    assert tuple(p.name for p in options) == PARAMETERS[name]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in options)
    numpys = inspect.signature(getattr(np, name)).parameters
    assert {p.name for p in options} <= set(numpys)
    defaults = {"axis": None, "dtype": None, "keepdims": False, "correction": 0.0}
    assert all(p.default == defaults[p.name] for p in options)


def test_each_function_has_a_case():
    assert {name for name, *_ in CASES} == set(PARAMETERS)


@pytest.mark.parametrize(("name", "dtype", "axis", "keepdims"), CASES)
def test_values_and_dtypes_are_numpys(name, dtype, axis, keepdims):
    """Its own namespace is one of the standard, also where results are scalars."""
    x = ELEMENTS.astype(dtype)
    right = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    own = getattr(array_api, name)(x, axis=axis, keepdims=keepdims)
    assert type(own) is type(right)
    assert (own.dtype, own.shape) == (right.dtype, right.shape)
    np.testing.assert_allclose(own, right, rtol=1e-6)


@pytest.mark.parametrize(("name", "dtype", "axis", "keepdims"), CASES[::3])
def test_tensors_give_tensors_of_the_standards_dtypes(name, dtype, axis, keepdims):
    torch = pytest.importorskip("torch")
    x = ELEMENTS.astype(dtype)
    right = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
    own = getattr(array_api, name)(torch.from_numpy(x), axis=axis, keepdims=keepdims)
    assert isinstance(own, torch.Tensor)
    assert (str(own.dtype), own.shape) == (f"torch.{right.dtype}", right.shape)
    np.testing.assert_allclose(own.numpy(), right, rtol=1e-6)


def test_sums_of_an_asked_dtype():
    torch = pytest.importorskip("torch")
    x = np.array([200, 100], np.uint8)
    total = array_api.sum(x, dtype=np.float32)
    assert (total, total.dtype) == (300.0, np.float32)
    assert array_api.prod(x, dtype=np.uint8) == 20000 % 256
    tensor = array_api.sum(torch.from_numpy(x), dtype=torch.int32)
    assert (tensor.dtype, tensor.item()) == (torch.int32, 300)


@pytest.mark.parametrize(("name", "correction"), [("std", 1.5), ("var", 7)])
def test_corrections(name, correction):
    """NaN where no degrees of freedom are left, of six elements."""
    torch = pytest.importorskip("torch")
    x = ELEMENTS.astype("float64")
    right = np.full(2, np.nan)
    if correction < 6:
        right = getattr(np, name)(x, axis=(0, 2), correction=correction)
    function = getattr(array_api, name)
    np.testing.assert_allclose(function(x, axis=(0, 2), correction=correction), right)
    tensor = function(torch.from_numpy(x), axis=(0, 2), correction=correction)
    np.testing.assert_allclose(tensor.numpy(), right)


def norms(x, xp):
    """As code for the standard is written: all from the namespace, and by keyword."""
    scale = xp.max(xp.abs(x), axis=-1, keepdims=True)
    parts = xp.where(scale > 0, x / xp.where(scale > 0, scale, xp.ones_like(scale)), x)
    rms = xp.sqrt(xp.sum(parts * parts, axis=-1))
    return xp.squeeze(scale, axis=-1) * rms, xp.astype(xp.count_nonzero(x, axis=-1), xp.float64)


def test_a_wrapped_namespace_runs_code_for_the_standard(monkeypatch):
    own = array_api.wrap(np)
    x = own.asarray([[3.0, 4.0], [0.0, 0.0], [1e200, 0.0]])
    for found, right in zip(norms(x, own), norms(x, np), strict=True):
        np.testing.assert_allclose(found, right)
    assert all(getattr(own, name) is getattr(array_api, name) for name in PARAMETERS)
    assert own.asarray is np.asarray
    assert own.__array_api_version__ == np.__array_api_version__
    assert set(dir(np)) | set(PARAMETERS) == set(dir(own))
    assert own.__name__ == "axisfold.array_api.wrap(numpy)"
    monkeypatch.setitem(sys.modules, "axisfold_numpy", own)
    assert importlib.import_module("axisfold_numpy").sum is array_api.sum
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = own.no_such_name


def test_a_wrapped_namespace_of_tensors():
    torch = pytest.importorskip("torch")
    xp = array_api.wrap(torch)
    x = xp.asarray([[1, 2], [3, 4]], dtype=xp.uint8)
    assert xp.equal(xp.sum(x, axis=(0, 1), keepdims=True), xp.asarray([[10]], dtype=xp.uint64))
    assert not hasattr(xp, "__array_api_version__")


@pytest.mark.slow
def test_compiled_graphs_hold_the_functions():
    torch = pytest.importorskip("torch")

    @torch.compile(backend="eager", fullgraph=True)
    def total(x):
        return array_api.sum(x, axis=0)

    assert total(torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8)).tolist() == [4, 6]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda x: array_api.sum([1.0, 2.0]), "A313"),
        (lambda x: array_api.max(3.0), "A313"),
        (lambda x: array_api.argmax(x, axis=(0, 1)), "A314"),
        (lambda x: array_api.argmin(x, axis=(0,)), "A314"),
        (lambda x: array_api.wrap("numpy"), "A315"),
        (lambda x: array_api.sum(x, axis=2), "A301"),
        (lambda x: array_api.any(x, axis=(0, -2)), "A302"),
        (lambda x: array_api.mean(x, axis=1.0), "A303"),
        (lambda x: array_api.min(x[:0], axis=0), "A308"),
        (lambda x: array_api.std(x, correction="one"), "A311"),
        (lambda x: array_api.all(x, keepdims="yes"), "A341"),
    ],
)
def test_refusals(call, code):
    with pytest.raises(axisfold.AxisfoldError) as caught:
        call(np.ones((2, 2)))
    assert caught.value.code == code


def test_messages():
    with pytest.raises(TypeError, match=r"array_api\.sum: x=\[1, 2\] is no array.*asarray\(x\)"):
        array_api.sum([1, 2])
    with pytest.raises(
        TypeError, match=r"argmax: axis=\(0, 1\) is a tuple.*axisfold\.argmax takes"
    ):
        array_api.argmax(np.ones((2, 2)), axis=(0, 1))


@pytest.mark.parametrize("name", PARAMETERS)
def test_only_the_array_is_given_by_position(name):
    function = getattr(array_api, name)
    with pytest.raises(TypeError, match="positional"):
        function(np.ones((2, 2)), 0)
    with pytest.raises(TypeError, match="positional"):
        function(x=np.ones(2))
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        function(np.ones(2), out=np.ones(()))
