# SPDX-License-Identifier: Apache-2.0
"""Elements to fold, what folds of them should give, and how close that is."""

import numpy as np

ROUNDS = 3
_NUMPY = {"any": np.any, "all": np.all, "min": np.min, "max": np.max,
          "argmin": np.argmin, "argmax": np.argmax}  # fmt: skip


def elements(shape, dtype, name, seed=0):
    """Return an array whose fold by a reduction is neither trivial nor beyond its dtype."""
    rng = np.random.default_rng([seed, *shape, *name.encode()])
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < (0.02 if name == "any" else 0.98)
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -3, 9, shape).astype(dtype)
    if name == "prod":
        values = np.where(rng.random(shape) < 0.5, 0.5, 2.0) * rng.choice([-1, 1], shape)
    else:
        values = np.round(rng.standard_normal(shape) * 64) / 16
    if name in ("any", "all", "count_nonzero"):
        values = values * (rng.random(shape) < (0.02 if name == "any" else 0.98))
    if kind == "c":
        values = values + 1j * np.round(rng.standard_normal(shape) * 64) / 16
        values = values / np.abs(values + (values == 0)) if name == "prod" else values
    return values.astype(dtype)


def expected(name, x, axis):
    """Return the result in float64, complex128 or int64, by NumPy."""
    wide = x.astype({"f": "f8", "c": "c16"}.get(x.dtype.kind, x.dtype))
    if name in _NUMPY:
        return _NUMPY[name](wide, axis=axis)
    if name == "count_nonzero":
        return np.count_nonzero(wide, axis=axis)
    if name == "norm":
        return np.sqrt(np.sum(np.abs(np.asarray(wide, wide.dtype.char if wide.dtype.kind in "fc"
                                                else "f8")) ** 2, axis=axis))  # fmt: skip
    if name == "minmax":
        return np.stack([np.min(wide, axis=axis), np.max(wide, axis=axis)])
    if name == "logsumexp":
        real = np.asarray(wide, "f8")
        top = real.max(axis=axis, keepdims=True)
        return np.squeeze(np.log(np.exp(real - top).sum(axis, keepdims=True)) + top, axis)
    with np.errstate(over="ignore"):
        return getattr(np, name)(wide, axis=axis)


def agree(name, result, want, x, axis):
    """Assert that a result is the expected one, up to the rounding of its dtype."""
    result, want = np.asarray(result), np.asarray(want)
    assert result.shape == want.shape, (name, result.shape, want.shape)
    if result.dtype.kind in "biu":
        assert np.array_equal(result, want), (name, x.shape, axis)
        return
    unit = float(np.finfo(result.dtype).eps)
    slack = 0.0
    if name in ("sum", "mean"):  # magnitudes bound what cancels
        slack = np.reshape(np.sum(np.abs(x.astype("c16")), axis=axis), want.shape)
        slack = slack / max(x.size // max(result.size, 1), 1) if name == "mean" else slack
    if name in ("var", "std"):  # so do squares, also in the reference
        slack = np.reshape(np.mean(np.abs(x.astype("c16")) ** 2, axis=axis), want.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = want.astype(result.dtype)
        error = np.abs(result.astype("c16") - rounded.astype("c16"))
        is_same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
        size = np.abs(rounded.astype("c16"))
        if name == "logsumexp":  # what is relative in the sum is absolute in its logarithm
            size = np.maximum(size, 1.0)
        # The reference is itself rounded, to float64.
        bound = 4 * unit * size + 1e-13 * (slack + size)
    assert (is_same | (error <= bound)).all(), (name, x.shape, axis, error.max())
