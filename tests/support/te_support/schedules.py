# SPDX-License-Identifier: Apache-2.0
"""Random legal schedules, drawn by hypothesis."""

from hypothesis import strategies as st

from axisfold.errors import ScheduleError

FACTORS = (1, 2, 3, 4, 5, 7, 16)
MAX_LEAVES = 8

# Refusals that a random choice may meet; every other error is a bug.
LEGAL_REFUSALS = {
    "split": {"S113", "S114"},
    "reorder": {"S122"},
    "rfactor": {"S163", "S166", "S167"},
    "compute_at": {"S152", "S153"},
    "vectorize": {"S132"},
    "unroll": {"S141"},
}


def computed(schedule):
    return [s for s in schedule.stages if s.op.body]


def draw_split(data, schedule, stage):
    if len(stage.leaf_axes) >= MAX_LEAVES:
        return
    axis = data.draw(st.sampled_from(stage.leaf_axes))
    how = data.draw(st.sampled_from(("factor", "nparts")))
    stage.split(axis, **{how: data.draw(st.sampled_from(FACTORS))})


def draw_reorder(data, schedule, stage):
    axes = data.draw(st.permutations(stage.leaf_axes))
    stage.reorder(*axes[: data.draw(st.integers(1, len(axes)))])


def draw_rfactor(data, schedule, stage):
    leaves = [a for a in stage.leaf_axes if a.kind == "reduce"]
    if not leaves or len(schedule.stages) > 7:
        return
    rank = len(stage.op.axis)
    slot = data.draw(st.integers(-rank - 1, rank))
    schedule.rfactor(stage.op.output(0), data.draw(st.sampled_from(leaves)), factor_axis=slot)


def draw_compute_at(data, schedule, stage):
    parents = [s for s in computed(schedule) if s is not stage and s.leaf_axes]
    if stage.is_output or not parents:
        return
    parent = data.draw(st.sampled_from(parents))
    stage.compute_at(parent, data.draw(st.sampled_from(parent.leaf_axes)))


def draw_vectorize(data, schedule, stage):
    leaves = [a for a in stage.leaf_axes if a.kind == "data"]
    if leaves:
        stage.vectorize(data.draw(st.sampled_from(leaves)))


def draw_unroll(data, schedule, stage):
    stage.unroll(data.draw(st.sampled_from(stage.leaf_axes)))


STEPS = {
    "split": draw_split,
    "reorder": draw_reorder,
    "rfactor": draw_rfactor,
    "compute_at": draw_compute_at,
    "vectorize": draw_vectorize,
    "unroll": draw_unroll,
}
# Splits make room for the others.
NAMES = (*STEPS, "split", "split", "rfactor", "compute_at", "vectorize")


def draw_schedule(data, schedule):
    """Apply random primitives to a schedule."""
    for name in data.draw(st.lists(st.sampled_from(NAMES), max_size=12)):
        stage = data.draw(st.sampled_from(computed(schedule)))
        if not stage.leaf_axes:
            continue
        try:
            STEPS[name](data, schedule, stage)
        except ScheduleError as error:
            if error.code not in LEGAL_REFUSALS[name]:
                raise
