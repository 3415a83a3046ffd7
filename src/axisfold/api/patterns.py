# SPDX-License-Identifier: Apache-2.0
"""Patterns such as ``"b h w c -> b c"``: axes by name, as views, folded axes and a form of results.

A pattern computes nothing: what it asks of an array are views that every array library makes.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from axisfold.api.pattern_text import ELLIPSIS, UNIT, Group, Pattern, Side, read_pattern
from axisfold.errors import ArgumentError, AxisError, ShapeError
from axisfold.interop import numpy

MAX_RECIPES: Final = 4096


@dataclass(frozen=True, slots=True)
class View:
    """Brings an input into the common axes: each step is a view, None where there is nothing to do.

    Attributes
    ----------
    shape
        Extents after axes are split and those of extent 1 dropped.
    order
        Axes of that shape, in the common order.
    index
        Slices, and None where a common axis is not one of this input.
    """

    shape: tuple[int, ...] | None
    order: tuple[int, ...] | None
    index: tuple[slice | None, ...] | None

    @property
    def is_plain(self) -> bool:
        """Whether the input is taken as it is."""
        return self.shape is None and self.order is None and self.index is None

    def __call__(self, x: Any) -> Any:
        """Return the view of an array of any library."""
        x = x if self.shape is None else x.reshape(self.shape)
        x = x if self.order is None else transposed(x, self.order)
        return x if self.index is None else x[self.index]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a pattern means for inputs of given shapes.

    Attributes
    ----------
    text
        The pattern.
    first
        Extents of the first input.
    views
        One for each input.
    axes
        The folded axes of the views.
    order
        The kept axes of the views in the order of the result, None if it is theirs.
    kept, shape
        Extents of the kept axes in that order, and of the result, in which axes may be merged and
        others of extent 1 stand.
    """

    text: str
    first: tuple[int, ...]
    views: tuple[View, ...]
    axes: tuple[int, ...]
    order: tuple[int, ...] | None
    kept: tuple[int, ...]
    shape: tuple[int, ...]

    def arrange(self, result: Any) -> Any:
        """Return a result, or each of a named tuple of them, in the form that was asked for."""
        if isinstance(result, tuple):
            return type(result)(*map(self.arrange, result))
        result = result if self.order is None else transposed(result, self.order)
        return result if self.shape == self.kept else result.reshape(self.shape)

    def target(self, out: Any) -> Any:
        """Return a view of an array for the arranged result, into which a fold writes.

        Raises
        ------
        ShapeError
            ``A333``: it has another shape.
        """
        if isinstance(out, tuple):
            return tuple(None if each is None else self.target(each) for each in out)
        if tuple(getattr(out, "shape", self.shape)) != self.shape:
            raise ShapeError(
                f"out has shape {tuple(out.shape)}, but results of the pattern {self.text!r} have "
                f"shape {self.shape}.",
                code="A333",
                hint="Make it of that shape.",
            )
        out = out if self.shape == self.kept else out.reshape(self.kept)  # splits axes: a view
        if self.order is None:
            return out
        return transposed(out, tuple(map(self.order.index, range(len(self.order)))))

    def mask(self, where: Any) -> Any:
        """Return the view of a mask that belongs to that of the first input.

        Raises
        ------
        ShapeError
            ``A333``: the mask has another shape than the input.
        """
        where = where if hasattr(where, "reshape") else numpy.resolved("where", where)
        if tuple(where.shape) != self.first:
            raise ShapeError(
                f"where has shape {tuple(where.shape)}, but input 0 of the pattern {self.text!r} "
                f"has shape {self.first}.",
                code="A333",
                hint="Broadcast it to that shape.",
            )
        return self.views[0](where)


_recipes: dict[Hashable, Recipe] = {}


def apply_pattern(
    text: str, inputs: Sequence[Any], sizes: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Recipe]:
    """Return views of the inputs with common axes, and what to do with them.

    Parameters
    ----------
    text
        The pattern.
    inputs
        Arrays of any library, or array-likes.
    sizes
        Extents of named axes, for those that an axis of an input is split into.

    Raises
    ------
    ArgumentError
        ``A331``: the pattern cannot be read; ``A334``: another number of inputs, an extent that
        is none, or an array that has no views.
    AxisError
        ``A332``: an axis is named twice on a side, or is no axis of an input.
    ShapeError
        ``A333``: an extent or a rank does not fit the pattern.
    """
    arrays = [
        x if hasattr(x, "shape") else numpy.resolved(f"input {n}", x) for n, x in enumerate(inputs)
    ]
    shapes = tuple(tuple(map(operator.index, x.shape)) for x in arrays)
    extents = _checked_sizes(sizes)
    key = (text, shapes, tuple(extents.items()))
    recipe = _recipes.get(key)
    if recipe is None:
        recipe = make_recipe(read_pattern(text), shapes, extents)
        if len(_recipes) >= MAX_RECIPES:
            _recipes.clear()
        _recipes[key] = recipe
    for n, (x, view) in enumerate(zip(arrays, recipe.views, strict=True)):
        is_plain = view.is_plain and recipe.order is None and recipe.shape == recipe.kept
        if not is_plain and not hasattr(x, "reshape"):
            raise ArgumentError(
                f"input {n} is a {type(x).__name__}, of which the pattern {text!r} needs views "
                "that it does not have.",
                code="A334",
                hint="Pass it as an array of its library, such as one of PyTorch or CuPy.",
            )
    return tuple(v(x) for v, x in zip(recipe.views, arrays, strict=True)), recipe


def transposed(x: Any, order: tuple[int, ...]) -> Any:
    """Transpose: PyTorch's transpose swaps two axes, its permute does what others' transpose do."""
    return x.permute(order) if hasattr(x, "permute") else x.transpose(order)


def _checked_sizes(sizes: Mapping[str, Any]) -> dict[str, int]:
    found = {}
    for name, value in sizes.items():
        try:
            extent = -1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            extent = -1
        if extent < 0:
            raise ArgumentError(
                f"{value!r} is no extent of axis {name!r} of the pattern.",
                code="A334",
                hint=f"Give a number of elements, such as {name}=2.",
            )
        found[name] = extent
    return found


def make_recipe(
    pattern: Pattern, shapes: Sequence[tuple[int, ...]], sizes: Mapping[str, int]
) -> Recipe:
    """Return what a pattern means for inputs of given shapes.

    Raises
    ------
    ArgumentError
        ``A334``: another number of inputs.
    AxisError
        ``A332``: an extent is given for a name that is no axis.
    ShapeError
        ``A333``: an extent or a rank does not fit the pattern.
    """
    if len(pattern.inputs) != len(shapes):
        raise ArgumentError(
            f"the pattern {pattern.text!r} is of {len(pattern.inputs)} inputs, but "
            f"{len(shapes)} were given.",
            code="A334",
            hint="Separate the axes of several inputs by commas; a tuple is several inputs.",
        )
    extents = _Extents(pattern, shapes, sizes)
    common = list(dict.fromkeys(name for own in extents.inputs for name in own))
    kept = [name for group in extents.output for name in group]
    views = [_view(own, common, shape) for own, shape in zip(extents.inputs, shapes, strict=True)]
    axes = tuple(n for n, name in enumerate(common) if name not in kept)
    remaining = [name for name in common if name in kept]
    order = tuple(remaining.index(name) for name in kept)
    shape = tuple(prod(extents.known[name] for name in group) for group in extents.output)
    return Recipe(
        pattern.text,
        shapes[0],
        tuple(views),
        axes,
        None if order == tuple(range(len(order))) else order,
        tuple(extents.known[name] for name in kept),
        shape,
    )


class _Extents:
    """The names of all axes, those of ``...`` numbered from the right, and their extents."""

    def __init__(
        self, pattern: Pattern, shapes: Sequence[tuple[int, ...]], sizes: Mapping[str, int]
    ) -> None:
        self.pattern = pattern
        names = {name for side in pattern.inputs for group in side for name in group}
        unknown = next((name for name in sizes if name not in names), None)
        if unknown is not None:
            raise AxisError(
                f"{unknown}={sizes[unknown]} gives the extent of an axis that the pattern "
                f"{pattern.text!r} does not name.",
                code="A332",
                hint="Give extents of axes of the inputs.",
            )
        self.known: dict[str, int] = dict(sizes)
        # Where axes without names differ in extent, the arrays broadcast as everywhere.
        self.rank = max(self._unnamed(n, shape) for n, shape in enumerate(shapes))
        self.inputs = [self._measure(n, shape) for n, shape in enumerate(shapes)]
        self.output = self._spelled(pattern.output)

    def _unnamed(self, n: int, shape: tuple[int, ...]) -> int:
        """Return how many axes of an input its ``...`` stands for."""
        side = self.pattern.inputs[n]
        has_rest = (ELLIPSIS,) in side
        count = len(shape) - (len(side) - has_rest)
        if count < 0 or (count and not has_rest):
            least = "at least " if has_rest else ""
            raise ShapeError(
                f"the pattern {self.pattern.text!r} is of {least}{len(side) - has_rest} axes for "
                f"input {n}, which has shape {shape}.",
                code="A333",
                hint="Name every axis, or write ... for those without a name.",
            )
        return count

    def _rest(self, count: int) -> tuple[str, ...]:
        return tuple(f"{ELLIPSIS}{n}" for n in range(self.rank - count, self.rank))

    def _spelled(self, side: Side) -> list[Group]:
        """Return the groups of the result with the axes of ``...`` one by one."""
        rest = self._rest(self.rank)
        spelled: list[Group] = []
        for group in side:
            if group == (ELLIPSIS,):
                spelled += [(name,) for name in rest]
            else:
                names = [name for name in group if name != UNIT]
                parts = [rest if name == ELLIPSIS else (name,) for name in names]
                spelled.append(tuple(name for part in parts for name in part))
        return spelled

    def _measure(self, n: int, shape: tuple[int, ...]) -> dict[str, int]:
        """Note the extents of an input's axes, and return them by name."""
        own: dict[str, int] = {}
        groups: list[Group] = []
        for group in self.pattern.inputs[n]:
            rest = self._rest(self._unnamed(n, shape))
            groups += [(name,) for name in rest] if group == (ELLIPSIS,) else [group]
        for axis, (group, extent) in enumerate(zip(groups, shape, strict=True)):
            if group and group[0].startswith(ELLIPSIS):
                own[group[0]] = extent
                if self.known.get(group[0], 1) == 1:
                    self.known[group[0]] = extent
            else:
                self._note(n, axis, group, extent)
                own.update((name, self.known[name]) for name in group)
        return own

    def _note(self, n: int, axis: int, group: Group, extent: int) -> None:
        missing = [name for name in group if name not in self.known]
        given = prod(self.known[name] for name in group if name in self.known)
        where = f"axis {axis} of input {n} has extent {extent}"
        if len(missing) > 1:
            raise ShapeError(
                f"{where}, which axes {_listed(missing)} of the pattern {self.pattern.text!r} "
                "share in more than one way.",
                code="A333",
                hint=f"Give the extent of all but one, as by {missing[-1]}=2.",
            )
        if missing and given and extent % given == 0:
            self.known[missing[0]] = extent // given
        elif missing or given != extent:
            raise ShapeError(
                f"{self._described(group)}, but {where}.",
                code="A333",
                hint="An axis has one extent wherever it is named.",
            )

    def _described(self, group: Group) -> str:
        whose = f"of the pattern {self.pattern.text!r}"
        if not group:
            return f"1 {whose} is an axis of extent 1"
        if len(group) == 1:
            return f"axis {group[0]!r} {whose} has extent {self.known[group[0]]}"
        found = ", ".join(f"{name}={self.known.get(name, '?')}" for name in group)
        return f"({' '.join(group)}) {whose} is split into {found}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(repr(name) for name in names)


def _view(own: Mapping[str, int], common: Sequence[str], shape: tuple[int, ...]) -> View:
    names, extents = tuple(own), tuple(own.values())
    order = tuple(names.index(name) for name in common if name in own)
    index = tuple(slice(None) if name in own else None for name in common)
    return View(
        None if extents == shape else extents,
        None if order == tuple(range(len(order))) else order,
        None if None not in index else index,
    )
