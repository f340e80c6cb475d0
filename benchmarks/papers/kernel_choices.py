"""Several widths of one machine, and the compact kernel (thesis, chapter 6): errors on some benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from acoustic.discriminants import NPDClassifier, OROLSClassifier
from benchmarks.papers.benchmarks import QUICK, shared_results
from benchmarks.papers.cross_validation import N_TUNED, Choice, Method
from benchmarks.papers.datasets import Split, benchmark_partitions, is_there
from benchmarks.papers.layout import absent, spread, table
from benchmarks.papers.methods import AS_IN_PAPERS, npd, orols
from benchmarks.papers.outcomes import Result, corrected_standard_error, evaluate, over_partitions
from benchmarks.papers.parts import Part, Request
from benchmarks.papers.published import BENCHMARKS
from benchmarks.papers.width_search import N_FOLDS, Search
from foundation.arrays import Floats, Longs
from foundation.threads import single_threaded_libraries

NAMES = ("heart", "thyroid")
FACTORS = (0.5, 1.0, 2.0)  # of the one width, to choose from for each centre
_ESTIMATORS = {"NPD": NPDClassifier, "OROLS": OROLSClassifier}
_HEADER = ("data", "method", "one width", "three widths", "difference", "compact", "difference")


def kernel_choices(request: Request) -> str:
    """Return the errors with one width, three widths and the compact kernel side by side."""
    rows: list[tuple[str, ...]] = []
    for name in request.chosen(NAMES):
        if not is_there(request.folder, f"ida_{name}"):
            rows.append(absent(name, len(_HEADER)))
            continue
        benchmark, seed = BENCHMARKS[name], request.search.seed
        sizes = benchmark.n_train, benchmark.n_test
        splits = list(benchmark_partitions(request.folder, name, *sizes, request.n_partitions, seed))
        splits = [s.head(*QUICK) for s in splits] if request.is_quick else splits
        for method in _methods(request):
            (one,) = shared_results(name, splits, request, (method.name,))
            compact = _compact(name, method, splits, request)
            three = _three_widths(name, method, one.choice, splits, request)
            beside = [
                cell for other in (three, compact) for cell in (_cell(other), _gain(other, one, splits[0]))
            ]
            rows.append((name, method.name, _cell(one), *beside))
    return table(
        "Test error in % (centres in %); paired differences ± corrected standard error", _HEADER, rows
    )


def _methods(request: Request) -> list[Method]:
    coarse = slice(None, None, 3 if request.is_quick else 1)
    return [
        replace(method, widths=method.widths[coarse], constants=method.constants[coarse])
        for method in (npd(), orols())
    ]


def _cell(result: Result) -> str:
    """Return error and centres."""
    return f"{spread(result.errors)} ({np.mean(result.centers):.0f})"


def _gain(result: Result, beside: Result, split: Split) -> str:
    """Return the mean difference from another result on the same partitions, of this split's sizes."""
    difference = np.subtract(result.errors, beside.errors)
    if len(difference) == 1:
        return f"{difference[0]:+.2f}"
    error = corrected_standard_error(difference.tolist(), len(split.x), len(split.x_test))
    return f"{difference.mean():+.2f} ± {error:.2f}"


def _compact(name: str, method: Method, splits: Sequence[Split], request: Request) -> Result:
    """Return the result with the compact kernel, all hyper-parameters chosen anew."""
    make = {"NPD": npd, "OROLS": orols}[method.name](kernel="compact").make
    compact = replace(method, name=f"{method.name}, compact", make=make, kernel="compact")
    settings = {"data": name, "seed": request.search.seed, "is_quick": request.is_quick}
    return over_partitions(compact, splits, request, settings)


def _three_widths(
    name: str, method: Method, one: Choice, splits: Sequence[Split], request: Request
) -> Result:
    """Return the result with three widths about the one chosen; the number of centres is chosen anew."""
    settings: dict[str, Any] = {"data": name, "method": f"{method.name}, three widths", "n": len(splits)}
    settings |= {"one": asdict(one), "seed": request.search.seed, "is_quick": request.is_quick}

    def compute() -> dict[str, Any]:
        errors = np.mean(
            [_path_errors(method, one, s.x, s.y, request.search) for s in splits[:N_TUNED]], axis=0
        )
        best = int(np.argmin(np.round(errors, 12)))
        choice = replace(one, share=method.shares[best], error=float(errors[best]))
        outcomes = Parallel(n_jobs=request.search.n_jobs)(
            delayed(evaluate)(_model(method, choice, choice.share, len(s.x)), s) for s in splits
        )
        percent = 100 / len(splits[0].x)
        centers = [o.n_centers * percent for o in outcomes]
        return {"choice": asdict(choice), "errors": [o.error for o in outcomes], "centers": centers}

    found = request.kept.result(settings, compute)
    return Result(Choice(**found["choice"]), tuple(found["errors"]), tuple(found["centers"]))


def _path_errors(method: Method, one: Choice, x: NDArray[Any], y: NDArray[Any], search: Search) -> Floats:
    """Return the cross-validated error (S,) of each share of centres."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=search.seed).split(x, y)
    with single_threaded_libraries():
        return np.asarray(np.mean([_fold_errors(method, one, x, y, *fold) for fold in folds], axis=0))


def _fold_errors(
    method: Method, one: Choice, x: NDArray[Any], y: NDArray[Any], train: Longs, held_out: Longs
) -> Floats:
    model = _model(method, one, method.shares[-1], len(train)).fit(x[train], y[train])
    predicted = model.path_predict(x[held_out], list(method.sizes(len(train))))
    return np.asarray(np.mean(predicted != y[held_out], axis=1))


def _model(method: Method, one: Choice, share: float, n_points: int) -> Any:
    sigmas = tuple(one.sigma * factor for factor in FACTORS)
    n_centers = max(1, round(share * n_points / 100))
    return _ESTIMATORS[method.name](sigmas, n_centers, epsilon=one.constant, **AS_IN_PAPERS)


PARTS: dict[str, Any] = {
    "kernel-choices": Part(
        "Several widths and the compact kernel (thesis, chapter 6)",
        "The partitions and the protocol of the thirteen benchmarks. *Three widths*: each centre gets "
        "the width, of half, once and twice the one chosen, that reduces the error most; ε stays, "
        "and the number of centres is chosen again. *Compact*: the Gaussian that is 0 from three "
        "widths on; σ, ε and the number of centres are chosen as for the Gaussian. The standard errors of "
        "the differences count the points that partitions share (Nadeau and Bengio).",
        kernel_choices,
        NAMES,
    ),
}
