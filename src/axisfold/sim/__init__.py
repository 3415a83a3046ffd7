# SPDX-License-Identifier: Apache-2.0
"""Programs of the loop IR run on NumPy: what a GPU would do, on any machine."""
