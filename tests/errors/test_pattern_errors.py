# SPDX-License-Identifier: Apache-2.0
"""What patterns refuse: class, code and the whole message."""

import numpy as np
import pytest

import axisfold as af
from axisfold.errors import ArgumentError, ArgumentTypeError, AxisError, KeywordError, ShapeError

X = np.zeros((2, 3, 4, 5))
SIDES = 'Write "axes of the input -> axes to keep".'
NAMES = "Names are as Python's; 1 is an axis of extent 1, ... are axes without a name."
UNNAMED = "Axes without names are not split: write ... outside of the parentheses."
ONCE = "Name each axis of an array once."
KEEPS = "A fold keeps axes and makes none; an axis of extent 1 is written 1."
EVERY = "Name every axis, or write ... for those without a name."
ONE_EXTENT = "An axis has one extent wherever it is named."
COUNT = "Give a number of elements, such as b=2."
STAY = "The pattern says which axes stay: write 1 in the place of a folded one."
STRING = 'A pattern is a string such as "b (h p) -> b h".'
COMMAS = "Separate the axes of several inputs by commas; a tuple is several inputs."


@pytest.mark.parametrize(
    ("pattern", "place", "message"),
    [
        ("b h w c", 7, f"there is no '->'. {SIDES}"),
        ("", 0, f"there is no '->'. {SIDES}"),
        ("b h -> w -> c", 9, f"a second '->'. {SIDES}"),
        ("b (h w -> b", 2, "'(' is never closed. Write ')' after."),
        ("b h -> (b", 7, "'(' is never closed. Write ')' after."),
        ("b h) w -> b", 3, "')' closes no group. Write '(' before."),
        ("b ((h) w) -> b", 3, "groups do not nest. Use one pair of ()."),
        ("b h 2 w -> b", 4, f"'2' is no name of an axis. {NAMES}"),
        ("b [h] w -> b", 2, f"'[' is no name of an axis. {NAMES}"),
        ("b (h ...) -> b", 5, f"'...' is in a group of an input. {UNNAMED}"),
        ("b h w c -> b, c", 12, "there is one result. Leave the comma out."),
    ],
)
def test_what_cannot_be_read(pattern, place, message):
    with pytest.raises(ArgumentError) as caught:
        af.fold(X, "sum", pattern)
    assert str(caught.value) == (
        f"a pattern cannot be read at the place marked:\n    {pattern}\n    {' ' * place}^\n"
        f"{message} [axisfold-A331]"
    )


@pytest.mark.parametrize(
    ("error", "code", "pattern", "options", "fact", "hint"),
    [
        (
            AxisError,
            "A332",
            "b h h c -> b",
            {},
            "axis 'h' of the pattern {} is named twice on one side.",
            ONCE,
        ),
        (
            AxisError,
            "A332",
            "b ... ... -> b",
            {},
            "axis '...' of the pattern {} is named twice on one side.",
            ONCE,
        ),
        (
            AxisError,
            "A332",
            "b ... c -> q",
            {},
            "axis 'q' of the pattern {} is no axis of an input.",
            KEEPS,
        ),
        (
            AxisError,
            "A332",
            "b h w c -> ...",
            {},
            "axis '...' of the pattern {} is no axis of an input.",
            KEEPS,
        ),
        (
            AxisError,
            "A332",
            "b ... -> b",
            {"z": 2},
            "z=2 gives the extent of an axis that the pattern {} does not name.",
            "Give extents of axes of the inputs.",
        ),
        (
            ShapeError,
            "A333",
            "b h -> b",
            {},
            "the pattern {} is of 2 axes for input 0, which has shape (2, 3, 4, 5).",
            EVERY,
        ),
        (
            ShapeError,
            "A333",
            "b ... w c d e -> b",
            {},
            ("the pattern {} is of at least 5 axes for input 0, which has shape (2, 3, 4, 5)."),
            EVERY,
        ),
        (
            ShapeError,
            "A333",
            "1 ... -> 1",
            {},
            ("1 of the pattern {} is an axis of extent 1, but axis 0 of input 0 has extent 2."),
            ONE_EXTENT,
        ),
        (
            ShapeError,
            "A333",
            "... (c d) -> c",
            {"d": 2},
            ("(c d) of the pattern {} is split into c=?, d=2, but axis 3 of input 0 has extent 5."),
            ONE_EXTENT,
        ),
        (
            ShapeError,
            "A333",
            "... (c d) -> c",
            {"d": 0},
            ("(c d) of the pattern {} is split into c=?, d=0, but axis 3 of input 0 has extent 5."),
            ONE_EXTENT,
        ),
        (
            ShapeError,
            "A333",
            "... (c d) -> c",
            {},
            (
                "axis 3 of input 0 has extent 5, which axes 'c' and 'd' of the pattern {} share"
                " in more than one way."
            ),
            "Give the extent of all but one, as by d=2.",
        ),
        (
            ShapeError,
            "A333",
            "b ... -> b",
            {"b": 3},
            "axis 'b' of the pattern {} has extent 3, but axis 0 of input 0 has extent 2.",
            ONE_EXTENT,
        ),
        (
            ArgumentError,
            "A334",
            "b ... -> b",
            {"b": 2.0},
            "2.0 is no extent of axis 'b' of the pattern.",
            COUNT,
        ),
        (
            ArgumentError,
            "A334",
            "b ... -> b",
            {"b": -2},
            "-2 is no extent of axis 'b' of the pattern.",
            COUNT,
        ),
        (
            ArgumentError,
            "A334",
            "b ... -> b",
            {"b": True},
            "True is no extent of axis 'b' of the pattern.",
            COUNT,
        ),
        (
            ArgumentError,
            "A334",
            "b ..., c -> b",
            {},
            "the pattern {} is of 2 inputs, but 1 were given.",
            COMMAS,
        ),
        (
            ArgumentError,
            "A334",
            "b ... -> b",
            {"keepdims": True},
            "fold was given keepdims=True and the pattern {}.",
            STAY,
        ),
        (
            KeywordError,
            "A335",
            0,
            {"p": 2},
            (
                "fold has no argument 'p', and its axes are not given by a pattern, in which "
                "p=2 were the extent of an axis."
            ),
            STRING,
        ),
    ],
)
def test_what_does_not_fit(error, code, pattern, options, fact, hint):
    with pytest.raises(error) as caught:
        af.fold(X, "sum", pattern, **options)
    assert type(caught.value) is error
    assert str(caught.value) == f"{fact.format(repr(pattern))} {hint} [axisfold-{code}]"


def test_inputs_that_disagree():
    text = (
        "axis 'b' of the pattern 'a b, b -> a' has extent 3, but axis 0 of input 1 has extent 4. "
        f"{ONE_EXTENT} [axisfold-A333]"
    )
    dot = af.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
    with pytest.raises(ShapeError) as caught:
        af.fold((np.ones((2, 3)), np.ones(4)), dot, "a b, b -> a")
    assert str(caught.value) == text


def test_the_named_functions_take_no_patterns():
    text = (
        "axis 'a b -> a' is not an integer. Patterns are for axisfold.fold(x, name, pattern). "
        "[axisfold-A303]"
    )
    with pytest.raises(ArgumentTypeError) as caught:
        af.mean(np.ones((2, 3)), "a b -> a")
    assert str(caught.value) == text


class OnlyShape:
    """An array of a library that has no views."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape
        self.__array_interface__ = array.__array_interface__


def test_an_array_without_views():
    x = OnlyShape(np.arange(6.0).reshape(2, 3))
    assert af.fold(x, "sum", "a b -> a").tolist() == [3, 12]
    text = (
        "input 0 is a OnlyShape, of which the pattern 'a b -> 1 a' needs views that it does not "
        "have. Pass it as an array of its library, such as one of PyTorch or CuPy. [axisfold-A334]"
    )
    with pytest.raises(ArgumentError) as caught:
        af.fold(x, "sum", "a b -> 1 a")
    assert str(caught.value) == text


def test_masks_and_results_of_other_shapes():
    text = (
        "where has shape (3, 4, 5), but input 0 of the pattern 'b ... -> b' has shape "
        "(2, 3, 4, 5). Broadcast it to that shape. [axisfold-A333]"
    )
    with pytest.raises(ShapeError) as caught:
        af.fold(X, "sum", "b ... -> b", where=X[0] > 0)
    assert str(caught.value) == text
    text = (
        "out has shape (2,), but results of the pattern 'b ... -> b 1' have shape (2, 1). "
        "Make it of that shape. [axisfold-A333]"
    )
    with pytest.raises(ShapeError) as caught:
        af.fold(X, "sum", "b ... -> b 1", out=np.empty(2))
    assert str(caught.value) == text
