"""Reliability of `GaussianCurve`, thesis (4.7), from fitted, leave-one-out and held-out outputs.

    python benchmarks/calibration.py --tables ../shared/data/tables

One two-class OROLS (or NPD) for each data set: banana and German credit on 20 random partitions of the usual
sizes, and the two kinds of soil in satimage that are hardest to tell apart, damp and very damp grey, on 20
draws of 200 training points, as few as a rare state of speech has. σ is chosen by 5-fold cross-validation on
the first training set. The Gaussians are fitted to outputs at the training points, fitted or leave-one-out,
or to outputs of a 5-fold cross-validation. Their probabilities for the test points of all partitions together
are compared with observed frequencies. The figure shows the reliability diagrams with the expected
calibration error (10 bins of
equal width), and below them the outputs of the first partition's test points under the Gaussians.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from reliability import Outcome, draw_reliability
from report import argument_parser, print_table, write_report
from scipy.stats import norm
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from acoustic.discriminants import GaussianCurve, NPDClassifier, OROLSClassifier
from benchmarks.papers.datasets import Split, original_partition, partitions

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from foundation.arrays import Flags, Floats

Classifier = NPDClassifier | OROLSClassifier

CLASSIFIERS = {"orols": OROLSClassifier, "npd": NPDClassifier}

SOURCES = {"fitted": "C3", "leave-one-out": "C0", "held-out": "C2"}
SIGMAS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
N_BINS, N_PARTITIONS = 10, 20
DAMP_GREY, VERY_DAMP_GREY = 4, 7


class Problem(NamedTuple):
    """A data set to draw."""

    title: str
    splits: list[Split]
    n_centers: int


class Measured(NamedTuple):
    """Outcomes by source; outputs, classes, and Gaussians by source of the first partition."""

    sigma: float
    outcomes: dict[str, Outcome]
    outputs: Floats
    is_positive: Flags
    curves: dict[str, GaussianCurve]


def soils(folder: Path) -> Iterator[Split]:
    """Yield training sets of 200 points of two classes of satimage, each with all test points."""
    whole = original_partition(folder, "satimage")
    train, test = (np.isin(y, (DAMP_GREY, VERY_DAMP_GREY)) for y in (whole.y, whole.y_test))
    x, y, x_test, y_test = whole.x[train], whole.y[train], whole.x_test[test], whole.y_test[test]
    for draw in range(N_PARTITIONS):
        rows = np.random.default_rng([0, draw]).permutation(len(x))[:200]
        yield Split(x[rows], y[rows], x_test, y_test)


def problems(folder: Path) -> Iterator[Problem]:
    """Yield what is drawn, from left to right."""
    banana = list(partitions(folder, "ida_banana", 400, 4900, N_PARTITIONS, seed=0))
    yield Problem("banana: 400 points, 60 centres", banana, 60)
    german = list(partitions(folder, "ida_german", 700, 300, N_PARTITIONS, seed=0))
    yield Problem("German credit: 700 points, 100 centres", german, 100)
    yield Problem("soils of satimage: 200 points, 60 centres", list(soils(folder)), 60)


def best_sigma(problem: Problem, classifier: type[Classifier]) -> float:
    """Return the width with the fewest errors in a 5-fold cross-validation of the first training set."""
    split = problem.splits[0]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(
        classifier(max_centers=problem.n_centers, epsilon=1e-6), {"sigma": SIGMAS}, cv=folds
    )
    return float(search.fit(split.x, split.y).best_params_["sigma"])


def gaussian_curves(model: Classifier, split: Split) -> dict[str, GaussianCurve]:
    """Return the Gaussians of a fitted model's outputs from each source."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    held_out = cross_val_predict(model, split.x, split.y, cv=folds, method="decision_function")
    outputs = (
        model.decision_function(split.x),
        np.clip(model.biased_loo_decision_[:, 0], -3.0, 3.0),
        held_out,
    )
    is_positive = split.y == model.classes_[1]
    return {
        source: GaussianCurve().fit(values, is_positive)
        for source, values in zip(SOURCES, outputs, strict=True)
    }


def measure(problem: Problem, classifier: type[Classifier]) -> Measured:
    """Return the probabilities by all sources for the test points of all partitions."""
    sigma, found, happened = best_sigma(problem, classifier), [], []
    for split in problem.splits:
        model = classifier(sigma, problem.n_centers, epsilon=1e-6).fit(split.x, split.y)
        outputs = model.decision_function(split.x_test)
        found.append((outputs, gaussian_curves(model, split)))
        happened.append(split.y_test == model.classes_[1])
    outcomes = {
        source: Outcome(
            np.concatenate([p[source].predict_proba(q) for q, p in found]), np.concatenate(happened)
        )
        for source in SOURCES
    }
    return Measured(sigma, outcomes, found[0][0], happened[0], found[0][1])


def draw_outputs(panel: Axes, measured: Measured) -> None:
    """Draw the test outputs of both classes, and the Gaussians fitted to training outputs."""
    reach = float(np.quantile(np.abs(measured.outputs), 0.995))
    edges, grid = np.linspace(-reach, reach, 25), np.linspace(-reach, reach, 400)
    for is_positive, shade in ((False, "0.62"), (True, "0.85")):
        values = measured.outputs[measured.is_positive == is_positive]
        panel.hist(values, edges, density=True, color=shade, alpha=0.8)
    for source, color in SOURCES.items():
        curve = measured.curves[source]
        for mean, variance in zip(curve.means_, curve.variances_, strict=True):
            panel.plot(grid, norm.pdf(grid, mean, np.sqrt(variance)), color=color, linewidth=1.2)
    panel.set(xlabel="output", xlim=(-reach, reach), yticks=[])


def draw(found: dict[str, Measured], path: Path) -> None:
    """Save the figure."""
    figure, panels = plt.subplots(
        2, len(found), figsize=(3.9 * len(found), 6.0), layout="constrained", height_ratios=(2.4, 1)
    )
    for (title, measured), (top, bottom) in zip(found.items(), panels.T, strict=True):
        draw_reliability(top, measured.outcomes, SOURCES, N_BINS)
        top.set(title=title.replace(": ", "\n"), xlabel="promised P(positive | output)")
        draw_outputs(bottom, measured)
    panels[0, 0].set_ylabel("share of positives among them")
    panels[1, 0].set_ylabel("density of test outputs\n(grey) and Gaussians")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    """Measure, print and draw."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--tables", type=Path, required=True, help="folder of the .npz tables")
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/calibration.png"))
    parser.add_argument("--classifier", choices=tuple(CLASSIFIERS), default="orols")
    arguments = parser.parse_args()
    with threadpool_limits(limits=1, user_api="blas"):
        found = {p.title: measure(p, CLASSIFIERS[arguments.classifier]) for p in problems(arguments.tables)}
    rows = [
        {
            "data": title,
            "sigma": measured.sigma,
            "outputs": source,
            "calibration error %": outcome.calibration_error(N_BINS),
            "log loss": outcome.log_loss(),
        }
        for title, measured in found.items()
        for source, outcome in measured.outcomes.items()
    ]
    print_table(list(rows[0]), [list(row.values()) for row in rows])
    draw(found, arguments.figure)
    write_report(arguments.out, {"classifier": arguments.classifier, "rows": rows}, ("matplotlib",))


if __name__ == "__main__":
    main()
