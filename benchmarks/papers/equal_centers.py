"""Test error against the number of centres, of sparse methods with equal numbers of centres.

NPD, OROLS and residual sampling choose centres by the residual. Uniform draws are the Nyström approximation
of ridge regression; draws by ridge leverage scores (Alaoui and Mahoney, NIPS 2015) are their refinement that
looks at the points, but not at the targets. All three kinds of draws get the same weights, those of the
regularised subset of regressors. Support and relevance vectors choose their number by themselves.

Axes: M training points, V other points, E constants, S sizes, W widths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from acoustic.kernels.forward import ForwardConfig
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.quick_forward import NormalEquations, quick_selection
from benchmarks.papers.benchmarks import N_SEARCHED, sources
from benchmarks.papers.cross_validation import WIDTHS
from benchmarks.papers.datasets import Split, is_there
from benchmarks.papers.held_out import Rule, forward_outputs
from benchmarks.papers.layout import absent, table
from benchmarks.papers.methods import COSTS, EPSILONS, svm
from benchmarks.papers.outcomes import corrected_standard_error, over_partitions
from benchmarks.papers.parts import Part, Request
from benchmarks.papers.published import BENCHMARKS
from benchmarks.papers.relevance_vectors import RelevanceVectorRegressor
from benchmarks.papers.width_search import N_FOLDS, median_distance
from foundation.arrays import Floats, Longs, Reals
from foundation.threads import single_threaded_libraries

# x, y = ±1 and x of other points, σ, constants, sizes -> outputs (E, S, V)
Way = Callable[[Reals, Floats, Reals, float, Sequence[float], Sequence[int]], Floats]

SETS = ("banana", "diabetis", "heart", "ringnorm", "thyroid", "waveform")
SIZES = (5, 10, 20, 40, 80)
N_PARTITIONS = 20
_RIDGES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6)  # ε of the draws; λ of a subset of regressors is 2ε
_TICKS, _DRAWN_FROM = (5, 10, 20, 40, 80, 160, 320), 10  # of the figure, in centres
_RVM_WIDTHS, _RVM_STEPS = (2.0, 1.41, 1.0, 0.71, 0.5, 0.35, 0.25), 200


def grown(rule: Rule) -> Way:
    """Return NPD or OROLS, centre by centre."""

    def way(
        x: Reals, y: Floats, others: Reals, sigma: float, constants: Sequence[float], sizes: Sequence[int]
    ) -> Floats:
        columns = Kernel("gaussian", sigma).block(x, np.vstack([x, others]))
        outputs = [forward_outputs(columns, y, np.array(sizes), rule, epsilon)[0] for epsilon in constants]
        return np.array(outputs)

    return way


def residual_sampled(
    x: Reals, y: Floats, others: Reals, sigma: float, constants: Sequence[float], sizes: Sequence[int]
) -> Floats:
    """Return the outputs on centres drawn in blocks with probability ∝ residual²."""
    kernel = Kernel("gaussian", sigma)
    found = []
    for epsilon in constants:
        config = ForwardConfig(kernel, (sigma,), 1, epsilon=epsilon)
        for size in sizes:
            given = replace(config, max_centers=size)
            path = quick_selection(x, y[:, None], given, rng=np.random.default_rng(0)).path
            alpha, bias = path.weights()
            found.append(kernel.block(others, x[path.indices[: path.size]]) @ alpha[:, 0] + bias[0])
    return np.reshape(found, (len(constants), len(sizes), len(others)))


def drawn(
    x: Reals,
    y: Floats,
    others: Reals,
    sigma: float,
    constants: Sequence[float],
    sizes: Sequence[int],
    *,
    by_leverage: bool,
) -> Floats:
    """Return the outputs on centres drawn at once, uniformly or with probability ∝ ridge leverage."""
    kernel = Kernel("gaussian", sigma)
    values, vectors = (
        np.linalg.eigh(kernel.block(x, x)) if by_leverage else (np.ones(1), np.ones((len(x), 1)))
    )
    keys = np.random.default_rng(0).gumbel(size=len(x))
    found = []
    for epsilon in constants:
        kept = np.maximum(values, 0.0)
        leverages = vectors**2 @ (kept / (kept + 2.0 * epsilon))
        order = np.argsort(-keys - np.log(np.maximum(leverages, np.finfo(float).tiny)))
        block = kernel.block(others, x[order[: max(sizes)]])
        for size in sizes:
            equations = NormalEquations(x, y[:, None], np.ones(len(x)), kernel, size)
            equations.add(order[:size])
            alpha = equations.factor(epsilon).weights[:, 0]
            found.append(block[:, :size] @ alpha[1:] + alpha[0])
    return np.reshape(found, (len(constants), len(sizes), len(others)))


WAYS: dict[str, tuple[Way, tuple[float, ...]]] = {
    "OROLS": (grown("orols"), EPSILONS),
    "NPD": (grown("npd"), EPSILONS),
    "OLS": (grown("ols"), (0.0,)),
    "residual-sampled": (residual_sampled, _RIDGES),
    "leverage-sampled": (partial(drawn, by_leverage=True), _RIDGES),
    "uniform (Nyström)": (partial(drawn, by_leverage=False), _RIDGES),
}


@dataclass(frozen=True)
class Curve:
    """Test errors (S, J) in % of a method on the partitions, and centres (S,) on average."""

    errors: Floats
    centers: Floats


def equal_sizes(
    way: Way, constants: Sequence[float], splits: Sequence[Split], n_tuned: int, widths: Sequence[float]
) -> Floats:
    """Return test errors (S, J) in %; σ and constant are chosen for each size by cross-validation."""
    unit = float(np.median([median_distance(s.x, 0) for s in splits[:n_tuned]]))
    with single_threaded_libraries():
        losses = np.mean([_losses(way, constants, s, unit, widths) for s in splits[:n_tuned]], axis=0)
        errors = np.empty((len(SIZES), len(splits)))
        for k, size in enumerate(SIZES):
            best = np.unravel_index(np.argmin(np.round(losses[..., k], 12)), losses.shape[:2])
            w, e = int(best[0]), int(best[1])
            for j, s in enumerate(splits):
                outputs = way(s.x, _signs(s.y), s.x_test, unit * widths[w], constants[e : e + 1], (size,))
                errors[k, j] = 100 * np.mean((outputs[0, 0] > 0) != (_signs(s.y_test) > 0))
    return errors


def _losses(
    way: Way, constants: Sequence[float], split: Split, unit: float, widths: Sequence[float]
) -> Floats:
    """Return the cross-validated errors (W, E, S); folds get their share of the centres."""
    x, y = split.x, _signs(split.y)
    sizes = [max(1, round(size * (1 - 1 / N_FOLDS))) for size in SIZES]
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(x, y))
    return np.array(
        [
            np.mean(
                [
                    np.mean((way(x[t], y[t], x[v], unit * width, constants, sizes) > 0) != (y[v] > 0), axis=2)
                    for t, v in folds
                ],
                axis=0,
            )
            for width in widths
        ]
    )


def _signs(y: Any) -> Floats:
    return np.where(np.asarray(y) > 0, 1.0, -1.0)


def support_vectors(name: str, splits: Sequence[Split], request: Request, n_tuned: int) -> Curve:
    """Return the SVM's errors for each C, σ cross-validated for each, and its support vectors."""
    found = []
    for cost in COSTS[::3] if request.is_quick else COSTS:
        settings = {"part": "equal-centers", "data": name, "seed": request.search.seed}
        settings |= {"is_quick": request.is_quick}
        found.append(over_partitions(replace(svm(), constants=(cost,)), splits, request, settings, n_tuned))
    centers = np.array([np.mean(result.centers) for result in found]) * len(splits[0].x) / 100
    return Curve(np.array([result.errors for result in found]), centers)


def relevance_vectors(splits: Sequence[Split], widths: Sequence[float]) -> Curve:
    """Return the errors of the relevance vector machine on targets ±1, and its centres."""
    unit, first = median_distance(splits[0].x, 0), splits[0]
    x, y = first.x, _signs(first.y)
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(x, y))

    def wrong(width: float, train: Any, others: Any) -> tuple[float, int]:
        model = RelevanceVectorRegressor(unit * width, max_steps=_RVM_STEPS).fit(*train)
        return 100 * float(np.mean((model.predict(others[0]) > 0) != (others[1] > 0))), len(
            model.center_indices_
        )

    with single_threaded_libraries():
        losses = [np.mean([wrong(w, (x[t], y[t]), (x[v], y[v]))[0] for t, v in folds]) for w in widths]
        best = widths[int(np.argmin(np.round(losses, 12)))]
        found = [wrong(best, (s.x, _signs(s.y)), (s.x_test, _signs(s.y_test))) for s in splits]
    errors, centers = np.array(found).T
    return Curve(errors[None], centers.mean(keepdims=True))


def curves(name: str, splits: Sequence[Split], request: Request) -> dict[str, Curve]:
    """Return the curve of each method on one data set."""
    n_tuned = next(n for least, n in N_SEARCHED.items() if len(splits[0].x) >= least)
    widths = WIDTHS[::3] if request.is_quick else WIDTHS
    settings = {"part": "equal-centers", "data": name, "n": len(splits), "is_quick": request.is_quick}

    def kept(label: str, compute: Callable[[], Curve]) -> Curve:
        def lists() -> list[Any]:
            curve = compute()
            return [curve.errors.tolist(), curve.centers.tolist()]

        errors, centers = request.kept.result(settings | {"method": label}, lists)
        return Curve(np.array(errors), np.array(centers))

    def grown_or_drawn(way: Way, constants: Sequence[float]) -> Curve:
        return Curve(equal_sizes(way, constants, splits, n_tuned, widths), np.array(SIZES, dtype=float))

    found = {label: kept(label, partial(grown_or_drawn, *given)) for label, given in WAYS.items()}
    found["SVM"] = support_vectors(name, splits, request, n_tuned)
    few = _RVM_WIDTHS[::3] if request.is_quick else _RVM_WIDTHS
    found["RVM"] = kept("RVM", lambda: relevance_vectors(splits, few))
    return found


def equal_centers(request: Request) -> str:
    """Return errors at equal numbers of centres, and draw them."""
    sized = [f"{size} centres" for size in SIZES]
    header = ("data", "method", *sized, "of its own number (centres)")
    rows: list[tuple[str, ...]] = []
    every: dict[str, dict[str, Curve]] = {}
    differences: dict[str, list[Floats]] = {label: [] for label in WAYS}
    worse: dict[str, Longs] = {label: np.zeros((2, len(SIZES)), dtype=np.int64) for label in WAYS}
    for name in request.chosen(SETS):
        if name != "ringnorm" and not is_there(request.folder, f"ida_{name}"):
            rows.append(absent(name, len(header)))
            continue
        n = 2 if request.is_quick else min(request.n_partitions, N_PARTITIONS)
        splits = sources(name, replace(request, n_partitions=n))[0][1]
        every[name] = curves(name, splits, request)
        n_test = 0 if name == "ringnorm" else len(splits[0].x_test)
        for label, curve in every[name].items():
            rows.append((name, label, *_cells(label, curve)))
            if label in WAYS:
                paired = curve.errors - every[name]["OROLS"].errors
                differences[label].append(paired.mean(axis=1))
                for k, row in enumerate(paired):
                    error = corrected_standard_error(row, len(splits[0].x), n_test)
                    worse[label][:, k] += [row.mean() > 2 * error > 0, row.mean() < -2 * error < 0]
    if request.figures:
        _draw(every, request)
    means = [
        (
            label,
            *(
                f"{d:+.1f}, {up} / {down}"
                for d, up, down in zip(np.mean(found, axis=0), *worse[label], strict=True)
            ),
        )
        for label, found in differences.items()
        if found
    ]
    title = "Error minus that of OROLS, mean over the sets; sets where worse / better by two standard errors"
    return "\n\n".join(
        filter(
            None,
            [
                table("Test error in %", header, rows),
                table(title, ("method", *sized), means),
                request.picture("equal_centers.png", "Test error over the number of centres"),
            ],
        )
    )


def _cells(label: str, curve: Curve) -> list[str]:
    means = curve.errors.mean(axis=1)
    if label in WAYS:
        return [f"{error:.1f}" for error in means] + [""]
    best, fewest = int(np.argmin(means)), int(np.argmin(curve.centers))
    shown = dict.fromkeys([best, fewest])
    return [""] * len(SIZES) + ["; ".join(f"{means[k]:.1f} ({curve.centers[k]:.0f})" for k in shown)]


def _draw(every: dict[str, dict[str, Curve]], request: Request) -> None:
    from matplotlib.figure import Figure

    tones = ("black", "#7570b3", "#a6761d", "#d95f02", "#1b9e77", "0.6", "#e7298a", "#66a61e")
    colors = dict(zip((*WAYS, "SVM", "RVM"), tones, strict=True))
    figure = Figure(figsize=(10, 6), layout="constrained")
    panels = np.ravel(figure.subplots(2, 3))
    for axes, (name, found) in zip(panels, every.items(), strict=False):
        for label, curve in found.items():
            order, means = np.argsort(curve.centers), curve.errors.mean(axis=1)
            marker = "o" if label in WAYS else "s"
            line = {"color": colors[label], "label": label, "marker": marker, "ms": 3, "lw": 1}
            axes.plot(curve.centers[order], means[order], **line)
        paper = BENCHMARKS[name]
        for cell in (paper.orols, paper.npd):
            axes.plot(paper.n_train * (cell.centers or np.nan) / 100, cell.error, "x", color="red", ms=7)
        shown = np.concatenate([c.errors.mean(axis=1)[c.centers >= _DRAWN_FROM] for c in found.values()])
        axes.set(title=name, xlabel="centres", ylabel="test error in %", xscale="log")
        axes.set_ylim(0.95 * shown.min(), 1.1 * shown.max() + 0.1)
        axes.set_xticks(_TICKS, [str(tick) for tick in _TICKS], minor=False)
        axes.set_xticks([], minor=True)
    if every:
        panels[0].legend(fontsize=7)
    request.figures.mkdir(parents=True, exist_ok=True)  # type: ignore[union-attr]
    path = request.figures / "equal_centers.png"  # type: ignore[operator]
    figure.savefig(path, dpi=110, metadata={"Software": None})


PARTS: dict[str, Any] = {
    "equal-centers": Part(
        "The error at equal numbers of centres",
        f"The first {N_PARTITIONS} partitions. σ and ε are chosen for each number of centres by 5-fold "
        "cross-validation on the first five training sets. OROLS, NPD and OLS grow centre by centre; "
        "*residual-sampled* draws centres in blocks ∝ residual²; *leverage-sampled* and *uniform* draw "
        "them at once; the draws have the same ridge. The SVM has σ chosen for each C from 0.1 to 100: "
        "shown are the C of the least mean test error, a choice in its favour, and that of the fewest "
        "support vectors. The RVM is trained on targets ±1, σ chosen on the first partition, with 200 "
        "steps at most. Standard errors of paired differences are those of Nadeau and Bengio, too large "
        "on banana and waveform, which have more test points than training points. In the figure red "
        "crosses are the paper's OROLS and NPD.",
        equal_centers,
        SETS,
        draws=True,
    ),
}
