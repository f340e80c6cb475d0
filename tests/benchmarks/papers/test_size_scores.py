"""The table of rules for λ and the number of centres against the estimators' own choices."""

from pathlib import Path

import numpy as np
import pytest

from acoustic.discriminants import NPDRegressor, OROLSRegressor
from benchmarks.papers.datasets import sinc_runs
from benchmarks.papers.parts import Request
from benchmarks.papers.size_scores import judge, table_of_scores

SIGMA = 2.5


@pytest.mark.parametrize(("ridge", "make"), [("0 (NPD)", NPDRegressor), ("GCV (OROLS)", OROLSRegressor)])
@pytest.mark.parametrize(("rule", "stopping"), [("all centres", "size"), ("leave-one-out", "loo")])
def test_rules_of_the_estimators_give_the_estimators_errors(
    ridge: str, make: type[NPDRegressor], rule: str, stopping: str
) -> None:
    (split,) = sinc_runs(1, 3, 50, 0.1, 400)
    judged = judge(split, SIGMA, 40.0, is_root=True)[ridge, rule]
    model = make(SIGMA, 20, stopping=stopping, epsilon=1e-6).fit(split.x, split.y - split.y.mean())
    expected = np.sqrt(np.mean((model.predict(split.x_test) + split.y.mean() - split.y_test) ** 2))
    assert judged.error == pytest.approx(expected, rel=1e-6)
    assert judged.n_centers == len(model.center_indices_)


def test_scores_that_charge_more_choose_fewer_centres() -> None:
    for split in sinc_runs(5, 0, 100, 0.1, 50):
        judged = judge(split, SIGMA, 25.0, is_root=False)
        for ridge in ("0 (NPD)", "GCV (OROLS)", "evidence"):
            sizes = [judged[ridge, rule].n_centers for rule in ("all centres", "BIC", "MDL")]
            assert sizes == sorted(sizes, reverse=True)
            assert sizes[0] == 25
            assert 3 <= sizes[2] < 25


def test_a_row_for_each_rule_and_a_column_for_each_set(folder: Path) -> None:
    text = table_of_scores(Request(folder, is_quick=True))
    lines = [line for line in text.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert header == ["λ", "number of centres by", "sinc: RMSE", "boston: MSE"]  # no abalone in the folder
    rules = ["all centres", "GCV", "BIC", "MDL", "leave-one-out"]
    assert [row[1] for row in rows] == [*rules, *rules, *rules[:-1], "evidence"]
    assert all(float(row[2].split()[0]) < 0.15 for row in rows)
