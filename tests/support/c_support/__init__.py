# SPDX-License-Identifier: Apache-2.0
"""Compiling C and LLVM programs of one kernel and calling both with the same arrays."""
