# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs, as one list for the simulator, the compiler and the device."""
