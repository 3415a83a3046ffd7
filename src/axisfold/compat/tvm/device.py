# SPDX-License-Identifier: Apache-2.0
"""Devices of te scripts: names of places for arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from axisfold.errors import ArgumentError
from axisfold.runtime.cuda.driver import count
from axisfold.runtime.cuda.memory import synchronize

KINDS: Final = {"cpu": 1, "llvm": 1, "c": 1, "cuda": 2, "gpu": 2}


@dataclass(frozen=True, slots=True)
class Device:
    """A place for arrays.

    Attributes
    ----------
    kind
        ``"cpu"`` or ``"cuda"``.
    index
        Which one of its kind.
    """

    kind: str
    index: int = 0

    @property
    def exist(self) -> bool:
        """Whether arrays can live there."""
        return self.kind == "cpu" or self.index < count()

    @property
    def device_type(self) -> int:
        """DLPack's number of the kind."""
        return KINDS[self.kind]

    @property
    def device_id(self) -> int:
        """DLPack's number of the device."""
        return self.index

    def sync(self) -> None:
        """Wait for its work: a CPU has none left when a call returns."""
        if self.kind == "cuda":
            synchronize(self.index)

    def __repr__(self) -> str:
        return f"{self.kind}({self.index})"


def cpu(index: int = 0) -> Device:
    """Return the CPU."""
    return Device("cpu", index)


def cuda(index: int = 0) -> Device:
    """Return a CUDA device."""
    return Device("cuda", index)


gpu = cuda


def device(kind: Any, index: int = 0) -> Device:
    """Return a device by the name of its kind, ``"cpu"`` or ``"cuda"``, or of a target.

    Raises
    ------
    ArgumentError
        ``A321``: there is no such kind.
    """
    name = str(kind).split()[0] if str(kind) else ""
    if name not in KINDS:
        raise ArgumentError(
            f"there is no device {name!r}.", code="A321", hint="Use 'cpu' or 'cuda'."
        )
    return Device("cpu" if KINDS[name] == 1 else "cuda", index)
