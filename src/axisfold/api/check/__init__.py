# SPDX-License-Identifier: Apache-2.0
"""Checks of a reducer's laws: its states on NumPy, the laws, and kernels against both."""
