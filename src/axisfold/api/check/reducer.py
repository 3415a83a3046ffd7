# SPDX-License-Identifier: Apache-2.0
"""check_reducer(): whether a reducer keeps the laws that folds rely on."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from axisfold.api.arguments import item_of, member_of
from axisfold.api.check.comparison import Side, unit_of
from axisfold.api.check.kernels import Kernel, Plans
from axisfold.api.check.laws import LAWS, NAMES, Law, Part, Sample, columns
from axisfold.api.check.states import Array, State, States
from axisfold.dtypes import parse
from axisfold.errors import ArgumentError, LawError, MissingDependencyError
from axisfold.tensor.reducer import Reducer

ULPS: Final = 4096
NARROWER: Final = "If such elements have no meaning, say with elements= what may be drawn."


@dataclass(frozen=True, slots=True)
class Checked:
    """A law that held.

    Attributes
    ----------
    name, statement
        The law.
    dtypes
        Dtypes of the elements.
    examples
        How many cases were tried.
    """

    name: str
    statement: str
    dtypes: str
    examples: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What :func:`check_reducer` found to hold.

    Attributes
    ----------
    reducer
        Name of the reducer.
    laws
        Each law for each dtype.
    """

    reducer: str
    laws: tuple[Checked, ...]

    def __repr__(self) -> str:
        width = max(len(law.name) for law in self.laws)
        lines = [f"reducer {self.reducer!r} keeps its laws"]
        for dtypes in dict.fromkeys(law.dtypes for law in self.laws):
            lines.append(f"  {dtypes}")
            lines += [
                f"    {law.name:{width}}  {law.statement}  ({law.examples} cases)"
                for law in self.laws
                if law.dtypes == dtypes
            ]
        return "\n".join(lines)


def check_reducer(
    reducer: Any,
    dtypes: Any = ("float64",),
    *,
    elements: Any = None,
    examples: int = 60,
    ulps: float = ULPS,
    kernels: bool = True,
) -> CheckReport:
    """Check the laws that folds rely on, with Hypothesis.

    Kernels merge parts of an array in any grouping, start from the identity, fill what is missing
    of a vector with it, and use ``absorb`` and ``tile`` where they are faster.  So the result is
    well defined only if these agree.  The laws are tried on states that a small interpreter makes
    from the reducer's functions, and then kernels by every rule against the interpreter.

    Parameters
    ----------
    reducer : Reducer or str
        The reducer, or the name of one of the catalogue.
    dtypes : dtype-like, or sequence of these
        Dtypes of elements to try; for a reducer of several inputs a tuple of dtypes stands for
        one dtype of each.
    elements : strategy, or tuple of strategies, optional
        Hypothesis strategies for elements, one for each input, where not all numbers have a
        meaning: ``elements=st.floats(0, 1)``.  By default multiples of 1/8 from -64 to 64, and
        for ``identity`` and ``exact`` all values of the dtype.
    examples : int
        How many cases are tried of each law; half of them of any size for ``identity`` and
        ``exact``.
    ulps : float
        How many units in the last place floats may be apart, at the largest value that occurs and
        in the precision of the state's field.  The functions round, so that the laws of sums hold
        up to rounding only; real breaches are far larger.  Integers and reducers with the fact
        ``exact`` have to agree to the bit.
    kernels : bool
        Compile and try kernels too, which takes most of the time.

    Returns
    -------
    CheckReport
        The laws that were tried; its repr is a table.

    Raises
    ------
    LawError
        ``R131``: a law is broken; the message shows the simplest elements for which it is.
    ArgumentError
        ``R132``: dtypes or strategies do not go with the reducer's inputs.
    MissingDependencyError
        ``X311``: Hypothesis is not installed.

    Examples
    --------
    >>> import axisfold
    >>> report = axisfold.check_reducer("max", "int32", kernels=False)
    >>> print(report)
    reducer 'max' keeps its laws
      int32
        identity       combine(identity, a) = a = combine(a, identity)  (60 cases)
        associativity  combine(combine(a, b), c) = combine(a, combine(b, c))  (60 cases)
        commutativity  combine(a, b) = combine(b, a)  (60 cases)
        exact          the laws above hold to the bit, for all elements  (60 cases)
        idempotent     combine(a, a) = a  (60 cases)
    """
    checked: list[Checked] = []
    for item in dtypes if isinstance(dtypes, (tuple, list)) else [dtypes]:
        check = _Check(reducer, item, elements, examples, ulps)
        checked += [*check.laws(), *(check.kernels() if kernels else ())]
    return CheckReport(check.reducer.name, tuple(checked))


def _search() -> Any:
    """Return the module that needs Hypothesis."""
    try:
        return importlib.import_module("axisfold.api.check.search")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("hypothesis"):
            raise
        raise MissingDependencyError(
            "check_reducer needs Hypothesis, which is not installed.",
            code="X311",
            hint="Run: pip install 'axisfold[check]'.",
        ) from error


class _Check:
    """The laws of one reducer on elements of one dtype for each input."""

    def __init__(
        self, reducer: Any, dtypes: Any, elements: Any, examples: int, ulps: float
    ) -> None:
        self.search = _search()
        self.examples, self.ulps = examples, ulps
        given = dtypes if isinstance(dtypes, tuple) else (dtypes,)
        parsed = [parse(dtype) for dtype in given]
        self.member = member_of(item_of(reducer), parsed[:1], None)
        self.reducer: Reducer = self.member.reducer
        inputs = len(self.reducer.input_names)
        self.dtypes = self._for_inputs(parsed, inputs, "dtypes", given)
        self.label = ", ".join(map(str, self.dtypes))
        self.states = States(self.member, self.dtypes)
        chosen = elements if isinstance(elements, tuple) else (elements,)
        self.own = self._for_inputs(list(chosen), inputs, "elements", elements)
        self.plans = Plans(self.states)

    def _for_inputs(self, values: list[Any], inputs: int, what: str, given: Any) -> list[Any]:
        """Return one value for each input: one stands for all."""
        if len(values) not in (1, inputs):
            raise ArgumentError(
                f"check_reducer was given {what}={given!r} for reducer {self.reducer.name!r}, "
                f"which folds {inputs} inputs ({', '.join(self.reducer.input_names)}).",
                code="R132",
                hint="Give one for all inputs, or a tuple with one for each.",
            )
        return values * inputs if len(values) == 1 else values

    def strategies(self, is_wild: bool) -> list[Any]:
        """Return what draws elements of each input."""
        return [
            self.search.elements(dtype, is_wild=is_wild) if own is None else own
            for own, dtype in zip(self.own, self.dtypes, strict=True)
        ]

    def laws(self) -> list[Checked]:
        """Return the laws that hold; raise at the first that does not."""
        held = []
        for law in LAWS:
            if law.applies(self.states):
                self._check_law(law)
                held.append(self._held(law.name, law.statement))
        return held

    def kernels(self) -> list[Checked]:
        """Return that the kernels agree with the laws; raise if one does not."""
        by_rule, masked = self.plans.by_rule(), self.plans.masked()
        names = ", ".join(by_rule)
        rows = [
            ("kernels", f"whole arrays by {names} = their parts", list(by_rule.values())),
            ("padding", "masked and absent elements change nothing", masked),
        ]
        held = []
        for name, statement, tried in rows:
            for kernel in tried:
                self._check_kernel(name, kernel)
            count = len(tried) * self.kernel_examples
            held.append(Checked(name, statement, self.label, count))
        return held

    @property
    def kernel_examples(self) -> int:
        """How many arrays are folded by each kernel."""
        return max(self.examples // 6, 4)

    def _held(self, name: str, statement: str) -> Checked:
        return Checked(name, statement, self.label, self.examples)

    def _check_law(self, law: Law) -> None:
        def failure(parts: tuple[Part, ...]) -> Any:
            sample = Sample.of(self.states, parts)
            sides = law.broken_sides(sample, self.ulps)
            return None if sides is None else (sample, sides)

        # Small elements first: a failure among them is the easier one to understand.
        rounds = [False, True] if law.is_wild else [False]
        for is_wild in rounds:
            drawn = self.search.parts(self.strategies(is_wild), law.parts)
            count = max(self.examples // len(rounds), 1)
            found = self.search.smallest_failure(drawn, failure, count)
            if found is not None:
                self._refuse(law, *found)

    def _refuse(self, law: Law, sample: Sample, sides: tuple[Side, Side]) -> NoReturn:
        single = len(self.dtypes) == 1
        lines = [
            f"{name} = {[e[0] for e in part] if single else list(part)}"
            for name, part in zip(NAMES, sample.parts, strict=False)
        ]
        lines += [f"{side.text}: {self._shown(side.state, sample.count)}" for side in sides]
        rounds = any(unit_of(form.dtype) for form in self.states.forms.values())
        if rounds and not law.is_exact:
            lines.append(f"Floats may be {self.ulps:g} units in the last place apart.")
        raise LawError(
            f"reducer {self.reducer.name!r} breaks the law {law.name!r} on {self.label}: "
            f"{law.statement}.\n    " + "\n    ".join(lines) + "\n",
            code="R131",
            hint=f"{law.remedy} {NARROWER}" if law.is_wild else law.remedy,
        )

    def _shown(self, state: State, count: int) -> str:
        fields = _listed(self.states.fields(state))
        results = _listed(self.states.results(state, count))
        return f"state {fields}; result {results}"

    def _check_kernel(self, law: str, kernel: Kernel) -> None:
        is_exact = "exact" in self.reducer.facts
        ulps = 0.0 if is_exact else self.ulps

        def failure(drawn: tuple[Part, int, list[bool]]) -> Any:
            part, length, folded = drawn
            values: list[Array] = columns(self.states, part)
            text = kernel.mismatch(self.states, values, length, folded, ulps, self.plans)
            return (part, length, text) if text else None

        strategy = self.search.runs(self.strategies(is_exact))
        found = self.search.smallest_failure(strategy, failure, self.kernel_examples)
        if found is not None:
            part, length, text = found
            raise LawError(
                f"reducer {self.reducer.name!r} breaks the law {law!r} on {self.label}: the "
                f"{kernel.name} gives something else than the states merged one by one.\n"
                f"    Elements {part}, repeated for folds of {length}: {text}.\n",
                code="R131",
                hint="The laws of its functions hold, so that this may be a bug of axisfold.",
            )


def _listed(values: dict[str, Array]) -> str:
    return ", ".join(f"{name}={value.reshape(-1)[0]}" for name, value in values.items())


__all__ = ["CheckReport", "Checked", "check_reducer"]
