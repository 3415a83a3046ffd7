# SPDX-License-Identifier: Apache-2.0
"""Arrays from .npy and .npz files, mapped rather than read, and results to files."""

from __future__ import annotations

import os
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy

from axisfold.cli.errors import CommandError, one_line

Array = np.ndarray[Any, Any]

# What NumPy and zipfile raise for bytes that are not what they should be.
_BROKEN = (
    ValueError, EOFError, TypeError, LookupError, OverflowError, RuntimeError, SyntaxError,
    struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class InputArray:
    """An array with its origin.

    Attributes
    ----------
    data
        The array; pages of the file are read when they are folded.
    name
        What to call it in reports.
    source
        The file.
    """

    data: Array
    name: str
    source: Path


def open_array(text: str, member: str | None) -> InputArray:
    """Return the array of ``FILE.npy``, ``FILE.npz`` or ``FILE.npz:member``."""
    path = Path(text)
    if not path.exists() and ".npz:" in text:
        before, _, after = text.rpartition(".npz:")
        path, member = Path(f"{before}.npz"), member or after
    try:
        with path.open("rb") as file:
            start = file.read(6)
            if not file.seekable():
                raise CommandError(
                    f"cannot read {path}: it is a pipe, and arrays are mapped from files. "
                    "Save it to a file first."
                )
            if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
                return _archive(path, file, member)
            if start != npy.MAGIC_PREFIX:
                raise CommandError(f"{path} is neither a .npy nor a .npz file.")
            if member is not None:
                raise CommandError(f"{path} is a .npy file: it has no member {member!r}.")
            file.seek(0)
            return InputArray(_mapped(path, file, str(path)), str(path), path)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror or error}.") from error


def _mapped(path: Path, file: IO[bytes], label: str, size: int | None = None) -> Array:
    """Return the array whose .npy header begins at the file's position, without reading it."""
    start = file.tell()
    end = os.fstat(file.fileno()).st_size if size is None else start + size
    try:
        shape, is_fortran, dtype = _header(file)
    except _BROKEN as error:
        raise CommandError(f"{label} is damaged: {one_line(error)}.") from error
    if dtype.hasobject:
        raise CommandError(
            f"{label} holds Python objects (dtype {dtype}), which could run code when they are "
            "loaded. Save it again with a numeric dtype."
        )
    offset = file.tell()
    needed = offset + int(dtype.itemsize) * _product(shape)
    if needed > end:
        raise CommandError(
            f"{label} is truncated: shape {shape} of {dtype} needs {needed - offset} bytes, "
            f"but {end - offset} are there."
        )
    if needed == offset:
        return np.empty(shape, dtype)
    order: Literal["C", "F"] = "F" if is_fortran else "C"
    try:
        mapped: Any = np.memmap(path, dtype, "r", offset, shape, order)
    except _BROKEN as error:
        raise CommandError(f"{label} is damaged: {one_line(error)}.") from error
    return np.asarray(mapped)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    if version == (1, 0):
        return npy.read_array_header_1_0(file)
    if version == (2, 0):
        return npy.read_array_header_2_0(file)
    raise ValueError(f"format version {version} is unknown")


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def _archive(path: Path, file: IO[bytes], member: str | None) -> InputArray:
    """Return a member of a .npz: mapped if it is stored, read if it is compressed."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = [n.removesuffix(".npy") for n in archive.namelist()]
            chosen = _member(path, names, member)
            info = archive.infolist()[names.index(chosen)]
            label = f"{path}:{chosen}"
            if info.compress_type == zipfile.ZIP_STORED:
                file.seek(info.header_offset + 26)
                lengths = struct.unpack("<HH", file.read(4))
                file.seek(sum(lengths), os.SEEK_CUR)
                return InputArray(_mapped(path, file, label, info.file_size), label, path)
            with archive.open(info) as stream:
                return InputArray(_unpacked(stream, label), label, path)
    except _BROKEN as error:
        raise CommandError(f"{path} is damaged: {one_line(error)}.") from error


def _member(path: Path, names: list[str], member: str | None) -> str:
    known = ", ".join(names) or "none"
    if member is None:
        if len(names) == 1:
            return names[0]
        raise CommandError(
            f"{path} has {len(names)} members: {known}. Name one as {path}:MEMBER or with --member."
        )
    chosen = member.removesuffix(".npy")
    if chosen not in names:
        raise CommandError(f"{path} has no member {member!r}. Its members are {known}.")
    return chosen


def _unpacked(stream: IO[bytes], label: str) -> Array:
    try:
        return npy.read_array(stream, allow_pickle=False)
    except _BROKEN as error:
        raise CommandError(f"{label} is damaged or no array: {one_line(error)}.") from error


def check_output(output: Path, source: Path, count: int) -> Path:
    """Return the file that results go to; refuse what would fail after the work is done."""
    chosen = output
    if count > 1 and output.suffix == ".npy":
        chosen = output.with_suffix(".npz")
        if chosen.exists():
            raise CommandError(
                f"{count} results need a .npz file, and {chosen} exists already. "
                f"Name it with -o {chosen} to replace it."
            )
    check_place(chosen)
    if chosen.exists() and chosen.samefile(source):
        raise CommandError(f"-o {chosen} is the input itself. Choose another file.")
    return chosen


def check_place(chosen: Path) -> None:
    """Refuse a file that cannot be written."""
    if chosen.is_dir():
        raise CommandError(f"cannot write {chosen}: it is a folder.")
    if chosen.exists() and not chosen.is_file():  # a new file would take a device's place
        raise CommandError(f"cannot write {chosen}: it is no regular file.")
    folder = Path(os.path.realpath(chosen)).parent
    if not folder.is_dir():
        raise CommandError(f"cannot write {chosen}: folder {folder} does not exist.")
    if not os.access(folder, os.W_OK):
        raise CommandError(f"cannot write {chosen}: folder {folder} is not writable.")


def write_results(path: Path, results: Mapping[str, Any]) -> None:
    """Write one array as .npy, several (or one to a name in .npz) as .npz; all or nothing."""

    def save(file: IO[bytes]) -> None:
        if len(results) > 1 or Path(os.path.realpath(path)).suffix == ".npz":
            np.savez(file, **results)
        else:
            np.save(file, next(iter(results.values())), allow_pickle=False)

    write_whole(path, save)


def write_whole(path: Path, save: Callable[[IO[bytes]], object]) -> None:
    """Let ``save`` write a file; all or nothing."""
    final = Path(os.path.realpath(path))
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{final.name}.", dir=final.parent)
        with os.fdopen(handle, "wb") as file:
            save(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(final))
        os.replace(temporary, final)
        temporary = None
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}.") from error
    finally:
        if temporary is not None:
            os.unlink(temporary)


def _mode(path: Path) -> int:
    """Return the permissions that a plain open() would leave."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
