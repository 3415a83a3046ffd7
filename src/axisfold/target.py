# SPDX-License-Identifier: Apache-2.0
"""Targets: what a program is compiled for, as plain data.  A Target never asks a device."""

from __future__ import annotations

from dataclasses import dataclass

from axisfold.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Target:
    """A compilation target.

    Parameters
    ----------
    kind
        ``"llvm"``: the host's CPU through LLVM; ``"c"``: C11 source.
    vector_bytes
        Bytes of the widest vector that schedules should use.
    """

    kind: str
    vector_bytes: int = 64

    def __str__(self) -> str:
        return self.kind


def parse(spec: Target | str) -> Target:
    """Return the Target of a name.

    Raises
    ------
    UnsupportedError
        ``X101``: there is no such target.
    """
    if isinstance(spec, Target):
        return spec
    if spec not in ("llvm", "c"):
        raise UnsupportedError(
            f"target {spec!r} is not available in this release.",
            code="X101",
            hint="Use 'llvm' or 'c'.",
        )
    return Target(spec)
