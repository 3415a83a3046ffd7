# SPDX-License-Identifier: Apache-2.0
"""``cuda.bindings.driver`` without a driver: its constants are the real ones."""

import ctypes
import itertools

from cuda.bindings import driver as real

from axisfold.runtime.cuda import driver, graphs, workspace

ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 227 * 1024,
    "MEMORY_POOLS_SUPPORTED": 1,
}


WORD, SIZE = ctypes.c_uint64, ctypes.c_uint32
# What the functions take that compiled code calls.
NATIVE = {
    "cuCtxGetCurrent": [WORD],
    "cuCtxPushCurrent": [WORD],
    "cuCtxPopCurrent": [WORD],
    "cuLaunchKernel": [WORD, *[SIZE] * 7, *[WORD] * 3],
    "cuStreamIsCapturing": [WORD] * 2,
    "cuStreamGetId": [WORD] * 2,
}


class Handle(str):
    """The handle of a kernel: its name, and a number for compiled code."""

    def __int__(self):
        return NUMBERS.setdefault(self, 0xF000 + len(NUMBERS))


NUMBERS: dict[Handle, int] = {}


class FakeDriver:
    """Notes calls.

    Attributes
    ----------
    calls
        One tuple for each call that does something: a word, then what matters.
    memory
        Size by address.
    captured
        Handles of streams that are being captured.
    failures
        Status that a function returns from now on, by its name.
    parameters
        Number of parameters by kernel, as far as launches should note their values.
    places
        Device of an address that ``cuPointerGetAttribute`` is asked for.
    milliseconds
        Between any two events.
    """

    def __init__(self, attributes=None):
        self.attributes = ATTRIBUTES | (attributes or {})
        self.calls, self.memory, self.captured, self.failures, self.places = [], {}, set(), {}, {}
        self.parameters, self.busy, self.milliseconds = {}, 0, 1.0
        self._contexts, self._native, self.kept, self.graphs = [], {}, [], 0
        self._next = itertools.count(1 << 32, 1 << 20)

    def __getattribute__(self, name):
        failures = object.__getattribute__(self, "__dict__").get("failures", {})
        if name in failures:
            return lambda *_: (failures[name], None)
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        return getattr(real, name)  # enumerations

    def words(self):
        """Return the first word of each call."""
        return [call[0] for call in self.calls]

    def _note(self, *call):
        self.calls.append(call)

    def cuDeviceGetCount(self):
        return 0, 2

    def cuDeviceGet(self, index):
        return 0, index

    def cuDeviceGetAttribute(self, kind, index):
        return 0, self.attributes[kind.name.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def cuDevicePrimaryCtxRetain(self, index):
        return 0, 100 + index

    def cuCtxGetCurrent(self):
        return 0, self._contexts[-1] if self._contexts else 0

    def cuCtxPushCurrent(self, context):
        self._contexts.append(context)
        return (0,)

    def cuCtxPopCurrent(self):
        return 0, self._contexts.pop()

    def cuThreadExchangeStreamCaptureMode(self, mode):
        return 0, mode

    def cuModuleLoadData(self, code):
        self._note("load", bytes(code[:4]))
        return 0, "module"

    def cuModuleGetFunction(self, module, name):
        return 0, Handle(name.decode())

    def cuFuncGetAttribute(self, kind, function):
        return 0, 1024

    def cuFuncSetAttribute(self, function, kind, value):
        self._note("set", function, value)
        return (0,)

    def _allocate(self, size):
        address = next(self._next)
        self.memory[address] = size
        return address

    def cuMemAlloc(self, size):
        self._note("alloc", size)
        return 0, self._allocate(size)

    def cuMemFree(self, address):
        self._note("free", self.memory.pop(address))
        return (0,)

    def cuMemAllocAsync(self, size, stream):
        self._note("alloc async", size, stream)
        return 0, self._allocate(size)

    def cuMemFreeAsync(self, address, stream):
        self._note("free async", self.memory.pop(address), stream)
        return (0,)

    def cuMemsetD8Async(self, address, value, size, stream):
        self._note("memset", size, stream)
        return (0,)

    def cuStreamIsCapturing(self, stream):
        return 0, int(stream in self.captured)

    def cuStreamGetCaptureInfo(self, stream):
        return 0, 1, 7000 + self.graphs, f"graph {self.graphs}", (), (), 0

    def cuUserObjectCreate(self, pointer, destroy, references, flags):
        self.kept.append((pointer, int(destroy)))
        return 0, len(self.kept) - 1

    def cuGraphRetainUserObject(self, graph, kept, references, flags):
        self._note("retain", graph)
        return (0,)

    def end_graphs(self):
        """Let all graphs and what was made of them be gone; another capture is another graph."""
        for pointer, destroy in self.kept:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(destroy)(pointer)
        self.kept.clear()
        self.graphs += 1

    def cuStreamCreate(self, flags):
        return 0, 99

    def cuStreamSynchronize(self, stream):
        self._note("synchronize", stream)
        return (0,)

    def cuStreamDestroy(self, stream):
        return (0,)

    def cuStreamGetId(self, stream):
        return 0, 1000 + stream

    def cuPointerGetAttribute(self, kind, address):
        if address not in self.places:
            return real.CUresult.CUDA_ERROR_INVALID_VALUE, None
        return 0, self.places[address]

    def cuEventCreate(self, flags):
        return 0, "event"

    def cuEventRecord(self, event, stream):
        self._note("record", stream)
        return (0,)

    def cuStreamWaitEvent(self, stream, event, flags):
        self._note("wait", stream)
        return (0,)

    def cuEventQuery(self, event):
        return (self.busy,)

    def cuEventDestroy(self, event):
        return (0,)

    def cuEventSynchronize(self, event):
        return (0,)

    def cuEventElapsedTime(self, begin, end):
        return 0, self.milliseconds

    def cuCtxSynchronize(self):
        return (0,)

    def cuMemcpyHtoD(self, target, source, size):
        self._note("write", size)
        return (0,)

    def cuMemcpyDtoH(self, target, source, size):
        ctypes.memset(target, 0, size)
        return (0,)

    def cuGetErrorString(self, status):
        return 0, b"words of the driver"

    def cuLaunchKernel(self, function, *rest):
        *sizes, stream, parameters, _ = rest
        symbol = next(name for name, number in NUMBERS.items() if number == function)
        places = (ctypes.c_void_p * self.parameters.get(symbol, 0)).from_address(parameters)
        values = tuple(ctypes.c_int64.from_address(place).value for place in places)
        self._note("launch", str(symbol), tuple(sizes), stream, values)
        return (0,)

    def cuDriverGetVersion(self):
        return 0, 13000

    def cuGetProcAddress(self, symbol, version, flags):
        name = symbol.decode()
        if name not in self._native:
            self._native[name] = self._compiled(name)
        return 0, ctypes.cast(self._native[name], ctypes.c_void_p).value, 0

    def _compiled(self, name):
        """Return a function of this driver for compiled code, which passes places for results."""

        def run(*given):
            match name:
                case "cuCtxGetCurrent" | "cuCtxPopCurrent":
                    return self._answer(getattr(self, name)(), WORD, *given)
                case "cuStreamIsCapturing":
                    return self._answer(self.cuStreamIsCapturing(given[0]), SIZE, given[1])
                case "cuStreamGetId":
                    return self._answer(self.cuStreamGetId(given[0]), WORD, given[1])
                case _:
                    return int(getattr(self, name)(*given)[0])

        return ctypes.CFUNCTYPE(ctypes.c_int32, *NATIVE[name])(run)

    @staticmethod
    def _answer(answer, kind, place):
        status, value = answer
        if value is not None:
            kind.from_address(place).value = value
        return int(status)


def install(monkeypatch, **attributes):
    """Put a driver in place for one test, and return it."""
    fake = FakeDriver(attributes)
    monkeypatch.setattr(driver, "_api", fake)
    monkeypatch.setattr(driver, "_devices", {})
    monkeypatch.setattr(workspace, "_areas", type(workspace._areas)())
    monkeypatch.setattr(graphs, "_all", {})
    monkeypatch.setattr(graphs, "_of_stream", {})
    return fake
