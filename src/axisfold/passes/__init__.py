# SPDX-License-Identifier: Apache-2.0
"""IR to IR, one pass a file; pipelines.py names them in order (layer 4)."""
