# SPDX-License-Identifier: Apache-2.0
"""Reference results."""

from collections.abc import Iterable

import numpy as np

AFFINE = np.dtype([("scale", "<u4"), ("shift", "<u4")])
SEVEN = np.dtype(("u1", (7,)))


def affine(count: int, seed: int = 0) -> np.ndarray:
    """Random affine maps modulo 2^32: their composition does not commute and is exact."""
    draw = np.random.default_rng(seed).integers(0, 2**32, (count, 2), dtype=np.uint32)
    return np.ascontiguousarray(draw).view(AFFINE).reshape(count)


def composed(maps: Iterable[np.void]) -> tuple[int, int]:
    """Compose affine maps from left to right."""
    scale, shift = 1, 0
    for item in maps:
        scale, shift = (
            scale * int(item["scale"]) % 2**32,
            (scale * int(item["shift"]) + shift) % 2**32,
        )
    return scale, shift


def same_affine(result: np.void, expected: tuple[int, int]) -> bool:
    """Compare one affine map with a pair of integers."""
    return (int(result["scale"]), int(result["shift"])) == expected
