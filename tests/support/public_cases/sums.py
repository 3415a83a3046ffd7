# SPDX-License-Identifier: Apache-2.0
"""Sums and means of narrow floats, accuracy and the order of addition, variances, norms."""

import numpy as np

from public_cases import inputs, oracle
from public_cases.case import NARROW, Case, Report, of, together, vector
from public_cases.layouts import AS_MADE

NAN = float("nan")

NARROW_FLOATS = (
    Report(
        "B001", "numpy#7930", "The mean of many float16 values, or of two large ones, is infinite.",
        "the mean: 16-bit floats are added in float64",
        (
            Case(call=of("mean"), want=oracle.mean, make=inputs.normal(1), shape=(1000, 100),
                 small=(30, 40), dtypes=NARROW, axes=(None, 0, 1), ulps=0),
            vector([6e4, 6e4], call=of("mean"), want=6e4, dtypes=NARROW, ulps=0),
        ),
    ),
    Report(
        "B003", "numpy#15785, numpy#22208", "A float16 sum down 3000 rows of ones stops at 2048.",
        "3000",
        (
            Case(call=of("sum"), want=oracle.count, make=inputs.full(1), shape=(3000, 115),
                 small=(2100, 3), dtypes=NARROW, axes=(0, 1), ulps=0),
        ),
    ),
    Report(
        "B005", "numpy#21941", "The variance of 100,000 float16 values overflows.", "the variance",
        (
            Case(call=of("var"), want=oracle.wide("var"), make=inputs.normal(), shape=(1000, 100),
                 small=(30, 40), dtypes=NARROW, axes=(None, 0, 1), ulps=1),
        ),
    ),
    Report(
        "B006", "numpy#22448", "The standard deviation of float16 data is infinite.",
        "the deviation, with any ddof",
        tuple(
            Case(call=of("std", ddof=ddof), want=oracle.wide("std", ddof=ddof),
                 make=inputs.normal(300, 200), shape=(500, 20), small=(20, 9), dtypes=("float16",),
                 axes=(0, 1, None), ulps=1)
            for ddof in (0, 1)
        ),
    ),
    Report(
        "B008", "pandas#20642, PR 64791", "The mean of a long float16 series is NaN or infinite.",
        "the mean, whether NaN are passed over or not",
        (
            Case(call=of("mean"), want=oracle.mean, shape=(1 << 20,), small=(1 << 10,),
                 make=lambda shape, dtype: np.sin(np.arange(shape[0])).astype(dtype),
                 dtypes=("float16",), rtol=1e-3),
            vector([6e4, NAN, 6e4], call=of("nanmean"), want=6e4, dtypes=NARROW, ulps=0),
        ),
    ),
    Report(
        "B010", "pytorch#74438",
        "Sum and mean of 2^31 half-precision values, half of them 1 and half -1, are infinite.",
        "0",
        tuple(
            Case(call=of(name), want=0, make=inputs.opposites(1000), shape=(2, 1 << 30),
                 small=(2, 300), dtypes=NARROW, layouts=AS_MADE, ulps=0, is_huge=True)
            for name in ("sum", "mean")
        ),
    ),
    Report(
        "B011", "Paddle PR 78225, 78226",
        "Beyond 2^31 elements 16-bit sums along an outer axis are wrong between the parts.",
        "right: partial sums are float64, counts 64 bits",
        (
            Case(call=of("mean"), want=3, make=inputs.endless(3), shape=((1 << 30) + 8, 3),
                 small=(3001, 3), dtypes=NARROW, axes=(0,), layouts=AS_MADE, ulps=0, is_huge=True),
        ),
    ),
    Report(
        "B013", "ml_dtypes#63", "A bfloat16 sum of 10,000 uniform values stops at 256.",
        "about 4990, rounded once",
        (
            Case(call=of("sum"), want=oracle.total, make=inputs.uniform(), shape=(100, 100),
                 small=(300, 4), dtypes=("bfloat16", "float16"), axes=(None, 0, 1), ulps=0),
        ),
    ),
    Report(
        "B015", "jax PR 17792", "The mean of 2^20 float16 values of 1e-5 is 0.", "the value itself",
        (
            Case(call=of("mean"), want=lambda x, axis: x.flat[0], make=inputs.full(1e-5),
                 shape=(1 << 14, 64), small=(600, 4), dtypes=NARROW, axes=(None, 0, 1), ulps=0),
        ),
    ),
    Report(
        "B016", "jax#26365", "A mean with dtype= of the input comes back in another dtype.",
        "dtype= is the dtype of the result",
        tuple(
            Case(call=of(name, dtype=dtype), want=oracle.mean if name == "mean" else oracle.total,
                 make=inputs.integers(0, 9), shape=(6, 5), dtypes=("float32", "bfloat16", "int8"),
                 axes=(0, 1), dtype=dtype)
            for name, dtype in (("mean", "float16"), ("mean", "bfloat16"), ("sum", "float64"))
        ),
    ),
    Report(
        "B018", "chainer#7681", "The average of 300 float16 values of 500 overflows.", "500",
        (
            Case(call=of("average"), want=500, make=inputs.full(500), shape=(300, 3),
                 small=(140, 3), dtypes=NARROW, axes=(None, 0), ulps=0),
        ),
    ),
)  # fmt: skip

ACCURACY = (
    Report(
        "B020", "numpy#8869", "A float32 sum down 2^25 rows of three columns stops at 2^24.",
        "the number of rows times the value",
        (
            *(
                Case(call=of("sum"), want=lambda x, axis: float(x.flat[0]) * oracle.count(x, axis),
                     make=inputs.endless(value), shape=((1 << 24) + 100, 3), small=(2000, 3),
                     dtypes=("float32",), axes=(0,), layouts=AS_MADE, ulps=0)
                for value in (1, 0.01, -1)
            ),
            Case(call=of("sum"), want=oracle.total, make=inputs.heavy_first, shape=(5000, 3),
                 small=(700, 3), axes=(0, None), ulps=1),
        ),
    ),
    Report(
        "B021", "numpy#11331", "The float32 mean of an image over its leading axes is halved.",
        "the mean",
        (
            Case(call=of("mean"), want=oracle.mean, make=inputs.uniform(255), shape=(64, 16, 16, 3),
                 small=(6, 4, 4, 3), dtypes=("float32",), axes=((0, 1, 2), (0, 2), 3), ulps=0),
        ),
    ),
    Report(
        "B023", "numpy#13240, numpy#15093",
        "Sums of the same rows differ between C and Fortran order, for float32 badly.",
        "one bound for every layout: at most one unit in the last place here",
        (
            Case(call=of("sum"), want=oracle.total, make=inputs.uniform(), shape=(2, 100_000),
                 small=(2, 3000), axes=(1, 0, None)),
        ),
    ),
    Report(
        "B025", "bottleneck#462", "nanmean and nanstd of 50 million float32 values are far off.",
        "mean and deviation to float32 rounding",
        tuple(
            Case(call=of(name), want=lambda x, axis, right=right: right(x[0]), shape=(1000, 10_000),
                 make=inputs.repeated(inputs.with_nans(inputs.uniform(), 97)), small=(3, 600),
                 dtypes=("float32",), layouts=AS_MADE)
            for name, right in (("nanmean", np.nanmean), ("nanstd", np.nanstd))
            for right in [lambda row, of=right: of(row.astype("f8"))]
        ),
    ),
    Report(
        "B026", "xarray#1346, pandas#25307", "The mean of 2^25 float32 ones is 0.5.", "1",
        (
            Case(call=of("mean"), want=1, make=inputs.endless(1), shape=(1 << 25,), small=(5000,),
                 dtypes=("float32",), layouts=AS_MADE, ulps=0),
        ),
    ),
    Report(
        "B028", "pytorch#65815", "The norm of 10^8 float32 ones is 4096.", "10000",
        (
            Case(call=of("norm"), want=lambda x, axis: np.sqrt(x.size), make=inputs.endless(1),
                 shape=(10_000, 10_000), small=(40, 40), dtypes=("float32",), layouts=AS_MADE,
                 ulps=0),
        ),
    ),
    Report(
        "B030", "pytorch#15602", "The norm of 40,000 ones is 266 where threads share it.", "200",
        (
            Case(call=of("norm"), want=lambda x, axis: np.sqrt(oracle.count(x, axis)),
                 make=inputs.full(1), shape=(400, 100), small=(64, 49), axes=(None, 0, 1), ulps=1),
        ),
    ),
    Report(
        "B031", "pytorch#20551", "The norm of a large random tensor is 37 % too small on the CPU.",
        "the norm, the same on both but for the last place",
        (
            Case(call=of("norm"), want=oracle.norm, make=inputs.uniform(), shape=(200, 50, 16),
                 small=(9, 5, 16), axes=(None, (0, 2), 1)),
        ),
    ),
)  # fmt: skip

VARIANCE = (
    Report(
        "B033", "cudf#16444", "The variance of two dates in nanoseconds is 1000 units off.",
        "exact",
        (
            vector([1577836800e9, 1609372800e9], call=of("var", ddof=1), want=4.97259648e32,
                   dtypes=("float64",), ulps=0),
        ),
    ),
    Report(
        "B035", "scanpy PR 4122, fast-array-utils PR 127",
        "float32 values are squared before the mean is taken off, so that digits are lost.",
        "all digits: states of count, mean and squared deviations are merged",
        (
            Case(call=of("var"), want=oracle.exact_variance, make=inputs.uniform(1, 1e7),
                 shape=(4, 300), small=(3, 150), dtypes=("float32",), axes=(1, 0, None), rtol=1e-3),
            Case(call=of("var"), want=oracle.exact_variance, make=inputs.normal(1e5, 10),
                 shape=(4, 300), small=(3, 150), dtypes=("float32", "int32", "float64"),
                 axes=(1, 0, None), rtol=1e-6),
        ),
    ),
    Report(
        "B036", "cudf PR 7453", "Variances of four partitions with a large mean merge badly.",
        "as of one partition: partial states merge as Chan, Golub and LeVeque do",
        (
            Case(call=of("std"), want=oracle.wide("std"), make=inputs.normal(1e6),
                 shape=(3, 40_000), small=(2, 2500), dtypes=("float64",), axes=(1, None),
                 rtol=1e-8),
        ),
    ),
    Report(
        "B038", "pytorch#29372", "The standard deviation of one value is NaN.",
        "0, and NaN with ddof=1, as for any ddof that leaves nothing",
        (
            vector([4.0], call=of("std"), want=0, ulps=0),
            vector([4.0], call=of("std", ddof=1), want=NAN),
            vector([4.0, 5.0], call=of("std", ddof=3), want=NAN),
        ),
    ),
    Report(
        "B040", "pytorch PR 139035, pytorch#138570",
        "The mean that comes with a deviation is NaN where the mean alone is right.",
        "the mean, beside any other reduction",
        (
            Case(call=together("std", "mean"), make=inputs.normal(3), shape=(5, 1000),
                 want=oracle.several(oracle.wide("std"), oracle.mean), small=(3, 200), axes=(1,),
                 ulps=2),
        ),
    ),
    Report(
        "B041", "dask#4996", "A variance over no axes is an error.", "zeros of the input's shape",
        (
            Case(call=of("var"), want=lambda x, axis: np.zeros(x.shape), make=inputs.normal(),
                 shape=(10, 11, 12), small=(3, 4, 5), axes=((),), ulps=0),
        ),
    ),
    Report(
        "B043", "pytorch#153132", "nanmean of complex values runs on a GPU but not on a CPU.",
        "the same on both; a value counts as NaN if a part is one",
        (
            vector([1 + 1j, complex(NAN, 0), 3 - 5j], call=of("nanmean"), want=2 - 2j,
                   dtypes=("complex128", "complex64")),
        ),
    ),
    Report(
        "B103", "pytorch#193006, PR 194326",
        "A norm within the range of float32 is infinite, or 0.",
        "the norm: squares are summed in float64, of float64 by three scaled sums",
        (
            vector([1e20, 1, 1], call=of("norm"), want=1e20),
            vector([1e-30, 1e-30], call=of("norm"), want=np.sqrt(2) * 1e-30, ulps=1),
            vector([1e200, 1e200], call=of("norm"), want=np.sqrt(2) * 1e200, dtypes=("float64",)),
            vector([1e200, 1e-200, 0], call=of("norm"), want=1e200, dtypes=("float64",)),
            vector([3e-320, 4e-320], call=of("norm"), want=5e-320, dtypes=("float64",), ulps=4e3),
            vector([3e200 + 4e200j], call=of("norm"), want=5e200, dtypes=("complex128",)),
            vector([3e4, 4e4], call=of("norm"), want=5e4, dtypes=NARROW),
            vector([float("inf"), 1], call=of("norm"), want=float("inf"), dtypes=("float32",)),
        ),
    ),
)  # fmt: skip

REPORTS = (*NARROW_FLOATS, *ACCURACY, *VARIANCE)
