# SPDX-License-Identifier: Apache-2.0
"""How to compute it: stages, loop relations, primitives and their trace (layer 3)."""
