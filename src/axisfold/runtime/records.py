# SPDX-License-Identifier: Apache-2.0
"""Small records in the cache folder: what was measured on this machine.

Each is a JSON file of its own that says what it is about; one that is damaged, of another release
or about something else counts as absent, and a folder that cannot be written keeps nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from axisfold.config import config

_FORMAT: Final = 1


@cache
def host_name() -> str:
    """Return what tells this kind of machine from others: its processor, and how many CPUs."""
    from llvmlite import binding

    names = [binding.get_host_cpu_name(), platform.machine(), _model(), str(os.cpu_count())]
    return ", ".join(name for name in names if name)


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def read_record(kind: str, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what was kept about something, None if nothing was.

    Parameters
    ----------
    kind
        Name of a folder of records.
    about
        What the record is about, of what JSON can hold.
    """
    path = _path(kind, about)
    if path is None:
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("about") != _stamped(about):
        return None
    value = found.get("value")
    return value if isinstance(value, dict) else None


def write_record(kind: str, about: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Keep a record, whole or not at all; return whether there is a folder that took it."""
    path = _path(kind, about)
    if path is None:
        return False
    text = json.dumps({"about": _stamped(about), "value": dict(value)}, indent=1)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix="write-", suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError:
        return False
    return True


def _stamped(about: Mapping[str, Any]) -> dict[str, Any]:
    release = sys.modules["axisfold"].__version__  # an import would reach above this layer
    return {"format": _FORMAT, "release": release, "host": host_name(), **about}


def _path(kind: str, about: Mapping[str, Any]) -> Path | None:
    if config.cache_dir is None:
        return None
    key = json.dumps(_stamped(about), sort_keys=True).encode()
    return config.cache_dir / kind / f"{hashlib.sha256(key).hexdigest()[:32]}.json"
