# SPDX-License-Identifier: Apache-2.0
"""check_reducer: lawful reducers pass, and each kind of broken one is caught by its law."""

import math
import pickle
import subprocess
import sys

import pytest
from hypothesis import strategies as st

import axisfold as af
from axisfold import te
from axisfold.api.catalog import CATALOG
from axisfold.api.check import kernels as check_kernels
from axisfold.api.check.kernels import Plans
from axisfold.dtypes import parse
from axisfold.errors import ArgumentError, LawError, MissingDependencyError


def make(name="r", **parts):
    """Return a sum, but for the parts that are given."""
    plain = {
        "state": {"s": "acc"},
        "identity": 0,
        "lift": lambda x: x,
        "combine": lambda a, b: a.s + b.s,
    }
    return af.Reducer(name, **{**plain, **parts})


def merge_first(a, b):
    return te.select(a.n.equal(0), b.v, a.v), a.n + b.n


FIRST = {
    "state": {"v": "acc", "n": "int64"},
    "identity": {"v": 0, "n": 0},
    "lift": lambda x: (x, 1),
    "combine": merge_first,
    "finalize": lambda a: a.v,
}


def naive_logsumexp(a, b):
    m = te.maximum(a.m, b.m)  # exp(-inf - -inf) is a NaN
    return m, a.s * te.exp(a.m - m) + b.s * te.exp(b.m - m)


LOGSUMEXP = {
    "state": {"m": "acc", "s": "acc"},
    "identity": {"m": -math.inf, "s": 0},
    "lift": lambda x: (x, 1.0),
    "combine": naive_logsumexp,
    "finalize": lambda a: a.m + te.log(a.s),
}

MEAN_OF_TWO = {  # the mean of the parts' means, each part as heavy as the other
    "state": {"m": "acc", "any": "bool"},
    "identity": {"m": 0, "any": False},
    "lift": lambda x: (x, True),
    "combine": lambda a, b: (
        te.select(te.all(a.any, b.any), (a.m + b.m) * 0.5, a.m + b.m), te.any(a.any, b.any)
    ),
    "finalize": lambda a: a.m,
}  # fmt: skip

MEAN = {
    "state": {"mean": "acc", "n": "float64"},
    "identity": {"mean": 0, "n": 0},
    "lift": lambda x: (x, 1.0),
    "combine": lambda a, b: (
        te.select((a.n + b.n).equal(0.0), 0.0, (a.mean * a.n + b.mean * b.n) / (a.n + b.n)),
        a.n + b.n,
    ),
    "finalize": lambda a: a.mean,
}

BROKEN = [
    ("identity", "float64", make(identity=1)),
    # a max that starts at 0
    ("identity", "int32", make(combine=lambda a, b: te.maximum(a.s, b.s))),
    ("identity", "float32", make(identity=1e30, combine=lambda a, b: te.minimum(a.s, b.s))),
    ("identity", "float64", make(**LOGSUMEXP)),
    ("associativity", "float64", make(**MEAN_OF_TWO)),
    ("associativity", "int64", make(combine=lambda a, b: a.s + b.s + (a.s * b.s) * (a.s * b.s))),
    ("commutativity", "float64", make(**FIRST)),
    ("absorb", "float64", make(absorb=lambda a, x: a.s + x + 1)),
    # a tile that takes each run for one of 32 elements
    ("tile", "float64", make(**MEAN, tile=lambda t: (t.sum(lambda x: x) / 32.0, 32.0))),
    ("tile", "float64", make(tile=lambda t: t.max(lambda x: x))),
    ("exact", "float32", make(state={"s": "float32"}, facts=("exact",))),
    ("idempotent", "float64", make(facts=("idempotent",))),
    ("first", "int64", make(facts=("first",))),
    ("absorbing", "float64", make(absorbing=0)),
    ("absorbing", "int64", make(identity=1, combine=lambda a, b: a.s * b.s, absorbing=2)),
]  # fmt: skip


@pytest.mark.parametrize(("law", "dtype", "reducer"), BROKEN)
def test_broken_reducers_are_caught_by_their_law(law, dtype, reducer):
    with pytest.raises(LawError) as caught:
        af.check_reducer(reducer, dtype, examples=40)
    assert str(caught.value).startswith(f"reducer 'r' breaks the law '{law}' on {dtype}: ")
    assert isinstance(caught.value, af.AxisfoldError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_message_shows_the_simplest_elements_and_what_to_do():
    with pytest.raises(LawError) as caught:
        af.check_reducer(make(identity=1), "int64")
    assert str(caught.value) == (
        "reducer 'r' breaks the law 'identity' on int64: "
        "combine(identity, a) = a = combine(a, identity).\n"
        "    a = [0]\n"
        "    combine(identity, a): state s=1; result r=1\n"
        "    a: state s=0; result r=0\n"
        " The identity is the state of nothing: 0 for sums, 1 for products, axisfold.lowest for "
        "maxima. A start value of another kind is no identity. If such elements have no meaning, "
        "say with elements= what may be drawn. [axisfold-R131]"
    )
    with pytest.raises(LawError) as caught:
        af.check_reducer(make(**FIRST))
    text = str(caught.value)
    assert "\n    a = [0.0]\n    b = [0.125]\n    combine(a, b): state v=0.0, n=2; " in text
    assert "\n    Floats may be 4096 units in the last place apart.\n" in text


@pytest.mark.parametrize(("number", "name"), list(enumerate(CATALOG)))
def test_the_catalogue_keeps_the_laws(number, name):
    dtypes = ["float32", "uint8", "bfloat16"]
    dtypes += ["complex64"] if CATALOG[name].takes_complex else []
    dtype = dtypes[number % len(dtypes)]
    report = af.check_reducer(name, dtype, examples=6, kernels=False)
    assert {law.dtypes for law in report.laws} == {dtype}
    reducer = CATALOG[name].make()
    forms = {field: reducer.form(field, parse(dtype)) for field in reducer.state}
    facts = reducer.facts & {"exact", "idempotent"} | (
        {"absorbing"} if reducer.absorbing_parts(forms) else set()
    )
    assert {law.name for law in report.laws} >= {"identity", "associativity", *facts}


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_truth_values_absorb(name):
    laws = {law.name for law in af.check_reducer(name, "bool", examples=6, kernels=False).laws}
    assert "absorbing" in laws


DOT = make("dot", lift=lambda x, y, index: x * y * (index % 3))
LAST = {
    **FIRST,
    "lift": lambda x, y, index: (x * y + index, 1),
    "combine": lambda a, b: merge_first(b, a),
    "facts": ("ordered", "exact"),
}
SPREAD = make(  # two tracks of one number: the offset m is free, so that states are not unique
    "spread", state={"m": "acc", "s": "acc", "any": "bool"},
    identity={"m": 0, "s": 0, "any": False},
    lift=lambda x: (x, 0, True),
    combine=lambda a, b: (
        te.select(a.any, a.m, b.m),
        a.s + b.s + te.select(te.all(a.any, b.any), b.m, te.cast("float64", 0.0)),
        te.any(a.any, b.any),
    ),
    finalize=lambda a: a.m + a.s,
)  # fmt: skip


@pytest.mark.parametrize(
    ("reducer", "dtypes", "kernels"),
    [
        ("var", "float32", "general, full, tiled_row"),
        (make("last", **LAST), [("int64", "int8")], "general"),
    ],
    ids=["var", "last"],
)
def test_kernels_of_lawful_reducers(reducer, dtypes, kernels, monkeypatch):
    monkeypatch.setattr(af.config, "verify", False)  # what the passes do is not asked here
    monkeypatch.setattr(check_kernels, "ARRANGEMENTS", check_kernels.ARRANGEMENTS[:2])
    report = af.check_reducer(reducer, dtypes, examples=6)
    kernels_held, padding = report.laws[-2:]
    assert (kernels_held.name, padding.name) == ("kernels", "padding")
    found = kernels_held.statement.removeprefix("whole arrays by ")
    assert set(found.removesuffix(" = their parts").split(", ")) >= set(kernels.split(", "))


def test_states_that_give_the_same_results_count_as_the_same():
    af.check_reducer(SPREAD, examples=30, kernels=False)


def test_elements_may_be_narrowed():
    # x ⊕ y = x + y + x y has the identity 0, but 0 ⊕ inf is a NaN.
    reducer = make(combine=lambda a, b: a.s + b.s + a.s * b.s)
    with pytest.raises(LawError, match="identity"):
        af.check_reducer(reducer)
    af.check_reducer(reducer, elements=st.floats(0, 1), examples=20, kernels=False)
    narrow = (st.floats(0, 1), st.integers(0, 3))
    af.check_reducer(DOT, [("float64", "int8")], elements=narrow, examples=5, kernels=False)


def test_lanes_that_no_element_reaches_change_nothing():
    with pytest.raises(LawError, match=r"'identity'(?s:.*)combine\(identity, identity\): .* s=nan"):
        af.check_reducer(make(**LOGSUMEXP), elements=st.floats(-5, 5), kernels=False)


def test_the_tolerance_is_an_argument():
    thirds = make(lift=lambda x: x / 3.0)
    af.check_reducer(thirds, examples=20, kernels=False)
    with pytest.raises(LawError, match=r"Floats may be 1e-06 units in the last place apart"):
        af.check_reducer(thirds, ulps=1e-6, kernels=False)


@pytest.mark.parametrize(("law", "is_masked"), [("kernels", False), ("padding", True)])
def test_a_kernel_that_computes_something_else(law, is_masked, monkeypatch):
    real = Plans.run

    def run(plans, kernel, arrays):
        wrong = 1.0 if kernel.is_masked == is_masked else 0.0
        return {name: r + wrong for name, r in real(plans, kernel, arrays).items()}

    monkeypatch.setattr(Plans, "run", run)
    monkeypatch.setattr(af.config, "verify", False)
    with pytest.raises(LawError) as caught:
        af.check_reducer(make(), examples=5)
    text = str(caught.value)
    assert text.startswith(f"reducer 'r' breaks the law {law!r} on float64: the kernel ")
    assert "result 0 is r=1.0, the merged states give r=0.0.\n" in text
    assert "Elements [(0.0,)], repeated for folds of 2: " in text
    assert text.endswith("so that this may be a bug of axisfold. [axisfold-R131]")


def test_the_report_is_a_table():
    either = {"state": {"v": "bool"}, "combine": lambda a, b: te.any(a.v, b.v)}
    reducer = make(**either, facts=("exact", "idempotent"), absorbing=True)
    assert repr(af.check_reducer(reducer, "bool", examples=7, kernels=False)) == (
        "reducer 'r' keeps its laws\n"
        "  bool\n"
        "    identity       combine(identity, a) = a = combine(a, identity)  (7 cases)\n"
        "    associativity  combine(combine(a, b), c) = combine(a, combine(b, c))  (7 cases)\n"
        "    commutativity  combine(a, b) = combine(b, a)  (7 cases)\n"
        "    exact          the laws above hold to the bit, for all elements  (7 cases)\n"
        "    idempotent     combine(a, a) = a  (7 cases)\n"
        "    absorbing      combine(z, a) = z = combine(a, z), where z is the absorbing state  "
        "(7 cases)"
    )


@pytest.mark.parametrize(
    "options", [{"dtypes": [("float64",) * 3]}, {"elements": (st.just(1),) * 3}]
)
def test_arguments_that_do_not_go_with_the_inputs(options):
    with pytest.raises(ArgumentError) as caught:
        af.check_reducer(DOT, **options)
    assert "which folds 2 inputs (x, y)" in str(caught.value)
    assert str(caught.value).endswith("[axisfold-R132]")


def test_without_hypothesis_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "axisfold.api.check.search", raising=False)
    with pytest.raises(MissingDependencyError) as caught:
        af.check_reducer("sum")
    assert str(caught.value) == (
        "check_reducer needs Hypothesis, which is not installed. "
        "Run: pip install 'axisfold[check]'. [axisfold-X311]"
    )


def test_hypothesis_is_loaded_when_it_is_needed():
    script = "import axisfold, sys; axisfold.check_reducer; assert 'hypothesis' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
