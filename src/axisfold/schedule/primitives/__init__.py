# SPDX-License-Identifier: Apache-2.0
"""Schedule primitives, one file each: a function over a schedule, checked before it acts."""
