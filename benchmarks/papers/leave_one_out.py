"""The tables of the LOO slides (Hong, Chen, Harris 2006): three of the thirteen benchmarks, seven methods."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from joblib import Parallel, delayed
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import cross_val_score

from acoustic.discriminants import LOOForwardClassifier
from benchmarks.papers.benchmarks import QUICK, shared_results
from benchmarks.papers.cross_validation import N_TUNED
from benchmarks.papers.datasets import Split, benchmark_partitions, is_there
from benchmarks.papers.layout import absent, spread, table
from benchmarks.papers.outcomes import Outcome, evaluate
from benchmarks.papers.parts import Part, Request
from benchmarks.papers.published import BENCHMARKS, LEAVE_ONE_OUT, RIVALS
from benchmarks.papers.width_search import N_FOLDS, Search, Width, choose_width

RIDGES = (1e-3, 1e-1, 1.0, 10.0)
PATIENCES = (1, 10)
N_STUMPS = (10, 50, 200)
WIDEST = 12  # σ of eight median distances: heart is told apart best by nearly linear machines
_HEADER = ("data", "method", "slides", "slides: size", "ours", "ours: centres", "chosen")


def leave_one_out(request: Request) -> str:
    """Return the tables of the slides beside ours."""
    rows: list[tuple[str, ...]] = []
    for name in request.chosen(tuple(LEAVE_ONE_OUT)):
        if is_there(request.folder, f"ida_{name}"):
            rows += _rows(name, request)
        else:
            rows.append(absent(name, len(_HEADER)))
    return table("Test error in % and number of centres", _HEADER, rows)


def _rows(name: str, request: Request) -> list[tuple[str, ...]]:
    """Return the rows of a data set: the slides' rivals, and their method."""
    benchmark, seed = BENCHMARKS[name], request.search.seed
    sizes = benchmark.n_train, benchmark.n_test
    splits = list(benchmark_partitions(request.folder, name, *sizes, request.n_partitions, seed))
    splits = [s.head(*QUICK) for s in splits] if request.is_quick else splits
    rows: list[tuple[str, ...]] = [
        (name, rival, error, size, "not run", "", "") for rival, error, size in RIVALS[name]
    ]
    rows.append((name, "AdaBoost, stumps", "–", "–", *_kept(name, "stumps", _stumps, splits, request)))
    svm, fisher = shared_results(name, splits, request, ("SVM", "KFD"))
    for label, paper, result in (("SVM", benchmark.svm, svm), ("KFD", benchmark.kfd, fisher)):
        centers = spread([c * len(splits[0].x) / 100 for c in result.centers], 0)
        chosen = f"σ {result.choice.width:.2f}, {result.choice.constant:g}"
        rows.append(
            (name, label, f"{paper.error:g} ± {paper.deviation:g}", "–", result.cell(), centers, chosen)
        )
    cell, size = LEAVE_ONE_OUT[name]
    plain, tuned = (
        _kept(name, label, partial(_selected, ridges, patiences), splits, request)
        for label, ridges, patiences in (("plain", RIDGES[:1], PATIENCES[:1]), ("tuned", RIDGES, PATIENCES))
    )
    rows.append((name, "LOO forward selection, defaults", str(cell), size, *plain))
    rows.append((name, "LOO forward selection, tuned", str(cell), size, *tuned))
    return rows


def _kept(
    name: str, label: str, make: Any, splits: Sequence[Split], request: Request
) -> tuple[str, str, str]:
    """Return error, centres and what was chosen of a method that ``make`` chooses and describes."""
    settings = {"data": name, "method": label, "n": len(splits), "seed": request.search.seed}
    settings |= {"part": "leave-one-out", "widest": WIDEST, "is_quick": request.is_quick}

    def compute() -> dict[str, Any]:
        model, chosen = make(splits[:N_TUNED], request.search)
        outcomes: list[Outcome] = Parallel(n_jobs=request.search.n_jobs)(
            delayed(evaluate)(model(), split) for split in splits
        )
        errors, centers = [o.error for o in outcomes], [o.n_centers for o in outcomes]
        size = spread(centers) if any(centers) else "–"
        return {"error": spread(errors), "centers": size, "chosen": chosen}

    found = request.kept.result(settings, compute)
    return found["error"], found["centers"], found["chosen"]


def _selected(
    ridges: Sequence[float], patiences: Sequence[int], splits: Sequence[Split], search: Search
) -> tuple[Any, str]:
    """Return the maker of the slides' method with σ, λ and patience of the least cross-validation error."""
    sets = [(s.x, s.y) for s in splits]
    found: list[tuple[Width, float, int]] = [
        (choose_width(partial(_loo, ridge, patience), sets, search, WIDEST), ridge, patience)
        for ridge in (ridges[:1] if search.is_coarse else ridges)
        for patience in patiences
    ]
    width, ridge, patience = min(found, key=lambda one: one[0].error)
    chosen = f"σ {width.factor:.2f}, λ {ridge:g}, patience {patience}"
    return partial(_loo, ridge, patience, width.sigma, 0), chosen


def _loo(ridge: float, patience: int, sigma: float, _: int) -> LOOForwardClassifier:
    return LOOForwardClassifier(sigma, ridge=ridge, patience=patience)


def _stumps(splits: Sequence[Split], search: Search) -> tuple[Any, str]:
    """Return the maker of scikit-learn's AdaBoost on stumps, their number chosen by cross-validation."""

    def score(n: int) -> float:
        models = [AdaBoostClassifier(n_estimators=n, random_state=search.seed) for _ in splits]
        pairs = zip(models, splits, strict=True)
        return float(sum(cross_val_score(model, s.x, s.y, cv=N_FOLDS).mean() for model, s in pairs))

    best = max(N_STUMPS[:1] if search.is_coarse else N_STUMPS, key=score)
    return partial(AdaBoostClassifier, n_estimators=best, random_state=search.seed), f"{best} stumps"


PARTS: dict[str, Any] = {
    "leave-one-out": Part(
        "Leave-one-out forward selection (slides)",
        "100 random partitions of our own in the slides' sizes. σ, and of the row *tuned* also λ "
        "and the number of centres without improvement after which selection stops (the slides stop"
        " after one), are chosen by 5-fold cross-validation on the first five training sets. Rivals"
        " without a kept library were not run. SVM and KFD are those of the thirteen benchmarks, "
        "beside the thesis's figures.",
        leave_one_out,
        tuple(LEAVE_ONE_OUT),
    ),
}
