# SPDX-License-Identifier: Apache-2.0
"""Check that source files and functions stay short and that each file names its licence.

The docstring of a function does not count: documentation costs no length.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
LICENCE = "SPDX-License-Identifier: Apache-2.0"
COMMENT = {".py": "# ", ".cuh": "// "}

# "path" or "path:function" -> why it may be longer. An entry that is no longer needed is an error.
ALLOWED: dict[str, str] = {}


def function_lengths(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the name and the length in lines of every function, nested ones included."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if ast.get_docstring(node, clean=False) is not None:
            doc = node.body[0]
            lines -= (doc.end_lineno or doc.lineno) - doc.lineno + 1
        yield node.name, lines


def main() -> int:
    """Print what is too long or lacks its licence line; return the exit status."""
    problems: list[str] = []
    too_long: dict[str, str] = {}
    for path in sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in COMMENT):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        if lines[:1] != [COMMENT[path.suffix] + LICENCE]:
            problems.append(f"{name}: the first line must be '{COMMENT[path.suffix]}{LICENCE}'")
        if len(lines) > MAX_FILE_LINES:
            too_long[name] = f"{len(lines)} lines, at most {MAX_FILE_LINES}"
        if path.suffix == ".py":
            for function, length in function_lengths(ast.parse(text, name)):
                if length > MAX_FUNCTION_LINES:
                    too_long[f"{name}:{function}"] = f"{length} lines, at most {MAX_FUNCTION_LINES}"
    problems += [f"{where}: {what}" for where, what in too_long.items() if where not in ALLOWED]
    problems += [f"{where}: not needed in ALLOWED any more" for where in ALLOWED.keys() - too_long]
    print("\n".join(problems) or "sizes and licence lines: all good")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
