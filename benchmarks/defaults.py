"""Estimators without any argument against a cross-validated SVC: error, fit and predict time.

    python benchmarks/defaults.py --tables ../shared/data/tables --page docs/results/discriminants.md

Features are standardised on the training points, for both sides alike. Files with an official split keep
it; the others are split at random, five times, into the papers' sizes. `SVC` is chosen on each partition
over C and γ by cross-validation on training points: five folds, or three folds of at most 3,000 drawn points
where there are more than 1,500. Its fit time is that of one fit with the chosen values, on all training
points; the search is not counted. Our estimators get no argument; whatever they choose, they choose within
the time that is counted. Sets of scikit-learn follow as a check; for them `SVC` is chosen on the first
partition. Seconds are CPU seconds with one BLAS thread, medians of up to three fits in
turn.

``--choices`` makes another table, of what the residual-sampled estimator chooses on sets of more than two
classes: beside its own best choice, that of the least test error among several widths, numbers of centres and
ways of telling classes apart; and the left-out accuracy beside the error on test points and, since these may
be of other writers, on training points that a second fit did not see.

``--kept FILE`` holds the searches and results of each set, so that a run that was stopped goes on where it
was; a set is run again after it is taken out of the file.
"""

from __future__ import annotations

import json
import statistics
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from report import argument_parser, print_table, timed, write_report
from scipy.spatial.distance import cdist
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from acoustic.discriminants import ResidualSampledClassifier
from acoustic.kernels.width import scale_width
from benchmarks.papers.layout import table, write_section
from benchmarks.papers.published import BENCHMARKS

CS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
GAMMAS = tuple(2.0**k for k in range(-3, 4))  # in units of gamma="scale"
N_SEARCHED, N_SMALL = 3000, 1500
N_PARTITIONS, N_OWN_PARTITIONS = 5, 3
OFFICIAL = ("synth", "optdigits", "pendigits", "satimage", "usps", "letter")
FROM_SPLITS = tuple(name for name in BENCHMARKS if name != "ringnorm")  # not among the files
TARGET_ERROR, TARGET_TIME = 0.3, 1.5
RSS = "residual-sampled"
OURS = {RSS: ResidualSampledClassifier}
SECTION, CHOICES = "defaults", "choices"
MULTICLASS = ("usps", "satimage", "letter", "optdigits", "pendigits")
N_UNSEEN = 1500  # training points at most that the second fit does not see

Points = NDArray[np.float64]
Labels = NDArray[Any]


class Partition(NamedTuple):
    """Training and test points, standardised."""

    x: Points
    y: Labels
    test: Points
    truth: Labels


class Chosen(NamedTuple):
    """The best values of SVC and their cross-validated error in %."""

    c: float
    gamma: float
    error: float


class Measured(NamedTuple):
    """Means over the partitions of a set."""

    error: float
    fit_s: float
    predict_s: float
    n_centers: float


def standardized(x: Points, y: Labels, test: Points, truth: Labels) -> Partition:
    """Return the partition with zero mean and unit variance of training features."""
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation[deviation == 0] = 1.0
    return Partition((x - mean) / deviation, y, (test - mean) / deviation, truth)


def partitions(folder: Path, name: str) -> Iterator[Partition]:
    """Yield the partitions of a set of the papers."""
    if name in OFFICIAL:
        with np.load(folder / name / f"{name}.npz") as file:
            x, test = (file[key].astype(np.float64) for key in ("X_train", "X_test"))
            yield standardized(x, file["y_train"], test, file["y_test"])
        return
    sizes = BENCHMARKS[name]
    with np.load(folder / f"ida_{name}" / f"ida_{name}.npz") as file:
        x, y = file["X"].astype(np.float64), file["y"]
    for p in range(N_PARTITIONS):
        order = np.random.default_rng([0, p]).permutation(len(x))
        train, test_rows = order[: sizes.n_train], order[sizes.n_train : sizes.n_train + sizes.n_test]
        yield standardized(x[train], y[train], x[test_rows], y[test_rows])


def own_sets() -> dict[str, Callable[[], tuple[Points, Labels]]]:
    """Return sets of scikit-learn, with and without noise."""
    return {
        "digits": lambda: datasets.load_digits(return_X_y=True),
        "wine": lambda: datasets.load_wine(return_X_y=True),
        "breast cancer (Wisconsin)": lambda: datasets.load_breast_cancer(return_X_y=True),
        "moons, noise 0.35": lambda: datasets.make_moons(1200, noise=0.35, random_state=0),
        "5 features, 16 clusters, 10 % of labels wrong": lambda: datasets.make_classification(
            4000,
            5,
            n_informative=5,
            n_redundant=0,
            n_clusters_per_class=8,
            flip_y=0.2,
            random_state=1,
        ),
        "iris": lambda: datasets.load_iris(return_X_y=True),
        "digits of 0 to 16, a third": lambda: tuple(
            part[::3] for part in datasets.load_digits(return_X_y=True)
        ),
        "18 features, 7 classes": lambda: datasets.make_classification(
            2300, 18, n_informative=10, n_classes=7, n_clusters_per_class=2, class_sep=2.0, random_state=2
        ),
    }


def own_partitions(make: Callable[[], tuple[Points, Labels]]) -> Iterator[Partition]:
    """Yield random partitions of a set of scikit-learn."""
    x, y = make()
    for p in range(N_OWN_PARTITIONS):
        train, test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=p, stratify=y)
        yield standardized(train, y_train, test, y_test)


def search_svc(x: Points, y: Labels) -> Chosen:
    """Return the C and γ of the least cross-validated error; of equal ones the smallest γ, then C.

    Distances are computed once for all γ, and kernels once for all C.
    """
    rows = np.random.default_rng(1).permutation(len(x))[:N_SEARCHED]
    x, y = x[rows], y[rows]
    n_folds = 5 if len(x) <= N_SMALL else 3
    scale = 1.0 / (2.0 * scale_width(x) ** 2)
    errors = np.zeros((len(GAMMAS), len(CS)))
    for train, held_out in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(x, y):
        inside = cdist(x[train], x[train], "sqeuclidean")
        outside = cdist(x[held_out], x[train], "sqeuclidean")
        for g, factor in enumerate(GAMMAS):
            kernel, test_kernel = (np.exp(-factor * scale * d) for d in (inside, outside))
            for c, penalty in enumerate(CS):
                model = SVC(C=penalty, kernel="precomputed").fit(kernel, y[train])
                errors[g, c] += 100 * np.mean(model.predict(test_kernel) != y[held_out]) / n_folds
    g, c = np.unravel_index(errors.argmin(), errors.shape)
    return Chosen(CS[c], float(scale * GAMMAS[g]), float(errors[g, c]))


def measure(found: list[Partition], chosen: list[Chosen]) -> dict[str, Measured]:
    """Return what SVC and our estimators give; fits take turns, so that a busy machine is busy for all."""
    runs: dict[str, list[Measured]] = {"SVC": [], **{name: [] for name in OURS}}
    for data, best in zip(found, chosen, strict=True):
        makers: dict[str, Callable[[], Any]] = {
            "SVC": lambda best=best: SVC(C=best.c, gamma=best.gamma),
            **OURS,
        }
        n_repeats = 3 if len(data.x) <= 5 * N_SMALL else 1
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in makers}
        for _ in range(n_repeats):
            for name, make in makers.items():
                model, fit = timed(lambda make=make, data=data: make().fit(data.x, data.y))
                labels, predict = timed(lambda model=model, data=data: model.predict(data.test))
                seconds[name].append((fit.cpu, predict.cpu))
                last = float(100 * np.mean(labels != data.truth)), model
                if len(seconds[name]) == n_repeats:
                    fit_s, predict_s = (statistics.median(s) for s in zip(*seconds[name], strict=True))
                    runs[name].append(Measured(last[0], fit_s, predict_s, n_centers(last[1])))
    return {name: Measured(*(float(np.mean(v)) for v in zip(*r, strict=True))) for name, r in runs.items()}


def n_centers(model: Any) -> float:
    """Return the number of support vectors or of distinct centres."""
    return float(len(model.support_) if isinstance(model, SVC) else model.n_distinct_centers_)


class Choice(NamedTuple):
    """What the estimator chose on a set, beside its own best choice; errors in %."""

    chosen: str
    error: float
    best: str
    best_error: float
    n_test: int
    left_out: float
    unseen: float
    drawn: float
    svc: float
    fit_ratio: float

    @property
    def standard_error(self) -> float:
        """Standard error of the best error."""
        share = self.best_error / 100
        return float(100 * np.sqrt(max(share * (1 - share), 1e-9) / self.n_test))


def choice_of(data: Partition) -> Choice:
    """Return what the estimator chooses, and what would have been best on the test points."""
    svc, svc_time = timed(lambda: SVC().fit(data.x, data.y))
    model, fit = timed(lambda: ResidualSampledClassifier().fit(data.x, data.y))

    def error(one: Any) -> float:
        return float(100 * np.mean(one.predict(data.test) != data.truth))

    found = {"as chosen": error(model)}
    for multiclass in ("shared", "ovo"):
        for factor in (0.5, 1.0, 2.0):
            for centers in ("auto", 1000, 2000) if multiclass == "shared" else ("auto",):
                n_centers = centers if isinstance(centers, str) else min(centers, len(data.x))
                other = ResidualSampledClassifier(factor * model.sigma_, n_centers, multiclass=multiclass)
                found[f"{multiclass}, {factor:g} σ, {n_centers}"] = error(other.fit(data.x, data.y))
    best = min(found, key=lambda name: found[name])
    unseen = np.random.default_rng(0).permutation(len(data.x))[: min(N_UNSEEN, len(data.x) // 5)]
    seen = np.setdiff1d(np.arange(len(data.x)), unseen)
    again = ResidualSampledClassifier().fit(data.x[seen], data.y[seen])
    return Choice(
        f"{model.multiclass_}, {model.n_distinct_centers_}",
        found["as chosen"],
        best,
        found[best],
        len(data.test),
        100 - 100 * model.left_out_accuracy_,
        float(100 * np.mean(again.predict(data.x[unseen]) != data.y[unseen])),
        error(ResidualSampledClassifier(selection="random").fit(data.x, data.y)),
        error(svc),
        fit.cpu / svc_time.cpu,
    )


def choices_section(found: dict[str, Choice]) -> str:
    """Return the section about what was chosen."""
    head = ["set", "chosen, centres", "error", "own best choice", "its error", "2 s.e.", "left out"]
    head += ["unseen", "centres drawn uniformly", "SVC()", "fit ÷ SVC()"]
    rows = []
    for name, c in found.items():
        row = [name, c.chosen, f"{c.error:.2f}", c.best, f"{c.best_error:.2f}"]
        row += [f"{2 * c.standard_error:.2f}", f"{c.left_out:.2f}", f"{c.unseen:.2f}"]
        rows.append([*row, f"{c.drawn:.2f}", f"{c.svc:.2f}", f"{c.fit_ratio:.1f}"])
    far = [n for n, c in found.items() if c.error > c.best_error + 2 * c.standard_error]
    biases = [abs(c.left_out - c.unseen) for c in found.values()]
    lines = [
        table("Errors in % on sets of more than two classes, first partition", head, rows),
        f"- farther than two standard errors from the own best choice: {', '.join(far) or 'none'}",
        f"- left-out errors and errors on unseen points of the same file: {np.mean(biases):.2f} points apart "
        f"on average, {max(biases):.2f} at most",
        f"- mean error {np.mean([c.error for c in found.values()]):.2f}, own best choices "
        f"{np.mean([c.best_error for c in found.values()]):.2f}, `SVC()` "
        f"{np.mean([c.svc for c in found.values()]):.2f}, centres drawn uniformly "
        f"{np.mean([c.drawn for c in found.values()]):.2f} %; geometric mean of fit ÷ `SVC()` "
        f"{geometric_mean([c.fit_ratio for c in found.values()]):.1f}",
    ]
    return "\n".join([lines[0], "", *lines[1:]])


def geometric_mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


class Summary(NamedTuple):
    """One estimator against SVC over some sets."""

    error: float
    svc_error: float
    fit_ratio: float
    predict_ratio: float

    @property
    def is_met(self) -> bool:
        return (
            self.error <= self.svc_error + TARGET_ERROR
            and self.fit_ratio <= TARGET_TIME
            and self.predict_ratio < 1.0
        )


def summary(results: dict[str, dict[str, Measured]], name: str) -> Summary:
    """Return the means over sets."""
    ours, svc = ([r[key] for r in results.values()] for key in (name, "SVC"))
    return Summary(
        float(np.mean([m.error for m in ours])),
        float(np.mean([m.error for m in svc])),
        geometric_mean([a.fit_s / b.fit_s for a, b in zip(ours, svc, strict=True)]),
        geometric_mean([a.predict_s / b.predict_s for a, b in zip(ours, svc, strict=True)]),
    )


def rows_of(results: dict[str, dict[str, Measured]]) -> list[list[str]]:
    """Return a row of text for each set."""
    found = []
    for name, result in results.items():
        cells = [name]
        for model in ("SVC", *OURS):
            cells.append(f"{result[model].error:.2f} ({result[model].n_centers:.0f})")
        cells += [f"{1000 * result[model].fit_s:.1f}" for model in ("SVC", *OURS)]
        cells += [f"{1000 * result[model].predict_s:.1f}" for model in ("SVC", RSS)]
        found.append(cells)
    return found


HEAD = ["set", "SVC", *OURS, "fit ms: SVC", *OURS, "predict ms: SVC", RSS]


def verdicts(results: dict[str, dict[str, Measured]]) -> list[str]:
    """Return a sentence for each of our estimators."""
    lines = []
    for name in OURS:
        s = summary(results, name)
        lines.append(
            f"{name}: mean error {s.error:.2f} % against {s.svc_error:.2f} % of SVC "
            f"({s.error - s.svc_error:+.2f}); geometric mean of the ratios of fit times "
            f"{s.fit_ratio:.2f}, of predict times {s.predict_ratio:.2f}: "
            f"target {'met' if s.is_met else 'missed'}"
        )
    return lines


def page_section(
    papers: dict[str, dict[str, Measured]], own: dict[str, dict[str, Measured]], machine: dict[str, Any]
) -> str:
    """Return the section of the page of results."""
    packages = machine["packages"]
    where = (
        f"{machine['processor']}, {machine['cores']} cores shared with other work, BLAS with one thread; "
        f"Python {machine['python']}, numpy {packages['numpy']}, scikit-learn {packages['scikit-learn']}; "
        f"{machine['date'][:10]}."
    )
    parts = [
        "## The estimators without arguments",
        "    python benchmarks/defaults.py --tables ../shared/data/tables "
        "--page docs/results/discriminants.md",
        where,
        f"**Target:** mean error within {TARGET_ERROR} points of a cross-validated `SVC`, geometric mean of "
        f"fit times at most {TARGET_TIME} times that of a single fit of this `SVC`, prediction faster.",
        table("Sets of the papers: test error in % (centres), CPU milliseconds", HEAD, rows_of(papers)),
        "\n".join(f"- {line}" for line in verdicts(papers)),
    ]
    if own:
        title = "Sets of scikit-learn"
        parts += [table(title, HEAD, rows_of(own)), "\n".join(f"- {line}" for line in verdicts(own))]
    return "\n\n".join(part for part in parts if part)


class Kept:
    """Searches and results of sets, in a file that grows with them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, dict[str, Any]] = {"searches": {}, "results": {}}
        if path.exists():
            self.found = json.loads(path.read_text(encoding="utf-8"))

    def result(self, name: str, found: Iterator[Partition], n_searched: int | None) -> dict[str, Measured]:
        """Return the result of a set; if some partitions are searched, all get the values of the first."""
        if name not in self.found["results"]:
            data = list(found)
            if name not in self.found["searches"]:
                self._keep("searches", name, [search_svc(p.x, p.y) for p in data[:n_searched]])
            chosen = [Chosen(*values) for values in self.found["searches"][name]]
            chosen = chosen if len(chosen) == len(data) else len(data) * chosen[:1]
            self._keep("results", name, measure(data, chosen))
        return {model: Measured(*values) for model, values in self.found["results"][name].items()}

    def _keep(self, kind: str, name: str, value: Any) -> None:
        self.found[kind][name] = value
        self.path.write_text(json.dumps(self.found, indent=1), encoding="utf-8")


def main() -> None:
    """Measure, print, and write the JSON and the section."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--tables", type=Path, required=True, help="folder of the .npz tables")
    parser.add_argument("--kept", type=Path, default=Path("defaults_kept.json"), help="searches and results")
    parser.add_argument("--page", type=Path, help="page to write the section into")
    parser.add_argument("--names", nargs="+", default=[*FROM_SPLITS, *OFFICIAL], help="sets of the papers")
    parser.add_argument("--own", nargs="*", default=list(own_sets()), help="sets of scikit-learn")
    parser.add_argument("--choices", action="store_true", help="only the table of what is chosen")
    arguments = parser.parse_args()
    with threadpool_limits(limits=1, user_api="blas"):
        warm_up()
        if arguments.choices:
            warnings.filterwarnings("ignore", "the left-out error still falls")
            some = {name: next(partitions(arguments.tables, name)) for name in MULTICLASS}
            several = {name: next(own_partitions(make)) for name, make in own_sets().items()}
            some |= {name: data for name, data in several.items() if len(np.unique(data.y)) > 2}
            chosen: dict[str, Choice] = {}
            for name, data in some.items():
                chosen[name] = choice_of(data)
                print(name, chosen[name], flush=True)
            section = choices_section(chosen)
            print(section)
            if arguments.page:
                write_section(arguments.page, CHOICES, section)
            return
        kept, papers, own = Kept(arguments.kept), {}, {}
        for name in arguments.names:
            papers[name] = kept.result(name, partitions(arguments.tables, name), None)
            print_table(HEAD, rows_of({name: papers[name]}))
        for name in arguments.own:
            own[name] = kept.result(name, own_partitions(own_sets()[name]), 1)
            print_table(HEAD, rows_of({name: own[name]}))
    print("\n".join([*verdicts(papers), *(verdicts(own) if own else [])]))
    sets = {"papers": papers, "own": own}
    report = {
        kind: {name: {m: v._asdict() for m, v in result.items()} for name, result in results.items()}
        for kind, results in sets.items()
    }
    write_report(arguments.out, report)
    if arguments.page:
        machine = json.loads(arguments.out.read_text())["machine"]
        write_section(arguments.page, SECTION, page_section(papers, own, machine))


def warm_up() -> None:
    """Load compiled code and libraries, which is not measured."""
    x, y = datasets.make_classification(300, 4, n_informative=4, n_redundant=0, random_state=0)
    letters = np.arange(300) % 20
    for make in OURS.values():
        make().fit(x, y).predict(x)
        make().fit(x, letters).predict(x)


if __name__ == "__main__":
    main()
