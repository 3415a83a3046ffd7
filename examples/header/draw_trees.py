# SPDX-License-Identifier: Apache-2.0
"""Draw the reduction tree of each example as SVG.

``python examples/header/draw_trees.py [folder]`` writes ``docs/img/header/*.svg``. The pictures are
made from the same index rules as the kernels, and the numbers in them are computed, so a picture
cannot show a tree that does not add up.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

OUTPUT = Path(__file__).resolve().parents[2] / "docs" / "img" / "header"

CELL = 40  # width of a box
GAP = 10  # space between two boxes
RISE = 74  # from one row of boxes to the next
LEFT = 150  # room for the labels of the rows

STYLE = """
  text { font: 13px sans-serif; fill: #1f2328; }
  .title { font-weight: bold; font-size: 15px; }
  .label { fill: #57606a; text-anchor: end; }
  .note { fill: #57606a; font-size: 12px; }
  .value { text-anchor: middle; }
  .box { fill: #ffffff; stroke: #8c959f; }
  .busy { fill: #ddf4ff; stroke: #0969da; }
  .done { fill: #dafbe1; stroke: #1a7f37; }
  .group { fill: none; stroke: #8c959f; stroke-dasharray: 4 3; }
  .edge { stroke: #0969da; fill: none; }
  .keep { stroke: #8c959f; fill: none; stroke-dasharray: 2 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .label, .note { fill: #9198a1; }
    .box { fill: #151b23; stroke: #656c76; }
    .busy { fill: #121d2f; stroke: #4493f8; }
    .done { fill: #12261e; stroke: #3fb950; }
    .edge { stroke: #4493f8; }
  }
"""


@dataclass
class Row:
    """A row of boxes: what each holds after a step, and from which boxes above it came.

    Parameters
    ----------
    label : str
        Text to the left.
    values : dict of int to int
        Value by box; boxes that hold nothing are not drawn.
    sources : dict of int to tuple of int
        For the boxes that a thread wrote in this step: the boxes of the row above.
    groups : list of (int, int, str)
        First box, last box and name of a warp, block or row around the boxes.
    kept : tuple of int
        Boxes that carry their value over unchanged.
    """

    label: str
    values: Mapping[int, int]
    sources: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    groups: list[tuple[int, int, str]] = field(default_factory=list)
    kept: tuple[int, ...] = ()


@dataclass
class Picture:
    """A reduction tree with its caption."""

    title: str
    notes: tuple[str, ...]
    rows: list[Row]


def step(
    above: Row,
    label: str,
    pairs: Mapping[int, tuple[int, ...]],
    combine: Callable[..., int],
    groups: list[tuple[int, int, str]] | None = None,
) -> Row:
    """Combine boxes of a row into the next row; boxes not named disappear."""
    values = {box: combine(*(above.values[s] for s in sources)) for box, sources in pairs.items()}
    busy = {box: sources for box, sources in pairs.items() if sources != (box,)}
    kept = tuple(box for box, sources in pairs.items() if sources == (box,))
    return Row(label, values, busy, groups or [], kept)


def add(*values: int) -> int:
    """Add any number of values."""
    return sum(values)


def start(label: str, values: list[int], groups: list[tuple[int, int, str]] | None = None) -> Row:
    """Make the first row of a picture."""
    return Row(label, dict(enumerate(values)), groups=groups or [])


def interleaved(title: str, memory: str, notes: tuple[str, ...]) -> Picture:
    """Draw the tree that adds the upper half to the lower half, for seven elements."""
    rows = [start(memory, list(range(1, 8)))]
    left, number = 7, 0
    while left > 1:
        kept, number = (left + 1) // 2, number + 1
        pairs = {i: (i, i + kept) if i + kept < left else (i,) for i in range(kept)}
        rows.append(step(rows[-1], f"step {number}", pairs, add))
        left = kept
    return Picture(title, notes, rows)


def adjacent() -> Picture:
    """Draw the tree that adds neighbours."""
    rows = [start("shared memory", list(range(1, 8)))]
    stride = 1
    while stride < 7:
        pairs = {i: (i, i + stride) if i + stride < 7 else (i,) for i in range(0, 7, 2 * stride)}
        rows.append(step(rows[-1], f"stride {stride}", pairs, add))
        stride *= 2
    notes = ("Neighbours first: the order of the operands is kept.", "Any number of elements.")
    return Picture("Adjacent tree in shared memory", notes, rows)


def butterfly() -> Picture:
    """Draw a warp of eight lanes in which every lane ends with the result."""
    rows = [start("lane registers", list(range(1, 9)))]
    for offset in (1, 2, 4):
        pairs = {i: (min(i, i ^ offset), max(i, i ^ offset)) for i in range(8)}
        rows.append(step(rows[-1], f"lane xor {offset}", pairs, add))
    notes = ("8 of the 32 lanes. No shared memory, no barrier.", "All lanes hold the same bits.")
    return Picture("Warp shuffle", notes, rows)


def block_reduce() -> Picture:
    """Draw two stages: within the warps, then over their results; the last warp is partial."""
    warps = [(0, 3, "warp 0"), (4, 7, "warp 1"), (8, 9, "warp 2, partial")]
    rows = [start("thread values", list(range(1, 11)), warps)]
    pairs = {first: tuple(range(first, last + 1)) for first, last, _ in warps}
    rows.append(step(rows[-1], "shuffles", pairs, add))
    slots = {i: (first,) for i, (first, _, _) in enumerate(warps)}
    second = step(rows[-1], "shared memory", slots, add, [(0, 2, "a slot for each warp")])
    rows.append(Row(second.label, second.values, slots, second.groups))
    rows.append(step(rows[-1], "shuffles, warp 0", {0: (0, 1, 2)}, add))
    notes = (
        "Warps of 4 lanes here, 32 in hardware: two stages reach 32 x 32 = 1024 threads.",
        "The partial warp names only the lanes that it has.",
    )
    return Picture("Block reduction", notes, rows)


def two_pass() -> Picture:
    """Draw two launches."""
    blocks = [(0, 3, "block 0"), (4, 7, "block 1"), (8, 11, "block 2")]
    rows = [start("first launch", list(range(1, 13)), blocks)]
    rows.append(
        step(rows[-1], "block results", {f: tuple(range(f, e + 1)) for f, e, _ in blocks}, add)
    )
    slots = {i: (first,) for i, (first, _, _) in enumerate(blocks)}
    rows.append(
        Row("second launch", step(rows[-1], "", slots, add).values, slots, [(0, 2, "one block")])
    )
    rows.append(step(rows[-1], "result", {0: (0, 1, 2)}, add))
    notes = ("The order of launches on a stream is the synchronisation between the passes.",)
    return Picture("Two passes", notes, rows)


def last_block() -> Picture:
    """Draw one launch in which the block that draws the last ticket goes on."""
    blocks = [
        (0, 3, "block 0, ticket 2"),
        (4, 7, "block 1, ticket 0"),
        (8, 11, "block 2, ticket 1"),
    ]
    rows = [start("one launch", list(range(1, 13)), blocks)]
    rows.append(
        step(rows[-1], "block results", {f: tuple(range(f, e + 1)) for f, e, _ in blocks}, add)
    )
    slots = {i: (first,) for i, (first, _, _) in enumerate(blocks)}
    group = [(0, 2, "block 0 drew the last ticket")]
    rows.append(Row("partial results", step(rows[-1], "", slots, add).values, slots, group))
    rows.append(step(rows[-1], "result", {0: (0, 1, 2)}, add))
    notes = (
        "Folded in the order of the blocks, whichever came last: the same bits in every run.",
        "The ticket wraps back to zero.",
    )
    return Picture("Last block", notes, rows)


def higher_dim() -> Picture:
    """Draw columns that threads own, with the rows split over two blocks."""
    columns, rows_of_x = 4, 4
    values = [10 * (r + 1) + c for r in range(rows_of_x) for c in range(columns)]
    groups = [
        (r * columns, (r + 1) * columns - 1, f"row {r} (block y = {r // 2})")
        for r in range(rows_of_x)
    ]
    rows = [start("x[rows, columns]", values, groups)]
    pairs = {
        8 * half + c: tuple(columns * (2 * half + r) + c for r in range(2))
        for half in range(2)
        for c in range(columns)
    }
    rows.append(step(rows[-1], "partial results", pairs, add))
    pairs = {c: (c, 8 + c) for c in range(columns)}
    rows.append(step(rows[-1], "second launch", pairs, add))
    notes = ("A thread owns a column: neighbouring threads read neighbouring words.",)
    return Picture("An axis that is not the last", notes, rows)


def softmax() -> Picture:
    """Draw the pairs (maximum, sum of 2^(x - maximum)) of a row of four."""
    rows = [start("row of x", [3, 5, 2, 5])]
    rows.append(step(rows[-1], "maximum", {0: (0, 1), 2: (2, 3)}, max))
    rows.append(step(rows[-1], "maximum", {0: (0, 2)}, max))
    notes = (
        "Each box carries the sum of exp(x - maximum) as well; merging rescales the smaller side,",
        "so one reduction serves the maximum and the sum. A second read writes the result.",
    )
    return Picture("Safe softmax: the state (maximum, sum)", notes, rows)


def pictures() -> dict[str, Picture]:
    """Return all pictures by file stem."""
    return {
        "global_tree": interleaved(
            "Interleaved tree in global memory",
            "global memory",
            ("Every step goes through global memory and overwrites the input.",),
        ),
        "shared_interleaved": interleaved(
            "Interleaved tree in shared memory",
            "shared memory",
            ("One read of global memory; an odd element waits for the next step.",),
        ),
        "shared_adjacent": adjacent(),
        "warp_shuffle": butterfly(),
        "block_reduce": block_reduce(),
        "two_pass": two_pass(),
        "last_block": last_block(),
        "higher_dim": higher_dim(),
        "softmax": softmax(),
    }


def centre(box: int) -> float:
    """Horizontal centre of a box."""
    return LEFT + box * (CELL + GAP) + CELL / 2


def edges(row: Row, top: float) -> Iterator[str]:
    """Draw the lines from the row above."""
    for box, sources in row.sources.items():
        for source in sources:
            yield (
                f'<path class="edge" d="M{centre(source):g} {top - RISE + 26:g} '
                f'L{centre(box):g} {top:g}"/>'
            )
    for box in row.kept:
        x = centre(box)
        yield f'<path class="keep" d="M{x:g} {top - RISE + 26:g} L{x:g} {top:g}"/>'


def boxes(row: Row, top: float, *, is_last: bool) -> Iterator[str]:
    """Draw the boxes of a row with their values, the groups around them and the label."""
    yield f'<text class="label" x="{LEFT - 18}" y="{top + 18:g}">{row.label}</text>'
    for first, last, name in row.groups:
        x = centre(first) - CELL / 2 - 4
        width = centre(last) + CELL / 2 + 4 - x
        yield (
            f'<rect class="group" x="{x:g}" y="{top - 5:g}" width="{width:g}" height="36" rx="4"/>'
        )
        # Above the first row there is room; further down, lines come from there.
        at = (x + width + 8, top + 18) if row.sources else (x, top - 9)
        yield f'<text class="note" x="{at[0]:g}" y="{at[1]:g}">{name}</text>'
    for box, value in row.values.items():
        kind = "done" if is_last else "busy" if box in row.sources else "box"
        x = centre(box)
        yield (
            f'<rect class="{kind}" x="{x - CELL / 2:g}" y="{top:g}" width="{CELL}" height="26" '
            'rx="4"/>'
        )
        yield f'<text class="value" x="{x:g}" y="{top + 18:g}">{value}</text>'


def draw(picture: Picture) -> str:
    """Return the picture as SVG."""
    columns = 1 + max(box for row in picture.rows for box in row.values)
    width = max(LEFT + columns * (CELL + GAP) + 20, 640)
    first = 62 if picture.rows[0].groups else 48
    height = first + len(picture.rows) * RISE + 20 * len(picture.notes) - 26
    body = [f'<text class="title" x="16" y="24">{picture.title}</text>']
    for i, row in enumerate(picture.rows):
        top = first + i * RISE
        body += edges(row, top)
        body += boxes(row, top, is_last=i == len(picture.rows) - 1)
    for i, note in enumerate(picture.notes):
        y = first + len(picture.rows) * RISE - 26 + 20 * i
        body.append(f'<text class="note" x="16" y="{y}">{note}</text>')
    lines = "\n".join(f"  {line}" for line in body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{picture.title}">\n  <!-- SPDX-License-Identifier: Apache-2.0; '
        f"made by examples/header/draw_trees.py -->\n  <style>{STYLE}  </style>\n{lines}\n</svg>\n"
    )


def main() -> None:
    """Write all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    folder.mkdir(parents=True, exist_ok=True)
    for stem, picture in pictures().items():
        (folder / f"{stem}.svg").write_text(draw(picture))


if __name__ == "__main__":
    main()
