# SPDX-License-Identifier: Apache-2.0
"""The reductions that people call, generated from one table (layer 9)."""
