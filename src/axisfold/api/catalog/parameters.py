# SPDX-License-Identifier: Apache-2.0
"""The parameters that reductions take beside their input: names, defaults and what they mean."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    default
        Its default value.
    kind
        What values are accepted, as in a docstring.
    text
        What it means.
    """

    default: Any
    kind: str
    text: str


PARAMETERS: Final[dict[str, Parameter]] = {
    "axis": Parameter(
        None, "None, int or tuple of int", "Folded axes; None for all, ``()`` for none."
    ),
    "dtype": Parameter(
        None,
        "dtype-like",
        "Dtype to convert elements to before they are folded, and of the result.",
    ),
    "out": Parameter(
        None,
        "array",
        "Array to write the result into, of its shape, on its device, and of a dtype that the "
        "result's can be cast to ('same_kind').  It is returned.  It may share memory with an "
        "input.  An Ellipsis gives a new array, also of a result of no axes.",
    ),
    "keepdims": Parameter(False, "bool", "Leave the folded axes in the result with extent 1."),
    "initial": Parameter(
        None,
        "scalar",
        "One more value that is folded, in the dtype of the result.",
    ),
    "where": Parameter(
        True,
        "array of bool",
        "Elements to fold, broadcast to the input; the others are passed over.",
    ),
    "min_count": Parameter(
        0,
        "int",
        "The result is NaN where fewer elements than these were folded.  Integers have no NaN: "
        "where there may be fewer their results are refused, unless ``dtype=`` asks for floats.",
    ),
    "correction": Parameter(
        0,
        "float",
        "What is taken off the number of elements: 0 for the variance of a population, 1 for that "
        "of a sample.  NaN where nothing is left.",
    ),
    "mean": Parameter(
        None,
        "array_like",
        "Mean of each fold, if it is known, of a shape that broadcasts to the input's, as "
        "``keepdims=True`` gives it.  The squares are about it, whatever it is.",
    ),
    "ddof": Parameter(None, "float", "NumPy's name of ``correction``."),
    "ord": Parameter(
        None,
        "None, float, inf or -inf",
        "Order of the norm.  None and 2: Euclidean; 1: sum of magnitudes; inf and -inf: largest "
        "and smallest magnitude; 0: number of elements that differ from zero; another p: "
        "``sum(abs(x)**p)**(1/p)``.",
    ),
    "empty": Parameter(
        "nan",
        "'nan' or 'zero'",
        "What a row of -inf gives: NaN, or what a row without anything to share gives.",
    ),
    "weights": Parameter(
        None,
        "array_like",
        "Weight of each element: of the shape of x, or of the folded axes.  None for equal ones.",
    ),
    "returned": Parameter(False, "bool", "Return a tuple of the average and the sum of weights."),
}  # fmt: skip


@lru_cache
def parse_signature(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the names that may be given by position, and all names.

    Parameters
    ----------
    text
        As in a definition, without defaults: ``"axis, out, *, where"``.
    """
    names = text.split(", ")
    star = names.index("*") if "*" in names else len(names)
    return tuple(names[:star]), frozenset(names) - {"*"}


@lru_cache
def python_signature(text: str) -> inspect.Signature:
    """Return the signature of the function, for :func:`inspect.signature` and ``help``."""
    positional, _ = parse_signature(text)
    parameters = [inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for name in text.split(", "):
        if name == "*":
            continue
        is_free = name in positional
        kind = (
            inspect.Parameter.POSITIONAL_OR_KEYWORD if is_free else inspect.Parameter.KEYWORD_ONLY
        )
        parameters.append(inspect.Parameter(name, kind, default=PARAMETERS[name].default))
    return inspect.Signature(parameters)
