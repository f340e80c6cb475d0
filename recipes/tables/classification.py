"""Thesis tables 5.2 (characters) and 5.3 (thirteen benchmarks), and the table of the LOO slides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from acoustic.discriminants import (
    KernelFisherDiscriminant,
    LOOForwardClassifier,
    NPDClassifier,
    OLSClassifier,
    OROLSClassifier,
)
from foundation.threads import single_threaded_libraries
from recipes.tables.datasets import Split, fixed_split, is_there, original_partition, partitions
from recipes.tables.layout import absent, spread, table
from recipes.tables.parts import Part, Request
from recipes.tables.published import BENCHMARKS, CHARACTERS, LEAVE_ONE_OUT, Benchmark, Cell
from recipes.tables.width_search import Make, Search, choose_width

EXACT: dict[str, Any] = {"block_size": 1}  # the papers' algorithm
SHARED_PERCENT = 25.0  # centres of the machines that share them
PAIR_CENTERS = 200  # of a one-vs-one machine of all training points
MOST_TUNED = 5_000  # training points σ of the characters is chosen on
N_ORDERS = 3  # of the points of smaller sets, each with folds of its own
N_TUNED = 5  # partitions σ is chosen on
_QUICK = (400, 400)  # training and test points


@dataclass(frozen=True)
class Outcome:
    """Results of one fitted model: test error in %, mean centres a machine, distinct centres of all."""

    error: float
    n_centers: float
    n_distinct: int


def characters_table(folder: Path, names: Sequence[str], search: Search, *, is_quick: bool = False) -> str:
    """Return thesis table 5.2 beside ours: one row a data set and method."""
    header = (
        "data", "ours", "paper: SVM", "paper: method", "test error %", "centres %", "distinct %",
        "σ / median distance", "σ", "CV error %",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for name in names:
        if is_there(folder, name):
            split = fixed_split(folder, name)
            rows += _character_rows(name, split.head(*_QUICK) if is_quick else split, search)
        else:
            rows.append(absent(name, len(header)))
    return table("Thesis table 5.2 and OROLS paper table 2: characters, test error %", header, rows)


def _character_rows(name: str, split: Split, search: Search) -> Iterator[tuple[str, ...]]:
    """Yield a row for each method; a star marks the least CV error, by which one would choose a method.

    For large sets σ is chosen on a random part, with proportionally fewer centres. For other sets it is
    chosen on several random orders, each with folds of its own, since the folds of one order do not separate
    widths whose errors differ by about 0.3 points.
    """
    svm, orols, npd = CHARACTERS[name]
    methods = _character_methods(orols, npd, 100 * PAIR_CENTERS / len(split.x))
    rng = np.random.default_rng(search.seed)
    n_parts = N_ORDERS if len(split.x) <= MOST_TUNED else 1
    parts = [rng.permutation(len(split.x))[:MOST_TUNED] for _ in range(n_parts)]
    sets = [(split.x[part], split.y[part]) for part in parts]
    widths = [choose_width(make, sets, search) for *_, make in methods]
    least = min(width.error for width in widths)
    percent = 100 / len(split.x)
    for (label, cell, make), width in zip(methods, widths, strict=True):
        outcome = evaluate(make(width.sigma, len(split.x)), split)
        yield (
            name, label, str(svm), "–" if cell is None else str(cell), f"{outcome.error:.2f}",
            f"{outcome.n_centers * percent:.1f}", f"{outcome.n_distinct * percent:.1f}",
            f"{width.factor:.2f}", f"{width.sigma:.3f}",
            f"{100 * width.error:.2f}" + "*" * (width.error == least),
        )  # fmt: skip


def _character_methods(orols: Cell, npd: Cell, pair_percent: float) -> list[tuple[str, Cell | None, Make]]:
    """Return the label, the paper's number and the maker of each method."""
    ovr = {"multiclass": "ovr", "block_size": 20, "random_state": 0}
    shared = {"multiclass": "shared", "block_size": 32, "random_state": 0}
    methods: list[tuple[str, Cell | None, Make]] = []
    for name, estimator, cell in (("OROLS", OROLSClassifier, orols), ("NPD", NPDClassifier, npd)):
        sized = partial(_sized, estimator)
        methods += [
            (f"{name} one-vs-rest", cell, partial(sized, cell.centers, options=ovr)),
            (f"{name} shared", None, partial(sized, SHARED_PERCENT, options=shared)),
            (f"{name} one-vs-one", None, partial(sized, pair_percent, options=EXACT | {"multiclass": "ovo"})),
        ]
    return methods


def benchmarks_table(
    folder: Path, names: Sequence[str], n_partitions: int, search: Search, *, is_quick: bool = False
) -> str:
    """Return thesis table 5.3 beside ours: a row a data set, and one for an original partition at hand."""
    methods = ("OLS", "OROLS", "NPD", "KFD")
    header = ("data", "partitions", *(f"{m}: {who}" for m in methods for who in ("paper", "ours")))
    rows = []
    for name in names:
        benchmark = BENCHMARKS[name]
        n_train, n_test = benchmark.n_train, benchmark.n_test
        made = _benchmark_methods(benchmark)
        cells = (benchmark.ols, benchmark.orols, benchmark.npd, benchmark.kfd)
        sources = []
        if is_there(folder, f"ida_{name}"):
            splits = list(partitions(folder, f"ida_{name}", n_train, n_test, n_partitions, search.seed))
            sources.append((f"{n_partitions} of ours, {n_train} / {n_test}", splits))
        if is_there(folder, f"ida_{name}_split1"):
            sources.append(("original 1 of 100", [original_partition(folder, f"ida_{name}_split1")]))
        for label, splits in sources:
            splits = [s.head(*_QUICK) for s in splits] if is_quick else splits
            ours = {m: _over_partitions(made[m], splits, search) for m in methods}
            rows.append(
                (
                    name,
                    label,
                    *(str(v) for m, cell in zip(methods, cells, strict=True) for v in (cell, ours[m])),
                )
            )
        if not sources:
            rows.append(absent(name, len(header)))
    return table("Thesis table 5.3: thirteen benchmarks, test error % (centres %)", header, rows)


def _benchmark_methods(paper: Benchmark) -> dict[str, Make]:
    return {
        "OLS": partial(_sized, OLSClassifier, paper.ols.centers, options={"stopping": "size"}),
        "OROLS": partial(_sized, OROLSClassifier, paper.orols.centers, options=EXACT),
        "NPD": partial(_sized, NPDClassifier, paper.npd.centers, options=EXACT),
        "KFD": lambda sigma, _: KernelFisherDiscriminant(sigma),
    }


def leave_one_out_table(
    folder: Path, names: Sequence[str], n_partitions: int, search: Search, *, is_quick: bool = False
) -> str:
    """Return the table of the LOO slides beside ours."""
    header = ("data", "partitions", "paper", "paper: centres", "ours", "ours: centres")
    rows = []
    for name in names:
        if not is_there(folder, f"ida_{name}"):
            rows.append(absent(name, len(header)))
            continue
        n_train, n_test = BENCHMARKS[name].n_train, BENCHMARKS[name].n_test
        splits = list(partitions(folder, f"ida_{name}", n_train, n_test, n_partitions, search.seed))
        splits = [s.head(*_QUICK) for s in splits] if is_quick else splits
        outcomes = _outcomes(lambda sigma, _: LOOForwardClassifier(sigma), splits, search)
        cell, size = LEAVE_ONE_OUT[name]
        errors, sizes = [o.error for o in outcomes], [o.n_centers for o in outcomes]
        rows.append(
            (
                name,
                f"{n_partitions} of ours, {n_train} / {n_test}",
                str(cell),
                size,
                spread(errors),
                spread(sizes),
            )
        )
    return table("LOO slides: leave-one-out forward selection, test error % and centres", header, rows)


def evaluate(estimator: Any, split: Split) -> Outcome:
    """Return the results on the test points of the estimator, which is fitted here."""
    with single_threaded_libraries():
        estimator.fit(split.x, split.y)
        error = 100 * float(np.mean(estimator.predict(split.x_test) != split.y_test))
    machines = getattr(estimator, "machine_center_indices_", [estimator.center_indices_])
    distinct = len(np.unique(np.concatenate(machines)))
    return Outcome(error, float(np.mean([len(m) for m in machines])), distinct)


def _over_partitions(make: Make, splits: Sequence[Split], search: Search) -> str:
    """Return the mean error ± its deviation (centres in %)."""
    outcomes = _outcomes(make, splits, search)
    centers = np.mean([o.n_centers for o in outcomes]) * 100 / len(splits[0].x)
    return f"{spread([o.error for o in outcomes])} ({centers:.0f})"


def _outcomes(make: Make, splits: Sequence[Split], search: Search) -> list[Outcome]:
    """Return the outcome on each partition, with one σ chosen on the first five training sets."""
    width = choose_width(make, [(s.x, s.y) for s in splits[:N_TUNED]], search)
    found = Parallel(n_jobs=search.n_jobs)(delayed(evaluate)(make(width.sigma, len(s.x)), s) for s in splits)
    return list(found)


def _sized(
    estimator: type[Any], percent: float | None, sigma: float, n_train: int, options: dict[str, Any]
) -> Any:
    """Return an estimator whose number of centres is given in % of the training points."""
    if percent is None:
        raise ValueError("the paper does not say how many centres, expected a percentage; give one")
    return estimator(sigma, max(1, round(n_train * percent / 100)), **options)


def _characters(request: Request) -> str:
    names = request.chosen(tuple(CHARACTERS))
    return characters_table(request.folder, names, request.search, is_quick=request.is_quick)


def _benchmarks(request: Request) -> str:
    names = request.chosen(tuple(BENCHMARKS))
    n = request.n_partitions
    return benchmarks_table(request.folder, names, n, request.search, is_quick=request.is_quick)


def _leave_one_out(request: Request) -> str:
    names = request.chosen(tuple(LEAVE_ONE_OUT))
    n = request.n_partitions
    return leave_one_out_table(request.folder, names, n, request.search, is_quick=request.is_quick)


PARTS = {
    "characters": Part(
        "Characters (thesis table 5.2, OROLS paper table 2)",
        "Only σ is chosen, by 5-fold cross-validation on training points.",
        _characters,
        tuple(CHARACTERS),
    ),
    "benchmarks": Part(
        "Thirteen benchmarks (thesis table 5.3)",
        "Random partitions of our own in the papers' sizes; σ is chosen on the first five.",
        _benchmarks,
        tuple(BENCHMARKS),
    ),
    "leave-one-out": Part(
        "Leave-one-out forward selection (slides)",
        "Random partitions of our own in the papers' sizes; σ is chosen on the first five.",
        _leave_one_out,
        tuple(LEAVE_ONE_OUT),
    ),
}
