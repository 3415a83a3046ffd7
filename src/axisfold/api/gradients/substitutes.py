# SPDX-License-Identifier: Apache-2.0
"""What torch.compile reads in place of functions that are no Python code.

PyTorch's compiler takes such substitutes, but it is a large module that few programs load.  So
they are handed over when it is imported, whoever does that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

from axisfold.api import gradients

_COMPILER: Final = "torch._dynamo"


def substitute(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Let PyTorch's compiler read Python code in the place of named reductions that are none.

    Parameters
    ----------
    functions
        What callers call, by name.
    """
    compiler = sys.modules.get(_COMPILER)
    if compiler is None:
        sys.meta_path.insert(0, _Finder(functions))
    else:
        _hand_over(compiler, functions)


def _hand_over(compiler: Any, functions: Mapping[str, Callable[..., Any]]) -> None:
    for name, function in functions.items():
        compiler.substitute_in_graph(function, skip_signature_check=True)(_reader(name))


def _reader(name: str) -> Callable[..., Any]:
    def read(x: Any, *args: Any, axis: Any = None, keepdims: Any = False, **options: Any) -> Any:
        return gradients.compile_named(name, x, args, axis, keepdims, options)

    return read


class _Finder(MetaPathFinder):
    """Finds the compiler once, as the others do, and then is gone."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self._functions = functions

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _COMPILER:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._functions)
        return spec


class _Loader(Loader):
    """Loads the compiler as its own loader does, and hands the substitutes over."""

    def __init__(self, loader: Loader, functions: Mapping[str, Callable[..., Any]]) -> None:
        self._loader, self._functions = loader, functions

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _hand_over(module, self._functions)
