# SPDX-License-Identifier: Apache-2.0
"""Where the CUDA headers of this package lie: the kernel primitives for hand-written kernels."""

from pathlib import Path

__all__ = ["include_dir"]


def include_dir() -> Path:
    """Return the folder to pass to a CUDA compiler with ``-I``.

    Kernels then say ``#include <axisfold/axisfold.cuh>``. The headers need no others, so NVRTC
    compiles them without a CUDA toolkit.

    Returns
    -------
    pathlib.Path
        An existing folder that holds the folder ``axisfold``.

    Examples
    --------
    >>> (include_dir() / "axisfold" / "axisfold.cuh").is_file()
    True
    """
    return Path(__file__).resolve().parent / "include"
