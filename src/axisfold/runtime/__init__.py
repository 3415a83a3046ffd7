# SPDX-License-Identifier: Apache-2.0
"""Compile, load and launch (layer 6)."""
