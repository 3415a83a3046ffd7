# SPDX-License-Identifier: Apache-2.0
"""Exponentials, truth values, integers, and what comes in and out in which dtype."""

import math

import numpy as np

import axisfold
from axisfold import te
from public_cases import inputs, oracle
from public_cases.case import FLOATS, Case, Refused, Report, of, vector
from public_cases.layouts import AS_MADE

NAN, INF = float("nan"), float("inf")
LOGSUMEXP = of("logsumexp")


def _one_row_of_none(shape, dtype):
    x = np.zeros(shape, dtype)
    x[1] = -INF
    return x


def _logarithms(x, axis):
    return np.log(np.exp(x.astype("f8")).sum(axis))


EXPONENTIALS = (
    Report(
        "B081", "tensorflow#11692, matrixStats#84, StatsFuns.jl#100, sselogsumexp#2, posterior#399",
        "logsumexp of nothing but -inf is NaN, alone or as a row of a matrix.", "-inf",
        (
            vector([-INF, -INF], call=LOGSUMEXP, want=-INF, dtypes=FLOATS),
            Case(call=LOGSUMEXP, want=_logarithms, make=_one_row_of_none, shape=(3, 37),
                 small=(3, 9), dtypes=FLOATS, axes=(1, 0)),
        ),
    ),
    Report(
        "B083", "pytorch PR 9825", "logsumexp of no elements is an error, or -2.", "-inf",
        (
            vector([], call=LOGSUMEXP, want=-INF, dtypes=FLOATS),
            Case(call=LOGSUMEXP, want=-INF, make=inputs.full(0), shape=(2, 0), axes=(1,)),
        ),
    ),
    Report(
        "B085", "Paddle#79462, semiring-einsum#13",
        "The logarithm of a sum of two exponentials of the same infinity is NaN.",
        "that infinity; NaN only where an element is one",
        tuple(
            vector(values, call=LOGSUMEXP, want=want, dtypes=FLOATS)
            for values, want in (([INF, INF], INF), ([INF, -INF], INF), ([-INF, INF, 1], INF),
                                 ([INF, NAN], NAN), ([-INF, -INF, 0.0], 0.0))
        ),
    ),
    Report(
        "B086", "torch-mojo-backend PR 319",
        "A running maximum that starts at -inf makes NaN of rows shorter than a pass.",
        "the logarithm: no difference of equal infinities is taken",
        (
            vector([-INF] * 9 + [2], call=LOGSUMEXP, want=2, dtypes=FLOATS),
            vector([2] + [-INF] * 70, call=LOGSUMEXP, want=2, dtypes=FLOATS),
            vector([-800.0, -800.0], call=LOGSUMEXP, want=-800 + math.log(2), dtypes=("float64",)),
        ),
    ),
)  # fmt: skip


def _into_bytes(name):
    """Call a function that writes into an array of bytes beside the input."""

    def call(f, x, axis):
        out = np.full(np.delete(x.shape, axis), 77, "u1")
        return getattr(f, name)(x, axis=axis, out=out)

    return call


TRUTH = (
    Report(
        "B088", "pytorch#117215, PR 192620",
        "all and any into a uint8 array convert elements first: of 0.5 and of 256 they are 0.",
        "1: an element is true where it is not 0",
        tuple(
            Case(call=call, want=1, make=inputs.full(value), shape=(4, 3), dtypes=(dtype,),
                 axes=(0, 1), dtype=kind, backends=backends)
            for value, dtype in ((0.5, "float64"), (256, "int64"), (1e-7, "float16"))
            for call, kind, backends in (
                (_into_bytes("all"), "uint8", ("llvm", "gpu")),
                (_into_bytes("any"), "uint8", ("llvm", "gpu")),
                (of("all"), "bool", ("sim",)),
            )
        ),
    ),
    Report(
        "B090", "pytorch#198081", "any of uint8 is a truth value, or a uint8, as compiled.",
        "a truth value: any(x) * 200 + 100 is 300",
        (
            vector([0, 3], call=of("any"), want=True, dtypes=("uint8",), dtype="bool"),
            vector([0, 3], call=lambda f, x, axis: f.any(x, axis=axis) * 200 + 100, want=300,
                   dtypes=("uint8",)),
        ),
    ),
    Report(
        "B091", "pytorch#127866", "The product of truth values that are all false is true.",
        "false; without dtype= the integer 0",
        (
            Case(call=of("prod", dtype="bool"), want=False, make=inputs.full(False), dtype="bool",
                 shape=(1, 1, 16, 16), small=(1, 1, 5, 4), dtypes=("bool",), axes=(None, -1)),
            Case(call=of("prod"), want=0, make=inputs.full(False), shape=(1, 1, 16, 16),
                 small=(1, 1, 5, 4), dtypes=("bool",), axes=(None, -1), dtype="int64"),
        ),
    ),
    Report(
        "B093", "numpy#20661", "any of dates is a TypeError.",
        "refused with one error (D101), which names what is taken: dates are no numbers",
        (
            Case(call=of("any"), want=Refused(axisfold.errors.DTypeError, "D101"), shape=(2,),
                 make=lambda shape, dtype: np.zeros(shape, "M8[D]"), layouts=AS_MADE,
                 dtypes=("float64",), backends=("llvm",)),
        ),
    ),
)  # fmt: skip


def _largest_with_counter():
    """A pair of float32 and int64 elements into a state of float32 and int32."""

    def combine(a, b):
        takes_b = b.v > a.v
        return {"v": te.select(takes_b, b.v, a.v), "n": te.select(takes_b, b.n, a.n)}

    return axisfold.Reducer(
        "largest", state={"v": "float32", "n": "int32"}, identity={"v": -INF, "n": -1},
        lift=lambda x, counter: {"v": x, "n": te.cast("int32", counter)}, combine=combine,
        finalize=lambda a: {"value": a.v, "number": a.n},
    )  # fmt: skip


def _with_counter(shape, dtype):
    x = inputs.normal()(shape, dtype)
    return x, np.broadcast_to(np.arange(shape[1]) + (1 << 20), shape)


def _largest_and_number(x, axis):
    return x[0].max(axis), x[0].argmax(axis) + (1 << 20)


def _into(dtype):
    def call(f, x, axis):
        return f.sum(x, axis=axis, out=np.full(np.delete(x.shape, axis), 7, dtype))

    return call


ON_HOST_AND_DEVICE = ("llvm", "gpu")
INTEGERS = (
    Report(
        "B095", "bottleneck#83", "nansum of int32 wraps.", "12499997500000, as int64",
        (
            Case(call=of("nansum"), want=oracle.integers, shape=(5_000_000,), small=(3000,),
                 make=lambda shape, dtype: (np.arange(shape[0]) * (5_000_000 // shape[0])).astype(
                     dtype), dtypes=("int32",), layouts=AS_MADE, dtype="int64"),
        ),
    ),
    Report(
        "B096", "numpy#6209", "nansum of objects and of time spans gives nan and NaT.",
        "refused with one error (D101)",
        tuple(
            Case(call=of("nansum"), want=Refused(axisfold.errors.DTypeError, "D101"), shape=(2,),
                 make=lambda shape, dtype, kind=kind: np.zeros(shape, kind), layouts=AS_MADE,
                 dtypes=("float64",), backends=("llvm",))
            for kind in ("O", "m8[s]")
        ),
    ),
    Report(
        "B098", "xarray#4352", "A sum of integers with min_count=1 is a TypeError.",
        "21; refused (D303) only where there may be fewer elements, as integers have no NaN",
        (
            vector([1, 2, 3, 4, 5, 6], call=of("sum", min_count=1), want=21, dtypes=("int64",)),
            vector([4, 5, 6], call=of("nansum", min_count=3), want=15, dtypes=("uint8",)),
            vector([1, 2, 3], call=of("sum", min_count=4), dtypes=("int64",),
                   want=Refused(axisfold.errors.DTypeError, "D303")),
            vector([1, NAN, 3], call=of("nansum", min_count=3), want=NAN),
        ),
    ),
    Report(
        "B100", "cccl#10935", "A result of another dtype than the output's is written as bytes.",
        "converted, or refused (D304) where NumPy's same_kind refuses",
        (
            Case(call=_into("float64"), want=oracle.count, make=inputs.full(1), shape=(5, 7),
                 dtypes=("float32", "int8"), axes=(0, 1), backends=ON_HOST_AND_DEVICE,
                 dtype="float64"),
            Case(call=_into("int32"), want=Refused(axisfold.errors.DTypeError, "D304"),
                 make=inputs.full(1), shape=(5, 7), axes=(0,), backends=ON_HOST_AND_DEVICE),
        ),
    ),
    Report(
        "B101", "cccl#11349", "A state of other widths than the elements that go into it fails.",
        "state fields have dtypes of their own",
        (
            Case(call=lambda f, x, axis: f.fold(x, _largest_with_counter(), axis=axis),
                 want=_largest_and_number, make=_with_counter, shape=(9, 300), small=(3, 50),
                 dtypes=("float32",), axes=(1,)),
        ),
    ),
)  # fmt: skip

REPORTS = (*EXPONENTIALS, *TRUTH, *INTEGERS)
