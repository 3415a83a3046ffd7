# SPDX-License-Identifier: Apache-2.0
"""Pages of the named reductions, one for each row of the catalogue; the site is built with them.

Usage: ``python tools/function_pages.py NAME`` prints a page.
"""

import inspect
import sys
import textwrap

import axisfold
from axisfold.api.arguments import member_of
from axisfold.api.catalog import CATALOG, PARAMETERS, SPREADS, Row
from axisfold.api.check.states import States
from axisfold.api.options import Item
from axisfold.dtypes import SUPPORTED, DType
from axisfold.ir.expr import Binary, Call, Compare, Select
from axisfold.ir.walk import post_order

ROWS = CATALOG | SPREADS
# Dtypes that stand for all: their kind is what the rules look at.
SHOWN = ("bool", "int32", "uint8", "float16", "float32", "float64", "complex64", "complex128")


def states_of(row: Row, dtype: DType) -> States:
    """Return the states that a reduction keeps for elements of a dtype."""
    inputs = len(row.make().input_names)
    return States(member_of(Item(row), [dtype], None), [dtype] * inputs)


def operations(states: States) -> int:
    """Return how many operations fold one more element into a state."""
    nodes = {id(node): node for root in states.traced.absorb for node in post_order(root)}
    return sum(isinstance(node, Binary | Call | Compare | Select) for node in nodes.values())


def code(text: str) -> str:
    """Return text as code, whatever is in it."""
    return f"`{text}`"


def parameters(row: Row) -> str:
    """Return the table of the parameters."""
    lines = ["| parameter | default | takes | meaning |", "|---|---|---|---|"]
    lines.append("| `x` | | array of any library, any strides | Input. |")
    names = [name for name in row.signature.split(", ") if name != "*"]
    for name in names:
        p = PARAMETERS[name]
        text = p.text.replace("``", "`").replace("|", "\\|")
        lines.append(f"| `{name}` | `{p.default}` | {p.kind} | {text} |")
    return "\n".join(lines)


def dtypes(row: Row) -> str:
    """Return the table of result dtypes and of what is accumulated."""
    lines = ["| elements | result | state of one fold |", "|---|---|---|"]
    for name in SHOWN:
        try:
            states = states_of(row, SUPPORTED[name])
        except axisfold.AxisfoldError as error:
            lines.append(f"| {name} | [{error.code}](../errors.md) | |")
            continue
        results = ", ".join(str(result.dtype) for result in states.traced.results)
        held = ", ".join(
            f"{field}: {form.dtype}{' as a pair' if form.is_pair else ''}"
            for field, form in states.forms.items()
        )
        lines.append(f"| {name} | {results} | {held} |")
    return "\n".join(lines)


def rules(row: Row) -> str:
    """Return the list of what holds for special elements."""
    empty = "refused: [A308](../errors.md)" if row.empty is None else code(row.empty)
    lines = [f"- **NaN**: {row.nan}.", f"- **Nothing to fold**: {empty}."]
    if row.ties:
        lines.append(f"- **Ties and signed zeros**: {row.ties}")
    if not row.takes_complex:
        lines.append("- **Complex** elements are refused: [D301](../errors.md).")
    return "\n".join(lines)


def cost(row: Row) -> str:
    """Return what a fold costs."""
    states = states_of(row, SUPPORTED["float64"])
    size = sum(v.dtype.itemsize for v in states.traced.combiner.lhs)
    written = ", and one write of its size" if states.traced.is_spread else ""
    return (
        f"One read of the input{written}, whatever its strides; no copy of it. A state takes "
        f"{size} bytes, and one more float64 element {operations(states)} operations."
    )


def page(row: Row) -> str:
    """Return the page of a reduction."""
    signature = inspect.signature(getattr(axisfold, row.name))
    call, printed = row.example
    named = f"\n\nThe same as `{row.numpy_name}`, but for [what is said here](../coming-from.md)."
    return f"""\
# {row.name}

```text
axisfold.{row.name}{signature}
```

{row.summary}{named if row.numpy_name else ""}

    {row.formula}

```pycon
>>> import axisfold
>>> {call}
{printed}
```

## Parameters

{parameters(row)}

## Dtypes

The result's dtype is {row.result.text}.

{dtypes(row)}

## Numerics

{textwrap.fill(row.numerics, 98)}

{rules(row)}

## Cost

{cost(row)}
"""


def index() -> str:
    """Return the page that lists all functions."""
    lines = ["| function | what it computes | formula | NumPy's name |", "|---|---|---|---|"]
    for row in ROWS.values():
        name = code(row.numpy_name) if row.numpy_name else ""
        lines.append(
            f"| [{row.name}]({row.name}.md) | {row.summary} | {code(row.formula)} | {name} |"
        )
    return f"""\
# Functions

Every function takes arrays of any layout over one axis, several or all. `axisfold.fold` takes them
by name, several in one read of memory, and reducers of your own:
see [patterns and reducers](../reducers.md).

{chr(10).join(lines)}
"""


def main() -> int:
    """Print the page of the function that is named; return the exit status."""
    row = ROWS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    print(index() if row is None else page(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
