# SPDX-License-Identifier: Apache-2.0
"""Test cases of the CUDA headers, written once for every machine that can run kernels.

Each takes a fixture ``machine``: tests/header runs them on the host, tests/gpu/header on a device.
"""

from header_cases import (
    block,
    examples,
    grid,
    higher_dim,
    kps_compute,
    kps_data,
    torch,
    types,
    warp,
)

ALL_CASES = (block, examples, grid, higher_dim, kps_compute, kps_data, torch, types, warp)
