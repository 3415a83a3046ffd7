# SPDX-License-Identifier: Apache-2.0
"""tune(): what wins is right, is kept, and plans later calls; nothing else changes."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import axisfold
from axisfold import ArraySpec, explain, tune
from axisfold.api import tune as search
from axisfold.api.launches import forget
from axisfold.config import config
from axisfold.plan import planner, rules_cpu
from axisfold.plan.rule import Rule

X = np.random.default_rng(3).random((301, 77)).astype(np.float32)

GENERAL = rules_cpu.RULES[-1]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "cache_dir", tmp_path)
    monkeypatch.setattr(config, "verify", False)  # the same schedules are verified elsewhere
    monkeypatch.setattr(planner, "_plans", {})
    few = [{n: v[-2:] for n, v in list(r.parameters.items())[-1:]} for r in rules_cpu.RULES]
    rules = zip(rules_cpu.RULES, few, strict=True)
    monkeypatch.setattr(rules_cpu, "RULES", tuple(replace(r, parameters=p) for r, p in rules))
    forget()
    yield tmp_path
    forget()


@pytest.fixture
def clock(monkeypatch):
    """Give every candidate a time by its parameters: the clock of a test is its own."""

    def choose(cost):
        def median(repeats, *kernels):
            return [cost(k.planned.plan.rule.values) for k in kernels]

        monkeypatch.setattr(search, "median_seconds", median)

    return choose


def planned_values():
    forget()
    e = explain(X, "sum", axis=0, measure=False)
    return dict(e.parameters), e.is_tuned


@pytest.fixture(autouse=True)
def _limit(monkeypatch):
    from axisfold.plan import read_limit

    monkeypatch.setattr(read_limit, "measure_read", lambda threads, size: 1e10)


def test_the_fastest_wins_and_is_used(clock, folder):
    before, was_tuned = planned_values()
    assert not was_tuned
    name, candidates = next(iter(explain_rule().parameters.items()))
    wanted = next(c for c in candidates if c != before[name])
    clock(lambda values: 1.0 if values.get(name) == wanted else 2.0)
    found = tune(X, "sum", axis=0)
    assert found.values == {name: wanted}
    assert found.speedup == 2.0
    assert found.is_kept
    assert f"winner: {name} = {wanted}, 2.00 times as fast" in str(found)
    after, is_tuned = planned_values()
    assert (after[name], is_tuned) == (wanted, True)
    np.testing.assert_allclose(axisfold.sum(X, axis=0), X.sum(0, np.float64), rtol=1e-6)
    monkey_new_process(name, wanted, folder)
    for file in (folder / "tuned").glob("*.json"):
        document = json.loads(file.read_text())
        document["value"]["values"] = {name: -1}
        file.write_text(json.dumps(document))
    planner._plans.clear()
    assert planned_values() == (before, False)


def explain_rule():
    name = explain(X, "sum", axis=0, measure=False).rule
    return next(r for r in rules_cpu.RULES if r.name == name)


def monkey_new_process(name, wanted, folder):
    """A new process plans with what was kept, and ignores it when it is told to."""
    code = (
        "import numpy as np\nfrom axisfold.api.arguments import item_of\n"
        "from axisfold.api.dispatch import plan_request\nfrom axisfold.api.options import Request\n"
        "r = Request('fold', (item_of('sum'),), axis=0)\n"
        "from axisfold import ArraySpec\n"
        f"print(dict(plan_request(r, [ArraySpec({X.shape}, 'float32')]).plan.rule.values))"
    )
    for switch, expected in (("1", {name: wanted}), ("0", {})):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "AXISFOLD_CACHE_DIR": str(folder)} | {"AXISFOLD_TUNED": switch},
        )
        assert done.stdout.strip() == str(expected)


def test_the_switch_ignores_what_was_found(clock, monkeypatch):
    before, _ = planned_values()
    clock(lambda values: 1.0 / (1 + len(values)))
    assert tune(X, "sum", axis=0).values
    monkeypatch.setattr(config, "tuned", False)
    assert planned_values() == (before, False)


def test_without_a_gain_the_defaults_stay(clock):
    clock(lambda values: 1.0 - 0.02 * bool(values))
    found = tune(X, "sum", axis=0)
    assert found.values == {}
    assert "winner: the defaults" in str(found)
    assert found.trials
    assert not planned_values()[1]


def _wrong(s, graph, traced, target, *, good=1):
    GENERAL.schedule(s, graph, traced, target)
    if not good:
        s[graph.results[0]].vectorize(s[graph.results[0]].op.axis[-1])


def test_what_cannot_be_built_or_is_wrong_does_not_win(clock, monkeypatch):
    rule = Rule("mine", lambda c, t: True, "", _wrong, parameters={"good": (0, 2, 1)})
    monkeypatch.setattr(rules_cpu, "RULES", (rule,))
    clock(lambda values: 1.0 / (1 + len(values)))
    real = search._outcomes

    def outcomes(kernel):
        for results in real(kernel):
            yield [r + (kernel.planned.plan.rule.values.get("good") == 0) for r in results]

    monkeypatch.setattr(search, "_outcomes", outcomes)
    found = tune(X, "sum", axis=0)
    assert [t.values for t in found.trials] == [{"good": 0}]
    assert found.trials[0].seconds is None
    assert "refused" in str(found)
    assert found.values == {}


def test_ctrl_c_keeps_the_best_so_far(clock, monkeypatch):
    real = search._Search._try

    def interrupted(self, *arguments):
        real(self, *arguments)
        if self.values:
            raise KeyboardInterrupt

    monkeypatch.setattr(search._Search, "_try", interrupted)
    clock(lambda values: 1.0 / (1 + len(values)))
    with pytest.raises(KeyboardInterrupt):
        tune(X, "sum", axis=0)
    assert planned_values()[1]


def test_no_time_no_candidates():
    assert tune(X, "sum", axis=0, seconds=0).trials == ()


@pytest.mark.parametrize("rule", [r for r in rules_cpu.RULES if r.parameters], ids=lambda r: r.name)
def test_every_parameter_gives_the_same_results(rule, monkeypatch):
    """Another value of every parameter at once, on a real kernel."""
    others = {n: next(v for v in c if v != rule.default(n)) for n, c in rule.parameters.items()}
    spec, op, axis = EXAMPLES[rule.name]
    monkeypatch.setattr(rules_cpu, "RULES", (replace(rule, applies=lambda c, t: True),))
    monkeypatch.setattr(search, "median_seconds", lambda repeats, *kernels: [1.0] * len(kernels))

    def run(self, deadline, step):
        layout = self.planned.plan.layout
        changed = planner.make_plan(self.planned.traced, layout, rule=rule.with_values(others))
        self._try(others, changed, {search._text(self.planned.plan)})

    monkeypatch.setattr(search._Search, "run", run)
    found = search.tune(spec, op, axis)
    assert found.rule == rule.name
    assert [(trial.values, trial.seconds) for trial in found.trials] == [(others, 1.0)]


EXAMPLES = {
    "narrow_row": (ArraySpec((300000,), "int8"), "sum", 0),
    "narrowed_row": (ArraySpec((300000,), "float16"), "sum", 0),
    "searched_row": (ArraySpec((9999,), "int32"), "argmax", None),
    "single_pass_row": (ArraySpec((300000,), "int8"), "sum", 0),
    "stopping_row": (ArraySpec((300000,), "bool"), "any", 0),
    "row_of_passes": (ArraySpec((9, 5000), "float32"), "logsumexp", 1),
    "stopping_block": (ArraySpec((99, 40), "bool", (50, 1)), "any", None),
    "best_then_place": (ArraySpec((99, 40), "int16", (2, 198)), "argmax", None),
    "block": (ArraySpec((99, 40), "bool", (50, 1)), "count_nonzero", None),
    "stopping_rows": (ArraySpec((9, 5000), "bool"), "any", 1),
    "tiled_rows": (ArraySpec((9, 5000), "float32"), "var", 1),
    "tiled_long_row": (ArraySpec((5000,), "float32"), "var", 0),
    "column_of_passes": (ArraySpec((300, 1500), "float32"), "logsumexp", 0),
    "tiled_column": (ArraySpec((300, 1500), "float32"), "var", 0),
    "tiled_column_parts": (ArraySpec((2100, 1201), "float32"), "var", 0),
    "tiled_row": (ArraySpec((9, 5000), "float32"), "logsumexp", 1),
    "long_row": (ArraySpec((300000,), "float32"), "sum", 0),
    "full": (ArraySpec((9999,), "float64"), "sum", None),
    "row": (ArraySpec((99, 777), "float32"), "max", 1),
    "shallow_column": (ArraySpec((7, 999), "float32"), "sum", 0),
    "short_row": (ArraySpec((11000, 3), "float32"), "sum", 1),
    "few_columns": (ArraySpec((11000, 3), "float32"), "sum", 0),
    "column_parts": (ArraySpec((2500, 33), "float32"), "sum", 0),
    "column_in_cache": (ArraySpec((1000, 1500), "float32"), "sum", 0),
    "column": (ArraySpec((400, 5500), "float32"), "sum", 0),
}


def test_a_result_of_the_inputs_shape():
    found = tune(X, "softmax", axis=1, progress_bar=False)
    assert "rule held_row: 0 candidates" in str(found)
    assert found.values == {}
