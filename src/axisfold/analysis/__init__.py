# SPDX-License-Identifier: Apache-2.0
"""Pure questions about expressions: simplify, prove, bound, and recognise affine ones (layer 2)."""
