# SPDX-License-Identifier: Apache-2.0
"""What a public case is: an input, a call, the right value; and how backends run it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from public_cases.layouts import EVERY, LAYOUTS

FLOATS = ("float16", "float32", "float64")
NARROW = ("float16", "bfloat16")
INTS = ("int8", "int64", "uint16")
# Which layout a dtype has where not all are run: kernels are then few.
_USUAL = dict(
    zip(
        ("float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int8", "int64"),
        ("C", "reversed", "steps", "F", "F", "C", "record", "C"),
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class Refused:
    """The right answer is an error, with a code."""

    error: type[Exception]
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kind of input that went wrong somewhere.

    Attributes
    ----------
    call
        Takes a namespace of axisfold's functions, the input and the axis.
    want
        The right value, of the shape of the result or one for all of it; a function of input and
        axis that returns it; or an error.
    values
        One fold: all of the input, or each of its columns or rows, as the axis tells.
    make
        Where ``values`` are not given: makes the input of a shape and a dtype.
    shape, small
        Of the input, and what the simulator is given in its place.
    dtypes, axes, layouts
        What the case is run with.
    ulps, rtol
        How far a float may be away; 0 ulps tells -0 from +0.
    dtype
        Of the result, where that was reported.
    backends
        Which of them can run it.
    is_huge
        Whether it takes seconds at its full size.
    """

    call: Callable[[Any, Any, Any], Any]
    want: Any
    values: tuple[Any, ...] | None = None
    make: Callable[..., Any] | None = None
    shape: tuple[int, ...] = ()
    small: tuple[int, ...] | None = None
    dtypes: tuple[str, ...] = ("float32", "float64")
    axes: tuple[Any, ...] = (None,)
    layouts: tuple[str, ...] = EVERY
    ulps: float = 1
    rtol: float = 0
    dtype: Any = None
    backends: tuple[str, ...] = ("llvm", "sim", "gpu")
    is_huge: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A row of the table of reports.

    Attributes
    ----------
    id
        Of the row.
    sources
        The public threads.
    said
        What was reported.
    answer
        What axisfold answers, or why the row is not for it.
    cases
        None of them where the row does not apply.
    """

    id: str
    sources: str
    said: str
    answer: str
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """A case with one dtype, axis and layout."""

    report: Report
    number: int
    dtype: str
    axis: Any
    layout: str

    @property
    def case(self):
        return self.report.cases[self.number]

    def __str__(self):
        axis = str(self.axis).replace(" ", "")
        return f"{self.report.id}.{self.number}-{self.dtype}-axis={axis}-{self.layout}"


def vector(values, axes=(None, 0, 1), **options):
    """Return a case of one fold of a few values."""
    return Case(values=tuple(values), axes=axes, **options)


def of(name, **options):
    """Return the call of one function."""
    return lambda f, x, axis: getattr(f, name)(x, axis=axis, **options)


def together(*names):
    """Return the call of several reductions in one read."""
    return lambda f, x, axis: f.fold(x, list(names), axis=axis)


def variants(report, number, first, count):
    """Return ``count`` variants of a case that stand for all of them, and the others.

    They are the same ones for all cases, so that cases of one function share kernels.
    """
    case = report.cases[number]
    every = [(d, a, v) for d in case.dtypes for a in case.axes for v in case.layouts]
    chosen = []
    for n in range(first, first + count):
        dtype = case.dtypes[n % len(case.dtypes)]
        usual = _USUAL.get(dtype, "C")
        layout = usual if usual in case.layouts else case.layouts[0]
        chosen.append((dtype, case.axes[n % len(case.axes)], layout))
    others = [each for each in every if each not in chosen]
    return [
        [Variant(report, number, *each) for each in found]
        for found in (dict.fromkeys(chosen), others)
    ]


def parameters(reports, backend, first=0, count=1):
    """Return the variants of all cases for a backend; all but ``count`` of a case are slow.

    A GPU, whose time is dear, is not given the others.
    """
    found = []
    cases = [(report, number) for report in reports for number in range(len(report.cases))]
    for report, number in cases:
        case = report.cases[number]
        if backend not in case.backends:
            continue
        is_slow = case.is_huge and backend == "llvm"
        some, others = variants(report, number, first, count)
        others = others if backend != "gpu" else []
        for variant, marked in (*((v, is_slow) for v in some), *((v, True) for v in others)):
            marks = [pytest.mark.slow] if marked and backend != "gpu" else []
            found.append(pytest.param(variant, marks=marks, id=str(variant)))
    return found


def run(variant, functions, is_small=False):
    """Run a variant by a backend's functions and judge what they give."""
    case = variant.case
    arrange = LAYOUTS[variant.layout]
    x = _input(case, variant, is_small)
    x = tuple(map(arrange, x)) if isinstance(x, tuple) else arrange(x)
    if isinstance(case.want, Refused):
        with pytest.raises(case.want.error, match=case.want.code):
            case.call(functions, x, variant.axis)
        return
    got = case.call(functions, x, variant.axis)
    with np.errstate(all="ignore"):
        want = case.want(x, variant.axis) if callable(case.want) else case.want
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for pair in zip(got, want, strict=True):
            _judge(case, *pair)
    else:
        _judge(case, got, want)


def _input(case, variant, is_small):
    if case.values is not None:
        x = np.array(case.values).astype(np.dtype(variant.dtype))
        copies = [x] * 5
        return x if variant.axis in (None, ()) else np.stack(copies, 1 - variant.axis)
    shape = case.small if is_small and case.small is not None else case.shape
    return case.make(shape, np.dtype(variant.dtype))


def _judge(case, got, want):
    got = np.asarray(got)
    wide = np.asarray(want)
    if case.dtype is not None:
        assert got.dtype == np.dtype(case.dtype)
    wide = np.broadcast_to(wide, got.shape) if wide.ndim == 0 else wide
    assert got.shape == wide.shape
    with np.errstate(all="ignore"):
        want = wide.astype(got.dtype)
    is_inexact = got.dtype.kind in "fc" or got.dtype == ml_dtypes.bfloat16
    if not is_inexact:
        np.testing.assert_array_equal(got, want)
        return
    shown, exact = (a.astype("c16" if got.dtype.kind == "c" else "f8") for a in (got, want))
    if case.ulps == 0 and not case.rtol:
        np.testing.assert_array_equal(shown, exact)
        if got.dtype.kind != "c":
            assert (np.signbit(shown) == np.signbit(exact)).all()
        return
    unit = float(ml_dtypes.finfo(got.dtype).eps) * case.ulps
    np.testing.assert_allclose(shown, exact, rtol=max(case.rtol, unit), atol=0)
