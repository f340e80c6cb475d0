"""Rules for the number of centres and for λ that the papers name without measuring them.

The thesis names the Bayesian information criterion and the minimum description length as other ways to the
number of centres (3.4.1), and the Bayesian evidence as another way to λ (3.4.2). All rules here judge one and
the same path of models; see `acoustic.kernels.forward`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from acoustic.discriminants.forward_machine import machine_of
from acoustic.kernels.forward import (
    ForwardConfig,
    ForwardPath,
    bayesian_information,
    description_length,
    forward_selection,
    log_evidences,
    with_evidence_ridges,
)
from acoustic.kernels.kernel import Kernel
from benchmarks.papers.datasets import Split, is_there, partitions, sinc_runs
from benchmarks.papers.layout import table
from benchmarks.papers.parts import Part, Request
from benchmarks.papers.published import HOUSES_AND_SHELLS
from benchmarks.papers.width_search import median_distance
from foundation.arrays import Floats
from foundation.threads import single_threaded_libraries

WIDTH = 0.5  # σ in median distances, as cross-validation chooses it on these sets
_PATIENCE = 20
_N_SPLITS = {"sinc": 100, "boston": 20, "abalone": 3}
_MOST_PERCENT = {"sinc": 80.0, "boston": 50.0, "abalone": 10.8}  # centres of the whole path

Score = Callable[
    [ForwardPath, float, int], Floats
]  # path, ‖y‖², M -> score of each size, the least is the best

_SCORES: dict[str, Score] = {
    "all centres": lambda path, *_: -np.arange(len(path.kappa), dtype=np.float64),
    "GCV": lambda path, *_: path.gcv,
    "BIC": bayesian_information,
    "MDL": description_length,
}


@dataclass(frozen=True)
class Judged:
    """What a rule chose on one split: error on the test points and number of centres."""

    error: float
    n_centers: int


def table_of_scores(request: Request) -> str:
    """Return the test error of each rule on each set, with the number of centres."""
    found = {name: _judged(name, splits, request) for name, splits in _sets(request).items()}
    rules = list(next(iter(found.values()))[0])
    header = ("λ", "number of centres by", *(_title(name) for name in found))
    rows = []
    for rule in rules:
        cells = []
        for name, results in found.items():
            errors = [judged[rule].error for judged in results]
            size = np.mean([judged[rule].n_centers for judged in results])
            digits = 4 if name == "sinc" else 2
            cells.append(f"{np.mean(errors):.{digits}f} ({size:.0f})")
        rows.append((*rule, *cells))
    return table("Test error (centres)", header, rows)


def _title(name: str) -> str:
    return "sinc: RMSE" if name == "sinc" else f"{name}: MSE"


def _sets(request: Request) -> dict[str, list[Split]]:
    """Return the splits of each set that is there."""
    n_splits = dict.fromkeys(_N_SPLITS, 2) if request.is_quick else _N_SPLITS
    found = {}
    for name in request.chosen(tuple(_N_SPLITS)):
        if name == "sinc":
            found[name] = sinc_runs(n_splits[name], request.search.seed, 50, 0.1)
        elif is_there(request.folder, name):
            splits = _partitions(request.folder, name, n_splits[name], request.search.seed)
            found[name] = [s.head(80, 50) for s in splits] if request.is_quick else splits
    return found


def _partitions(folder: Path, name: str, n_splits: int, seed: int) -> list[Split]:
    n_train, n_test, *_ = HOUSES_AND_SHELLS[name]
    return list(partitions(folder, name, n_train, n_test, n_splits, seed))


def _judged(name: str, splits: Sequence[Split], request: Request) -> list[dict[tuple[str, str], Judged]]:
    """Return what each rule, of λ and of the number of centres, chose on each split."""
    settings = {"part": "size-scores", "data": name, "splits": len(splits), "points": len(splits[0].x)}
    settings |= {"seed": request.search.seed}

    def compute() -> list[list[list[object]]]:
        sigma = WIDTH * float(np.median([median_distance(s.x, 0) for s in splits]))
        found = Parallel(n_jobs=request.search.n_jobs)(
            delayed(judge)(s, sigma, _MOST_PERCENT[name], is_root=name == "sinc") for s in splits
        )
        return [[[*rule, j.error, j.n_centers] for rule, j in judged.items()] for judged in found]

    kept = request.kept.result(settings, compute)
    return [{(ridge, rule): Judged(error, size) for ridge, rule, error, size in rows} for rows in kept]


def judge(split: Split, sigma: float, percent: float, *, is_root: bool) -> dict[tuple[str, str], Judged]:
    """Return what each rule chose on one split.

    Parameters
    ----------
    split : its values are taken relative to the mean of the training values, since the evidence counts the
        bias among the weights
    sigma : kernel width
    percent : largest number of centres, in % of the training points
    is_root : whether the error is the root of the mean square
    """
    mean = float(np.mean(split.y))
    targets = np.asarray(split.y - mean, dtype=np.float64)[:, None]
    n, energy = len(targets), float(np.sum(targets**2))
    most = round(n * percent / 100)
    npd = ForwardConfig(Kernel("gaussian", sigma), (sigma,), most, patience=_PATIENCE)
    orols = replace(npd, regularize=True)
    with single_threaded_libraries():
        plain = forward_selection(split.x, targets, npd)
        shrunk = forward_selection(split.x, targets, orols)
        certain = with_evidence_ridges(shrunk, energy, n)
        chosen: dict[tuple[str, str], tuple[ForwardPath, int]] = {}
        for ridge, path in (("0 (NPD)", plain), ("GCV (OROLS)", shrunk), ("evidence", certain)):
            for rule, score in _SCORES.items():
                chosen[ridge, rule] = path, int(np.argmin(score(path, energy, n)))
        chosen["evidence", "evidence"] = certain, int(np.argmax(log_evidences(certain, energy, n)))
        for ridge, config in (("0 (NPD)", npd), ("GCV (OROLS)", orols)):
            path = forward_selection(split.x, targets, replace(config, stopping="loo"))
            chosen[ridge, "leave-one-out"] = path, path.size
        return {
            rule: Judged(_error(path, size, split, mean, npd.kernel, is_root=is_root), size)
            for rule, (path, size) in sorted(chosen.items(), key=lambda item: _ORDER.index(item[0][0]))
        }


_ORDER = ["0 (NPD)", "GCV (OROLS)", "evidence"]


def _error(
    path: ForwardPath, size: int, split: Split, mean: float, kernel: Kernel, *, is_root: bool
) -> float:
    """Return the error on the test points of the model of this size."""
    machine = machine_of(path, split.x, kernel, np.arange(len(split.x)))
    outputs = machine.outputs(split.x_test, [size])[0, :, 0] + mean
    square = float(np.mean((outputs - split.y_test) ** 2))
    return float(np.sqrt(square)) if is_root else square


PARTS = {
    "size-scores": Part(
        "Other rules for λ and the number of centres (thesis 3.4.1, 3.4.2)",
        f"One path of centres each for NPD and OROLS, σ {WIDTH} median distances, ε 1e-6, at most 80 % "
        "(sinc), 50 % (Boston) and 10.8 % (Abalone) of the points as centres; 100 runs of sinc, 20 "
        "partitions of Boston, 3 of Abalone. λ by the evidence is found for the centres that OROLS selected. "
        "BIC: Schwarz 1978; MDL: half of it and the nats that name the centres (Rissanen 1983); evidence: "
        "MacKay 1992; leave-one-out and GCV as in the estimators.",
        table_of_scores,
        tuple(_N_SPLITS),
    )
}
