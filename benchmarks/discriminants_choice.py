"""The choice of `discriminants_tables.SETTINGS` by cross-validation on the training sets.

    python benchmarks/discriminants_choice.py --tables ../shared/data/tables --out choice.json

Both sides are chosen by five folds over their grids, each with its own scale of features: SVC by the lowest
error, ours by the lowest error among what is fitted in no more CPU time than that SVC. Folds of usps and
optdigits are of neighbouring rows, since neighbours may be of one writer and the test sets are of others;
those of satimage and letter are drawn: twice for satimage, which is small, and two of the five for letter,
which is large. No test set is read.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from discriminants_tables import (
    Ours,
    Scale,
    Svc,
    load_train,
    make_ours,
    make_svc,
    ours_name,
    scaled,
    svc_name,
)
from report import argument_parser, print_table, timed, write_report
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from acoustic.discriminants import NPDClassifier, OROLSClassifier
from acoustic.pairs.calibration import CurveName

N_FOLDS, N_SHOWN = 5, 6


class Grid(NamedTuple):
    """What is tried on one set; σ in units of the features' common or own deviation."""

    svc_sigmas: tuple[float, ...]
    sigmas: tuple[float, ...]
    n_pairwise: tuple[int, ...]
    n_shared: tuple[int, ...]
    scales: tuple[Scale, ...]
    estimators: tuple[type, ...]
    folds: tuple[int | None, ...]  # seeds; None: neighbouring rows
    n_folds: int = N_FOLDS  # run of each


BOTH: tuple[Scale, ...] = ("one", "each")
CS = (3.0, 5.0, 10.0, 30.0, 100.0)
EPSILONS = (1e-6, 0.03)
CURVES: tuple[CurveName, ...] = ("gaussian", "logistic")
EITHER = (NPDClassifier, OROLSClassifier)
GRIDS = {
    "optdigits": Grid(
        (4.0, 4.8, 5.6, 6.7, 8.0), (4.8, 5.6, 6.7), (50, 100, 150), (300, 400), BOTH, EITHER, (None,)
    ),
    "satimage": Grid(
        (1.4, 1.7, 2.0, 2.4), (1.7, 2.0, 2.4, 2.8), (200, 250), (400, 500), BOTH, EITHER, (0, 1)
    ),
    "usps": Grid(
        (8.0, 9.5, 11.0, 13.0), (11.0, 13.0, 16.0), (200, 250), (800, 1000), ("one",), EITHER, (None,)
    ),
    "letter": Grid((1.7, 2.0, 2.4), (2.0, 2.4, 2.8), (150, 200), (1000,), ("one",), EITHER[:1], (0,), 2),
}


class Tried(NamedTuple):
    """One setting on the folds of one set."""

    name: str
    scale: Scale
    error: float
    fit_s: float
    predict_s: float


def choose(folder: Path, name: str) -> dict[str, Any]:
    """Return what was tried on one set, the best first."""
    grid = GRIDS[name]
    x, y = load_train(folder, name)
    svcs = [(s, partial(make_svc, s), svc_name(s)) for s in svc_grid(grid, name)]
    ours = [(o, partial(make_ours, o), ours_name(o)) for o in ours_grid(grid)]
    tried = [
        [tried_on(x, y, grid, label, chosen.scale, make) for chosen, make, label in models]
        for models in (svcs, ours)
    ]
    svc, mine = (sorted(found, key=lambda t: (t.error, t.fit_s)) for found in tried)
    in_time = [t for t in mine if t.fit_s <= svc[0].fit_s]
    return {
        "table": name,
        "svc": [t._asdict() for t in svc],
        "ours_in_time": [t._asdict() for t in in_time],
        "ours_too_slow": [t._asdict() for t in mine if t not in in_time],
    }


def svc_grid(grid: Grid, name: str) -> Iterator[Svc]:
    scales = grid.scales if name in ("optdigits", "satimage") else BOTH
    cs = CS if name == "satimage" else CS[:3]
    for scale, sigma, c in product(scales, grid.svc_sigmas, cs):
        yield Svc(sigma, c, scale)


def ours_grid(grid: Grid) -> Iterator[Ours]:
    for scale, sigma, estimator in product(grid.scales, grid.sigmas, grid.estimators):
        for m, epsilon, curve in product(grid.n_pairwise, EPSILONS, CURVES):
            yield Ours(estimator, sigma, m, scale, epsilon, curve)
        for m in grid.n_shared if estimator is NPDClassifier else ():
            yield Ours(estimator, sigma, m, scale, block_size=32)


def tried_on(
    x: np.ndarray, y: np.ndarray, grid: Grid, name: str, scale: Scale, make: Callable[[], Any]
) -> Tried:
    """Return the mean error, %, and the median CPU seconds of one setting over the folds."""
    errors, fits, predicts = [], [], []
    for train, held_out in splits(x, y, grid):
        points, others = scaled(x[train], x[held_out], scale)
        model, fit = timed(lambda points=points, train=train: make().fit(points, y[train]))
        found, predict = timed(lambda model=model, others=others: model.predict(others))
        errors.append(100 * float(np.mean(found != y[held_out])))
        fits.append(fit.cpu)
        predicts.append(predict.cpu)
    medians = (round(statistics.median(seconds), 4) for seconds in (fits, predicts))
    return Tried(name, scale, round(statistics.mean(errors), 3), *medians)


def splits(x: np.ndarray, y: np.ndarray, grid: Grid) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for seed in grid.folds:
        folds = StratifiedKFold(N_FOLDS, shuffle=seed is not None, random_state=seed)
        yield from list(folds.split(x, y))[: grid.n_folds]


def print_choice(found: dict[str, Any]) -> None:
    print(found["table"])
    rows = [
        [kind.replace("_", " "), *tried.values()]
        for kind in ("svc", "ours_in_time", "ours_too_slow")
        for tried in found[kind][:N_SHOWN]
    ]
    print_table(("", "model", "scale", "CV error %", "fit CPU s", "predict CPU s"), rows)


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--tables", type=Path, required=True, help="folder of the .npz tables")
    parser.add_argument("--names", nargs="+", choices=GRIDS, default=list(GRIDS))
    arguments = parser.parse_args()
    report = []
    with threadpool_limits(limits=1, user_api="blas"):
        for name in arguments.names:
            report.append(choose(arguments.tables, name))
            print_choice(report[-1])
    write_report(arguments.out, {"tables": report})


if __name__ == "__main__":
    main()
