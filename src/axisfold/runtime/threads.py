# SPDX-License-Identifier: Apache-2.0
"""The thread pool that parallel loops run on.

Its program is LLVM IR (``threads.ll``; ``serial.ll`` where there are no POSIX threads), compiled
once by the same compiler as the kernels, which call its function ``axisfold_parallel`` directly.
The workers are threads of the system that run compiled code only: they hold neither the GIL nor
anything of Python, wait awake for 50 us after a loop and then asleep, and end with the process.

The calling thread takes part, and the pool serves one loop at a time: a loop that finds it in use
(started by another thread of the program, or from inside a loop) runs on its own thread alone.
After a fork the child starts its own workers when it needs them.  While the main thread of Python
runs a parallel loop, it lets signal handlers run every 50 ms, between chunks, so Ctrl-C ends it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Final

from axisfold.config import config
from axisfold.errors import ResourceError
from axisfold.runtime.cpu import MachineCode, add_symbol, compile_llvm

# A worker that sleeps needs about 10 us to wake up, so a second thread surely pays from about 30 us
# of work on; below that a loop runs on the calling thread.  A chunk is a fourth of it, so that a
# worker that comes late finds something to do.  benchmarks/threads.py measures both.
CHUNK_WORK: Final = 8192
CHUNKS_WORTH_SHARING: Final = 4
# Enough for the workers of a big machine; larger chunks read longer runs of memory.
MOST_CHUNKS: Final = 512
_POLL_NS: Final = 50_000_000
# How long a thread waits awake: the caller for the workers' last chunks, and a worker for a next
# loop.  A few times what falling asleep and waking up costs; little beside any shared loop.
_SPIN_NS: Final = 50_000
# How often a thread asks for the mutex before it falls asleep: some microseconds.
_LOCK_TRIES: Final = 200
# Looks, of about 60 ns, between which a thread that waits awake lets others run.
_YIELD_TURNS: Final = 16
_STACK_BYTES: Final = 8 << 20

NO_MEMORY: Final = 1
INTERRUPTED: Final = 2
FORKED: Final = 3

# What a processor has for loops that wait; without it they only look at the clock.
_PAUSES: Final = {"x86_64": "@llvm.x86.sse2.pause()", "AMD64": "@llvm.x86.sse2.pause()"}
_PAUSE: Final = _PAUSES.get(platform.machine(), "")
_IS_MAC: Final = sys.platform == "darwin"
_CONSTANTS: Final = {
    "chunk_work": CHUNK_WORK,
    "chunks_worth_sharing": CHUNKS_WORTH_SHARING,
    "most_chunks": MOST_CHUNKS,
    "poll_ns": _POLL_NS,
    "stack_bytes": _STACK_BYTES,
    "spin_ns": _SPIN_NS,
    "lock_tries": _LOCK_TRIES,
    "yield_turns": _YIELD_TURNS,
    "declare_pause": f"declare void {_PAUSE}" if _PAUSE else "",
    "pause": f"call void {_PAUSE}" if _PAUSE else "",
    "sig_setmask": 3 if _IS_MAC else 2,
    "clock_monotonic": 6 if _IS_MAC else 1,
}
# What the calling thread needs of Python to let signal handlers run.
_PYTHON: Final = {
    "axisfold_gil_ensure": "PyGILState_Ensure",
    "axisfold_gil_release": "PyGILState_Release",
    "axisfold_check_signals": "PyErr_CheckSignals",
    "axisfold_fetch_error": "PyErr_Fetch",
}


@dataclass(frozen=True, slots=True)
class Pool:
    """The compiled pool.

    Attributes
    ----------
    code
        Its machine code, which is never freed: workers wait in it until the process ends.
    """

    code: MachineCode

    def _call(self, name: str, result: Any, *args: int) -> Any:
        kind = ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * len(args))
        return kind(self.code.address_of(name))(*args)

    def resize(self, threads: int) -> None:
        """Set how many threads a loop may use, the calling one included."""
        self._call("axisfold_resize", ctypes.c_int32, threads - 1)

    def reset(self) -> None:
        """Forget all workers, in a new process that has none of them."""
        main = threading.main_thread().ident or 0
        self._call("axisfold_reset", ctypes.c_int32, main)

    def set_chunk_work(self, work: int = CHUNK_WORK) -> None:
        """Set how much work a chunk has at least; 1 lets small tests run on all threads."""
        self._call("axisfold_set_chunk_work", ctypes.c_int32, max(1, work))

    @property
    def workers(self) -> int:
        """How many workers live now."""
        return int(self._call("axisfold_workers", ctypes.c_int64))

    def take_error(self) -> None:
        """Raise what a signal handler raised while a loop ran."""
        address = self._call("axisfold_error", ctypes.c_void_p)
        slots = (ctypes.c_void_p * 3).from_address(address)
        parts = [ctypes.c_void_p(slot) for slot in slots]
        slots[:] = [None] * 3
        # Gives the references back to Python; ctypes then raises, as after any failed call.
        ctypes.pythonapi.PyErr_Restore(*parts)


_pool: Pool | None = None
_lock = threading.Lock()


def pool() -> Pool:
    """Return the pool, compiled at the first call."""
    global _pool  # noqa: PLW0603  (made once for the process, as its workers are)
    with _lock:
        if _pool is None:
            _pool = _compiled()
    return _pool


def program(system: str = os.name) -> str:
    """Return the pool's LLVM IR for a kind of system; only POSIX has threads."""
    name = "threads.ll" if system == "posix" else "serial.ll"
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return Template(text).substitute(_CONSTANTS)


def _compiled() -> Pool:
    for name, function in _PYTHON.items():
        address = ctypes.cast(getattr(ctypes.pythonapi, function), ctypes.c_void_p).value
        add_symbol(name, address or 0)
    code = compile_llvm(program(), "axisfold_parallel", effort="none")
    # One reference that is never given back: at exit Python drops modules while workers wait in
    # this code.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    made = Pool(code)
    made.reset()
    made.resize(config.threads)
    config.watch_threads(made.resize)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made.reset)
    add_symbol("axisfold_parallel", code.address)
    return made


def check_status(status: int, kernel: str) -> None:
    """Raise what the status that a kernel returned stands for; 0 is none.

    Raises
    ------
    ResourceError
        ``X201``: an intermediate tensor did not fit in memory; ``X202``: the process forked.
    BaseException
        What a signal handler raised, such as KeyboardInterrupt.
    """
    if status == NO_MEMORY:
        raise ResourceError(
            f"kernel {kernel!r} could not allocate an intermediate tensor.",
            code="X201",
            hint="Attach its stage with compute_at, so that only a part of it is held.",
        )
    if status == INTERRUPTED:
        pool().take_error()
    if status == FORKED:
        raise ResourceError(
            f"a signal handler forked this process while kernel {kernel!r} ran in it; the child "
            "has no result.",
            code="X202",
            hint="Call the kernel again in the child.",
        )
