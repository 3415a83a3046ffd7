# SPDX-License-Identifier: Apache-2.0
"""Functions of one array that CPython calls without Python code once they know a signature.

The code is entry.ll: it reads the array object, finds the record of a call that looked alike, and
runs the kernel.  Where the interpreter or NumPy keep objects in another way than it reads them, or
there is no GIL, the Python functions stay as they are.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any, Final

import numpy as np

from axisfold.runtime.cpu import MachineCode, add_symbol, compile_llvm
from axisfold.runtime.threads import INTERRUPTED, check_status

BUCKETS: Final = 512
MOST_AXES: Final = 8
# How many arguments kernels are called with: the least of these that is enough.
ARGUMENTS: Final = (6, 10, 16, 24, 40)
MOST_ARGUMENTS: Final = ARGUMENTS[-1]
MOST_RECORDS: Final = 4096
# Axes are digits, those from the end too.  What stands for axis=None and for axis=(), to which
# digits are appended, is no digit.
AXIS_DIGITS: Final = 2 * MOST_AXES
_ALL_AXES: Final = -(1 << 60)
_NO_AXES: Final = -(1 << 20)
_FASTCALL_WITH_KEYWORDS: Final = 0x80 | 0x02

# Symbols of entry.ll and the functions of CPython behind them.
_PYTHON: Final = {
    "axisfold_vectorcall": "PyObject_Vectorcall",
    "axisfold_as_long": "PyLong_AsLong",
    "axisfold_error_occurred": "PyErr_Occurred",
    "axisfold_error_clear": "PyErr_Clear",
    "axisfold_release": "Py_DecRef",
    "axisfold_retain": "Py_IncRef",
    "axisfold_save_thread": "PyEval_SaveThread",
    "axisfold_restore_thread": "PyEval_RestoreThread",
}
# And their places in NumPy's table of functions, which its ABI fixes.
_NUMPY: Final = {"axisfold_new_scalar": 60, "axisfold_new_array": 94}
_OBJECTS: Final = (
    "array.type", "long.type", "tuple.type", "none", "true", "false", "axis.name", "keepdims.name",
)  # fmt: skip


class _State(ctypes.Structure):
    _fields_ = [
        ("function", ctypes.py_object),
        ("most_positions", ctypes.c_int64),
        ("buckets", ctypes.c_void_p * BUCKETS),
        ("raiser", ctypes.py_object),
    ]


class _Record(ctypes.Structure):
    _fields_ = [
        ("next", ctypes.c_void_p),
        ("descr", ctypes.py_object),
        ("nd", ctypes.c_int64),
        ("axis", ctypes.c_int64),
        ("keepdims", ctypes.c_int64),
        ("kernel", ctypes.c_void_p),
        ("arguments_count", ctypes.c_int64),
        ("inputs", ctypes.c_int64),
        ("first_output", ctypes.c_int64),
        ("outputs", ctypes.c_int64),
        ("out_nd", ctypes.c_int64),
        ("out_descr", ctypes.py_object),
        ("shape", ctypes.c_int64 * MOST_AXES),
        ("strides", ctypes.c_int64 * MOST_AXES),
        ("out_shape", ctypes.c_int64 * MOST_AXES),
        ("arguments", ctypes.c_int64 * MOST_ARGUMENTS),
        ("keeper", ctypes.c_void_p),
    ]


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@dataclass(frozen=True, slots=True)
class Call:
    """What a kernel is called with for one signature.

    Attributes
    ----------
    kernel
        A ctypes function, which keeps its code.
    inputs
        Byte offsets of the input's real components.
    index_count
        Placeholders without memory after them.
    outputs
        Byte offsets of the result's real components.
    scalars
        Extents and strides.
    dtype, shape
        Of the result; shape None for a NumPy scalar.
    """

    kernel: Any
    inputs: Sequence[int]
    index_count: int
    outputs: Sequence[int]
    scalars: Sequence[int]
    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None


@dataclass(slots=True)
class Entry:
    """A function that CPython calls directly, and the records of the calls that it knows.

    Attributes
    ----------
    function
        What callers call.
    """

    function: Callable[..., Any]
    _state: _State
    _records: list[tuple[_Record, Call]] = field(default_factory=list)

    def learn(
        self, x: np.ndarray[Any, Any], axis: Any, keepdims: bool, call: Call, *, is_short: bool
    ) -> None:
        """Answer calls like this one without Python from now on, where that can be.

        Other threads of Python run beside kernels that are not short.
        """
        values = [*call.inputs, *[0] * call.index_count, *call.outputs, *call.scalars]
        code = _axis_code(axis)
        if code is None or type(keepdims) is not bool:
            return
        if x.ndim > MOST_AXES or len(values) > MOST_ARGUMENTS or call.dtype.itemsize > 16:
            return
        if len(self._records) == MOST_RECORDS:
            self.forget()
        record = _Record(
            descr=x.dtype, nd=x.ndim, axis=code,
            keepdims=keepdims, kernel=address_of(call.kernel),
            arguments_count=next(n for n in ARGUMENTS if n >= len(values)),
            inputs=len(call.inputs), first_output=len(call.inputs) + call.index_count,
            outputs=len(call.outputs), out_nd=-1 if call.shape is None else len(call.shape),
            out_descr=call.dtype, keeper=None if is_short else id(call.kernel),
        )  # fmt: skip
        record.shape[: x.ndim], record.strides[: x.ndim] = x.shape, x.strides
        shape = call.shape or ()
        record.out_shape[: len(shape)] = shape
        record.arguments[: len(values)] = values
        bucket = _hash(record) % BUCKETS
        record.next = self._state.buckets[bucket]
        self._state.buckets[bucket] = ctypes.addressof(record)
        # The descrs are kept by the record's fields, the code by the call.
        self._records.append((record, call))

    def forget(self) -> None:
        """Send every call to Python again."""
        self._state.buckets = type(self._state.buckets)()
        self._records.clear()


def _axis_code(axis: Any) -> int | None:
    """Return what stands for axes, as entry.ll computes it; None where Python has to look."""
    if axis is None:
        return _ALL_AXES
    axes = axis if type(axis) is tuple else (axis,)
    if not all(type(a) is int and -MOST_AXES <= a < MOST_AXES for a in axes):
        return None
    if axes is not axis:
        return int(axis)
    code = _NO_AXES
    for a in axes:
        code = code * AXIS_DIGITS + a + MOST_AXES
    return code if len(axes) <= MOST_AXES else None


def _mixed(value: int, other: int) -> int:
    spread = ((value ^ other) * -7046029254386353131) & (2**64 - 1)
    return spread ^ (spread >> 29)


def _hash(record: _Record) -> int:
    """Return the hash of a signature, as entry.ll computes it."""
    code = (record.axis << 8 | record.keepdims) & (2**64 - 1)
    value = _mixed(id(record.descr), code)
    for n in range(record.nd):
        value = _mixed(value, record.shape[n] & (2**64 - 1))
        value = _mixed(value, record.strides[n] & (2**64 - 1))
    return value


@lru_cache(maxsize=1)
def is_possible() -> bool:
    """Whether objects lie in memory as entry.ll reads them."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or sys.byteorder != "little":
        return False
    x = np.zeros((3, 5), np.int16)[::2, 1:]
    words = (ctypes.c_int64 * 8).from_address(id(x))
    dims, strides = ((ctypes.c_int64 * 2).from_address(words[n]) for n in (4, 5))
    names = ("axis", "keepdims")
    items = (ctypes.c_int64 * 5).from_address(id(names))
    return (
        words[1] == id(np.ndarray)
        and words[2] == x.ctypes.data
        and words[3] & 0xFFFFFFFF == x.ndim
        and (tuple(dims), tuple(strides)) == (x.shape, x.strides)
        and words[7] == id(x.dtype)
        and items[2:5] == [2, id(names[0]), id(names[1])]
    )


def make_entries(
    functions: Mapping[str, Callable[..., Any]], signatures: Mapping[str, inspect.Signature]
) -> dict[str, Entry]:
    """Return entries for Python functions by name; {} where there can be none.

    Parameters
    ----------
    functions
        What answers a call whose signature an entry does not know.
    signatures
        Their parameters.
    """
    if not is_possible():
        return {}
    code = _compiled(tuple(functions))
    made = {}
    for name, function in functions.items():
        axis_is_second = list(signatures[name].parameters)[1:2] == ["axis"]
        most = 2 if axis_is_second else 1
        state = _State(function=function, most_positions=most, raiser=_raise_error)
        ctypes.c_void_p.from_address(code.address_of(f"state.{name}")).value = ctypes.addressof(
            state
        )
        doc = f"{name}{signatures[name]}\n--\n\n{function.__doc__ or ''}"
        address = code.address_of(f"entry.{name}")
        made[name] = Entry(
            builtin(name, address, _FASTCALL_WITH_KEYWORDS, doc, function.__module__, alive=state),
            state,
        )
    return made


def _raise_error() -> None:
    """Raise what a signal handler raised while a kernel ran."""
    check_status(INTERRUPTED, "fold")


# What compiled code points to lives as long as the process.
_alive: Final[list[Any]] = []


def builtin(
    name: str, address: int, flags: int, doc: str, module: str, *, alive: Any
) -> Callable[..., Any]:
    """Return machine code as a function of Python.

    Parameters
    ----------
    name, doc, module
        What Python says of it.
    address, flags
        Where it is, and how CPython calls it.
    alive
        What has to live as long as the process.
    """
    method = _Method(name.encode(), address, flags, doc.encode())
    _alive.append((alive, method))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.POINTER(_Method), ctypes.c_void_p, ctypes.py_object],
    )
    made: Callable[..., Any] = make(ctypes.byref(method), None, module)
    return made


def _compiled(names: Sequence[str]) -> MachineCode:
    for symbol, function in _PYTHON.items():
        add_symbol(symbol, address_of(getattr(ctypes.pythonapi, function)))
    table = _numpy_table()
    for symbol, place in _NUMPY.items():
        add_symbol(symbol, table[place] or 0)
    code = compile_llvm(entry_source(names), "axisfold_entry_objects", effort="none")
    # Interned, as the names in a call are.
    names = (sys.intern("axis"), sys.intern("keepdims"))
    values: Any = (np.ndarray, int, tuple, None, True, False, *names)
    objects = (ctypes.py_object * len(values))(*values)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address)(ctypes.addressof(objects))
    _alive.append((code, objects))
    return code


def address_of(function: Any) -> int:
    """Return the address of a function of ctypes."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _numpy_table() -> Any:
    """Return NumPy's table of functions."""
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    return ctypes.cast(read(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def entry_source(names: Sequence[str]) -> str:
    """Return the LLVM IR of the entries of functions with these names."""
    text = Path(__file__).with_name("entry.ll").read_text(encoding="utf-8")
    return Template(text).substitute(
        buckets=BUCKETS,
        bucket_mask=BUCKETS - 1,
        most_axes=MOST_AXES,
        interrupted=INTERRUPTED,
        most_arguments=MOST_ARGUMENTS,
        all_axes=_ALL_AXES,
        no_axes=_NO_AXES,
        axis_digits=AXIS_DIGITS,
        constants=", ".join(_OBJECTS),
        store_objects="\n".join(_stored(n, name) for n, name in enumerate(_OBJECTS)),
        cases=" ".join(f"i64 {n}, label %call.{n}" for n in ARGUMENTS),
        calls="\n".join(_call(n) for n in ARGUMENTS),
        functions="\n".join(_function(name) for name in names),
    )


def _stored(n: int, name: str) -> str:
    return (
        f"  %place.{n} = getelementptr ptr, ptr %objects, i64 {n}\n"
        f"  %object.{n} = load ptr, ptr %place.{n}\n  store ptr %object.{n}, ptr @{name}"
    )


def _call(count: int) -> str:
    lines = [f"call.{count}:"]
    for n in range(count):
        lines += [
            f"  %place.{count}.{n} = getelementptr i64, ptr %arguments, i64 {n}",
            f"  %value.{count}.{n} = load i64, ptr %place.{count}.{n}",
        ]
    values = ", ".join(f"i64 %value.{count}.{n}" for n in range(count))
    return "\n".join(
        [*lines, f"  %status.{count} = call i32 %kernel({values})", f"  ret i32 %status.{count}"]
    )


def _function(name: str) -> str:
    return (
        f"@state.{name} = global ptr null\n"
        f"define ptr @entry.{name}(ptr %self, ptr %args, i64 %given, ptr %names) nounwind {{\n"
        f"  %state = load ptr, ptr @state.{name}\n"
        "  %result = tail call ptr @call(ptr %state, ptr %args, i64 %given, ptr %names)\n"
        "  ret ptr %result\n}"
    )
