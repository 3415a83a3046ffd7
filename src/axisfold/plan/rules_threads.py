# SPDX-License-Identifier: Apache-2.0
"""The plainest schedule for threads, for people who want to see how threads combine."""

from __future__ import annotations

from axisfold.plan.compose import Graph
from axisfold.plan.rule import Rule
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target
from axisfold.tensor.axis import thread_axis
from axisfold.tensor.trace import Traced


def threads_rule(threads: int, style: str = "") -> Rule:
    """Return the rule that gives each result a block of threads.

    Parameters
    ----------
    threads
        Threads of a block.
    style
        How they combine their states (:mod:`axisfold.passes.expand_all_reduce`); "" to choose it
        from the extents.
    """

    def schedule(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
        result, state = s[graph.results[0]], s[graph.state[0]]
        kept, folded = result.op.axis, state.op.reduce_axis
        block = result.fuse(*kept) if len(kept) > 1 else kept[0]
        result.bind(block, thread_axis("blockIdx.x"))
        state.compute_at(result, block)
        state.set_scope("local")
        run = state.fuse(*folded) if len(folded) > 1 else folded[0]
        if traced.combiner.is_ordered:
            thread, _ = state.split(run, nparts=threads)
        else:
            _, thread = state.split(run, factor=threads)
        state.bind(thread, thread_axis("threadIdx.x"))
        if style:
            state.pragma(thread, "reduce_style", style)

    reason = "asked for: a block for each result, whose threads share the folded elements"
    return Rule("threads", lambda layout, traced: True, reason, schedule)
