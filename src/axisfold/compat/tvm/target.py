# SPDX-License-Identifier: Apache-2.0
"""Targets of te scripts: ``tvm.target.Target("llvm")``, also as a context."""

from __future__ import annotations

from typing import Any

from axisfold import target as axisfold_target

_entered: list[Target] = []


class Target:
    """What to compile for, as a context the default of ``tvm.build``.

    Parameters
    ----------
    target
        ``"llvm"``, ``"c"`` or ``"cuda"``.  Of the options ``-arch=sm_90`` of CUDA is read; others,
        such as ``-mcpu=…``, are not needed: code is compiled for the machine at hand.
    host
        Accepted for te scripts and not read.
    """

    def __init__(self, target: Any = "llvm", host: Any = None) -> None:
        kind, *options = str(target).split() or [""]
        arch = [option for option in options if option.startswith("-arch=")][:1]
        if kind != "cuda":
            arch = []
        self.native = axisfold_target.parse(" ".join([kind, *arch]))

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the target of the innermost ``with``; llvm if there is none and none is asked."""
        if _entered:
            return _entered[-1]
        return None if allow_none else Target()

    @property
    def kind(self) -> Kind:
        """What it is; ``.name`` is its name."""
        return Kind(self.native.kind)

    def __enter__(self) -> Target:
        _entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _entered.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.native == other.native

    def __hash__(self) -> int:
        return hash(self.native)

    def __str__(self) -> str:
        return str(self.native)


class Kind(str):
    """Name of a kind of targets."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name."""
        return str(self)


create = Target


def llvm(*_: Any) -> Target:
    """Return the target of the host's CPU."""
    return Target()


def cuda(model: str = "unknown", arch: str | None = None, options: Any = None) -> Target:
    """Return the target of NVIDIA GPUs; of the arguments the architecture is read."""
    return Target(f"cuda -arch={arch}" if arch else "cuda")
