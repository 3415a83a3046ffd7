# SPDX-License-Identifier: Apache-2.0
"""The rules for GPUs: which schedule for which layout class, and why.

:mod:`axisfold.plan.sizes_gpu` tells the forms apart by extents, bytes and the numbers of the card;
each form has one rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from axisfold.plan.compose import LayoutClass
from axisfold.plan.compose_tiles import tile_graph
from axisfold.plan.compose_whole import whole_graph
from axisfold.plan.rule import Rule, Scheduler
from axisfold.plan.rules_cuda_columns import column, column_split, thread_column
from axisfold.plan.rules_cuda_narrow import narrow, narrow_split
from axisfold.plan.rules_cuda_ordered import ordered, ordered_split
from axisfold.plan.rules_cuda_rows import row, row_split, short_row
from axisfold.plan.rules_cuda_tiles import (
    tiled_column,
    tiled_column_split,
    tiled_row,
    tiled_row_split,
    whole_row,
)
from axisfold.tensor.trace import Traced

# Loads of a thread that are under way at once.
_UNROLL: Final = {"unroll": (2, 4, 8)}


def _is(form: str) -> Callable[[LayoutClass, Traced], bool]:
    return lambda layout, traced: layout.gpu is not None and layout.gpu.form == form


def _rule(name: str, scheduler: Scheduler, reason: str) -> Rule:
    unrolls = "unroll" in inspect.signature(scheduler).parameters
    return Rule(name, _is(name), reason, scheduler, parameters=_UNROLL if unrolls else {})


def _tiled_rule(name: str, scheduler: Scheduler, reason: str) -> Rule:
    return replace(_rule(name, scheduler, reason), compose=tile_graph)


RULES: Final = (
    _rule(
        "short_row",
        short_row,
        "short rows: a kernel for their length, with a few threads of a warp for each, so that "
        "neighbours read neighbours and every load is under way at once",
    ),
    _rule(
        "row",
        row,
        "long rows, enough for the card: a block for each, loads of 16 bytes where they are "
        "aligned, and an accumulator for each lane of a load",
    ),
    _rule(
        "row_split",
        row_split,
        "too few long rows for the card: one wave of blocks shares them, and the last block to "
        "finish folds what the others left",
    ),
    _rule(
        "thread_column",
        thread_column,
        "columns of a few elements: a thread has neighbouring columns and folds them alone",
    ),
    _rule(
        "narrow",
        narrow,
        "few columns: rows are one run of memory, which the threads of a block sweep with loads of "
        "16 bytes, so that each lane stays in its column",
    ),
    _rule(
        "narrow_split",
        narrow_split,
        "few columns and few folds: as narrow, and one wave of blocks shares the rows; the last "
        "block folds what the others left",
    ),
    _rule(
        "column",
        column,
        "wide columns, enough for the card: a thread has neighbouring columns, and rows of "
        "threads share the rows",
    ),
    _rule(
        "column_split",
        column_split,
        "wide columns, too few for the card: blocks share the rows too, and the last block of a "
        "tile of columns folds what the others left",
    ),
    _tiled_rule(
        "tiled_row",
        tiled_row,
        "rows, and the reducer has a form for short runs: each thread takes tiles into registers, "
        "all loads under way at once, and folds one state for each",
    ),
    replace(
        _rule(
            "whole_row",
            whole_row,
            "rows that registers or caches hold, merging states is dear, and the reducer has a "
            "form for short runs: a team of threads takes its row as one run, pass by pass",
        ),
        compose=whole_graph,
    ),
    _tiled_rule(
        "tiled_row_split",
        tiled_row_split,
        "too few long rows for the card, and the reducer has a form for short runs: as tiled_row, "
        "and one wave of blocks shares them",
    ),
    _tiled_rule(
        "tiled_column",
        tiled_column,
        "wide columns, and the reducer has a form for short runs: each thread takes a few rows of "
        "neighbouring columns into registers and folds one state for each column",
    ),
    _tiled_rule(
        "tiled_column_split",
        tiled_column_split,
        "wide columns, too few for the card, and the reducer has a form for short runs: as "
        "tiled_column, and blocks share the rows too",
    ),
    _rule(
        "ordered",
        ordered,
        "the states have an order: each thread folds a run of neighbours",
    ),
    _rule(
        "ordered_split",
        ordered_split,
        "the states have an order and folds are few: each block and each thread folds a run of "
        "neighbours, and the last block folds the blocks' states in their order",
    ),
)
