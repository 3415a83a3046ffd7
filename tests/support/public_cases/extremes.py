# SPDX-License-Identifier: Apache-2.0
"""Smallest and largest elements and where they are: NaN, infinities, identities, zeros, ties."""

import numpy as np

from public_cases import inputs, oracle
from public_cases.case import FLOATS, Case, Report, of, together, vector
from public_cases.layouts import AS_MADE

NAN, INF = float("nan"), float("inf")
ZEROS = ([-0.0, 0.0], [0.0, -0.0], [-0.0] * 20 + [0.0])


def _every_third_is_nan(shape, dtype):
    x = np.ones(shape, dtype)
    x[::3, -1] = NAN
    return x


def _part_is_nan(name):
    """Return the right value where the last column has a NaN in every third row."""

    def want(x, axis):
        return np.where(np.isnan(x.astype("f8")).any(axis), NAN, 1.0)

    return Case(call=of(name), want=want, make=_every_third_is_nan, shape=(7, 37), small=(4, 9),
                dtypes=FLOATS, axes=(0, 1, None))  # fmt: skip


VALUES = (
    Report(
        "B045", "pytorch#6996, cutorch#289, pytorch#1810",
        "On CUDA max and min pass over NaN, and crash where there is nothing else.", "NaN",
        (
            _part_is_nan("max"), _part_is_nan("min"),
            vector([NAN] * 3, call=of("max"), want=NAN, dtypes=FLOATS),
        ),
    ),
    Report(
        "B046", "pytorch#130295", "max and argmax of [1, nan, 3] are 3 and 2 on one backend.",
        "NaN and 1: the first NaN wins",
        (
            vector([1, NAN, 3], call=of("max"), want=NAN, dtypes=(*FLOATS, "complex64")),
            vector([1, NAN, 3], call=of("argmax"), want=1, dtypes=(*FLOATS, "complex64")),
        ),
    ),
    Report(
        "B048", "mindspore#391, tinygrad PR 15521", "The largest element of a row passes over NaN.",
        "NaN for that row only",
        (
            Case(call=of("max"), want=oracle.numpy("max"), shape=(2, 3), axes=(1, 0), dtypes=FLOATS,
                 make=lambda shape, dtype: np.array([[1, 1, NAN], [2, 2, 2]], dtype)),
        ),
    ),
    Report(
        "B050", "cub#642, PR 652", "ArgMin of infinities gives index 1 and the largest number.",
        "index 0 and infinity",
        (
            vector([INF] * 10, call=together("argmin", "min"), want=(0, INF), dtypes=FLOATS),
            vector([-INF] * 10, call=together("argmax", "max"), want=(0, -INF), dtypes=FLOATS),
        ),
    ),
    Report(
        "B051", "cccl#1388, cub#662", "Min of infinities gives the largest finite number.",
        "infinity: identities are infinities",
        (
            vector([INF] * 10, call=of("min"), want=INF, dtypes=FLOATS, ulps=0),
            vector([-INF] * 10, call=of("max"), want=-INF, dtypes=FLOATS, ulps=0),
        ),
    ),
    Report(
        "B053", "cupy#8180", "min([inf, inf]) is the largest finite float64.", "infinity",
        (vector([INF, INF], call=of("min"), want=INF, dtypes=FLOATS),),
    ),
    Report(
        "B055", "jax#18573, xla#7112",
        "The minimum of more than 16384 float16 ones on a GPU is 0, from padding.", "1",
        (
            Case(call=of("min"), want=1, make=inputs.full(1), shape=(2, 16385, 1),
                 small=(2, 2049, 1), dtypes=("float16", "int8"), axes=((1, 2), 1)),
        ),
    ),
    Report(
        "B056", "tt-metal#12662", "The maximum of negative numbers is 0, from padding.", "-1",
        (
            Case(call=of("max"), want=-1, make=inputs.full(-1), shape=(1, 2, 3, 4), axes=(-1, 1),
                 dtypes=("float16", "int8", "float64")),
        ),
    ),
    Report(
        "B058", "numpy PR 31102, numpy#31087", "nanmax([1], initial=nan) is NaN.",
        "1; and 1 for nanmax([], initial=1)",
        (
            vector([1.0], call=of("nanmax", initial=NAN), want=1),
            vector([], call=of("nanmax", initial=1), want=1),
        ),
    ),
    Report(
        "B060", "chainer#6742", "argmax of negative numbers on CUDA is -1.", "their place",
        (vector([-2, -3, -1], call=of("argmax"), want=2, dtypes=("float32", "int8", "float16")),),
    ),
    Report(
        "B061", "pytorch#25016, Paddle#73693",
        "The larger of two depends on their order, where one is NaN, or where both are zeros.",
        "NaN in either order; +0 is the larger zero",
        (
            vector([2, NAN], call=of("max"), want=NAN, dtypes=FLOATS),
            vector([NAN, 2], call=of("max"), want=NAN, dtypes=FLOATS),
            *(vector(z, call=of("max"), want=0.0, dtypes=FLOATS, ulps=0) for z in ZEROS),
            *(vector(z, call=of("min"), want=-0.0, dtypes=FLOATS, ulps=0) for z in ZEROS),
        ),
    ),
    Report(
        "B105", "numba PR 3657", "Complex min and max are not supported.",
        "lexicographic; a NaN in either part wins",
        (
            vector([1 + 1j, 1 + 2j, 9j], call=of("max"), want=1 + 2j, dtypes=("complex64",)),
            vector([1 + 1j, 1 + 2j, 9j], call=of("min"), want=9j, dtypes=("complex128",)),
            vector([1 + 1j, complex(-1, NAN), 9], call=of("argmax"), want=1, dtypes=("complex64",)),
        ),
    ),
)  # fmt: skip


def _one_far_off(shape, dtype):
    x = np.zeros((shape[0], 1, shape[1]), dtype)
    x[-3, 0, -1] = 1
    return x[:, 0, -1]


PLACES = (
    Report(
        "B063", "pytorch#22853", "argmax of equal elements is the last one, or any.", "the first",
        tuple(
            vector([1] * 16, call=of(name), want=0,
                   dtypes=("int8", "uint64", "float16", "float64", "complex64", "bool"))
            for name in ("argmax", "argmin")
        ),
    ),
    Report(
        "B065", "pytorch#32863", "argmax of a slice of a large uint8 array points to a 0.",
        "the place of the 1",
        (
            Case(call=of("argmax"), want=lambda x, axis: len(x) - 3, make=_one_far_off,
                 shape=(40, 11360), small=(40, 60), dtypes=("uint8",), layouts=AS_MADE),
        ),
    ),
    Report(
        "B066", "jax#4640, jax#3193, jax#6762", "argmax with NaN gives an index out of range.",
        "the first NaN",
        (
            vector([0, 1, NAN], call=of("argmax"), want=2, dtypes=FLOATS),
            vector([NAN] * 100, call=of("argmax"), want=0, dtypes=FLOATS),
            vector([0] * 50 + [NAN] * 50, call=of("argmin"), want=50, dtypes=FLOATS),
            vector([NAN] * 50 + [0] * 50, call=of("argmax"), want=0, dtypes=FLOATS),
        ),
    ),
    Report(
        "B068", "cupy PR 8031, cupy#8014", "argmax along a very long axis is wrong.",
        "a 64-bit index",
        (
            Case(call=of("argmax"), want=lambda x, axis: x.shape[1], shape=(2, (1 << 31) + 3),
                 make=lambda shape, dtype: np.broadcast_to(np.array([[0], [1]], dtype), shape),
                 small=(2, 3000), dtypes=("int8",), layouts=AS_MADE, is_huge=True),
        ),
    ),
    Report(
        "B070", "cupy#8762", "nanargmax of a matrix with NaN raises.", "the indices",
        (
            Case(call=of("nanargmax"), want=oracle.numpy("nanargmax"), shape=(125, 552),
                 make=inputs.with_nans(inputs.normal()), small=(6, 50), axes=(1, 0)),
        ),
    ),
    Report(
        "B071", "cupynumeric#987", "argmax where all elements are the identity is INT64_MIN.", "0",
        (
            vector([0] * 3, call=of("argmax"), want=0, dtypes=("uint32",)),
            vector([np.finfo("f8").max] * 3, call=of("argmin"), want=0, dtypes=("float64",)),
            vector([2**63 - 1] * 3, call=of("argmin"), want=0, dtypes=("int64",)),
            vector([-(2**63)] * 40, call=of("argmax"), want=0, dtypes=("int64",)),
        ),
    ),
    Report(
        "B073", "pytorch#193661",
        "argmax after other reductions of a transposed tensor, compiled together, is wrong.",
        "the index",
        (
            Case(call=together("mean", "max", "logsumexp", "argmax", "min"), rtol=1e-5,
                 want=oracle.several(
                     oracle.mean, oracle.numpy("max"),
                     oracle.by_fold(lambda row: np.log(np.exp(row.astype("f8")).sum())),
                     oracle.numpy("argmax"), oracle.numpy("min")),
                 make=lambda shape, dtype: inputs.normal(2)(shape, dtype).transpose(2, 1, 0),
                 shape=(7, 6, 50), small=(5, 2, 8), axes=(-1,), layouts=AS_MADE),
        ),
    ),
    Report(
        "B075", "dask#984, PR 1024", "argmin along an axis of three fails.", "the indices",
        (
            Case(call=of("argmin"), want=oracle.by_fold(np.argmin), make=inputs.normal(),
                 shape=(2, 3, 4), axes=(0, 1, 2, None, (0, 2)), dtypes=("float32",)),
        ),
    ),
    Report(
        "B076", "dask#3190", "argmax of ten numbers in two parts fails.", "9",
        (vector(range(10), call=of("argmax"), want=9, dtypes=("int64", "float32")),),
    ),
    Report(
        "B078", "tinygrad PR 3600", "argmax compares with a maximum computed anew, and misses it.",
        "0: the element and its index are kept together",
        (
            vector(np.exp([4.0, 3.0, 2.0, 1.0]), call=of("argmax"), want=0, dtypes=FLOATS),
        ),
    ),
    Report(
        "B080", "pytorch#146643", "Maximum and index take two sweeps over memory.",
        "one read: fold(x, ['max', 'argmax'])",
        (
            Case(call=together("max", "argmax"), make=inputs.normal(), shape=(5, 333), axes=(1, 0),
                 want=oracle.several(oracle.numpy("max"), oracle.numpy("argmax")), small=(3, 70),
                 dtypes=("float32",), ulps=0),
        ),
    ),
)  # fmt: skip

REPORTS = (*VALUES, *PLACES)
