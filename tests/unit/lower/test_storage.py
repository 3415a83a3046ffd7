# SPDX-License-Identifier: Apache-2.0
"""Offsets of elements in memory that holds a part of a tensor."""

from axisfold.dtypes import FLOAT32
from axisfold.ir.buffer import Buffer
from axisfold.ir.build import const
from axisfold.ir.expr import Var
from axisfold.lower.storage import Storage

i, low, n = Var("i"), Var("low"), Var("n")


def test_what_was_added_to_a_place_is_not_taken_off_again():
    first = low * 8
    held = Storage(Buffer("held", FLOAT32, (n,)), (first,))
    place = i * 2
    assert held.offset([place + first]) is place
    assert str(held.offset([first + place])) == "(((low*8) + (i*2)) - (low*8))"
    assert held.load([place + first]).index is place
    whole = Storage(Buffer("whole", FLOAT32, (n,)), (const(0),))
    assert str(whole.offset([place + first])) == "((i*2) + (low*8))"
