"""Thesis tables 5.4 (sinc) and 5.5 (Boston, Abalone)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR

from acoustic.discriminants import NPDRegressor, OLSRegressor, OROLSRegressor
from foundation.threads import single_threaded_libraries
from recipes.tables.datasets import Split, is_there, partitions, sinc
from recipes.tables.layout import absent, spread, table
from recipes.tables.parts import Part, Request
from recipes.tables.published import HOUSES_AND_SHELLS, SINC_RMSE, Cell
from recipes.tables.width_search import Make, Search, choose_width

N_TUNED = 5  # partitions σ is chosen on
N_SINC_RUNS = 100
_SVR_C, _SVR_EPSILON = 10.0, 0.1
_CENTERS = ("center_indices_", "support_", "X_fit_")  # ours, SVR's, kernel ridge's
_FIGURE_CENTERS = 9  # of thesis figure 5.2
_BOUND_SIGMAS, _BOUND_RIDGES = (2.0, 2.5, 3.0, 3.5), (0.003, 0.01, 0.02, 0.03, 0.05, 0.1)


def sinc_table(n_runs: int, search: Search) -> str:
    """Return thesis table 5.4 beside ours: 50 training points, noise 0.1, 1000 test points without noise.

    σ is chosen in two ways: in each run by its own training points (among octaves), or once by the training
    points of the first five runs. The last row has the σ and λ that are best on the test points, a bound for
    any choice.
    """
    splits = [sinc(50, 1000, 0.1, np.random.default_rng([search.seed, run])) for run in range(n_runs)]
    header = ("method", "paper", "σ by run: RMSE", "σ once: RMSE", "σ once", "CV RMSE", "centres")
    rows = []
    for label, make in _sinc_methods().items():
        paper = SINC_RMSE["SVM"] if label == "SVR" else SINC_RMSE["OROLS"]
        width = choose_width(make, [(s.x, s.y) for s in splits[:N_TUNED]], search)
        once = [_squared_error(make(width.sigma, len(s.x)), s) for s in splits]
        by_run = Parallel(n_jobs=search.n_jobs)(delayed(_tuned)(make, s, search) for s in splits)
        n_centers = np.mean([n for _, n in once])
        rows.append(
            (
                label, f"{paper:.4f}", _mean_root(by_run), _mean_root(once), f"{width.sigma:.2f}",
                f"{np.sqrt(width.error):.4f}", f"{n_centers:.0f}",
            )
        )  # fmt: skip
    rows.append(("ridge, best on test", "–", "–", _mean_root(_best_ridges(splits)), "–", "–", "50"))
    return table(f"Thesis table 5.4: sinc, RMSE over {n_runs} runs ± its standard error", header, rows)


def _mean_root(found: Sequence[tuple[float, int]]) -> str:
    """Return the mean root of squared errors and its standard error."""
    roots = np.sqrt([error for error, _ in found])
    return f"{roots.mean():.4f} ± {roots.std() / np.sqrt(len(roots)):.4f}"


def _best_ridges(splits: Sequence[Split]) -> list[tuple[float, int]]:
    """Return the errors of kernel ridge regression with the one σ and λ that suit all test points best."""
    found = [
        [_squared_error(KernelRidge(alpha=ridge, kernel="rbf", gamma=0.5 / sigma**2), s) for s in splits]
        for sigma in _BOUND_SIGMAS
        for ridge in _BOUND_RIDGES
    ]
    return min(found, key=lambda errors: float(np.mean(np.sqrt([error for error, _ in errors]))))


def _sinc_methods() -> dict[str, Make]:
    made: dict[str, Make] = {
        "SVR": lambda sigma, _: SVR(gamma=0.5 / sigma**2, C=_SVR_C, epsilon=_SVR_EPSILON)
    }
    for selection in ("residual", "error_reduction"):
        for stopping in ("gcv", "loo"):
            made[f"OROLS {selection} {stopping}"] = partial(_stopped, selection, stopping)
        made[f"OROLS {selection} size {_FIGURE_CENTERS}"] = partial(_of_size, selection)
    return made


def _stopped(selection: str, stopping: str, sigma: float, n_train: int) -> Any:
    return OROLSRegressor(sigma, n_train, selection=selection, stopping=stopping, random_state=0)  # type: ignore[arg-type]


def _of_size(selection: str, sigma: float, _: int) -> Any:
    return OROLSRegressor(sigma, _FIGURE_CENTERS, selection=selection, random_state=0)  # type: ignore[arg-type]


def _tuned(make: Make, split: Split, search: Search) -> tuple[float, int]:
    """Return squared error and centres with the σ of this training set alone."""
    alone = Search(1, search.seed, is_coarse=True)
    return _squared_error(make(choose_width(make, [(split.x, split.y)], alone).sigma, len(split.x)), split)


def houses_and_shells_table(
    folder: Path, names: Sequence[str], search: Search, *, is_quick: bool = False
) -> str:
    """Return thesis table 5.5 beside ours, on random partitions of the paper's sizes.

    The least CV error, which would decide between the methods, bears a star.
    """
    header = ("data", "ours", "paper", "test MSE", "centres %", "σ / median distance", "CV MSE")
    rows: list[tuple[str, ...]] = []
    for name in names:
        n_train, n_test, n_partitions, *cells = HOUSES_AND_SHELLS[name]
        if not is_there(folder, name):
            rows.append(absent(name, len(header)))
            continue
        splits = list(partitions(folder, name, n_train, n_test, n_partitions, search.seed))
        splits = [s.head(80, 50) for s in splits[:2]] if is_quick else splits
        methods = _regression_methods(*cells)
        widths = [choose_width(make, [(s.x, s.y) for s in splits[:N_TUNED]], search) for *_, make in methods]
        least = min(width.error for width in widths)
        for (label, cell, make), width in zip(methods, widths, strict=True):
            found = Parallel(n_jobs=search.n_jobs)(
                delayed(_squared_error)(make(width.sigma, len(s.x)), s) for s in splits
            )
            share = np.mean([n for _, n in found]) * 100 / len(splits[0].x)
            errors = spread([e for e, _ in found], 2)
            cv_error = f"{width.error:.2f}" + "*" * (width.error == least)
            rows.append((name, label, str(cell), errors, f"{share:.1f}", f"{width.factor:.2f}", cv_error))
    return table("Thesis table 5.5 and OROLS paper table 4: mean squared error", header, rows)


def _regression_methods(qr: Cell, orols: Cell, npd: Cell) -> tuple[tuple[str, Cell, Make], ...]:
    """Return label, the paper's number and maker; centres as in the paper, or fewer where ``loo`` stops."""
    size = partial(_share_of_points, orols.centers or 10.0)
    by_gain = {"selection": "error_reduction", "random_state": 0}
    return (
        ("QR, as many centres", qr, partial(size, OLSRegressor, {"algorithm": "nair", "stopping": "size"})),
        ("OROLS, the paper's centres", orols, partial(size, OROLSRegressor, {})),
        ("OROLS, stopping loo", orols, partial(size, OROLSRegressor, {"stopping": "loo"})),
        ("OROLS, error reduction, loo", orols, partial(size, OROLSRegressor, by_gain | {"stopping": "loo"})),
        ("NPD, the paper's centres", npd, partial(size, NPDRegressor, {})),
        ("NPD, stopping loo", npd, partial(size, NPDRegressor, {"stopping": "loo"})),
    )


def _share_of_points(
    percent: float, estimator: type[Any], options: dict[str, Any], sigma: float, n_train: int
) -> Any:
    return estimator(sigma, max(1, round(n_train * percent / 100)), **options)


def _squared_error(estimator: Any, split: Split) -> tuple[float, int]:
    """Return the mean squared error on the test points and the number of centres."""
    with single_threaded_libraries():
        predicted = estimator.fit(split.x, split.y).predict(split.x_test)
    n_centers = len(next(getattr(estimator, n) for n in _CENTERS if hasattr(estimator, n)))
    return float(np.mean((predicted - split.y_test) ** 2)), n_centers


def _sinc(request: Request) -> str:
    return sinc_table(1 if request.is_quick else N_SINC_RUNS, request.search)


def _houses_and_shells(request: Request) -> str:
    names = request.chosen(tuple(HOUSES_AND_SHELLS))
    return houses_and_shells_table(request.folder, names, request.search, is_quick=request.is_quick)


PARTS = {
    "sinc": Part(
        "sinc (thesis table 5.4)",
        "Each run has 50 training points, x uniform on (−10, 10) and Gaussian noise of deviation 0.1, and "
        "1,000 test points without noise.",
        _sinc,
    ),
    "houses-and-shells": Part(
        "Boston and Abalone (thesis table 5.5, OROLS paper table 4)",
        "Random partitions of our own in the papers' sizes and numbers; σ is chosen on the first five.",
        _houses_and_shells,
        tuple(HOUSES_AND_SHELLS),
    ),
}
