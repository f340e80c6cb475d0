"""Thesis table 5.2 (table 2 of the OROLS paper): five sets of characters and satellite pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from benchmarks.papers.cross_validation import Choice, Method, choose
from benchmarks.papers.datasets import Split, fixed_split, is_there
from benchmarks.papers.layout import absent, table
from benchmarks.papers.methods import npd, orols, svm
from benchmarks.papers.outcomes import Outcome, evaluate
from benchmarks.papers.parts import Part, Request
from benchmarks.papers.published import CHARACTERS, Cell

MOST_TUNED = 2_000  # training points the hyper-parameters are chosen on
MOST_EXACT = 10_000  # training points up to which the final models grow centre by centre, else 32 at once
WIDTHS = tuple(2.0 ** (k / 2) for k in range(1, -7, -1))
QUICK = (300, 300)  # training and test points
_HEADER = (
    "data", "method", "paper", "ours", "centres %", "distinct %", "σ / median distance", "σ", "ε or C",
    "CV error %", "s",
)  # fmt: skip


def characters(request: Request) -> str:
    """Return thesis table 5.2 beside ours: a row a data set and method."""
    rows: list[tuple[str, ...]] = []
    for name in request.chosen(tuple(CHARACTERS)):
        if is_there(request.folder, name):
            split = fixed_split(request.folder, name)
            rows += _rows(name, split.head(*QUICK) if request.is_quick else split, request)
        else:
            rows.append(absent(name, len(_HEADER)))
    return table("Test error in % (the paper: centres in % in brackets)", _HEADER, rows)


def _rows(name: str, split: Split, request: Request) -> Iterator[tuple[str, ...]]:
    """Yield the row of each method, with what is chosen on a random part of the training points."""
    order = np.random.default_rng(request.search.seed).permutation(len(split.x))[:MOST_TUNED]
    for method, cell in _methods(name, len(split.x), is_quick=request.is_quick):
        choice, outcome, seconds = _result(name, method, split, order, request)
        percent = 100 / len(split.x)
        yield (
            name, method.name, str(cell), f"{outcome.error:.2f}", f"{outcome.n_centers * percent:.1f}",
            f"{outcome.n_distinct * percent:.1f}", f"{choice.width:.2f}", f"{choice.sigma:.3f}",
            f"{choice.constant:g}", f"{100 * choice.error:.2f}", f"{seconds:.0f}",
        )  # fmt: skip


def _methods(name: str, n_points: int, *, is_quick: bool) -> list[tuple[Method, Cell]]:
    """Return the methods with the paper's cells; NPD and OROLS have the paper's number of centres."""
    of_svm, of_orols, of_npd = CHARACTERS[name]
    block_size = 1 if n_points <= MOST_EXACT else 32
    ovr: dict[str, Any] = {"multiclass": "ovr", "random_state": 0, "block_size": block_size}
    found = [
        (svm(), of_svm),
        (orols((of_orols.centers or 10.0,), **ovr), of_orols),
        (npd((of_npd.centers or 10.0,), **ovr), of_npd),
    ]
    coarse = slice(None, None, 3 if is_quick else 1)
    return [
        (replace(method, widths=WIDTHS[coarse], constants=method.constants[coarse]), cell)
        for method, cell in found
    ]


def _result(
    name: str, method: Method, split: Split, order: np.ndarray, request: Request
) -> tuple[Choice, Outcome, float]:
    """Return what is chosen, the outcome on the test points and the seconds of the final fit."""
    settings = {"data": name, "method": method.name, "seed": request.search.seed, "n": len(split.x)}
    chosen_by = {"n_tuned": len(order), "constants": method.constants, "widths": method.widths}
    choice = Choice(
        **request.kept.result(
            settings | chosen_by | {"shares": method.shares},
            lambda: asdict(choose(method, [(split.x[order], split.y[order])], request.search)),
        )
    )
    return (choice, *_evaluated(choice, method, split, settings, request))


def _evaluated(
    choice: Choice, method: Method, split: Split, settings: dict[str, Any], request: Request
) -> tuple[Outcome, float]:
    model = choice.model(method, len(split.x))
    settings = settings | {"sigma": choice.sigma, "constant": choice.constant, "share": choice.share}

    def outcome() -> dict[str, Any]:
        return asdict(evaluate(model, split))

    found = request.kept.timed(settings, outcome)
    return Outcome(**found.result), found.seconds


PARTS: dict[str, Any] = {
    "characters": Part(
        "Characters (thesis table 5.2, OROLS paper table 2)",
        "The split is that of the files (letter: first 16,000 and last 4,000, as in the thesis); "
        "all features are divided by one number. One-vs-rest by the papers' algorithms, centre by "
        "centre (letter: 32 at once), with the papers' share of centres. σ and ε (of the SVM: C) are "
        "chosen by 5-fold "
        f"cross-validation on {MOST_TUNED:,} random training points, with the same share of centres;"
        " their errors are those of such small models. The SVM is scikit-learn's, one-vs-one. *s* "
        "are the seconds of the final fit and its predictions.",
        characters,
        tuple(CHARACTERS),
    ),
}
