# SPDX-License-Identifier: Apache-2.0
"""Random schedules for threads from a seed, and programs that only threads make interesting."""

import random

import numpy as np

from axisfold import te
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.lower.attachments import check_attachments
from axisfold.lower.inline import inlined
from axisfold.lower.regions import infer_bounds
from te_support.problems import Problem, wrapped
from te_support.random_schedules import ALL_PROBLEMS, LEGAL_REFUSALS, Case, Generator

UNITS = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 31, 32, 33, 37, 64, 100, 128, 201)
STYLES = ("adjacent", "interleaved", "adjacent", "interleaved", "shuffle", "two-level")
MAX_THREADS = 512
MAX_CLUSTER = 8

# What a random choice of a binding may meet.
REFUSED_STEPS = {
    "bind": {"S242", "S243", "S245", "S246", "S247", "S248"},
    "last_block": {"S291", "S292", "S293"},
    **LEGAL_REFUSALS,
    "rfactor": LEGAL_REFUSALS["rfactor"] | {"S165"},
    "fuse": LEGAL_REFUSALS["fuse"] | {"S171"},
}

# Refusals that a whole program may meet, each with its reason: the extents of memory or of threads
# vary from call to call (X123, S298), the generator leaves a nest unbound (X121), a style or the
# limits of the target do not fit (X124, X126, X127), threads would wait in divergent flow (X125), a
# last block would need what others compute, or more than one (S292 to S297), a thread the local
# memory of others (S300), or a fold would lie inside a loop of its own threads (S301).
REFUSALS = {
    "S154", "S185", "S292", "S294", "S295", "S296", "S297", "S298", "S300", "S301", "X121", "X122",
    "X123", "X124", "X125", "X126", "X127",
}  # fmt: skip


def affine(n, m):
    """Composition of affine maps along each row: an ordered reducer of two components."""
    A = te.placeholder((n, m), "int64", name="A")
    k = te.reduce_axis((0, m), "k")

    def then(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    def identity(t0, t1):
        return te.const(1, t0), te.const(0, t1)

    reducer = te.comm_reducer(then, identity, "affine", facts=("ordered",))
    p, q = te.compute((n,), lambda i: reducer((A[i, k] * 2 + 1, A[i, k]), axis=k), name="B")

    def answer(a):
        found = []
        for row in a.tolist():
            x, y = 1, 0
            for v in row:
                x, y = wrapped(x * (2 * v + 1)), wrapped(y * (2 * v + 1) + v)
            found.append((x, y))
        result = np.array(found, "int64").reshape(len(a), 2)
        return [result[:, 0], result[:, 1]]

    return Problem([A, p, q], [p, q], [("n", "m")], answer)


def every_third(n, m):
    """Sum of the columns, of the elements whose row is no multiple of three."""
    A = te.placeholder((n, m), "int64", name="A")
    k = te.reduce_axis((0, n), "k")

    def body(j):
        return te.sum(A[k, j], axis=k, where=te.floormod(k, 3) > 0)

    B = te.compute((m,), body, name="B")

    def answer(a):
        return [a[np.arange(len(a)) % 3 > 0].sum(axis=0)]

    return Problem([A, B], [B], [("n", "m")], answer)


def softmax(n, m):
    """Rows divided by what they add up to, all exact: a producer, two reductions, a consumer."""
    A = te.placeholder((n, m), "int64", name="A")
    k, h = te.reduce_axis((0, m), "k"), te.reduce_axis((0, m), "h")
    M = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="M")
    E = te.compute((n, m), lambda i, j: (A[i, j] - M[i]) * (A[i, j] + 1), name="E")
    S = te.compute((n,), lambda i: te.sum(E[i, h], axis=h), name="S")
    C = te.compute((n, m), lambda i, j: E[i, j] * 2 - S[i], name="C")

    def answer(a):
        if not a.size:
            return [a]
        e = (a - a.max(axis=1, keepdims=True)) * (a + 1)
        return [e * 2 - e.sum(axis=1, keepdims=True)]

    return Problem([A, C], [C], [("n", "m")], answer)


THREAD_PROBLEMS = (*ALL_PROBLEMS, affine, every_third, softmax)


class ThreadGenerator(Generator):
    """Shapes stages as for a CPU, then places them inside each other and binds their loops."""

    def run(self, steps):
        self.threads = {}
        self.units = {}
        self.blocks = {}
        shaping = ["split", "fuse", "reorder", "rfactor", "cache_read", "cache_write", "rfactor"]
        for _ in range(steps):
            name = self.rng.choice(shaping)
            self.attempt(name, lambda name=name: getattr(self, name)(self.any_stage()))
        if self.rng.random() < 0.2:
            self.attempt("compute_inline", lambda: self.compute_inline(self.any_stage()))
        for stage in reversed(self.computed()):
            self.place(stage)
        self.settle()
        for stage in reversed(self.computed()):
            if not stage.is_inlined:
                self.bind_stage(stage)
                self.decorate(stage)

    def attempt(self, name, step):
        """Do a step that the schedule may refuse; return its result, None where it did."""
        try:
            return step()
        except ScheduleError as error:
            if error.code not in REFUSED_STEPS[name]:
                raise
        return None

    def computed(self):
        return [s for s in self.schedule.stages if s.op.body]

    def any_stage(self):
        return self.rng.choice(self.computed())

    # -- where ---------------------------------------------------------------------------------

    def place(self, stage):
        """Put a stage inside one of its consumers, or leave it at the top level."""
        if stage.is_output or stage.is_inlined:
            return
        parents = [
            s
            for s in self.computed()
            if s is not stage and s.leaf_axes and any(stage.op is t.op for t in s.op.input_tensors)
        ]
        if parents and self.rng.random() < 0.75:
            parent = self.rng.choice(parents)
            # Guests of inner loops need little memory, which must be of constant extent.
            last = max(self.rng.randrange(len(parent.leaf_axes)) for _ in range(2))
            axis = parent.leaf_axes[last]
            self.attempt("compute_at", lambda: stage.compute_at(parent, axis))
        if stage.attachment is None:
            stage.set_scope("global")
        elif stage.scope in (None, "global", "warp") or self.rng.random() < 0.3:
            scope = self.rng.choice(("shared", "shared", "local", None))
            if scope is None:
                stage.scope = None
            else:
                stage.set_scope(scope)

    def settle(self):
        """Take to the top level what cannot stay where it is: read elsewhere, or of any size."""
        while True:
            schedule = inlined(self.schedule)
            try:
                check_attachments(schedule)
                break
            except ScheduleError as error:
                for stage in self.computed():
                    if stage.attachment and f"stage {stage.name!r} is computed at" in str(error):
                        self.to_top(stage)
        bounds = {s.origin_op: b for s, b in infer_bounds(schedule).items()}
        for stage in self.computed():
            region = () if stage.is_inlined else bounds[stage.origin_op].region
            is_fixed = all(build.as_int(extent) is not None for _, extent in region)
            if stage.attachment and not is_fixed and self.rng.random() < 0.85:
                self.to_top(stage)

    def to_top(self, stage):
        for guest in self.computed():
            if guest.attachment and guest.attachment.stage is stage and not guest.is_inlined:
                self.to_top(guest)
        stage.compute_root()
        stage.set_scope("global")

    def root(self, stage):
        while stage.attachment is not None:
            stage = stage.attachment.stage
        return stage

    # -- by whom -------------------------------------------------------------------------------

    def bind_stage(self, stage):
        """Bind some loops of a stage."""
        taken = self.threads.setdefault(self.root(stage), {})
        is_root = stage.attachment is None
        if not is_root and self.rng.random() < 0.4:
            return
        if not is_root and stage.scope in (None, "local") and self.rng.random() < 0.9:
            return
        kinds = [stage.touches(a, "reduce") for a in stage.leaf_axes]
        folds = any(kinds) and self.rng.random() < 0.6
        if folds:
            data = [a for a in stage.leaf_axes if not stage.touches(a, "reduce")]
            inner = [a for a in stage.leaf_axes if stage.touches(a, "reduce")]
            self.attempt("reorder", lambda: stage.reorder(*data, *inner))
        if is_root:
            self.bind_blocks(stage, taken)
        self.bind_units(stage, taken, "data", self.rng.choice((0, 1, 1, 1, 2)))
        if folds:
            self.bind_units(stage, taken, "reduce", self.rng.choice((1, 1, 1, 2)))
            if is_root and self.rng.random() < 0.15:
                self.fold_blocks(stage)
        if is_root and not stage.bindings and stage.leaf_axes:
            first = stage.leaf_axes[0]
            if first.kind == "data":
                self.bind_leaf(stage, first, "blockIdx.x")
            else:
                self.bind_constant(stage, first, "threadIdx.x", taken, UNITS)
        if is_root and self.rng.random() < 0.35:
            self.finish(stage)

    def free(self, stage, kind):
        return [
            a
            for a in stage.leaf_axes
            if a not in stage.bindings and a not in stage.loop_kinds and a.kind == kind
        ]

    def bind_leaf(self, stage, axis, tag):
        thread = te.thread_axis(tag)
        self.attempt("bind", lambda: stage.bind(axis, thread))
        return axis in stage.bindings

    def bind_blocks(self, stage, taken):
        """Bind data loops, outermost first, to blocks, and a part of one to a cluster."""
        for axis_name in "xyz"[: self.rng.choice((0, 1, 1, 1, 2))]:
            axes = self.free(stage, "data")
            if not axes:
                return
            axis = axes[0]
            if self.rng.random() < 0.3 and len(axes) > 1:
                axis = self.attempt("fuse", lambda axes=axes: stage.fuse(*axes[:2])) or axis
            if self.rng.random() < 0.5:
                made = self.attempt(
                    "split", lambda axis=axis: stage.split(axis, factor=self.rng.choice(UNITS))
                )
                axis = made[0] if made else axis
            if self.rng.random() < 0.12:
                self.bind_constant(stage, axis, f"clusterCtaIdx.{axis_name}", taken, (2, 3, 4))
            elif axis in stage.leaf_axes:
                self.bind_leaf(stage, axis, f"blockIdx.{axis_name}")

    def bind_units(self, stage, taken, kind, count):
        tags = self.rng.sample("xyz", 3)
        if self.rng.random() < 0.7:
            tags.sort()
        for axis_name in tags[:count]:
            axes = self.free(stage, kind)
            if axes:
                unit = "threadIdx"
                if kind == "reduce" and self.rng.random() < 0.06:
                    unit = "clusterCtaIdx"
                self.bind_constant(
                    stage, self.rng.choice(axes), f"{unit}.{axis_name}", taken, UNITS
                )

    def bind_constant(self, stage, axis, tag, taken, extents):
        """Bind a loop, or a part of it, of constant extent, as far as a block has threads."""
        unit = tag.split(".")[0]
        room = MAX_THREADS if unit == "threadIdx" else MAX_CLUSTER
        if tag == "threadIdx.z":
            room = 64
        for other, extent in taken.items():
            if other != tag and other.startswith(unit):
                room //= extent
        wanted = [e for e in extents if e <= room]
        known = build.as_int(axis.extent)
        if not wanted or (known is None and not hasattr(axis, "extent")):
            return
        extent = self.rng.choice(wanted)
        if tag in taken and self.rng.random() < 0.6:
            extent = min(taken[tag], room)
        leaf = axis
        if not (known is not None and 0 < known <= room and self.rng.random() < 0.3):
            how = "nparts" if self.rng.random() < 0.3 else "factor"
            made = self.attempt("split", lambda: stage.split(axis, **{how: extent}))
            if made is None:
                return
            leaf = made[how == "factor"]
            if unit == "clusterCtaIdx" and how == "factor" and leaf.kind == "data":
                self.bind_leaf(stage, made[0], tag.replace("clusterCtaIdx", "blockIdx"))
        else:
            extent = known
        if self.bind_leaf(stage, leaf, tag):
            taken[tag] = max(taken.get(tag, 1), extent)

    def fold_blocks(self, stage):
        """Bind a reduce loop to blocks."""
        if any(a.kind == "data" and a not in stage.bindings for a in stage.leaf_axes):
            return
        axes = self.free(stage, "reduce")
        tag = self.rng.choice([f"blockIdx.{a}" for a in "xyz"])
        if axes and self.bind_leaf(stage, self.rng.choice(axes), tag):
            self.attempt("last_block", stage.last_block)

    def finish(self, stage):
        """Compute a stage in the last block of one that it reads."""
        producers = [
            s
            for s in self.computed()
            if s is not stage and any(t.op is s.op for t in stage.op.input_tensors)
        ]
        if producers and not any(t.tag.startswith("blockIdx") for t in stage.bindings.values()):
            producer = self.rng.choice(producers)
            self.attempt("last_block", lambda: stage.last_block(producer))

    # -- how -----------------------------------------------------------------------------------

    def decorate(self, stage):
        """Vectorize, unroll, choose styles, pad memory, repeat what holds."""
        if self.rng.random() < 0.25:
            axes = [a for a in self.free(stage, "data")[-1:] if self.is_short(a)]
            for axis in axes:
                self.attempt("vectorize", lambda axis=axis: stage.vectorize(axis))
        if self.rng.random() < 0.15:
            axes = [a for a in self.free(stage, "reduce")[-1:] if self.is_short(a)]
            for axis in axes:
                self.attempt("unroll", lambda axis=axis: stage.unroll(axis))
        folded = [a for a in stage.bindings if stage.touches(a, "reduce")]
        if folded and self.rng.random() < 0.25:
            stage.pragma(folded[0], "reduce_style", self.rng.choice(STYLES))
        if folded and stage.attachment is None and self.rng.random() < 0.2:
            threads = [stage.bindings[a] for a in folded]
            if all(t.is_thread for t in threads):
                stage.set_store_predicate(te.all(*(t.var.equal(0) for t in threads)))
        if stage.scope == "shared" and self.rng.random() < 0.3:
            self.storage_align(stage)


class ThreadCase(Case):
    """One random schedule for threads of one program; everything follows from the seed."""

    extents_of_axes = (0, 1, 2, 3, 5, 7, 13, 16, 17, 33, 37)

    def __init__(self, seed):
        self.rng = random.Random(f"threads {seed}")
        self.problem_of = self.rng.choice(THREAD_PROBLEMS)
        self.sizes = None if self.rng.random() < 0.3 else self.extents()
        n, m = self.sizes.values() if self.sizes else (te.var("n"), te.var("m"))
        self.problem = self.problem_of(n, m)
        self.schedule = te.create_schedule([t.op for t in self.problem.outputs])
        ThreadGenerator(self.schedule, self.rng).run(self.rng.randint(0, 6))

    def extents(self):
        """Return extents by name; now and then one is large."""
        sizes = {name: self.rng.choice(self.extents_of_axes) for name in "nm"}
        if self.rng.random() < 0.1:
            sizes[self.rng.choice("nm")] = self.rng.choice((64, 100, 130, 201))
        return sizes
