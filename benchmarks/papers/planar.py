"""Figures of planar data: Ripley's (thesis figure 3.2) and two spirals (figure 5.1).

Only drawing needs matplotlib, which is imported there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge

from acoustic.discriminants import KernelFisherDiscriminant, NPDClassifier
from benchmarks.papers.cross_validation import Choice, Guess, grid_errors
from benchmarks.papers.datasets import Split, is_there, original_partition, two_spirals
from benchmarks.papers.layout import table
from benchmarks.papers.methods import AS_IN_PAPERS, npd
from benchmarks.papers.parts import Part, Request
from benchmarks.papers.published import RIPLEY
from benchmarks.papers.width_search import Search, choose_width, median_distance
from foundation.arrays import Integers, Longs, Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RIPLEY_CENTERS = 10
N_ORDERS = 5  # of Ripley's points, each with folds of its own, since one leaves many ties
SPIRAL_CENTERS = (90, 120)
_COLORS = ("#d95f02", "#1b9e77")  # of the two classes
_GRID = 300
_DPI = 110


@dataclass(frozen=True)
class _Boundary:
    """A fitted classifier whose boundary is drawn, and how."""

    classifier: Any
    label: str
    color: str
    style: str


def ripley(request: Request) -> str:
    """Draw figure 3.2; return the test errors of KFD and NPD, and on how much of the plane they agree."""
    if not is_there(request.folder, "synth"):
        return "Ripley's data (synth): not in the folder"
    split = original_partition(request.folder, "synth")
    choice = _common_choice(split, request.search)
    npd_model = NPDClassifier(choice.sigma, RIPLEY_CENTERS, epsilon=choice.constant, **AS_IN_PAPERS).fit(
        split.x, split.y
    )
    fitted: dict[str, Any] = {
        "NPD": npd_model,
        "KFD on K + εI": _Ridge(choice.sigma, choice.constant).fit(split.x, split.y),
        "KFD, S + εI": _fisher(choice.sigma, choice.constant, split),
    }
    boundaries = [
        _Boundary(fitted["KFD, S + εI"], "KFD, all points, S + εI", "0.45", ":"),
        _Boundary(fitted["KFD on K + εI"], "KFD, all points, on K + εI", "0.45", "--"),
        _Boundary(npd_model, f"NPD, {RIPLEY_CENTERS} centres (encircled)", "black", "-"),
    ]
    if request.figures:
        _draw_ripley(split, boundaries, npd_model.center_indices_, request.figures / "ripley.png")
    plane = _plane(split.x)[2]
    rows = []
    for name, model in fitted.items():
        error = 100 * np.mean(model.predict(split.x_test) != split.y_test)
        shares = [
            f"{100 * np.mean(model.predict(points) == npd_model.predict(points)):.1f}"
            for points in (split.x_test, plane)
        ]
        rows.append((name, f"{RIPLEY[name[:3]]}", f"{error:.1f}", *(shares if name != "NPD" else "––")))
    header = ("method", "paper", "ours", "as NPD: % of test points", "% of the plane drawn")
    text = table(f"Test error in %; σ = {choice.sigma:.2f}, ε = {choice.constant:g}", header, rows)
    return f"{text}\n\n{request.picture('ripley.png', 'Boundaries of KFD and NPD')}".strip()


def _common_choice(split: Split, search: Search) -> Choice:
    """Return the σ and ε > 0 for which the cross-validated errors of NPD and KFD have the least sum."""
    sparse = npd((100 * RIPLEY_CENTERS / len(split.x),))
    sparse = replace(sparse, constants=tuple(c for c in sparse.constants if c > 0))
    full = replace(sparse, name="KFD", guess=_ridge_codes)
    rng = np.random.default_rng(search.seed)
    orders = [rng.permutation(len(split.x)) for _ in range(N_ORDERS)]
    errors = np.mean(
        [grid_errors(m, split.x[order], split.y[order], search) for m in (sparse, full) for order in orders],
        axis=0,
    )
    width, constant, _ = np.unravel_index(np.argmin(np.round(errors, 12)), errors.shape)
    factor = sparse.widths[width]
    sigma = factor * median_distance(split.x, search.seed)
    return Choice(sigma, factor, sparse.constants[constant], sparse.shares[0], float(errors.min()))


def _ridge_codes(guess: Guess) -> Integers:
    """Return the codes (E, 1, V) of least squares on all columns of K + εI."""
    n = len(guess.codes)
    targets = np.where(guess.codes == 1, 1.0, -1.0)
    found = []
    for epsilon in guess.constants:
        gram = guess.columns[:, :n] + epsilon * np.eye(n)
        alpha = np.linalg.solve(gram, targets - targets.mean())
        found.append(guess.columns[:, n:].T @ alpha + targets.mean() > 0)
    return np.array(found).astype(np.int64)[:, None]


class _Ridge:
    """The discriminant with all points as centres and K + εI in place of K: least squares on the labels."""

    def __init__(self, sigma: float, epsilon: float) -> None:
        self.model = KernelRidge(alpha=epsilon, kernel="rbf", gamma=0.5 / sigma**2)

    def fit(self, x: Reals, y: NDArray[Any]) -> _Ridge:
        """Learn from points (M, D) and labels (M,)."""
        self.classes = np.unique(y)
        targets = np.where(y == self.classes[1], 1.0, -1.0)
        self.bias = targets.mean()
        self.model.fit(x, targets - self.bias)
        return self

    def decision_function(self, x: Reals) -> Reals:
        """Return the outputs (M,)."""
        return np.asarray(self.model.predict(x) + self.bias)

    def predict(self, x: Reals) -> NDArray[Any]:
        """Return the labels (M,)."""
        return np.asarray(self.classes[(self.decision_function(x) > 0).astype(int)])


def _fisher(sigma: float, epsilon: float, split: Split) -> KernelFisherDiscriminant:
    """Return the KFD with λ = ε; the estimator takes it in units of the mean diagonal of the scatter."""
    unit = KernelFisherDiscriminant(sigma, epsilon=1.0).fit(split.x, split.y).ridge_
    return KernelFisherDiscriminant(sigma, epsilon=epsilon / unit).fit(split.x, split.y)


def _draw_ripley(split: Split, boundaries: Sequence[_Boundary], centers: Longs, path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    _draw(axes, split.x, split.y, boundaries, centers)
    axes.legend(
        loc="lower right",
        handles=[Line2D([], [], color=b.color, ls=b.style, label=b.label) for b in boundaries],
    )
    axes.set_title("Ripley's data, standardised (thesis figure 3.2)")
    _save(figure, path)


def spirals(request: Request) -> str:
    """Draw figure 5.1; return how many of the 194 points the NPD gets wrong."""
    x, y = two_spirals()
    rows, models = [], []
    for n_centers in SPIRAL_CENTERS:
        width = choose_width(partial(_in_proportion, n_centers / len(x)), [(x, y)], request.search)
        models.append(NPDClassifier(width.sigma, n_centers, epsilon=1e-6, **AS_IN_PAPERS).fit(x, y))
        n_wrong = int(np.sum(models[-1].predict(x) != y))
        rows.append((str(n_centers), "0", str(n_wrong), f"{width.sigma:.2f}", f"{100 * width.error:.1f}"))
    if request.figures:
        _draw_spirals(x, y, models, request.figures / "two_spirals.png")
    header = ("centres", "paper: training points wrong", "ours", "σ", "CV error %")
    text = table("Two spirals, 194 points", header, rows)
    return f"{text}\n\n{request.picture('two_spirals.png', 'Boundaries of the NPD')}".strip()


def _draw_spirals(x: Reals, y: Longs, models: Sequence[NPDClassifier], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(models), 5), layout="constrained")
    for axes, model in zip(figure.subplots(1, len(models)), models, strict=True):
        centers = np.asarray(model.center_indices_)
        _draw(axes, x, y, [_Boundary(model, "NPD", "black", "-")], centers)
        axes.set_title(f"NPD, {len(centers)} centres (encircled), σ = {model.sigma:.2f}")
    _save(figure, path)


def _in_proportion(share: float, sigma: float, n_train: int) -> NPDClassifier:
    return NPDClassifier(sigma, round(share * n_train), epsilon=1e-6, **AS_IN_PAPERS)


def _draw(
    axes: Axes,
    x: Reals,
    y: NDArray[Any],
    boundaries: Sequence[_Boundary],
    centers: Longs,
) -> None:
    """Draw points (M, 2) of two classes, the centres among them encircled, and the boundaries."""
    across, up, points = _plane(x)
    for number, boundary in enumerate(boundaries):
        height = boundary.classifier.decision_function(points).reshape(_GRID, _GRID)
        if number == len(boundaries) - 1:
            axes.contourf(across, up, height > 0, levels=[-0.5, 0.5, 1.5], colors=_COLORS, alpha=0.12)
        axes.contour(
            across, up, height, levels=[0.0], colors=boundary.color, linestyles=boundary.style, linewidths=1.3
        )
    for label, color in zip(np.unique(y), _COLORS, strict=True):
        axes.scatter(x[y == label, 0], x[y == label, 1], s=12, color=color)
    axes.scatter(x[centers, 0], x[centers, 1], s=70, facecolors="none", edgecolors="black", linewidths=0.9)
    axes.set(xticks=[], yticks=[], aspect="equal")


def _plane(x: Reals) -> tuple[Reals, Reals, Reals]:
    """Return the coordinates (_GRID,) of the plane that is drawn about points, and its points (_GRID², 2)."""
    low, high = x.min(axis=0), x.max(axis=0)
    margin = 0.08 * (high - low)
    across, up = (np.linspace(a, b, _GRID) for a, b in zip(low - margin, high + margin, strict=True))
    return across, up, np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=_DPI, metadata={"Software": None})


PARTS = {
    "two-spirals": Part(
        "Two spirals (thesis figure 5.1)",
        "σ is chosen by 5-fold cross-validation, with centres in proportion to the points of the folds.",
        spirals,
        draws=True,
    ),
    "ripley": Part(
        "Ripley's data (thesis figure 3.2)",
        "The split is that of the R package MASS, 250 training and 1,000 test points, standardised. "
        "NPD and KFD have the same σ and ε, those of the least sum of their 5-fold cross-validation "
        "errors over five random orders. *The same regularization constant* has two readings for the "
        "KFD: ε added to the diagonal of the Gram matrix, as for the NPD, or of the scatter matrix.",
        ripley,
        draws=True,
    ),
}
