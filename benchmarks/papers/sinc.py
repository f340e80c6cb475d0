"""Thesis table 5.4, table 3 of the OROLS paper: sinc."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR

from acoustic.discriminants import NPDRegressor, OROLSRegressor
from benchmarks.papers.datasets import Split, sinc_runs
from benchmarks.papers.layout import table
from benchmarks.papers.parts import Kept, Part, Request
from benchmarks.papers.path_search import EPSILONS, TINY, PathSearch
from benchmarks.papers.published import SINC_RMSE
from benchmarks.papers.relevance_vectors import RelevanceVectorRegressor
from benchmarks.papers.variants import Variant, chosen_estimator, on_all, path_of, squared_error
from benchmarks.papers.width_search import Make, Search, choose_width

N_RUNS = 100
N_TUNED = 5  # runs that hyper-parameters are chosen on
N_POINTS, NOISE = 50, 0.1
_SVR_C, _SVR_EPSILON = 10.0, 0.1
_PERCENTS = tuple(range(4, 62, 2))
_BOUND_SIGMAS, _BOUND_RIDGES = (2.0, 2.5, 3.0, 3.5), (0.003, 0.01, 0.02, 0.03, 0.05, 0.1)


def sinc_table(n_runs: int, search: Search, kept: Kept | None = None) -> str:
    """Return thesis table 5.4 beside ours; the last row is a bound.

    Hyper-parameters are chosen once, on the training points of the first five runs. The last row has the σ
    and λ that are best on the test points.
    """
    splits = sinc_runs(n_runs, search.seed, N_POINTS, NOISE)
    settings = {"table": "5.4", "runs": n_runs, "seed": search.seed, "coarse": search.is_coarse}
    keep = kept or Kept()
    header = ("method", "chosen by CV", "paper", "RMSE", "σ", "ε", "centres", "CV RMSE")
    rows: list[Sequence[str]] = []
    for method in _sinc_methods():
        rows.append(keep.result(settings | {"method": method[0]}, partial(_own_row, *method, splits, search)))
    for variants in _sinc_variants():
        label = f"path of {variants[0].label}"
        rows += keep.result(settings | {"method": label}, partial(_path_rows, variants, splits, search))
    bound = _best_ridges(splits)
    rows.append(("ridge regression", "nothing: best on test", "–", _mean_root(bound), "–", "–", "50", "–"))
    return table(f"RMSE over {n_runs} runs ± its standard error", header, rows)


def _own_row(label: str, paper: str, make: Make, splits: Sequence[Split], search: Search) -> list[str]:
    """Return the row of a method of which only σ is chosen."""
    width = choose_width(make, [(s.x, s.y) for s in splits[:N_TUNED]], search)
    found = on_all(partial(make, width.sigma), splits, search)
    return [
        label, "σ", paper, _mean_root(found), f"{width.sigma:.2f}", "–", _mean_size(found),
        f"{np.sqrt(width.error):.4f}",
    ]  # fmt: skip


def _path_rows(variants: Sequence[Variant], splits: Sequence[Split], search: Search) -> list[list[str]]:
    """Return the rows of a method of which the number of centres is chosen, too."""
    sets = [(s.x, s.y) for s in splits[:N_TUNED]]
    paths = PathSearch(variants[0].make, sets, _PERCENTS, search)
    rows = []
    for variant in variants:
        choice = paths.choose(variant.epsilons)
        found = on_all(partial(chosen_estimator, variant, choice), splits, search)
        rows.append(
            [
                variant.label, variant.chosen, variant.paper, _mean_root(found), f"{choice.sigma:.2f}",
                f"{choice.epsilon:.1g}", _mean_size(found), f"{np.sqrt(choice.error):.4f}",
            ]
        )  # fmt: skip
    return rows


def _sinc_methods() -> list[tuple[str, str, Make]]:
    """Return label, the paper's number and maker of what has no path of sizes, or stops by itself."""
    orols = f"{SINC_RMSE['OROLS']:.4f}"
    methods: list[tuple[str, str, Make]] = [
        (
            "SVM",
            f"{SINC_RMSE['SVM']:.4f}",
            lambda s, _: SVR(gamma=0.5 / s**2, C=_SVR_C, epsilon=_SVR_EPSILON),
        ),
        ("RVM", f"{SINC_RMSE['RVM']:.4f}", lambda s, _: RelevanceVectorRegressor(s)),
    ]
    for selection, name in (("residual", ""), ("error_reduction", ", error reduction")):
        for stopping in ("gcv", "loo"):
            methods.append(
                (f"OROLS{name}, stops by {stopping}", orols, partial(_stopped, selection, stopping))
            )
    return methods


def _sinc_variants() -> list[list[Variant]]:
    """Return the variants of each method of which the number of centres is chosen."""
    orols = f"{SINC_RMSE['OROLS']:.4f}"
    by_gain = {"selection": "error_reduction", "random_state": 0}
    methods = (
        ("OROLS", orols, partial(path_of, OROLSRegressor, {})),
        ("OROLS, error reduction", orols, partial(path_of, OROLSRegressor, by_gain)),
        ("NPD", "–", partial(path_of, NPDRegressor, {})),
    )
    return [
        [
            Variant(label, "σ, centres", paper, make, (TINY,)),
            Variant(label, "σ, ε, centres", paper, make, EPSILONS),
        ]
        for label, paper, make in methods
    ]


def _stopped(selection: str, stopping: str, sigma: float, n_train: int) -> Any:
    options: dict[str, Any] = {"selection": selection, "stopping": stopping, "epsilon": 1e-6}
    return OROLSRegressor(sigma, n_train, **options, random_state=0)


def _mean_root(found: Sequence[tuple[float, int]]) -> str:
    """Return the mean root of squared errors and its standard error."""
    roots = np.sqrt([error for error, _ in found])
    return f"{roots.mean():.4f} ± {roots.std() / np.sqrt(len(roots)):.4f}"


def _mean_size(found: Sequence[tuple[float, int]]) -> str:
    return f"{np.mean([n for _, n in found]):.0f}"


def _best_ridges(splits: Sequence[Split]) -> list[tuple[float, int]]:
    """Return the errors of kernel ridge regression with the one σ and λ that suit all test points best."""
    found = [
        [squared_error(KernelRidge(alpha=ridge, kernel="rbf", gamma=0.5 / sigma**2), s) for s in splits]
        for sigma in _BOUND_SIGMAS
        for ridge in _BOUND_RIDGES
    ]
    return min(found, key=lambda errors: float(np.mean(np.sqrt([error for error, _ in errors]))))


def _sinc(request: Request) -> str:
    return sinc_table(1 if request.is_quick else N_RUNS, request.search, request.kept)


PARTS = {
    "sinc": Part(
        "sinc (thesis table 5.4, OROLS paper table 3)",
        "Each run has 50 training points, x uniform on (−10, 10) and Gaussian noise of deviation 0.1, and "
        "1,000 test points without noise. What is chosen is chosen once, by 5-fold cross-validation on the "
        "training points of the first five runs. The papers say of this experiment only that σ was "
        "cross-validated. The last row has the one σ and λ that suit the test points best: a bound for ridge "
        "regression on all points.",
        _sinc,
    ),
}
