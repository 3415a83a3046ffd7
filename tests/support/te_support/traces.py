# SPDX-License-Identifier: Apache-2.0
"""Whether a trace makes the same program again."""

from axisfold import te
from axisfold.build import lower


def replays(schedule, args):
    """Check the trace as Python and as JSON against the schedule's own program."""
    wanted = str(lower(schedule, args))
    own = schedule.trace.args
    places = [own.index(a) for a in args]
    names = {}
    text = str(schedule.trace)
    exec(text, names)  # noqa: S102 - the text is a program
    assert str(lower(names["s"], [names["args"][p] for p in places])) == wanted
    document = schedule.trace.to_json()
    loaded = te.Schedule.from_json(document)
    assert str(lower(loaded, [loaded.trace.args[p] for p in places])) == wanted
    assert loaded.trace.to_json() == document
    assert str(loaded.trace) == text
