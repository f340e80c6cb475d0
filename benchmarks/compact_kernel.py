"""Time, memory and error of the compact kernel, sparse and dense, beside the Gaussian.

    python benchmarks/compact_kernel.py --tables ../shared/data/tables --page docs/results/discriminants.md

OROLS in blocks of 16, with one set of centres for all classes. σ is chosen on a quarter of 2,000 training
points, by the error of models fitted to the rest: for the Gaussian; for the compact kernel, which is 0 from
3 σ on; and for the compact kernel with at most --density of its Gram matrix not zero, which needs, and gets,
more centres. The last is fitted twice: with sparse columns, also where the estimators would not take them,
and with dense columns and blocks only. Where rounding breaks a tie between points, the two have other
centres. Test points do not enter any choice.

Rows are kept in --out, and --sets measures some sets anew.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from report import argument_parser, markdown_table, print_table, timed, write_report
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from acoustic.discriminants import OROLSClassifier, OROLSRegressor
from acoustic.kernels import forward
from acoustic.kernels.kernel import Kernel, share_within_reach
from benchmarks.papers.datasets import Split, fixed_split, partitions
from benchmarks.papers.layout import write_section

RADIUS = 3.0
JUDGED = 2000  # training points on which σ is chosen
QUANTILES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of the distances, whose thirds are the widths tried
HEAD = ["set", "points, features", "centres", "kernel", "σ", "not zero %", "fit CPU s", "fit MB"]
HEAD += ["predict CPU s", "test error"]


@dataclass(frozen=True)
class Task:
    """A data set, and how many centres kernels of any reach and narrow ones get."""

    name: str
    split: Split
    n_centers: int
    n_narrow: int
    is_regression: bool

    def model(self, kernel: str, sigma: float, n_centers: int) -> Any:
        """Return the estimator that is measured."""
        form = OROLSRegressor if self.is_regression else OROLSClassifier
        params = {"radius": RADIUS} if kernel == "compact" else None
        return form(
            sigma,
            n_centers,
            stopping="size",
            block_size=16,
            epsilon=1e-6,
            kernel=kernel,
            kernel_params=params,
        )

    def error(self, found: NDArray[Any], truth: NDArray[Any]) -> float:
        """Return the errors in %, for regression the root mean square error."""
        if self.is_regression:
            return float(np.sqrt(np.mean((found - truth) ** 2)))
        return 100 * float(np.mean(found != truth))


def waves(n_train: int, n_test: int) -> Split:
    """Return noisy values of a wavy function on the unit square; the test values have no noise."""
    rng = np.random.default_rng(0)
    x, x_test = rng.uniform(size=(n_train, 2)), rng.uniform(size=(n_test, 2))
    clean, clean_test = (np.sin(20 * points).prod(axis=1) for points in (x, x_test))
    return Split(x, clean + 0.1 * rng.normal(size=n_train), x_test, clean_test)


def tasks(tables: Path) -> Iterator[Task]:
    """Yield the data sets."""
    yield Task("waves", waves(20_000, 5_000), 200, 1000, True)
    yield Task("banana", next(partitions(tables, "ida_banana", 4_000, 1_300, 1, seed=0)), 100, 500, False)
    yield Task("abalone", next(partitions(tables, "abalone", 3_000, 1_177, 1, seed=0)), 50, 375, True)
    yield Task("pendigits", fixed_split(tables, "pendigits"), 200, 600, False)
    yield Task("letter", fixed_split(tables, "letter"), 200, 600, False)


def sigmas(x: NDArray[Any]) -> list[float]:
    """Return widths whose triple are quantiles of the distances between points (M, D)."""
    chosen = np.random.default_rng(0).choice(len(x), size=min(len(x), 1000), replace=False)
    some = x[chosen].astype(np.float64)
    distances = np.linalg.norm(some[:400, None] - some[None, 400:], axis=2)
    return [float(np.quantile(distances, q)) / RADIUS for q in QUANTILES]


def choose(task: Task, kernel: str, candidates: list[float], n_centers: int) -> float:
    """Return the width of the least error on a quarter of the training points."""
    x, held_out, y, truth = train_test_split(
        task.split.x[:JUDGED], task.split.y[:JUDGED], test_size=0.25, random_state=0
    )
    errors = []
    for sigma in candidates:
        model = task.model(kernel, sigma, n_centers).fit(x, y)
        errors.append(task.error(model.predict(held_out), truth))
    return candidates[int(np.argmin(errors))]


@contextmanager
def columns(is_sparse: bool) -> Iterator[None]:
    """Fit with sparse columns, or fit and predict with dense ones."""
    rows = Kernel.rows if is_sparse else Kernel.block
    with (
        patch.object(forward, "has_sparse_columns", lambda *_: is_sparse),
        patch.object(Kernel, "rows", rows),
    ):
        yield


def measure(task: Task, kernel: str, sigma: float, n_centers: int) -> list[object]:
    """Return the row of a model."""
    split = task.split
    tracemalloc.start()
    model, fit = timed(lambda: task.model(kernel, sigma, n_centers).fit(split.x, split.y))
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    found, predict = timed(lambda: model.predict(split.x_test))
    share = share_within_reach(split.x, model.centers_, RADIUS * sigma) if kernel == "compact" else 1.0
    measured = [100 * share, fit.cpu, megabytes, predict.cpu, task.error(found, split.y_test)]
    return [len(model.centers_), kernel, sigma, *measured]


def rows_of(task: Task, density: float) -> list[list[object]]:
    """Return the rows of a set: Gaussian, compact, and compact and narrow in both ways."""
    x = task.split.x
    candidates = sigmas(x)
    rows: list[list[object]] = []
    for kernel in ("gaussian", "compact"):
        sigma = choose(task, kernel, candidates, task.n_centers)
        rows.append(measure(task, kernel, sigma, task.n_centers))
    narrow = [s for s in candidates if share_within_reach(x, x, RADIUS * s) <= density]
    sigma = choose(task, "compact", narrow, task.n_narrow)
    for is_sparse, name in ((True, "compact, narrow: sparse"), (False, "the same, dense")):
        with columns(is_sparse):
            row = measure(task, "compact", sigma, task.n_narrow)
        rows.append([row[0], name, *row[2:]])
    size = f"{len(x)}, {x.shape[1]}"
    return [[task.name, size, *rows[0]], *(["", "", *row] for row in rows[1:])]


def main() -> None:
    """Measure, print, and write the section of the page."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--tables", type=Path, required=True, help="folder of the .npz tables")
    parser.add_argument("--density", type=float, default=0.05, help="largest share of pairs within reach")
    parser.add_argument("--sets", nargs="+", help="all by default")
    parser.add_argument("--page", type=Path, help="page whose section compact-kernel is written")
    arguments = parser.parse_args()
    kept = json.loads(arguments.out.read_text())["sets"] if arguments.sets and arguments.out.exists() else {}
    with threadpool_limits(limits=1, user_api="blas"):
        for task in tasks(arguments.tables):
            if not arguments.sets or task.name in arguments.sets:
                kept[task.name] = rows_of(task, arguments.density)
                print(task.name, flush=True)
    rows = [row for task in tasks(arguments.tables) for row in kept.get(task.name, [])]
    print_table(HEAD, rows)
    if arguments.page:
        write_section(arguments.page, "compact-kernel", markdown_table(HEAD, rows))
    write_report(arguments.out, {"head": HEAD, "sets": kept})


if __name__ == "__main__":
    main()
