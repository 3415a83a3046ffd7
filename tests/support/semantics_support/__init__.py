# SPDX-License-Identifier: Apache-2.0
"""What every operation of the IR computes, as one table that drives all backends."""
