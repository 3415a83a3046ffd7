# SPDX-License-Identifier: Apache-2.0
"""Automatic schedules: canonical problems, and rules that write te and schedules (layer 8)."""
