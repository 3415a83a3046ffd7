# SPDX-License-Identifier: Apache-2.0
"""Planned kernels on disk: a class that any process has met is loaded and not lowered again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Hashable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from axisfold.errors import AxisfoldError
from axisfold.ir.stmt import Kernel
from axisfold.runtime.cpu import host_key
from axisfold.runtime.disk import shared_cache
from axisfold.target import Target

if TYPE_CHECKING:
    from axisfold.runtime.cuda.program import Binary, Program

_KINDS: Final = ("shape", "strides")


@dataclass(frozen=True, slots=True)
class Interface:
    """How machine code of a kernel is found and called; plain data.

    Attributes
    ----------
    code
        Key of its object file.
    symbol
        Its name there.
    pointers
        Number of addresses it takes.
    scalars
        For each number after them: the buffer, 0 for its extents or 1 for its strides, the axis.
    is_parallel
        Whether it calls the thread pool.
    """

    code: str
    symbol: str
    pointers: int
    scalars: tuple[tuple[int, int, int], ...]
    is_parallel: bool


def interface_of(kernel: Kernel, code: str, source: str) -> Interface:
    """Return the interface of a kernel whose LLVM IR is ``source``."""
    from axisfold.codegen.llvm import PARALLEL, scalar_parameters, symbol

    places: dict[Any, tuple[int, int, int]] = {}
    for number, buffer in enumerate(kernel.params):
        for kind, name in enumerate(_KINDS):
            for axis, expr in enumerate(getattr(buffer, name)):
                places.setdefault(expr, (number, kind, axis))
    scalars = tuple(places[var] for var in scalar_parameters(kernel))
    return Interface(code, symbol(kernel), len(kernel.params), scalars, PARALLEL in source)


def plan_key(target: Target, *parts: Hashable) -> str | None:
    """Return the name of a plan on disk, None where nothing is kept there.

    Parameters
    ----------
    target
        What it is for: this machine, or a GPU.
    parts
        All that the plan depends on, beside the target and the compiler.
    """
    if shared_cache("plans") is None:
        return None
    # For a GPU the target says all.  NVRTC is not loaded, which takes longer than a plan may.
    if target.kind == "cuda":
        from axisfold.runtime.cuda.compile import installed_nvrtc

        machine = installed_nvrtc()
    else:
        machine = host_key()
    text = "\n".join([machine, _fingerprint(), *map(stable_text, (target, *parts))])
    return hashlib.sha256(text.encode()).hexdigest()


def find(key: str | None) -> Interface | None:
    """Return the interface of a plan, None if it is not on disk or not whole."""
    fields = _read(key)
    with contextlib.suppress(ValueError, TypeError, LookupError):  # written by something else
        fields["scalars"] = tuple(tuple(map(int, place)) for place in fields["scalars"])
        return Interface(**fields)
    return None


def keep(key: str | None, interface: Interface) -> None:
    """Write the interface of a plan to disk."""
    _write(key, asdict(interface))


def find_binary(key: str | None, arch: str) -> Binary | None:
    """Return the program of a plan for a GPU, None if it is not on disk or not whole."""
    from axisfold.runtime.cuda import hosttext
    from axisfold.runtime.cuda.compile import stored_code
    from axisfold.runtime.cuda.program import Binary

    document = _read(key)
    try:
        kernel, entries = hosttext.load(document)
        found = stored_code(str(document["code"]))
    except (ValueError, TypeError, LookupError, AxisfoldError):  # written by something else
        return None
    return None if found is None else Binary(kernel, arch, entries, found[0])


def keep_binary(key: str | None, program: Program) -> None:
    """Write what the host needs of a program to disk; its machine code is there already."""
    from axisfold.runtime.cuda import hosttext

    if key is not None:
        document = hosttext.save(program.kernel, program.entries)
        _write(key, document | {"code": program.cubin.key})


def _read(key: str | None) -> Any:
    disk = shared_cache("plans")
    entry = None if disk is None or key is None else disk.get(key)
    with contextlib.suppress(ValueError):
        return None if entry is None else json.loads(entry)
    return None


def _write(key: str | None, document: Any) -> None:
    disk = shared_cache("plans")
    if disk is not None and key is not None:
        disk.put(key, json.dumps(document).encode())


@lru_cache(maxsize=4)  # what is folded is part of two keys
def stable_text(part: Hashable) -> str:
    """Return text that is the same in every process."""
    text = repr(part)  # in one go, where no part has an order of its own in each process
    if "frozenset(" not in text:
        return text
    own = stable_text.__wrapped__
    if isinstance(part, frozenset):
        return "{" + ",".join(sorted(map(own, part))) + "}"
    return "(" + ",".join(map(own, part)) + ")" if isinstance(part, tuple) else text


@lru_cache(maxsize=1)
def _fingerprint() -> str:
    """Return what changes when any file of the compiler does."""
    root = Path(__file__).parents[1]
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".py", ".ll")):
                facts = os.stat(os.path.join(folder, name))
                found.append((os.path.join(folder, name), facts.st_size, facts.st_mtime_ns))
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()
