# SPDX-License-Identifier: Apache-2.0
"""From loop IR to source or machine code (layer 5)."""
