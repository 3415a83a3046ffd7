# SPDX-License-Identifier: Apache-2.0
"""Programs with bound loops, run thread by thread up to each all-reduce.

Threads of a bound loop run in turn, each with variables and local memory of its own, and meet at
all-reduces: those that do not all arrive, or that read memory another is yet to write, fail.
"""

import copy

import numpy as np

from axisfold.ir.expr import Var
from axisfold.ir.stmt import Allocate, AllReduce, Attr, For, If, Let, Seq
from te_support.interpreter import Interpreter, Memory


class Request:
    """Values that threads bring to an all-reduce, and the threads that are yet to join."""

    def __init__(self, stmt, threads, values):
        self.stmt, self.threads, self.values = stmt, threads, values


class Threads(Interpreter):
    """Runs statements as a generator of requests."""

    def steps(self, stmt):
        match stmt:
            case Seq():
                for part in stmt.body:
                    yield from self.steps(part)
            case If():
                if self.expr(stmt.condition)[0]:
                    yield from self.steps(stmt.then)
                elif stmt.otherwise is not None:
                    yield from self.steps(stmt.otherwise)
            case For() if stmt.kind == "bound":
                yield from self.threads(stmt)
            case For():
                low, extent = int(self.expr(stmt.min)[0]), int(self.expr(stmt.extent)[0])
                for value in range(low, low + extent):
                    self.values[stmt.var] = np.array([value], stmt.var.dtype.to_numpy())
                    yield from self.steps(stmt.body)
            case Allocate():
                extents = [int(self.expr(e)[0]) for e in stmt.buffer.allocated_extents]
                elements = int(np.prod([max(e, 0) for e in extents], dtype=int))
                self.memory[stmt.buffer] = Memory.allocated(stmt.buffer, elements)
                yield from self.steps(stmt.body)
            case Let():
                self.values[stmt.var] = self.expr(stmt.value)
                yield from self.steps(stmt.body)
            case Attr():
                yield from self.steps(stmt.body)
            case AllReduce():
                yield from self.all_reduce(stmt)
            case _:
                self.run(stmt)

    def all_reduce(self, stmt):
        is_on = self.expr(stmt.condition)[0]
        state = stmt.values if is_on else stmt.combiner.identity
        totals = yield Request(stmt, set(stmt.threads), [[self.expr(e) for e in state]])
        for buffer, total in zip(stmt.targets, totals, strict=True):
            self.memory[buffer].write(0, total[0])

    def threads(self, loop):
        """Run all rounds of a bound loop side by side."""
        extent = int(self.expr(loop.extent)[0])
        running = []
        for value in range(extent):
            thread = Threads()
            thread.values = dict(self.values)
            thread.values[loop.var] = np.array([value], loop.var.dtype.to_numpy())
            thread.memory = {b: _own(b, m) for b, m in self.memory.items()}
            running.append(thread.steps(loop.body))
        answers = [None] * extent
        while True:
            requests = [_advance(r, a) for r, a in zip(running, answers, strict=True)]
            if not any(requests):
                return
            assert all(requests), f"not every thread of {loop.var.name} reaches the all-reduce"
            answers = yield from _joined(loop.var, requests)


def _own(buffer, memory):
    return copy.deepcopy(memory, {id(buffer): buffer}) if buffer.scope == "local" else memory


def _advance(running, answer):
    try:
        return running.send(answer)
    except StopIteration:
        return None


def _joined(var, requests):
    """Return each thread's answer: combined here, or further out for what lies outside."""
    first = requests[0]
    assert all(r.stmt is first.stmt for r in requests)
    if var not in first.threads:
        answers = []
        for request in requests:
            answer = yield request
            answers.append(answer)
        return answers
    values = [v for r in requests for v in r.values]
    left = first.threads - {var}
    if left:
        answer = yield Request(first.stmt, left, values)
    else:
        answer = _combined(first.stmt.combiner, values)
    return [answer] * len(requests)


def _combined(combiner, values):
    """Fold states in a scrambled order: any must do for a commutative reducer."""
    order = np.random.default_rng(len(values)).permutation(len(values))
    interpreter = Interpreter()
    total = None
    for position in order:
        state = values[position]
        if total is not None:
            known = zip((*combiner.lhs, *combiner.rhs), (*total, *state), strict=True)
            interpreter.values.update(known)
            state = [interpreter.expr(e) for e in combiner.result]
        total = state
    return total


def run_threads(kernel, arrays):
    """Run a kernel with bound loops on C-ordered arrays, outputs in place."""
    values, memory = {}, {}
    for buffer, array in zip(kernel.params, arrays, strict=True):
        known = [*zip(buffer.shape, array.shape, strict=True)]
        if buffer.strides:
            steps = [s // array.itemsize for s in array.strides]
            known += zip(buffer.strides, steps, strict=True)
        values.update({expr: value for expr, value in known if isinstance(expr, Var)})
        memory[buffer] = Memory(buffer, array.reshape(-1).view("uint8"))
    for request in Threads(values, memory).steps(kernel.body):
        raise AssertionError(f"an all-reduce outside of {request.threads}")
