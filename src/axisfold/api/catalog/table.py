# SPDX-License-Identifier: Apache-2.0
"""The rows of the catalogue."""

from __future__ import annotations

import math
from typing import Final

from axisfold.api.catalog.checks import nonzero_weights, some_element
from axisfold.api.catalog.exponentials import LOGSUMEXP, log_softmax, softmax
from axisfold.api.catalog.extremes import (
    ARGMAX,
    ARGMIN,
    FIRST_FALSE,
    FIRST_TRUE,
    MAX,
    MIN,
    MINMAX,
    PARTIAL_ARGMAX,
    PARTIAL_ARGMIN,
    PTP,
)
from axisfold.api.catalog.moments import MEAN, average, deviation, variance
from axisfold.api.catalog.nan_table import NAN_ROWS
from axisfold.api.catalog.norms import norm
from axisfold.api.catalog.row import INDEX, INEXACT, REAL_INEXACT, SAME, SUMMED, TRUTH, Row
from axisfold.api.catalog.sums import ALL, ANY, COUNT_NONZERO, PROD, SUM

_SUM: Final = "axis, dtype, out, keepdims, initial, where, *, min_count"
_MEAN: Final = "axis, dtype, out, keepdims, *, where"
_VAR: Final = "axis, dtype, out, ddof, keepdims, *, where, mean, correction"
_EXTREME: Final = "axis, out, keepdims, initial, where"
_BOTH: Final = "axis, out, keepdims, *, initial, where"
_ARG: Final = "axis, out, *, keepdims, where"

_BOUND: Final = (
    "The error is at most (log2 n + 8) u sum|x|, in every layout: floats of 16 and 32 bits are "
    "summed in float64, float64 as pairs.  Integers wrap."
)
_MOMENTS: Final = (
    "States (n, mean, M2) are merged in float64, so that a large mean does not cancel; n is exact."
)
_PROPAGATES: Final = "gives NaN"
_ZEROS: Final = "-0 is less than +0."
_FIRST: Final = "The first in C order over the folded axes; -0 and +0 are equal."

_ROWS: Final = (
    Row(
        name="sum", summary="Sum of elements.", formula="sum(x)", make=lambda: SUM,
        result=SUMMED, signature=_SUM, numerics=_BOUND, nan=_PROPAGATES, empty="0",
        numpy_name="numpy.sum",
        example=("axisfold.sum([[1.0, 2.0], [3.0, 4.0]], axis=0)", "array([4., 6.])"),
    ),
    Row(
        name="prod", summary="Product of elements.", formula="prod(x)", make=lambda: PROD,
        result=SUMMED, signature=_SUM,
        numerics="The relative error is at most n u; floats are multiplied in float64.  Integers "
        "wrap.",
        nan=_PROPAGATES, empty="1", numpy_name="numpy.prod",
        example=("axisfold.prod([[1, 2], [3, 4]], axis=1)", "array([ 2, 12])"),
    ),
    Row(
        name="mean", summary="Arithmetic mean.", formula="sum(x) / n", make=lambda: MEAN,
        result=INEXACT, compute=INEXACT, signature=_MEAN, numerics=_BOUND, nan=_PROPAGATES,
        empty="NaN", numpy_name="numpy.mean",
        example=("axisfold.mean([[1, 2], [3, 5]], axis=0)", "array([2. , 3.5])"),
    ),
    Row(
        name="var", summary="Variance, of n - correction degrees of freedom.",
        formula="sum(abs(x - mean(x))**2) / (n - correction)", make=variance,
        result=REAL_INEXACT, compute=INEXACT, signature=_VAR, numerics=_MOMENTS, nan=_PROPAGATES,
        empty="NaN", numpy_name="numpy.var",
        example=("axisfold.var([[1.0, 3.0], [2.0, 2.0]], axis=1)", "array([1., 0.])"),
    ),
    Row(
        name="std", summary="Standard deviation, of n - correction degrees of freedom.",
        formula="sqrt(var(x))", make=deviation, result=REAL_INEXACT, compute=INEXACT,
        signature=_VAR, numerics=_MOMENTS, nan=_PROPAGATES, empty="NaN", numpy_name="numpy.std",
        example=("axisfold.std([[1.0, 3.0], [2.0, 2.0]], axis=1)", "array([1., 0.])"),
    ),
    Row(
        name="min", summary="Smallest element.", formula="min(x)", make=lambda: MIN, result=SAME,
        signature=_EXTREME, numerics="Exact.", nan=_PROPAGATES, empty=None, ties=_ZEROS,
        numpy_name="numpy.min",
        example=("axisfold.min([[1, 5], [3, 4]], axis=0)", "array([1, 4])"),
    ),
    Row(
        name="max", summary="Largest element.", formula="max(x)", make=lambda: MAX, result=SAME,
        signature=_EXTREME, numerics="Exact.", nan=_PROPAGATES, empty=None, ties=_ZEROS,
        numpy_name="numpy.max",
        example=("axisfold.max([[1, 5], [3, 4]], axis=0)", "array([3, 5])"),
    ),
    Row(
        name="argmin", summary="Index of the first smallest element.",
        formula="index of min(x), in C order over the folded axes", make=lambda: ARGMIN,
        make_partial=lambda: PARTIAL_ARGMIN, make_truth=lambda: FIRST_FALSE, check=some_element,
        result=INDEX, signature=_ARG, numerics="Exact.", nan="is the smallest: the first one wins",
        empty=None, ties=_FIRST,
        numpy_name="numpy.argmin",
        example=("axisfold.argmin([[1, 5], [3, 4]], axis=1)", "array([0, 0])"),
    ),
    Row(
        name="argmax", summary="Index of the first largest element.",
        formula="index of max(x), in C order over the folded axes", make=lambda: ARGMAX,
        make_partial=lambda: PARTIAL_ARGMAX, make_truth=lambda: FIRST_TRUE, check=some_element,
        result=INDEX, signature=_ARG, numerics="Exact.", nan="is the largest: the first one wins",
        empty=None, ties=_FIRST,
        numpy_name="numpy.argmax",
        example=("axisfold.argmax([[1, 5], [3, 4]], axis=1)", "array([1, 1])"),
    ),
    Row(
        name="any", summary="Whether any element is true.", formula="any(x != 0)",
        make=lambda: ANY, result=TRUTH, signature=_BOTH, numerics="Exact.", nan="is true",
        empty="False", numpy_name="numpy.any",
        example=("axisfold.any([[0, 1], [0, 0]], axis=1)", "array([ True, False])"),
    ),
    Row(
        name="all", summary="Whether all elements are true.", formula="all(x != 0)",
        make=lambda: ALL, result=TRUTH, signature=_BOTH, numerics="Exact.", nan="is true",
        empty="True", numpy_name="numpy.all",
        example=("axisfold.all([[1, 1], [0, 1]], axis=1)", "array([ True, False])"),
    ),
    Row(
        name="count_nonzero", summary="Number of elements that differ from zero.",
        formula="sum(x != 0)", make=lambda: COUNT_NONZERO, result=INDEX,
        signature="axis, *, keepdims, out, where", numerics="Exact.", nan="counts", empty="0",
        numpy_name="numpy.count_nonzero",
        example=("axisfold.count_nonzero([[0, 1], [2, 3]], axis=1)", "array([1, 2])"),
    ),
    Row(
        name="logsumexp", summary="Logarithm of the sum of exponentials.",
        formula="log(sum(exp(x)))", make=lambda: LOGSUMEXP, result=INEXACT, compute=INEXACT,
        signature="axis, *, keepdims, out, initial, where", takes_complex=False,
        numerics="The largest element is kept apart, in float64: no exponential overflows, and "
        "infinities never make a NaN.",
        nan=_PROPAGATES, empty="-inf", numpy_name="scipy.special.logsumexp",
        example=("axisfold.logsumexp([[-1000.0, -1000.0]], axis=1).round(3)", "array([-999.307])"),
    ),
    Row(
        name="norm", summary="Vector norm, over any axes.",
        formula="sum(abs(x)**ord)**(1/ord)", make=norm, result=REAL_INEXACT, compute=INEXACT,
        signature="ord, axis, keepdims, *, out, where",
        numerics="Neither overflow nor underflow within the range of the result: large, medium and "
        "small squares are summed apart, each scaled (Blue 1978), and powers of another order are "
        "taken relative to the element that counts most.",
        nan=_PROPAGATES, empty="0, for ord=-inf an error and for other negative orders inf",
        numpy_name="numpy.linalg.vector_norm",
        example=("axisfold.norm([[3.0, 4.0], [5.0, 12.0]], axis=1)", "array([ 5., 13.])"),
    ),
    Row(
        name="ptp", summary="Largest minus smallest element.", formula="max(x) - min(x)",
        make=lambda: PTP, result=SAME, signature=_BOTH, takes_bool=False,
        numerics="One rounding.  Differences of integers wrap.", nan=_PROPAGATES, empty=None,
        numpy_name="numpy.ptp",
        example=("axisfold.ptp([[1, 5], [3, 4]], axis=1)", "array([4, 1])"),
    ),
    Row(
        name="minmax", summary="Smallest and largest element, in one read.",
        formula="min(x), max(x)", make=lambda: MINMAX, result=SAME, fields=("min", "max"),
        signature=_BOTH, numerics="Exact.", nan=_PROPAGATES, empty=None, ties=_ZEROS,
        numpy_name="",
        example=(
            "axisfold.minmax([[1, 5], [3, 4]], axis=0)",
            "FoldResult(min=array([1, 4]), max=array([3, 5]))",
        ),
    ),
    Row(
        name="average", summary="Weighted mean.", formula="sum(x * weights) / sum(weights)",
        make=average, check=nonzero_weights, result=INEXACT, compute=INEXACT,
        fields=("average", "sum_of_weights"),
        signature="axis, weights, returned, *, keepdims, where",
        numerics=_BOUND, nan=_PROPAGATES, empty="NaN", numpy_name="numpy.average",
        example=("axisfold.average([[1, 2], [3, 5]], axis=1, weights=[1, 3])",
                 "array([1.75, 4.5 ])"),
    ),
    *NAN_ROWS,
)  # fmt: skip

_SPREAD_ROWS: Final = (
    Row(
        name="softmax", summary="Share of each exponential in their sum, in the input's shape.",
        formula="exp(x) / sum(exp(x))", make=softmax, result=INEXACT, compute=INEXACT,
        signature="axis, dtype, *, out, where, empty", takes_complex=False, unfolded=0.0,
        numerics="Exponentials are taken relative to the largest element and summed in float64: "
        "float32 and 16-bit results are within 1 ulp; float64 ones within 4, and d more where "
        "e**-d counts.  A row with +inf is "
        "NaN, as SciPy's; a row of -inf is NaN, or with ``empty='zero'`` 0.  Elements that "
        "``where=`` passes over have no share: their result is 0.",
        nan="makes all results of its fold NaN", empty="no elements",
        numpy_name="scipy.special.softmax",
        example=("axisfold.softmax([[1.0, 1.0], [0.0, -800.0]], axis=1)",
                 "array([[0.5, 0.5],\n       [1. , 0. ]])"),
    ),
    Row(
        name="log_softmax", summary="Logarithm of softmax, in the input's shape.",
        formula="x - log(sum(exp(x)))", make=log_softmax, result=INEXACT, compute=INEXACT,
        signature="axis, dtype, *, out, where, empty", takes_complex=False,
        unfolded=-math.inf,
        numerics="As softmax, without its underflow and, close to 0, without its cancellation: "
        "float32 and 16-bit results are within 1 ulp; float64 ones within 4, and d more where "
        "e**-d counts.  With +inf in a row "
        "the result is NaN there and -inf elsewhere; a row of -inf is NaN, or with "
        "``empty='zero'`` -inf.  Elements that ``where=`` passes over give -inf.",
        nan="makes all results of its fold NaN", empty="no elements",
        numpy_name="scipy.special.log_softmax",
        example=("axisfold.log_softmax([[0.0, -800.0]], axis=1)", "array([[   0., -800.]])"),
    ),
)  # fmt: skip

# Reductions to fewer axes.
CATALOG: Final[dict[str, Row]] = {row.name: row for row in _ROWS}
# Functions of the input's shape, each element of which depends on a fold.
SPREADS: Final[dict[str, Row]] = {row.name: row for row in _SPREAD_ROWS}
