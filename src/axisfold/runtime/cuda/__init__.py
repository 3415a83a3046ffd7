# SPDX-License-Identifier: Apache-2.0
"""CUDA: compile, cache, load and launch; nothing of CUDA is imported before it is needed."""
