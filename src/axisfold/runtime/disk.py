# SPDX-License-Identifier: Apache-2.0
"""A folder of compiled programs that processes share; whatever goes wrong there is a miss."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from axisfold.config import config

MAGIC: Final = b"axisfold entry 3"
# Magic, length of what follows the header, and its checksum.
_HEADER: Final = struct.Struct("<16sQ32s")
_SUFFIX: Final = ".entry"
_STALE_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class DiskCache:
    """Entries by key, the least recently used ones removed beyond a size.

    Parameters
    ----------
    folder
        Made when first written to; one that cannot be written is read only.
    limit_bytes
        Size that the entries may have together.
    """

    folder: Path
    limit_bytes: int = 256 << 20

    def get(self, key: str) -> bytes | None:
        """Return an entry, or None if there is none that is whole."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        entry = unpack(key, data)
        if entry is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # so that entries in use are removed last
        return entry

    def put(self, key: str, entry: bytes) -> None:
        """Write an entry, whole or not at all."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix="write-", suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(pack(key, entry))
                os.replace(name, self._path(key))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
            self._trim()

    def _path(self, key: str) -> Path:
        return self.folder / (key + _SUFFIX)

    def _trim(self) -> None:
        """Remove entries beyond the limit, and what interrupted writers have left."""
        entries: list[tuple[float, int, str]] = []
        with os.scandir(self.folder) as files:
            for file in files:
                with contextlib.suppress(OSError):  # another process has removed it
                    facts = file.stat()
                    if file.name.endswith(_SUFFIX):
                        entries.append((facts.st_mtime, facts.st_size, file.path))
                    elif file.name.endswith(".part") and _is_stale(facts.st_mtime):
                        os.unlink(file.path)
        size = sum(entry[1] for entry in entries)
        if size <= self.limit_bytes:
            return
        for _, length, path in sorted(entries):
            with contextlib.suppress(OSError):
                os.unlink(path)
            size -= length
            if size <= self.limit_bytes * 3 // 4:  # room for a while, so not at each write
                return


def _is_stale(modified: float) -> bool:
    return time.time() - modified > _STALE_SECONDS


def pack(key: str, entry: bytes) -> bytes:
    """Return the bytes of a file: a header and the entry."""
    return _HEADER.pack(MAGIC, len(entry), _checksum(key, entry)) + entry


def _checksum(key: str, entry: bytes) -> bytes:
    """Return what differs for another entry, and for this one under another name."""
    return hashlib.sha256(key.encode() + b"\0" + entry).digest()


def unpack(key: str, data: bytes) -> bytes | None:
    """Return the entry of a file, or None if it is cut off, changed, another's or not ours."""
    if len(data) < _HEADER.size:
        return None
    magic, length, checksum = _HEADER.unpack_from(data)
    entry = data[_HEADER.size :]
    is_whole = magic == MAGIC and length == len(entry)
    return entry if is_whole and _checksum(key, entry) == checksum else None


def shared_cache(kind: str) -> DiskCache | None:
    """Return the cache of one kind of program in the folder that is configured, if one is."""
    return None if config.cache_dir is None else DiskCache(config.cache_dir / kind)
