# SPDX-License-Identifier: Apache-2.0
"""Folders of the header tests."""

from pathlib import Path

HEADER_TESTS = Path(__file__).resolve().parents[2]
KERNELS = HEADER_TESTS / "kernels"
SHIM = HEADER_TESTS / "shim"
ROOT = HEADER_TESTS.parents[1]
INCLUDE = ROOT / "src" / "axisfold" / "include"
EXAMPLES = ROOT / "examples" / "header"
