# SPDX-License-Identifier: Apache-2.0
"""axisfold: a reduction compiler.

Importing it loads NumPy and nothing heavier; everything else comes when it is first used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from axisfold import array_api, te
    from axisfold.api.check.reducer import check_reducer
    from axisfold.api.dispatch import fold
    from axisfold.api.explain import explain
    from axisfold.api.explanation import Explanation
    from axisfold.api.functions import (
        all,
        any,
        argmax,
        argmin,
        average,
        count_nonzero,
        log_softmax,
        logsumexp,
        max,
        mean,
        min,
        minmax,
        nanargmax,
        nanargmin,
        nanmax,
        nanmean,
        nanmin,
        nanprod,
        nanstd,
        nansum,
        nanvar,
        norm,
        prod,
        ptp,
        softmax,
        std,
        sum,
        var,
    )
    from axisfold.api.reducers import Reducer
    from axisfold.api.spec import ArraySpec
    from axisfold.api.tune import tune
    from axisfold.build import Function, build, lower
    from axisfold.config import config
    from axisfold.dtypes import highest, lowest
    from axisfold.errors import AxisfoldError
    from axisfold.headers import include_dir

__version__ = "0.1.0"

_HOMES: Final = {
    **dict.fromkeys(
        (
            "all", "any", "argmax", "argmin", "average", "count_nonzero", "log_softmax",
            "logsumexp", "max", "mean", "min", "minmax", "nanargmax", "nanargmin", "nanmax",
            "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "norm", "prod", "ptp",
            "softmax", "std", "sum", "var",
        ),
        "axisfold.api.functions",
    ),
    "check_reducer": "axisfold.api.check.reducer",
    "ArraySpec": "axisfold.api.spec",
    "tune": "axisfold.api.tune",
    "Explanation": "axisfold.api.explanation",
    "explain": "axisfold.api.explain",
    "fold": "axisfold.api.dispatch",
    "build": "axisfold.build",
    "lower": "axisfold.build",
    "Function": "axisfold.build",
    "config": "axisfold.config",
    "highest": "axisfold.dtypes",
    "lowest": "axisfold.dtypes",
    "AxisfoldError": "axisfold.errors",
    "include_dir": "axisfold.headers",
    "Reducer": "axisfold.api.reducers",
}  # fmt: skip

_MODULES: Final = ("array_api", "te")

__all__ = [
    "ArraySpec", "AxisfoldError", "Explanation", "Function", "Reducer", "all", "any", "argmax",
    "argmin", "array_api", "average", "build", "check_reducer", "config", "count_nonzero",
    "explain", "fold", "highest", "include_dir", "log_softmax", "logsumexp", "lower", "lowest",
    "max", "mean", "min", "minmax", "nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin",
    "nanprod", "nanstd", "nansum", "nanvar", "norm", "prod", "ptp", "softmax", "std", "sum", "te",
    "tune", "var",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"axisfold.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'axisfold' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """A package whose submodules do not hide the public names that they share a name with.

    Importing ``axisfold.lower`` (a folder) would otherwise replace ``axisfold.lower`` (a function).
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
