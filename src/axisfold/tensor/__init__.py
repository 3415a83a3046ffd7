# SPDX-License-Identifier: Apache-2.0
"""What to compute: tensors, axes, computations and reducers (layer 2)."""
