# SPDX-License-Identifier: Apache-2.0
"""Recognises how a block combines states: the styles, and the rule behind a step's pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from axisfold.ir.stmt import WARP
from axisfold.sim.trace_rows import Combine, Step

_MEMORY = {"shared": "shared memory", "global": "global memory", "cluster": "cluster memory"}


def merges(step: Step) -> list[Combine]:
    """Return what a step combines within the block, for a result that is used."""
    return [c for c in step.combines if c.is_used and c.sources and not c.is_copy]


def distances(step: Step) -> set[int]:
    """Return how far the threads that a step combines are apart."""
    return {source - c.thread for c in merges(step) for source in c.sources}


def style_of(steps: Sequence[Step]) -> str:
    """Return how the states of a block are combined, "" if they are not."""
    trees = [step for step in steps if merges(step)]
    mediums = {medium for step in trees for medium in step.mediums}
    if not trees:
        return ""
    if "shuffle" in mediums:
        return "two-level warp shuffles" if _is_two_level(steps, mediums) else "warp shuffles"
    where = " and ".join(_MEMORY[medium] for medium in sorted(mediums))
    return f"{_shape(trees)} in {where}"


def _is_two_level(steps: Sequence[Step], mediums: set[str]) -> bool:
    """Whether the results of shuffles go through shared memory to be combined again."""
    if mediums != {"shuffle"}:
        return True
    has_shuffled = has_moved = False
    for step in steps:
        if "shuffle" in step.mediums and merges(step):
            if has_moved:
                return True
            has_shuffled = True
        copies = [c for c in step.combines if c.is_copy and c.is_used]
        has_moved |= has_shuffled and bool(copies) and "shared" in step.mediums
    return False


def _shape(trees: Sequence[Step]) -> str:
    if len(trees) > 1 and all(_span(merges(step)) == 2 for step in trees):
        return "packed adjacent tree"
    found = [distances(step) for step in trees]
    if any(len(each) != 1 for each in found):
        return "serial fold" if len(trees) == 1 else "tree"
    steps = [each.pop() for each in found]
    pairs = list(pairwise(steps))
    # A second all-reduce begins like the first.
    if pairs and all(b < a or b == steps[0] for a, b in pairs):
        return "interleaved tree"
    if pairs and all(b > a or b == steps[0] for a, b in pairs):
        return "adjacent tree"
    return "tree"


def _span(combines: Sequence[Combine]) -> int:
    """Return how many neighbours each takes if thread i takes n of them from n*i on, else 0."""
    full = [(c.thread, sorted({*c.sources, *([c.thread] * c.keeps)})) for c in combines]
    n = len(full[0][1])
    return n if all(taken == list(range(t * n, t * n + n)) for t, taken in full) else 0


def rule(combines: Sequence[Combine]) -> str:
    """Return the rule that gives each thread its source, such as ``i ← i+4``; "" if none does."""
    span = _span(combines)
    if len(combines) > 1 and span > 1:
        return f"i ← {span}*i..{span}*i+{span - 1}" if span > 2 else "i ← 2*i, 2*i+1"
    if any(len(c.sources) != 1 or c.blocks for c in combines):
        return ""
    pairs = [(c.thread, c.sources[0]) for c in combines]
    if len({source for _, source in pairs}) == 1:
        return f"i ← {pairs[0][1]}"
    apart = {source - thread for thread, source in pairs}
    if len(apart) == 1:
        return f"i ← i{apart.pop():+d}"
    if all(source == thread - thread % WARP for thread, source in pairs):
        return f"i ← {WARP}*(i//{WARP})"
    bits = {source ^ thread for thread, source in pairs}
    if len(bits) == 1:
        return f"i ← i^{bits.pop()}"
    for thread, source in pairs:
        factor = source // thread if thread else 0
        if factor > 1 and all(s == t * factor for t, s in pairs):
            return f"i ← {factor}*i"
        if factor > 1 and all(s == t % WARP * factor for t, s in pairs):
            return f"i ← {factor}*(i%{WARP})"
    return ""


def ranges(numbers: Sequence[int], most: int = 4) -> str:
    """Return ascending numbers in few words, such as ``0..7``, ``0,2..14`` or ``0..3, 8..11``."""
    if len(numbers) > 2:
        step = numbers[1] - numbers[0]
        if step > 1 and list(numbers) == list(range(numbers[0], numbers[-1] + 1, step)):
            return f"{numbers[0]},{numbers[1]}..{numbers[-1]}"
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [str(a) if a == b else f"{a},{b}" if b == a + 1 else f"{a}..{b}" for a, b in runs]
    if len(words) > most:
        words = [*words[: most - 1], "…", words[-1]]
    return ", ".join(words)


def describe(step: Step) -> str:
    """Return in words what a step does; one of no lines is the state before the first."""
    if not step.lines:
        return "elements in memory"
    words = []
    for is_copy in (False, True):
        combines = [c for c in step.combines if c.is_used and c.is_copy == is_copy]
        if combines:
            words.append(("copy " if is_copy else "") + _taken(combines))
    if step.combines and not words:
        is_copy = all(c.is_copy for c in step.combines)
        words.append(f"{'copy ' * is_copy}{_taken(step.combines)} (not used)")
    if not step.combines:
        words += [f"read {', '.join(step.reads)}"] if step.reads else []
    if step.writes:
        words.append(f"write {', '.join(step.writes)}")
    if step.ticket:
        words = [f"ticket: {step.ticket}"]
    return "; ".join(words)


def _taken(combines: Sequence[Combine]) -> str:
    threads = ranges([c.thread for c in combines])
    known = rule(combines)
    if len(combines) > 1 and known:
        return f"{known}, i = {threads}"
    each = [f"{c.thread} ← {_sources(c)}" for c in combines[:3]]
    return ", ".join(each) + (f", … {len(combines)} threads" if len(combines) > 3 else "")


def _sources(combine: Combine) -> str:
    words = [ranges(combine.sources)] if combine.sources else []
    if combine.blocks:
        words.append(f"block{'s' * (len(combine.blocks) > 1)} {ranges(combine.blocks)}")
    return " and ".join(words)
