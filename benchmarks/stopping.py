"""Sizes, test errors and times of OROLS with the stopping rules gcv, lambda, loo and size.

    python benchmarks/stopping.py --tables ../shared/data/tables

σ, and for ``size (chosen)`` the number of centres too, are chosen on a quarter of the training points; each
rule is then run on all of them, with at most --max-centers. The test error is only reported: the
misclassified points in per cent, for sinc the RMSE against the clean function. ``size (max)`` goes to the
maximum.
Optdigits and satimage have one split; banana, German credit and sinc (50 noisy points) are means over --runs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from report import argument_parser, print_table, timed, write_report
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from acoustic.discriminants import OROLSClassifier, OROLSRegressor
from benchmarks.papers.datasets import Split, fixed_split, partitions, sinc

SIGMAS = {
    "optdigits": (1.0, 1.5, 2.0, 2.8),
    "satimage": (0.35, 0.5, 0.7, 1.0),
    "ida_banana": (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8),
    "ida_german": (2.0, 2.8, 4.0, 5.6),
    "sinc": (1.0, 1.4, 2.0, 2.8),
}
PARTITIONS = {"ida_banana": (400, 4900), "ida_german": (700, 300)}  # training and test points
RULES = ("gcv", "lambda", "loo", "size")
HEAD = ["rule", "sigma", "centres", "validation", "test", "CPU s"]
N_SIZES = 100  # that are looked at of a path

Make = Callable[[float, str], Any]
Error = Callable[[NDArray[Any], NDArray[Any]], float]


class Choice(NamedTuple):
    """The settings of a rule that are best on the validation points."""

    error: float
    sigma: float
    size: int


def misclassified(found: NDArray[Any], y: NDArray[Any]) -> float:
    """Return the errors in per cent."""
    return 100 * float(np.mean(found != y))


def rmse(found: NDArray[Any], y: NDArray[Any]) -> float:
    """Return the root mean square error."""
    return float(np.sqrt(np.mean((found - y) ** 2)))


def path_errors(model: Any, x: NDArray[Any], y: NDArray[Any], error: Error) -> dict[int, float]:
    """Return the errors of the models of many sizes."""
    n_centers = len(model.machines_[0].centers)
    sizes = np.unique([*range(1, n_centers, max(n_centers // N_SIZES, 1)), n_centers])
    found = model.path_predict(x, sizes)
    return {
        size: error(labels.reshape(y.shape), y) for size, labels in zip(sizes.tolist(), found, strict=True)
    }


def choose(split: Split, sigmas: tuple[float, ...], make: Make, error: Error) -> dict[str, Choice]:
    """Return the best σ of each rule, and of ``size (chosen)`` the best size, on a quarter of the points."""
    labels = split.y if error is misclassified else None
    x, held_out, y, truth = train_test_split(
        split.x, split.y, test_size=0.25, random_state=0, stratify=labels
    )
    choices: dict[str, list[Choice]] = {}
    for sigma in sigmas:
        for rule in RULES:
            model = make(sigma, rule).fit(x, y)
            size = len(model.centers_)
            choices.setdefault(rule, []).append(Choice(error(model.predict(held_out), truth), sigma, size))
        errors = path_errors(model, held_out, truth, error)  # that of "size", the last
        best = min(errors, key=lambda n: (errors[n], n))
        choices.setdefault("size (chosen)", []).append(Choice(errors[best], sigma, best))
    return {rule: min(found) for rule, found in choices.items()}


def measure(split: Split, sigmas: tuple[float, ...], make: Make, error: Error) -> list[dict[str, object]]:
    """Return what each rule gives when fitted to all training points."""
    rows = []
    for rule, choice in choose(split, sigmas, make, error).items():
        if rule == "size (chosen)":
            model, seconds = timed(
                lambda c=choice: make(c.sigma, "size").set_params(max_centers=c.size).fit(split.x, split.y)
            )
        else:
            model, seconds = timed(lambda c=choice, r=rule: make(c.sigma, r).fit(split.x, split.y))
        rows.append(
            {
                "rule": "size (max)" if rule == "size" else rule,
                "sigma": choice.sigma,
                "centres": len(model.centers_),
                "validation": choice.error,
                "test": error(model.predict(split.x_test), split.y_test),
                "CPU s": seconds.cpu,
            }
        )
    return rows


def mean_rows(runs: list[list[dict[str, Any]]]) -> list[dict[str, object]]:
    """Return the means over runs, rule by rule, with the standard deviation of the test error."""
    found = []
    for rows in zip(*runs, strict=True):
        means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if key != "rule"}
        deviation = float(np.std([row["test"] for row in rows]))
        found.append({"rule": rows[0]["rule"], **means, "test_deviation": deviation})
    return found


def main() -> None:
    """Measure and print."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--tables", type=Path, required=True, help="folder of the .npz tables")
    parser.add_argument("--max-centers", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=20, help="of the small sets")
    parser.add_argument("--sets", nargs="+", choices=tuple(SIGMAS), default=tuple(SIGMAS))
    arguments = parser.parse_args()

    def classifier(sigma: float, rule: str) -> OROLSClassifier:
        return OROLSClassifier(sigma, arguments.max_centers, stopping=rule, epsilon=1e-6, multiclass="shared")

    def regressor(sigma: float, rule: str) -> OROLSRegressor:
        return OROLSRegressor(sigma, arguments.max_centers, stopping=rule, epsilon=1e-6)

    report: dict[str, object] = {"max_centers": arguments.max_centers, "runs": arguments.runs}
    with threadpool_limits(limits=1, user_api="blas"):
        for name in arguments.sets:
            if name == "sinc":
                splits = [
                    sinc(50, 1000, 0.1, np.random.default_rng([0, run])) for run in range(arguments.runs)
                ]
                rows = mean_rows([measure(split, SIGMAS[name], regressor, rmse) for split in splits])
            elif name in PARTITIONS:
                splits = list(partitions(arguments.tables, name, *PARTITIONS[name], arguments.runs, seed=0))
                rows = mean_rows(
                    [measure(split, SIGMAS[name], classifier, misclassified) for split in splits]
                )
            else:
                rows = measure(fixed_split(arguments.tables, name), SIGMAS[name], classifier, misclassified)
            print(name)
            print_table(HEAD, [[row[key] for key in HEAD] for row in rows])
            report[name] = rows
    write_report(arguments.out, report)


if __name__ == "__main__":
    main()
