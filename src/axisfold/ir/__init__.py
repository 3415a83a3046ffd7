# SPDX-License-Identifier: Apache-2.0
"""Loop IR, the only one: nodes, rewriting, text form, legality (layer 1)."""
