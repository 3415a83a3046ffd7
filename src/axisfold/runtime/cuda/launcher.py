# SPDX-License-Identifier: Apache-2.0
"""Launches that CPython makes without Python code: machine code that calls the driver.

The code is launcher.ll; a record says all about the launches of one :class:`Bound` but the stream
and the addresses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Final, NamedTuple

from axisfold.runtime.cpu import MachineCode, add_symbol, compile_llvm
from axisfold.runtime.cuda.driver import Device, api, call
from axisfold.runtime.entry import address_of, builtin

# Of the driver, in the order in which a record has them.
_DRIVER: Final = (
    "cuCtxGetCurrent",
    "cuCtxPushCurrent",
    "cuCtxPopCurrent",
    "cuLaunchKernel",
    "cuStreamIsCapturing",
    "cuStreamGetId",
)
# Symbols of launcher.ll and the functions of CPython behind them.
_PYTHON: Final = {
    "axisfold_as_mask": "PyLong_AsUnsignedLongLongMask",
    "axisfold_from_long": "PyLong_FromLongLong",
    "axisfold_save_thread": "PyEval_SaveThread",
    "axisfold_restore_thread": "PyEval_RestoreThread",
}
_FASTCALL: Final = 0x80
# Sizes of a launch: blocks and threads along three axes, bytes of shared memory.
_SIZES: Final = 7
_SYMBOLS: Final = ("axisfold_launch", "axisfold_unique")


class _Record(ctypes.Structure):
    _fields_ = [
        ("driver", ctypes.c_uint64 * len(_DRIVER)),
        ("context", ctypes.c_uint64),
        ("count", ctypes.c_int64),
        ("most_parameters", ctypes.c_int64),
        ("launches", ctypes.c_void_p),
    ]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("function", ctypes.c_uint64),
        ("sizes", ctypes.c_uint32 * _SIZES),
        ("count", ctypes.c_int64),
        ("parameters", ctypes.c_void_p),
    ]


class Launch(NamedTuple):
    """One launch of which only the stream and the addresses are still open.

    Attributes
    ----------
    symbol
        The kernel's name.
    function
        Handle of the kernel.
    sizes
        Blocks and threads along three axes, bytes of shared memory.
    places
        For each pointer the index of its address.
    scalars
        The parameters after the pointers.
    """

    symbol: str
    function: int
    sizes: tuple[int, ...]
    places: tuple[int, ...]
    scalars: tuple[int, ...]


class Functions(NamedTuple):
    """What launcher.ll has.

    Attributes
    ----------
    launch
        From the address of a record, a stream and addresses to 0, or a status of the driver and,
        2^32 times, the number of the launch that returned it; that of no launch is of the context.
        The context becomes current for the launches.
    unique
        From the address of a record and a stream to a number that no other stream of the process
        has; -1 if the stream is captured, or another context current.
    """

    launch: Callable[..., int]
    unique: Callable[[int, int], int]


@cache
def _code() -> MachineCode:
    for symbol, name in _PYTHON.items():
        add_symbol(symbol, address_of(getattr(ctypes.pythonapi, name)))
    return compile_llvm(launcher_source(), _SYMBOLS[0], effort="none")


def release_address() -> int:
    """Return the address of a function that writes 1 to the address of 64 bits it is given."""
    return _code().address_of("axisfold_gone")


@cache
def functions() -> Functions:
    """Return the compiled functions, made when first needed."""
    code = _code()
    made = [
        builtin(symbol, code.address_of(symbol), _FASTCALL, "", __name__, alive=code)
        for symbol in _SYMBOLS
    ]
    return Functions(*made)


def launcher_source() -> str:
    """Return the LLVM IR."""
    text = Path(__file__).with_name("launcher.ll").read_text(encoding="utf-8")
    sizes = [
        f"  %size.place.{n} = getelementptr %Launch, ptr %launch, i32 0, i32 1, i64 {n}\n"
        f"  %size.{n} = load i32, ptr %size.place.{n}"
        for n in range(_SIZES)
    ]
    arguments = ", ".join(f"i32 %size.{n}" for n in range(_SIZES))
    return Template(text).substitute(sizes="\n".join(sizes), arguments=arguments)


class Record:
    """The launches of a program in memory, as launcher.ll reads them.

    Attributes
    ----------
    address
        What :class:`Functions` take.
    """

    __slots__ = ("_alive", "address")

    def __init__(self, device: Device, launches: Sequence[Launch]) -> None:
        rows = (_Launch * max(len(launches), 1))()
        self._alive: list[Any] = [rows]
        for row, launch in zip(rows, launches, strict=False):
            pairs = [(place, 0) for place in launch.places] + [(-1, v) for v in launch.scalars]
            table = (ctypes.c_int64 * max(2 * len(pairs), 1))(*(v for pair in pairs for v in pair))
            self._alive.append(table)
            row.function, row.count = launch.function, len(pairs)
            row.sizes[:] = launch.sizes
            row.parameters = ctypes.addressof(table)
        record = _Record(
            context=device.context_handle,
            count=len(launches),
            most_parameters=max((row.count for row in rows), default=0),
            launches=ctypes.addressof(rows),
        )
        record.driver[:] = [_function(name) for name in _DRIVER]
        self._alive.append(record)
        self.address = ctypes.addressof(record)


def _function(name: str) -> int:
    """Return the address of a function of the driver."""
    version = call("cuDriverGetVersion")
    default = api().CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT
    address, _ = call("cuGetProcAddress", name.encode(), version, default)
    return int(address)
