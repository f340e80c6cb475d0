"""Test errors of fitted models, over one split or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.papers.cross_validation import N_TUNED, Choice, Method, choose
from benchmarks.papers.datasets import Split
from benchmarks.papers.layout import spread
from benchmarks.papers.parts import Request
from foundation.threads import single_threaded_libraries


@dataclass(frozen=True)
class Outcome:
    """Results of one fitted model: test error in %, mean centres a machine, distinct centres of all."""

    error: float
    n_centers: float
    n_distinct: int


@dataclass(frozen=True)
class Result:
    """Test errors in % and centres in % of one method on all partitions, and what was chosen."""

    choice: Choice
    errors: tuple[float, ...]
    centers: tuple[float, ...]

    def cell(self, paper: float | None = None) -> str:
        """Return the mean error ± its deviation, and the paper's error in brackets."""
        return spread(self.errors) + ("" if paper is None else f" ({paper:g})")


def evaluate(estimator: Any, split: Split) -> Outcome:
    """Return the results on the test points of the estimator, which is fitted here."""
    with single_threaded_libraries():
        estimator.fit(split.x, split.y)
        error = 100 * float(np.mean(estimator.predict(split.x_test) != split.y_test))
    if hasattr(estimator, "support_"):  # support vector machines
        return Outcome(error, len(estimator.support_), len(estimator.support_))
    if not hasattr(estimator, "center_indices_"):  # no centres
        return Outcome(error, 0.0, 0)
    machines = getattr(estimator, "machine_center_indices_", [estimator.center_indices_])
    distinct = len(np.unique(np.concatenate(machines)))
    return Outcome(error, float(np.mean([len(m) for m in machines])), distinct)


def over_partitions(
    method: Method,
    splits: Sequence[Split],
    request: Request,
    settings: dict[str, Any],
    n_tuned: int = N_TUNED,
    slack: float = 0.0,
) -> Result:
    """Return the errors on all partitions with what is chosen on the first training sets.

    ``settings`` say which data these are, under which the result is kept.
    """
    key = {**settings, "method": method.name, "constants": method.constants, "shares": method.shares}
    key |= {"widths": method.widths, "most": method.most, "n_tuned": n_tuned, "n": len(splits)}
    found = request.kept.result(key, lambda: _computed(method, splits, request, n_tuned, slack))
    return Result(Choice(**found["choice"]), tuple(found["errors"]), tuple(found["centers"]))


def corrected_standard_error(errors: Sequence[float], n_train: int, n_test: int) -> float:
    """Return the standard error of a mean of test errors over random resplits of one file of points.

    Resplits share training and test points, so their errors are no independent draws. This is the corrected
    estimate, variance × (1/J + n_test/n_train) for J resplits (Nadeau and Bengio, "Inference for the
    Generalization Error", Machine Learning 52, 2003). It takes the share of test points for the correlation
    of two resplits, and is too large where test points outnumber training points, as on banana or twonorm.
    Partitions that are drawn anew from a generator share nothing: their factor is 1/J alone, `n_test` = 0.
    """
    return float(np.sqrt(np.var(errors, ddof=1) * (1 / len(errors) + n_test / n_train)))


def _computed(
    method: Method, splits: Sequence[Split], request: Request, n_tuned: int, slack: float
) -> dict[str, Any]:
    choice = choose(method, [(s.x, s.y) for s in splits[:n_tuned]], request.search, slack)
    outcomes = Parallel(n_jobs=request.search.n_jobs)(
        delayed(evaluate)(choice.model(method, len(s.x)), s) for s in splits
    )
    percent = 100 / len(splits[0].x)
    return {
        "choice": asdict(choice),
        "errors": [o.error for o in outcomes],
        "centers": [o.n_centers * percent for o in outcomes],
    }
