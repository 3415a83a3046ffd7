# SPDX-License-Identifier: Apache-2.0
"""Proof that an integer form is never negative, by eliminating variables and divisions.

Each step replaces a form by one that is never larger, so that a lower bound of the last form is
one of the first.  The search is bounded; giving up means "not proved".
"""

from __future__ import annotations

import math

from axisfold.analysis.domains import Bounds
from axisfold.analysis.intervals import form_range, measure
from axisfold.analysis.linear import (
    Key,
    Linear,
    expanded,
    factors_of,
    is_index,
    key_of,
    spread,
    without,
)
from axisfold.analysis.refute import is_refuted
from axisfold.ir.expr import Binary, Cast, Expr, IfThenElse, Select, Var

_STEPS = 40
_TERMS = 40


def never_negative(form: Linear, env: Bounds, *, is_tried: bool = False) -> bool:
    """Return whether ``form >= 0`` is proved; False whenever unsure.

    ``is_tried`` says that no counterexample has been found to what the form stands for.
    """
    form = spread(form)
    low, high = form_range(form, env)
    if low >= 0 or high < 0:
        return low >= 0
    return (is_tried or not is_refuted(form, env)) and _Search(env).holds(form)


class _Search:
    """One proof with a budget of steps."""

    def __init__(self, env: Bounds) -> None:
        self.env = env
        self.steps = _STEPS
        self.order = {var: depth for depth, var in enumerate(env)}

    def holds(self, form: Linear, with_facts: bool = True) -> bool:
        while True:
            form = _tightened(_without_casts(form))
            low, high = form_range(form, self.env)
            if low >= 0:
                return True
            self.steps -= 1
            if high < 0 or self.steps < 0 or len(form.terms) > _TERMS:
                return False
            form = self._recombined(form)
            variable = self._innermost(form)
            if variable is not None and not self._is_linear_in(form, variable):
                return self._eliminate_atom(form, self._atom_with(form, variable), with_facts)
            if variable is not None:
                reduced = self._without_variable(form, variable)
                if reduced is None:
                    return False
                form = reduced
                continue
            atom = next((f for k in form.terms for f in factors_of(k) if _is_divided(f)), None)
            if atom is not None and self._eliminate_atom(form, atom, with_facts):
                return True
            return with_facts and self._follows_from_facts(form)

    def _innermost(self, form: Linear) -> Var | None:
        found: set[Var] = set()
        for key in form.terms:
            for factor in factors_of(key):
                found |= self.env.occurring(factor)
        return max(found, key=lambda v: self.order[v], default=None)

    def _is_linear_in(self, form: Linear, variable: Var) -> bool:
        for key in form.terms:
            factors = factors_of(key)
            if sum(variable in self.env.occurring(f) for f in factors) > 1:
                return False
            if any(f is not variable and variable in self.env.occurring(f) for f in factors):
                return False
        return True

    def _atom_with(self, form: Linear, variable: Var) -> Expr | None:
        for key in form.terms:
            for factor in factors_of(key):
                if factor is not variable and variable in self.env.occurring(factor):
                    return factor
        return None

    def _without_variable(self, form: Linear, variable: Var) -> Linear | None:
        """Put the least value of ``coefficient * variable`` in its place."""
        coefficient, rest = _coefficient(form, variable)
        if coefficient is None:
            return None
        low, high = form_range(coefficient, self.env)
        domain = self.env[variable]
        start = expanded(domain.min)
        if low >= 0 or (len(coefficient.terms) > 1 and self.holds(coefficient)):
            return rest.plus(coefficient.times(start))
        if high <= 0:
            last = start.plus(expanded(domain.extent)).shifted(-1)
            return rest.plus(coefficient.times(last))
        return None

    def _recombined(self, form: Linear) -> Linear:
        """Use ``C * (f // C) == f - f % C`` for a symbolic ``C`` that is not 0."""
        for key, scale in form.terms.items():
            factors = factors_of(key)
            for factor in factors if len(factors) > 1 else ():
                if not isinstance(factor, Binary) or factor.op != "floordiv":
                    continue
                rest = without(factors, (factor, factor.b))
                if rest is None or measure(factor.b, self.env).low < 1:
                    continue
                remainder = Linear({Binary("floormod", factor.a, factor.b): -1})
                value = expanded(factor.a).plus(remainder)
                others = Linear({key_of(rest): scale}) if rest else Linear(None, scale)
                return form.plus(Linear({key: -scale})).plus(value.times(others))
        return form

    def _eliminate_atom(self, form: Linear, atom: Expr | None, with_facts: bool) -> bool:
        if atom is None:
            return False
        coefficient, rest = _coefficient(form, atom)
        if coefficient is None:
            return False
        candidates = self._replacements(atom, coefficient, rest)
        if isinstance(atom, (Select, IfThenElse)) or (
            isinstance(atom, Binary) and atom.op in ("min", "max")
        ):
            # The atom equals one of its operands: both cases suffice, and one does for the
            # operand on the safe side.
            low, high = form_range(coefficient, self.env)
            one_suffices = isinstance(atom, Binary) and (
                (atom.op == "min" and high <= 0) or (atom.op == "max" and low >= 0)
            )
            return (any if one_suffices else all)(self.holds(c, with_facts) for c in candidates)
        return any(self.holds(candidate, with_facts) for candidate in candidates)

    def _replacements(self, atom: Expr, coefficient: Linear, rest: Linear) -> list[Linear]:
        """Return forms that are never larger than ``coefficient * atom + rest`` in sign."""
        if isinstance(atom, (Select, IfThenElse)):
            values = (atom.true_value, atom.false_value)
            return [rest.plus(coefficient.times(expanded(value))) for value in values]
        low, high = form_range(coefficient, self.env)
        if isinstance(atom, Binary) and atom.op in ("min", "max"):
            return [rest.plus(coefficient.times(expanded(v))) for v in (atom.a, atom.b)]
        if low < 0 < high:
            return []
        if isinstance(atom, Binary) and measure(atom.b, self.env).low >= 1:
            dividend, divisor = expanded(atom.a), expanded(atom.b)
            if atom.op == "floordiv":
                return [_without_division(coefficient, dividend, divisor, rest, low >= 0)]
            if atom.op == "floormod" and low >= 0:
                return [rest]
            if atom.op == "floormod":
                found = [rest.plus(coefficient.times(divisor.shifted(-1)))]
                if form_range(dividend, self.env)[0] >= 0:
                    found.append(rest.plus(coefficient.times(dividend)))
                return found
        known = measure(atom, self.env)
        bound = known.low if low >= 0 else known.high
        return [] if abs(bound) == math.inf else [rest.plus(coefficient, int(bound))]

    def _follows_from_facts(self, form: Linear) -> bool:
        for fact in self.env.facts:
            scales = {
                form.terms[key] // value
                for key, value in fact.terms.items()
                if key in form.terms and form.terms[key] * value > 0
            }
            for scale in scales:
                if scale and self.holds(form.plus(fact, -scale), with_facts=False):
                    return True
        return False


def _without_division(c: Linear, f: Linear, d: Linear, rest: Linear, is_positive: bool) -> Linear:
    """Return a form that is >= 0 only if ``c * (f // d) + rest`` is, for ``d >= 1``.

    With an integer ``c = k > 0``: ``f // d >= ceil(-rest / k)`` iff ``f >= d * ceil(-rest / k)``,
    and ``ceil(-rest / k) <= (-rest + k - 1) / k``.  With ``c = -k``: ``f // d <= rest // k`` iff
    ``f < d * (rest // k + 1)``, and ``rest // k + 1 >= (rest + 1) / k``.  Else only
    ``f - d + 1 <= d * (f // d) <= f`` is used.
    """
    if c.terms:
        bound = f.plus(d, -1).shifted(1) if is_positive else f
        return d.times(rest).plus(c.times(bound))
    k = c.constant
    if k > 0:
        return d.times(rest.shifted(1 - k)).plus(f, k)
    return d.times(rest.shifted(1)).plus(f, k).shifted(-1)


def _coefficient(form: Linear, atom: Expr) -> tuple[Linear | None, Linear]:
    """Return the coefficient of ``atom``, None where it is not linear, and the rest."""
    coefficient, rest = Linear(), Linear(None, form.constant)
    for key, scale in form.terms.items():
        others = without(factors_of(key), (atom,))
        if others is None:
            rest.add(key, scale)
        elif not others:
            coefficient.constant += scale
        elif without(others, (atom,)) is not None:
            return None, rest
        else:
            coefficient.add(key_of(others), scale)
    return coefficient, rest


def _tightened(form: Linear) -> Linear:
    """Divide by the common divisor of the coefficients; the constant is rounded down."""
    divisor = math.gcd(*form.terms.values())
    if divisor <= 1:
        return form
    terms: dict[Key, int] = {key: scale // divisor for key, scale in form.terms.items()}
    return Linear(terms, form.constant // divisor)


def _without_casts(form: Linear) -> Linear:
    """See through conversions between index types, which keep the value."""
    while True:
        for key, scale in form.terms.items():
            factors = factors_of(key)
            cast = next((f for f in factors if isinstance(f, Cast) and is_widening(f)), None)
            if cast is not None:
                others = without(factors, (cast,)) or ()
                part = Linear({key_of(others): scale}) if others else Linear(None, scale)
                form = form.plus(Linear({key: -scale})).plus(part.times(expanded(cast.value)))
                break
        else:
            return form


def is_widening(node: Cast) -> bool:
    """Return whether a conversion takes an index to an index type that holds it."""
    origin, dtype = node.value.dtype, node.dtype
    return is_index(origin) and is_index(dtype) and dtype.bits >= origin.bits


def _is_divided(atom: Expr) -> bool:
    return isinstance(atom, (Select, IfThenElse)) or (
        isinstance(atom, Binary) and atom.op in ("floordiv", "floormod", "min", "max")
    )
