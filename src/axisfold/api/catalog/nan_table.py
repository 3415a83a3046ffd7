# SPDX-License-Identifier: Apache-2.0
"""The rows of reductions that pass over NaN."""

from __future__ import annotations

from typing import Final

from axisfold.api.catalog.checks import some_element
from axisfold.api.catalog.extremes import (
    ARGMAX,
    ARGMIN,
    FIRST_FALSE,
    FIRST_TRUE,
    MAX,
    MIN,
    NANARGMAX,
    NANARGMIN,
    NANMAX,
    NANMIN,
)
from axisfold.api.catalog.moments import MEAN, deviation, variance
from axisfold.api.catalog.row import INDEX, INEXACT, REAL_INEXACT, SAME, SUMMED, Row
from axisfold.api.catalog.sums import PROD, SUM

_SUM: Final = "axis, dtype, out, keepdims, initial, where, *, min_count"
_MEAN: Final = "axis, dtype, out, keepdims, *, where, min_count"
_VAR: Final = "axis, dtype, out, ddof, keepdims, *, where, mean, correction, min_count"
_EXTREME: Final = "axis, out, keepdims, initial, where, *, min_count"
_ARG: Final = "axis, out, *, keepdims, where"
_PASSED: Final = "is passed over"
_ALL_NAN: Final = "is passed over; of nothing but NaN the result is NaN"
_NO_INDEX: Final = (
    "is passed over; where there is nothing else, arrays on the host are refused, and those on a "
    "CUDA device give -1, as nothing waits for it"
)

NAN_ROWS: Final = (
    Row(
        name="nansum", summary="Sum of elements that are not NaN.", formula="sum(x[~isnan(x)])",
        make=lambda: SUM, nan_by="mask", result=SUMMED, signature=_SUM,
        numerics="As sum.", nan=_PASSED, empty="0", numpy_name="numpy.nansum",
        example=("axisfold.nansum([[1.0, float('nan')], [3.0, 4.0]], axis=0)", "array([4., 4.])"),
    ),
    Row(
        name="nanprod", summary="Product of elements that are not NaN.",
        formula="prod(x[~isnan(x)])", make=lambda: PROD, nan_by="mask", result=SUMMED,
        signature=_SUM, numerics="As prod.", nan=_PASSED, empty="1", numpy_name="numpy.nanprod",
        example=("axisfold.nanprod([[2.0, float('nan')], [3.0, 4.0]], axis=0)", "array([6., 4.])"),
    ),
    Row(
        name="nanmean", summary="Mean of elements that are not NaN.",
        formula="mean(x[~isnan(x)])", make=lambda: MEAN, nan_by="mask", result=INEXACT,
        compute=INEXACT, signature=_MEAN, numerics="As mean.", nan=_ALL_NAN, empty="NaN",
        numpy_name="numpy.nanmean",
        example=("axisfold.nanmean([[1.0, float('nan')], [3.0, 4.0]], axis=0)", "array([2., 4.])"),
    ),
    Row(
        name="nanvar", summary="Variance of elements that are not NaN.",
        formula="var(x[~isnan(x)])", make=variance, nan_by="mask", result=REAL_INEXACT,
        compute=INEXACT, signature=_VAR, numerics="As var.", nan=_ALL_NAN, empty="NaN",
        numpy_name="numpy.nanvar",
        example=("axisfold.nanvar([[1.0, float('nan')], [3.0, 4.0]], axis=0)", "array([1., 0.])"),
    ),
    Row(
        name="nanstd", summary="Standard deviation of elements that are not NaN.",
        formula="std(x[~isnan(x)])", make=deviation, nan_by="mask", result=REAL_INEXACT,
        compute=INEXACT, signature=_VAR, numerics="As std.", nan=_ALL_NAN, empty="NaN",
        numpy_name="numpy.nanstd",
        example=("axisfold.nanstd([[1.0, float('nan')], [3.0, 4.0]], axis=0)", "array([1., 0.])"),
    ),
    Row(
        name="nanmin", summary="Smallest element that is not NaN.", formula="min(x[~isnan(x)])",
        make=lambda: NANMIN, make_plain=lambda: MIN,
        nan_by="reducer", result=SAME, signature=_EXTREME, numerics="Exact.",
        nan=_ALL_NAN, empty=None, ties="-0 is less than +0.",
        numpy_name="numpy.nanmin",
        example=("axisfold.nanmin([[1.0, float('nan')], [3.0, 4.0]], axis=0)", "array([1., 4.])"),
    ),
    Row(
        name="nanmax", summary="Largest element that is not NaN.", formula="max(x[~isnan(x)])",
        make=lambda: NANMAX, make_plain=lambda: MAX,
        nan_by="reducer", result=SAME, signature=_EXTREME, numerics="Exact.",
        nan=_ALL_NAN, empty=None, ties="-0 is less than +0.",
        numpy_name="numpy.nanmax",
        example=("axisfold.nanmax([[1.0, float('nan')], [3.0, 4.0]], axis=0)", "array([3., 4.])"),
    ),
    Row(
        name="nanargmin", summary="Index of the first smallest element that is not NaN.",
        formula="index of min(x[~isnan(x)]), in C order over the folded axes",
        make=lambda: NANARGMIN, make_plain=lambda: ARGMIN, make_truth=lambda: FIRST_FALSE,
        nan_by="reducer", check=some_element, result=INDEX, signature=_ARG,
        numerics="Exact.", nan=_NO_INDEX, empty=None,
        ties="The first in C order over the folded axes; -0 and +0 are equal.",
        numpy_name="numpy.nanargmin",
        example=("axisfold.nanargmin([[1.0, float('nan')], [5.0, 4.0]], axis=1)", "array([0, 1])"),
    ),
    Row(
        name="nanargmax", summary="Index of the first largest element that is not NaN.",
        formula="index of max(x[~isnan(x)]), in C order over the folded axes",
        make=lambda: NANARGMAX, make_plain=lambda: ARGMAX, make_truth=lambda: FIRST_TRUE,
        nan_by="reducer", check=some_element, result=INDEX, signature=_ARG,
        numerics="Exact.", nan=_NO_INDEX, empty=None,
        ties="The first in C order over the folded axes; -0 and +0 are equal.",
        numpy_name="numpy.nanargmax",
        example=("axisfold.nanargmax([[1.0, float('nan')], [3.0, 4.0]], axis=1)", "array([0, 1])"),
    ),
)  # fmt: skip
