# SPDX-License-Identifier: Apache-2.0
"""Every switch of axisfold: one typed table, each with its environment variable."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from axisfold.errors import ArgumentError

MAX_THREADS: Final = 1024


def _flag(name: str, default: str = "") -> bool:
    return os.environ.get(name, default) not in ("", "0")


@dataclass(slots=True)
class Config:
    """Switches that may be changed while a program runs.

    Attributes
    ----------
    verify
        Check every program after every pass (``AXISFOLD_VERIFY``); the tests turn it on.
    tuned
        Plan with what :func:`axisfold.tune` has found (``AXISFOLD_TUNED``, on unless it is 0); it
        counts for calls of a new signature.
    keep_results
        Let later results have the memory of large ones that are gone (``AXISFOLD_KEEP_RESULTS``,
        on unless it is 0): of NumPy arrays of 16 MiB and more on Linux, up to 1 GiB, which the
        system takes back when it needs memory.
    """

    verify: bool = field(default_factory=lambda: _flag("AXISFOLD_VERIFY"))
    tuned: bool = field(default_factory=lambda: _flag("AXISFOLD_TUNED", "1"))
    keep_results: bool = field(default_factory=lambda: _flag("AXISFOLD_KEEP_RESULTS", "1"))
    _cache_dir: Path | None = field(
        default_factory=lambda: cache_folder(os.environ), init=False, repr=False
    )
    _threads: int | None = field(default=None, init=False, repr=False)
    _watchers: list[Callable[[int], None]] = field(default_factory=list, init=False, repr=False)

    @property
    def cache_dir(self) -> Path | None:
        """Folder of compiled programs; None keeps them in memory only.

        ``AXISFOLD_CACHE_DIR``; by default ``axisfold`` in the user's cache folder.

        Raises
        ------
        ArgumentError
            ``A402``: what is set is neither a path nor None.
        """
        return self._cache_dir

    @cache_dir.setter
    def cache_dir(self, value: str | os.PathLike[str] | None) -> None:
        self._cache_dir = _folder(value)

    @property
    def threads(self) -> int:
        """How many threads a parallel loop may use, the calling one included.

        ``AXISFOLD_NUM_THREADS``; by default the CPUs that this process may use
        (:func:`available_cpus`).  Setting it counts from the next parallel loop on; 1 means that
        axisfold starts no threads.  Results do not depend on it.

        Raises
        ------
        ArgumentError
            ``A401``: the value, or that of the environment variable, is no integer from 1 to
            1024.
        """
        if self._threads is None:
            given = os.environ.get("AXISFOLD_NUM_THREADS", "").strip()
            self._threads = (
                _thread_count(given, "AXISFOLD_NUM_THREADS") if given else available_cpus()
            )
        return self._threads

    @threads.setter
    def threads(self, value: int) -> None:
        self._threads = _thread_count(value, "config.threads")
        for watcher in self._watchers:
            watcher(self._threads)

    def watch_threads(self, watcher: Callable[[int], None]) -> None:
        """Call ``watcher`` with every number of threads that is set from now on."""
        self._watchers.append(watcher)


def _folder(value: Any) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)) or value == "":
        raise ArgumentError(
            f"config.cache_dir is {value!r}, not a path or None.",
            code="A402",
            hint="Give the path of a folder, or None to keep compiled programs in memory only.",
        )
    return Path(value).absolute()


def _thread_count(value: Any, name: str) -> int:
    text = value if isinstance(value, str) else None
    if text is not None and text.isascii() and text.isdigit():
        value = int(text[:9])
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_THREADS:
        raise ArgumentError(
            f"{name} is {value!r}, not a number of threads from 1 to {MAX_THREADS}.",
            code="A401",
            hint="1 runs everything on the calling thread; unset, all CPUs that this process may "
            "use take part.",
        )
    return value


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder of compiled programs; None where the user has no home.

    Parameters
    ----------
    environment
        Environment variables: ``AXISFOLD_CACHE_DIR`` (set to nothing: no folder), or the place
        that the system's convention names.
    """
    given = environment.get("AXISFOLD_CACHE_DIR")
    if given is not None:
        return Path(given).absolute() if given else None
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        base = Path(environment.get(name, ""))
        if base.is_absolute():  # the convention: any other value is ignored
            return base / "axisfold"
    try:
        return Path.home() / ".cache" / "axisfold"
    except RuntimeError:
        return None


def available_cpus() -> int:
    """Return how many CPUs this process may use: its affinity mask and its cgroup's quota."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    quota = cgroup_quota()
    # A share of a CPU counts only where it is all there is: a thread that runs part of the time
    # keeps the others waiting.
    return count if quota is None else max(1, min(count, int(quota)))


def cgroup_quota(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> float | None:
    """Return the CPUs' worth of time that the control groups of this process grant, if limited.

    Parameters
    ----------
    root
        Where the control group file system is mounted.
    own
        File that names the groups of this process, one ``id:controllers:path`` a line.
    """
    quotas: list[float] = []
    for line in _read(own).splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        is_unified = controllers == ""
        if not is_unified and "cpu" not in controllers.split(","):
            continue
        base = root if is_unified else root / controllers
        group = base / path.lstrip("/")
        # A limit of any group around ours holds too.  In a container the path may be that of the
        # host, and then the mount itself is our group.
        for folder in (group, *group.parents):
            if folder != base and base not in folder.parents:
                break
            quotas += _quota(folder, is_unified=is_unified)
    return min(quotas, default=None)


def _quota(folder: Path, *, is_unified: bool) -> list[float]:
    if is_unified:
        words = _read(folder / "cpu.max").split()
    else:
        words = [_read(folder / f"cpu.cfs_{what}_us").strip() for what in ("quota", "period")]
    try:
        limit, period = (float(word) for word in words)
    except ValueError:  # "max", or no such file
        return []
    return [limit / period] if limit > 0 and period > 0 else []


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""


config = Config()
