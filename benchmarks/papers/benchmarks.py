"""Thesis table 5.3: thirteen benchmarks, five methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.papers.cross_validation import N_TUNED, Method
from benchmarks.papers.datasets import Split, benchmark_partitions, drawn_partitions, is_there, original_split
from benchmarks.papers.generators import GENERATORS
from benchmarks.papers.layout import absent, spread, table
from benchmarks.papers.methods import fisher, npd, ols, orols, svm
from benchmarks.papers.outcomes import Result, over_partitions
from benchmarks.papers.parts import Part, Request
from benchmarks.papers.published import BENCHMARKS, Benchmark, Cell

# Training sets that are searched where there are at least so many training points.
N_SEARCHED = {1000: 1, 600: 2, 0: N_TUNED}
LARGE, N_PARTITIONS_LARGE = 1000, 20  # image and splice have 20 partitions in the collection
QUICK = (120, 200)  # training and test points


def benchmarks(request: Request) -> str:
    """Return thesis table 5.3 beside ours, and what was chosen."""
    names = request.chosen(tuple(BENCHMARKS))
    header = ("data", "partitions", *(cell for cell, _ in _cells(BENCHMARKS["banana"])))
    errors: list[tuple[str, ...]] = []
    choices: list[tuple[str, ...]] = []
    for name in names:
        found = sources(name, request)
        for label, splits in found:
            methods = benchmark_methods(BENCHMARKS[name], request)
            results = _results(name, label, splits, request, methods)
            papers = [cell.error for _, cell in _cells(BENCHMARKS[name])]
            cells = [result.cell(paper) for result, paper in zip(results, papers, strict=True)]
            errors.append((name, label, *cells))
            choices.append((name, label, *map(_chosen, results)))
        if not found:
            errors.append(absent(name, len(header)))
    return "\n\n".join(
        [
            table("Test error in %, ours ± deviation over the partitions (the paper's)", header, errors),
            table("Chosen: σ in median distances, ε or C; centres in %; CV error in %", header, choices),
        ]
    )


def sources(name: str, request: Request) -> list[tuple[str, list[Split]]]:
    """Return the partitions of a data set: of the file, drawn by the generator, and an original one."""
    benchmark, seed = BENCHMARKS[name], request.search.seed
    sizes, n = (benchmark.n_train, benchmark.n_test), request.n_partitions
    if benchmark.n_train >= LARGE:
        n = min(n, N_PARTITIONS_LARGE)
    found = []
    if is_there(request.folder, f"ida_{name}"):
        found.append((f"{n} of the file", list(benchmark_partitions(request.folder, name, *sizes, n, seed))))
    if name in GENERATORS:
        found.append((f"{n} drawn", list(drawn_partitions(GENERATORS[name], *sizes, n, seed))))
    if is_there(request.folder, f"ida_{name}_split1"):
        found.append(("original 1 of 100", [original_split(request.folder, f"ida_{name}_split1")]))
    if request.is_quick:
        return [(label, [s.head(*QUICK) for s in splits]) for label, splits in found]
    return found


def _results(
    name: str, label: str, splits: Sequence[Split], request: Request, methods: Sequence[Method]
) -> list[Result]:
    settings = {"data": name, "partitions": label, "seed": request.search.seed, "is_quick": request.is_quick}
    n_tuned = next(n for least, n in N_SEARCHED.items() if len(splits[0].x) >= least)
    return [over_partitions(method, splits, request, settings, n_tuned) for method in methods]


def shared_results(
    name: str, splits: Sequence[Split], request: Request, methods: Sequence[str]
) -> list[Result]:
    """Return the results of some methods on the partitions of the file, those of this table if kept."""
    found = benchmark_methods(BENCHMARKS[name], request)
    chosen = [method for label in methods for method in found if method.name == label]
    return _results(name, f"{len(splits)} of the file", splits, request, chosen)


def benchmark_methods(paper: Benchmark, request: Request) -> list[Method]:
    """Return the methods in the order of the table."""
    given = replace(orols((paper.orols.centers or 10.0,)), name="OROLS, given")
    methods = [svm(), ols(), given, orols(), npd(), fisher()]
    return [_coarse(method) for method in methods] if request.is_quick else methods


def _coarse(method: Method) -> Method:
    return replace(method, widths=method.widths[::3], constants=method.constants[::3])


def _cells(paper: Benchmark) -> list[tuple[str, Cell]]:
    return [
        ("SVM", paper.svm),
        ("OLS", paper.ols),
        ("OROLS, given", paper.orols),
        ("OROLS", paper.orols),
        ("NPD", paper.npd),
        ("KFD", paper.kfd),
    ]


def _chosen(result: Result) -> str:
    choice = result.choice
    return f"{choice.width:.2f}, {choice.constant:g}; {spread(result.centers, 0)}; {100 * choice.error:.1f}"


PARTS: dict[str, Any] = {
    "benchmarks": Part(
        "Thirteen benchmarks (thesis table 5.3)",
        "Partitions have the papers' sizes and numbers, but are our own (*of the file*: random; "
        "*drawn*: by Breiman's generators), except one original. One combination of σ, ε (of the SVM: "
        "C) and the number of centres is chosen for each data set and method: that of the least error "
        "in 5-fold cross-validation, a mean over the first five training sets (flare_solar and german: "
        "two; image and splice: one). *OROLS, given* has the number of centres at which the paper's "
        "stopping rule ended.",
        benchmarks,
        tuple(BENCHMARKS),
    ),
}
