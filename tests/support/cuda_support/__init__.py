# SPDX-License-Identifier: Apache-2.0
"""Programs for threads written by hand, and NVRTC without a device."""
