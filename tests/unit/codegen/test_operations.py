# SPDX-License-Identifier: Apache-2.0
"""Every operation on every dtype, as machine code against the interpreter."""

import numpy as np
import pytest
from te_support import interpreter
from te_support.kernels import buffer, kernel, lanewise, run, same_bits

from axisfold.dtypes import SUPPORTED, parse
from axisfold.ir.expr import Binary, Call, Cast, Compare, Not, Select
from axisfold.ir.intrinsics import INTRINSICS
from axisfold.ir.verify import _OPERATIONS

DTYPES = [d for d in SUPPORTED.values() if not d.is_complex]
FLOATS = [d for d in DTYPES if d.is_float]
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LANES = (1, 4, 3)
COUNT_UNIT = 12  # a multiple of every number of lanes


def special_values(dtype):
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_float:
        info = np.finfo(dtype.name)
        edges = [0.0, 1.0, 1.5, 3.0, 7.25, info.max, info.tiny, info.smallest_subnormal, np.inf]
        return np.array([*edges, *(-v for v in edges), np.nan], dtype.name)
    info = np.iinfo(dtype.name)
    small = [v for v in (-7, -3, -2, -1, 0, 1, 2, 3, 7) if v >= info.min]
    return np.array(sorted({*small, info.min, info.min + 1, info.max - 1, info.max}), dtype.name)


def padded(values):
    return np.resize(values, -(-len(values) // COUNT_UNIT) * COUNT_UNIT)


def all_pairs(dtype):
    values = special_values(dtype)
    a, b = np.meshgrid(values, values)
    return padded(a.ravel()), padded(b.ravel())


def run_all(rules, results, arrays, lanes):
    """Run ``rules[n]`` on arrays lane by lane in one kernel; return an array for each."""
    count = len(arrays[0])
    inputs = [buffer(f"A{n}", a.dtype, count) for n, a in enumerate(arrays)]
    outputs = [buffer(f"B{n}", d, count) for n, d in enumerate(results)]
    loops = [
        lanewise(inputs, out, lanes, count, rule) for out, rule in zip(outputs, rules, strict=True)
    ]
    found = [np.full(count, 1, d.to_numpy()) for d in results]
    run(kernel([*inputs, *outputs], outputs, *loops), *arrays, *found)
    return found


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_binary(dtype, lanes):
    a, b = all_pairs(dtype)
    names = sorted(_OPERATIONS[dtype.kind])
    rules = [lambda x, y, n=n: Binary(n, x, y) for n in names]
    for name, found in zip(names, run_all(rules, [dtype] * len(names), [a, b], lanes), strict=True):
        assert same_bits(found, interpreter.binary(name, a, b, dtype)), name


@pytest.mark.parametrize("divisor", [1, 2, 8, 3, -1, -2, -5, 0])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_division_by_a_constant(dtype, divisor):
    from axisfold.ir import build

    dtype = parse(dtype)
    a = padded(special_values(dtype))
    constant = build.const(divisor, dtype)
    names = ("floordiv", "floormod", "truncdiv", "truncmod")

    def rule(name):
        # Binary, not build.binary: a zero divisor and a divisor of one are emitted too.
        return lambda x: Binary(name, x, build.broadcast(constant, x.dtype.lanes))

    b = np.full_like(a, constant.value)
    for lanes in (1, 4):
        founds = run_all([rule(n) for n in names], [dtype] * 4, [a], lanes)
        for name, found in zip(names, founds, strict=True):
            assert same_bits(found, interpreter.binary(name, a, b, dtype)), name


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_compare_and_select(dtype, lanes):
    a, b = all_pairs(dtype)
    rules = [lambda x, y, n=n: Compare(n, x, y) for n in COMPARISONS]
    rules += [
        lambda x, y: Not(Compare("lt", x, y)),
        lambda x, y: Select(Compare("le", x, y), x, y),
    ]
    results = [parse("bool")] * 7 + [dtype]
    *flags, negated, chosen = run_all(rules, results, [a, b], lanes)
    for name, found in zip(COMPARISONS, flags, strict=True):
        assert same_bits(found, interpreter.COMPARE[name](a, b)), name
    assert same_bits(negated, ~(a < b))
    assert same_bits(chosen, np.where(a <= b, a, b))


def cast_values(source):
    values = [*special_values(source).tolist()]
    if source.is_float:
        values += [s * v for s in (1, -1) for v in (0.5, 0.99, 126.5, 127.5, 128.0, 255.5, 256.0)]
        values += [2.0**e + d for e in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, 0, 1)]
        values += [-(2.0**e) - d for e in (7, 15, 31, 63) for d in (-1, 0, 1)]
    with np.errstate(over="ignore"):
        return padded(np.array(values, "float64" if source.is_float else source.name)).astype(
            source.name
        )


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_cast(source, lanes):
    with np.errstate(over="ignore"):
        a = cast_values(source)
    targets = [d for d in DTYPES if d != source]
    rules = [lambda x, t=t: Cast(x, t.with_lanes(x.dtype.lanes)) for t in targets]
    for target, found in zip(targets, run_all(rules, targets, [a], lanes), strict=True):
        assert same_bits(found, interpreter.cast(a, source, target)), str(target)


@pytest.mark.parametrize("lanes", [1, 8])
def test_float64_to_float16_rounds_once(lanes):
    halves = np.arange(0, 0x7C00, dtype="uint16").view("float16").astype("float64")
    ties = np.append((halves[1:] + halves[:-1]) / 2, 65520.0)
    near = np.concatenate([ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf), halves])
    tiny = [5e-324, 1e-60, 2.0**-25, np.nextafter(2.0**-25, 1), 1e300, np.inf, np.nan, 65519.999]
    values = np.concatenate([near, -near, tiny, np.negative(tiny)])
    values = np.resize(values, -(-len(values) // 24) * 24)
    (found,) = run_all(
        [lambda x: Cast(x, parse("float16").with_lanes(x.dtype.lanes))],
        [parse("float16")],
        [values],
        lanes,
    )
    with np.errstate(over="ignore"):
        assert same_bits(found, values.astype("float16"))


# Exactly rounded by every library; the others are within a few units in the last place.
EXACT = {
    "abs", "sqrt", "floor", "ceil", "trunc", "round", "fmod", "copysign", "isnan", "isinf",
    "isfinite",
}  # fmt: skip
TOLERANCE = {16: 2e-3, 32: 1e-6, 64: 1e-14}


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_call(dtype, lanes):
    a, b = all_pairs(dtype)
    rows = [r for r in INTRINSICS.values() if r.takes == "floats" or r.name == "abs"]
    results = [parse("bool") if r.result == "bool" else dtype for r in rows]

    def rule(row):
        def make(x, y):
            kind = parse("bool").with_lanes(x.dtype.lanes) if row.result == "bool" else x.dtype
            return Call(row.name, (x, y)[: row.arity], kind)

        return make

    founds = run_all([rule(r) for r in rows], results, [a, b], lanes)
    for row, found in zip(rows, founds, strict=True):
        if row.name in EXACT:
            wanted = interpreter.call(row.name, [a, b][: row.arity], dtype)
            assert same_bits(found, wanted), row.name
            continue
        wide = [v.astype("float64") for v in (a, b)[: row.arity]]
        wanted = interpreter.call(row.name, wide, parse("float64"))
        with np.errstate(over="ignore", under="ignore"):
            wanted = wanted.astype(dtype.name)
        tiny = float(np.finfo(dtype.name).tiny)
        np.testing.assert_allclose(
            found.astype("float64"),
            wanted.astype("float64"),
            rtol=TOLERANCE[dtype.bits],
            atol=tiny,
            err_msg=row.name,
        )


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16"])
def test_magnitude_of_integers(dtype):
    dtype = parse(dtype)
    a = padded(special_values(dtype))
    for lanes in LANES:
        (found,) = run_all([lambda x: Call("abs", (x,), x.dtype)], [dtype], [a], lanes)
        assert same_bits(found, interpreter.call("abs", [a], dtype))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_upper_half_of_a_product(dtype, lanes):
    a, b = all_pairs(parse(dtype))
    rule = lambda x, y: Call("mulhi", (x, y), x.dtype)  # noqa: E731
    (found,) = run_all([rule], [parse(dtype)], [a, b], lanes)
    assert same_bits(found, interpreter.call("mulhi", [a, b], parse(dtype)))
