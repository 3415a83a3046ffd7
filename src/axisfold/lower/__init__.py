# SPDX-License-Identifier: Apache-2.0
"""From tensors and a schedule to loop IR (layer 4)."""
