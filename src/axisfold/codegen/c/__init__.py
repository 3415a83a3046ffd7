# SPDX-License-Identifier: Apache-2.0
"""Portable C11 for people who compile it themselves; needs no compiler itself."""

from axisfold.codegen.c.function import emit_kernel, symbol

__all__ = ["emit_kernel", "symbol"]
