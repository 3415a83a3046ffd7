# SPDX-License-Identifier: Apache-2.0
"""Write docs/errors.md: every error that axisfold raises, found in its sources.

Usage: ``python tools/errors_page.py`` writes the page, ``--check`` says whether it is current.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from axisfold import errors

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "axisfold"
PAGE = ROOT / "docs" / "errors.md"
CODE = re.compile(r"[A-Z]\d{3}")
REMEDY_OF_BUGS = "This is a bug of axisfold: please report it with the program that shows it."
AREAS = {
    "A": "Arguments",
    "D": "Dtypes",
    "E": "Expressions",
    "R": "Reducers",
    "S": "Schedules",
    "X": "Targets and resources",
    "M": "Faults of threads, found by the simulator",
    "I": "Bugs of axisfold",
}

HEAD = """\
# Errors

*Written by `tools/errors_page.py` from the sources; `make docs` writes it again.*

Every error that axisfold raises on purpose is an `axisfold.AxisfoldError`. Its message says what
was wrong, with the values, why, and what to do; it ends with a code such as `[axisfold-A301]` that
stays the same from release to release. In Python, `error.code`, `error.message` and `error.hint`
are the parts. A call that raises has written nothing. On the command line each of them is one
line on stderr and the exit code 2. Words in italics stand for the values of the case.

```python
import axisfold
import numpy as np

try:
    axisfold.sum(np.ones((2, 3)), axis=5)
except axisfold.AxisfoldError as error:
    assert error.code == "A301"
    assert isinstance(error, IndexError)  # and a ValueError, as NumPy's AxisError
```

## Classes

| class | is also a | raised when |
|---|---|---|
"""


@dataclass
class Site:
    """The places that raise one code.

    Attributes
    ----------
    classes
        Names of the error classes.
    messages, hints
        What they say, with the names of the values in italics.
    """

    classes: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    def add(self, name: str, message: str, hint: str) -> None:
        """Note one place."""
        texts = (" ".join(text.split()) for text in (name, message, hint))
        for known, value in zip((self.classes, self.messages, self.hints), texts, strict=True):
            if value and value not in known:
                known.append(value)


def template(node: ast.expr | None) -> str:
    """Return the text of a string or f-string, its values as names in italics."""
    match node:
        case ast.Constant(str(value)):
            return _escaped(value)
        case ast.JoinedStr(parts):
            return "".join(template(part) for part in parts)
        case ast.FormattedValue(value):
            return f"*{_name(value)}*"
        case ast.BinOp(left, ast.Add(), right):
            return template(left) + template(right)
        case None:
            return ""
        case _:
            return f"*{_name(node)}*"


def _escaped(text: str) -> str:
    return re.sub(r"([|*_<>\[\]])", r"\\\1", text)


def _name(node: ast.expr) -> str:
    """Return a short name for a value in a message."""
    match node:
        case ast.Name(name):
            return name.replace("_", " ").strip()
        case ast.Attribute(value, "name"):
            return _name(value)
        case ast.Attribute(_, name):
            return name.replace("_", " ").strip()
        case ast.Subscript(value, _):
            return _name(value)
        case ast.Call(ast.Attribute(_, "join"), [argument]):
            return _name(argument)
        case ast.Call(_, [argument, *_]):
            return _name(argument)
        case ast.Call(function, []):
            return _name(function)
        case ast.GeneratorExp() | ast.ListComp():
            return _name(node.generators[0].iter)
        case ast.BinOp(left, _, _):
            return _name(left)
        case _:
            return "…"


def trees() -> list[ast.Module]:
    """Return the syntax of every source file."""
    return [ast.parse(p.read_text(encoding="utf-8")) for p in sorted(SOURCES.rglob("*.py"))]


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return the value of a keyword argument."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def parts(call: ast.Call) -> tuple[str, str, str]:
    """Return class, message and hint of a call that makes an error."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    message = call.args[0] if call.args else None
    return (
        name if name.endswith("Error") else "",
        template(message),
        template(keyword(call, "hint")),
    )


def helpers(modules: Iterable[ast.Module]) -> dict[str, tuple[str, str, str]]:
    """Return the functions that take a code and raise with it: name -> class, message, hint."""
    found = {}
    for module in modules:
        for function in ast.walk(module):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and isinstance(keyword(node, "code"), ast.Name):
                        found[function.name] = parts(node)
    return found


def collect() -> dict[str, Site]:
    """Return every code in the sources with what it is raised with."""
    found: dict[str, Site] = {}
    modules = trees()
    raising = helpers(modules)
    for module in modules:
        calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda node: node.lineno):
            code = keyword(call, "code")
            if isinstance(code, ast.Constant) and CODE.fullmatch(str(code.value)):
                found.setdefault(str(code.value), Site()).add(*parts(call))
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            for value in (*call.args, *(k.value for k in call.keywords)) if name in raising else ():
                if isinstance(value, ast.Constant) and CODE.fullmatch(str(value.value)):
                    found.setdefault(value.value, Site()).add(*raising[name])
    return dict(sorted(found.items()))


def classes() -> Iterator[tuple[str, str, str]]:
    """Yield name, built-in bases and meaning of every error class."""
    for value in vars(errors).values():
        if inspect.isclass(value) and issubclass(value, errors.AxisfoldError):
            own = [c for c in value.__mro__ if c.__module__ == errors.__name__]
            builtin = [c.__name__ for c in value.__bases__ if c.__module__ == "builtins"]
            parent = own[1].__name__ if len(own) > 1 else ""
            meaning = (inspect.getdoc(value) or "").splitlines()[0].replace("``", "`")
            also = ", ".join(f"`{name}`" for name in (*filter(None, [parent]), *builtin))
            yield value.__name__, also, meaning


def page() -> str:
    """Return the text of docs/errors.md."""
    text = HEAD + "".join(f"| `{a}` | {b} | {c} |\n" for a, b, c in classes())
    sites = collect()
    for letter, area in AREAS.items():
        text += f"\n## {area}\n\n| code | class | message | remedy |\n|---|---|---|---|\n"
        for code, site in sites.items():
            if code[0] == letter:
                remedy = "<br>".join(site.hints) or (REMEDY_OF_BUGS if letter == "I" else "")
                raised = ", ".join(f"`{name}`" for name in site.classes)
                text += f"| {code} | {raised} | {'<br>'.join(site.messages)} | {remedy} |\n"
    return text


def main() -> int:
    """Write or check the page; return the exit status."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text, encoding="utf-8")
        return 0
    is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    print(f"docs/errors.md: {'current' if is_current else 'stale; run make docs'}")
    return 0 if is_current else 1


if __name__ == "__main__":
    sys.exit(main())
