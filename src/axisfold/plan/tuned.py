# SPDX-License-Identifier: Apache-2.0
"""Parameters of rules that were found by measuring, kept by machine and layout class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from axisfold.config import config
from axisfold.plan.compose import LayoutClass
from axisfold.plan.rule import Rule
from axisfold.plan.store import stable_text
from axisfold.runtime.records import read_record, write_record
from axisfold.target import Target

_KIND: Final = "tuned"


def tuned_rule(rule: Rule, traced: Hashable, layout: LayoutClass, target: Target) -> Rule:
    """Return a rule with the parameters that were found for a class, if some were.

    Parameters
    ----------
    rule
        The rule that plans the class.
    traced
        Key of what is folded.
    layout, target
        The class, and what it is planned for.
    """
    if not config.tuned or not rule.parameters or target.kind == "sim":
        return rule
    record = read_record(_KIND, _about(rule, traced, layout, target))
    values = None if record is None else _checked(rule, record.get("values"))
    return rule.with_values(values) if values else rule


def keep_tuned(
    rule: Rule, traced: Hashable, layout: LayoutClass, target: Target, values: Mapping[str, int]
) -> bool:
    """Keep parameters for a class, none for the defaults; return whether a folder took them."""
    about = _about(rule, traced, layout, target)
    return write_record(_KIND, about, {"values": dict(values)})


def _about(rule: Rule, traced: Hashable, layout: LayoutClass, target: Target) -> dict[str, Any]:
    about = {"rule": rule.name, "layout": repr(layout), "fold": stable_text(traced)}
    # A record says which machine it is of; of a GPU the target tells the card.
    return about | {"target": repr(target)} if target.kind == "cuda" else about


def _checked(rule: Rule, values: Any) -> dict[str, int] | None:
    """Return the values of a record if the rule has them all: it may have changed since."""
    if not isinstance(values, dict):
        return None
    known = all(
        name in rule.parameters and v in rule.parameters[name] for name, v in values.items()
    )
    return values if known else None
