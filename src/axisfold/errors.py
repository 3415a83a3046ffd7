# SPDX-License-Identifier: Apache-2.0
"""Every exception class of axisfold; messages say what was wrong, why, and what to do.

Wrong *use* (:class:`UserError`) and a *bug* of axisfold (:class:`InternalError`) are different
branches of one root.  Each raise carries a stable ``code`` such as ``"S104"``: the letter names
the area (A arguments, D dtypes, E expressions, I internal, M simulated machine, R reducers,
S schedules, X runtime).
"""

from __future__ import annotations

from typing import Any

import numpy as np


class AxisfoldError(Exception):
    """Root of every error that axisfold raises on purpose.

    Parameters
    ----------
    message
        What was wrong, with the values, and why.
    code
        Stable identifier of this kind of failure.
    hint
        What the caller can do about it; appended to the message.
    """

    code: str = "X000"

    def __init__(self, message: str, *, code: str = "", hint: str = "") -> None:
        Exception.__init__(self, message, code, hint)
        self.message = message
        self.code = code or type(self).code
        self.hint = hint

    def __str__(self) -> str:
        hint = f" {self.hint}" if self.hint else ""
        return f"{self.message}{hint} [axisfold-{self.code}]"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.code, self.hint))


def _rebuild(cls: type[AxisfoldError], message: str, code: str, hint: str) -> AxisfoldError:
    return cls(message, code=code, hint=hint)


class UserError(AxisfoldError):
    """The caller can fix it."""


class ArgumentError(UserError, ValueError):
    """An argument has a value that the call cannot take."""


class KeywordError(UserError, TypeError):
    """A call has no such keyword argument."""


class ArgumentTypeError(UserError, TypeError):
    """An argument is of a type that the call does not take."""


class DTypeError(UserError, TypeError):
    """A dtype is unknown, unsupported here, or not the one a kernel was built for."""


class ShapeError(UserError, ValueError):
    """A rank, extent or stride does not fit."""


class AxisError(UserError, np.exceptions.AxisError):
    """An axis is out of range or named twice (NumPy's, both a ValueError and an IndexError)."""

    axis: Any = None
    ndim: int | None = None


class EmptyError(UserError, ValueError):
    """A reduction without an identity was asked to fold no elements."""


class ZeroWeightsError(UserError, ZeroDivisionError):
    """Weights of an average add up to zero."""


class RangeError(UserError, OverflowError):
    """A number is outside of the range of the dtype that it is converted to."""


class ExpressionError(UserError, TypeError):
    """A tensor expression is malformed."""


class ReducerError(UserError, ValueError):
    """A reducer's parts do not fit together."""


class LawError(ReducerError):
    """A reducer breaks a law that folds rely on."""


class ScheduleError(UserError, ValueError):
    """A schedule primitive was refused; the schedule is unchanged."""


class UnsupportedError(UserError, NotImplementedError):
    """The feature is outside what this target or release does."""


class MissingDependencyError(UserError, ImportError):
    """A package that an extra of axisfold brings is not installed."""


class LaunchError(UserError):
    """A kernel asks for more threads, blocks or memory than the device has."""


class SimulationError(UserError):
    """A program for threads did what a GPU would not report: a race, a divergent barrier, …."""


class ResourceError(AxisfoldError, MemoryError):
    """A kernel needed more memory than the machine gave it."""


class DeviceError(AxisfoldError, RuntimeError):
    """There is no GPU to use, or its driver returned an error."""


class CompileError(AxisfoldError):
    """The backend compiler refused generated code (always worth a report)."""


class InternalError(AxisfoldError):
    """A bug of axisfold; the message asks for a report."""


class VerifyError(InternalError):
    """A program broke a rule of the IR."""
