"""Thesis figures 5.2 to 5.4, which are figures 1 to 3 of the OROLS paper: OROLS on noisy points of sinc.

Only drawing needs matplotlib, which is imported there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from acoustic.discriminants import OROLSRegressor
from benchmarks.papers.datasets import Split, sinc_runs
from benchmarks.papers.layout import table
from benchmarks.papers.parts import Part, Request
from benchmarks.papers.width_search import Search, choose_width
from foundation.arrays import Floats
from foundation.threads import single_threaded_libraries

N_RUNS = 100
N_TUNED = 5  # runs σ is chosen on
NOISE = 0.1  # of figures 5.2 and 5.3
FIT_POINTS, FIT_CENTERS, FIT_RMSE = 50, 9, 0.0269  # of figure 5.2
SIZES = (10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500)  # training points of figure 5.3
NOISES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4)  # of figure 5.4
NOISE_POINTS = 100  # training points of figure 5.4
_RATIO = 0.3  # growth of the RMSE with the noise that the thesis states
_DPI = 110


@dataclass(frozen=True)
class Runs:
    """Errors of many runs with one σ: RMSE (runs,), mean number of centres."""

    sigma: float
    errors: Floats
    n_centers: float

    @property
    def text(self) -> str:
        """The mean error ± its deviation over runs."""
        return f"{self.errors.mean():.4f} ± {self.errors.std():.4f}"


def fit(request: Request) -> str:
    """Draw figure 5.2; return how often a fit is as good as the one the papers show."""
    splits = sinc_runs(_n_runs(request), request.search.seed, FIT_POINTS, NOISE)
    runs = tuned_runs(splits, request.search, max_centers=FIT_CENTERS, stopping="size")
    shown = int(np.argsort(runs.errors)[len(splits) // 2])
    if request.figures:
        _draw_fit(splits[shown], runs, float(runs.errors[shown]), request.figures / "sinc_fit.png")
    share = 100 * np.mean(runs.errors <= FIT_RMSE)
    rows = [
        ("the example of the papers", f"{FIT_RMSE}", "–"),
        ("median run (drawn)", f"{runs.errors[shown]:.4f}", f"{runs.sigma:.2f}"),
        ("best run", f"{runs.errors.min():.4f}", f"{runs.sigma:.2f}"),
        ("runs as good as the papers' example", f"{share:.0f} %", ""),
    ]
    text = table(f"Fits with {FIT_CENTERS} centres, {len(splits)} runs", ("fit", "RMSE", "σ"), rows)
    return f"{text}\n\n{request.picture('sinc_fit.png', 'Fit to noisy points of sinc')}".strip()


def sizes(request: Request) -> str:
    """Draw figure 5.3; return the error for each number of training points."""
    points = SIZES[1:4:2] if request.is_quick else SIZES
    found = [
        tuned_runs(sinc_runs(_n_runs(request), request.search.seed, n, NOISE), request.search) for n in points
    ]
    if request.figures:
        _draw_curve(points, found, "training points", request.figures / "sinc_sizes.png")
    rows = [
        (str(n), runs.text, f"{runs.n_centers:.1f}", f"{runs.sigma:.2f}")
        for n, runs in zip(points, found, strict=True)
    ]
    header = ("training points", "RMSE", "centres", "σ")
    text = table(f"RMSE ± deviation over {_n_runs(request)} runs, noise {NOISE}", header, rows)
    return f"{text}\n\n{request.picture('sinc_sizes.png', 'RMSE over training points')}".strip()


def noises(request: Request) -> str:
    """Draw figure 5.4; return the error for each level of noise and its growth."""
    levels = NOISES[1:4:2] if request.is_quick else NOISES
    found = [
        tuned_runs(sinc_runs(_n_runs(request), request.search.seed, NOISE_POINTS, noise), request.search)
        for noise in levels
    ]
    slope = float(np.polyfit(levels, [runs.errors.mean() for runs in found], 1)[0])
    if request.figures:
        _draw_curve(levels, found, "noise", request.figures / "sinc_noise.png", slope=_RATIO)
    rows = [
        (f"{noise:g}", runs.text, f"{runs.n_centers:.1f}", f"{runs.sigma:.2f}")
        for noise, runs in zip(levels, found, strict=True)
    ]
    header = ("noise", "RMSE", "centres", "σ")
    text = table(
        f"RMSE ± deviation over {_n_runs(request)} runs, {NOISE_POINTS} training points", header, rows
    )
    growth = (
        f"A straight line through these errors has the slope {slope:.2f}; the thesis says about {_RATIO}."
    )
    return f"{text}\n\n{growth}\n\n{request.picture('sinc_noise.png', 'RMSE over noise')}".strip()


def tuned_runs(splits: Sequence[Split], search: Search, **options: Any) -> Runs:
    """Return the errors of OROLS on all runs, with the σ that suits the training points of the first ones.

    Parameters
    ----------
    splits : runs
    search : how σ is searched
    options : of the estimator; by default it stops by GCV
    """
    given: dict[str, Any] = {"max_centers": len(splits[0].x), "stopping": "gcv", "block_size": 1} | options
    width = choose_width(
        lambda sigma, _: OROLSRegressor(sigma, **given), [(s.x, s.y) for s in splits[:N_TUNED]], search
    )
    found = Parallel(n_jobs=search.n_jobs)(
        delayed(_root_error)(OROLSRegressor(width.sigma, **given), s) for s in splits
    )
    errors, n_centers = np.array(found).T
    return Runs(width.sigma, errors, float(n_centers.mean()))


def _n_runs(request: Request) -> int:
    return 3 if request.is_quick else N_RUNS


def _root_error(estimator: OROLSRegressor, split: Split) -> tuple[float, int]:
    """Return the RMSE on the test points and the number of centres."""
    with single_threaded_libraries():
        predicted = estimator.fit(split.x, split.y).predict(split.x_test)
    return float(np.sqrt(np.mean((predicted - split.y_test) ** 2))), len(estimator.center_indices_)


def _draw_fit(split: Split, runs: Runs, error: float, path: Path) -> None:
    from matplotlib.figure import Figure

    model = OROLSRegressor(runs.sigma, FIT_CENTERS, block_size=1).fit(split.x, split.y)
    across = np.linspace(-10, 10, 500)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(across, np.sinc(across / np.pi), color="0.55", ls="--", label="true function")
    axes.plot(across, model.predict(across[:, None]), color="black", label=f"OROLS, σ = {runs.sigma:.2f}")
    axes.scatter(split.x[:, 0], split.y, s=14, color="#1b9e77", label="training points")
    centers = model.center_indices_
    axes.scatter(
        split.x[centers, 0], split.y[centers], s=75, facecolors="none", edgecolors="#d95f02", label="centres"
    )
    axes.set(xlabel="x", ylabel="y", title=f"{FIT_CENTERS} centres, RMSE {error:.4f} (thesis figure 5.2)")
    axes.legend()
    _save(figure, path)


def _draw_curve(
    across: Sequence[float], found: Sequence[Runs], label: str, path: Path, slope: float | None = None
) -> None:
    """Draw the mean error and its deviation over runs, and a line of the thesis's slope."""
    from matplotlib.figure import Figure

    means, deviations = (np.array([f(runs.errors) for runs in found]) for f in (np.mean, np.std))
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(across, means - deviations, means + deviations, color="#1b9e77", alpha=0.2, lw=0)
    axes.plot(across, means, color="#1b9e77", marker="o", ms=4, label="mean ± deviation over runs")
    if slope is not None:
        line = means[0] + slope * (np.array(across) - across[0])
        axes.plot(across, line, color="0.4", ls="--", label=f"slope {slope} (thesis)")
    axes.set(xlabel=label, ylabel="RMSE", ylim=(0, None))
    axes.legend()
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=_DPI, metadata={"Software": None})


PARTS = {
    "sinc-fit": Part(
        "A fit to sinc (thesis figure 5.2, OROLS figure 1)",
        f"OROLS with {FIT_CENTERS} centres on {FIT_POINTS} points, noise {NOISE}; σ by 5-fold "
        "cross-validation on the training points of the first five runs. The papers show one fit, we draw "
        "the run of the median error.",
        fit,
        draws=True,
    ),
    "sinc-sizes": Part(
        "The error over the number of points (thesis figure 5.3, OROLS figure 2)",
        "OROLS that stops by GCV, σ chosen for each number of points as above. The thesis: the error "
        "“decreases rapidly with increasing number of training instance and converges to a highly confident "
        "value”.",
        sizes,
        draws=True,
    ),
    "sinc-noise": Part(
        "The error over the noise (thesis figure 5.4, OROLS figure 3)",
        "OROLS that stops by GCV, σ chosen for each level of noise as above. The thesis: the error "
        "“increases only in a ratio of about 0.3 with respect to the noise standard deviation”.",
        noises,
        draws=True,
    ),
}
