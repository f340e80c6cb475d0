"""How separable pairs of states are: AN4's monophones beside the generated states of `rm1_sized`.

    python benchmarks/rm1_overlap.py --corpus ../shared/data/an4 --work exp/an4 --page

NPD as in the thesis (100 centres a pair) learns each of some random pairs from as many frames of every state
and is tested on as many others: in AN4 those of the other half of the speakers, generated ones drawn anew.
Labels come from the Gaussian mixtures that an experiment trains; they are kept in ``--work``. ``--page``
writes the table into the documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from made_steps import Made
from pair_training import frames_of
from report import argument_parser, markdown_table, write_report
from rm1_frames import NEW, generated_frames
from sklearn.svm import SVC

from acoustic.emissions.aligned_frames import THESIS
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.train_forward import PairForwardConfig, fit_pairs
from acoustic.pairs.train_svm import SvmConfig
from asr.experiment import Experiment
from asr.recipe import load_recipe
from asr.training.hybrid import load_units
from benchmarks.papers.layout import write_section
from foundation.arrays import Singles

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "rm1_sized.md"
N_PAIRS, N_EACH = 400, 1000  # frames of a state to learn from, and as many to test
_MOST_FRAMES = 5000  # of a state of AN4

Parts = list[tuple[Singles, Singles]]  # of each state, the frames to learn from and those to test


@dataclass(frozen=True)
class Overlap:
    """How separable some pairs of states are by NPD.

    Attributes
    ----------
    states, pairs : numbers of them
    below_1, below_10, above : shares of pairs with an error on new frames below 1 %, from there to 10 %,
        above
    error, training_error : mean error on new frames, and on those learned from
    svm_error : mean error of libsvm's machines of the same pairs on the new frames
    residual : mean over pairs of the root of the mean squared residual
    centers, support_vectors : mean numbers of a pair's centres, and of libsvm's support vectors
    """

    states: int
    pairs: int
    below_1: float
    below_10: float
    above: float
    error: float
    training_error: float
    svm_error: float
    residual: float
    centers: float
    support_vectors: float


def overlap(parts: Parts, n_pairs: int = N_PAIRS) -> Overlap:
    """Return how separable random pairs of states are."""
    pairs = all_pairs(len(parts))
    chosen = np.random.default_rng(0).choice(len(pairs), min(n_pairs, len(pairs)), replace=False)
    errors, training, by_svm, residuals, centers, support = np.array(
        [_of_pair(parts[i], parts[j]) for i, j in pairs[chosen]]
    ).T
    return Overlap(
        len(parts),
        len(chosen),
        float(np.mean(errors < 0.01)),
        float(np.mean((errors >= 0.01) & (errors <= 0.1))),
        float(np.mean(errors > 0.1)),
        float(errors.mean()),
        float(training.mean()),
        float(by_svm.mean()),
        float(residuals.mean()),
        float(centers.mean()),
        float(support.mean()),
    )


def _of_pair(first: tuple[Singles, Singles], second: tuple[Singles, Singles]) -> tuple[float, ...]:
    """Return errors on new frames, on those learned from, and libsvm's; residual, centres, supports."""
    (x, targets), (new, new_targets) = (
        (np.concatenate(own), np.repeat([1.0, -1.0], [len(part) for part in own]))
        for own in zip(first, second, strict=True)
    )
    selection = PairForwardConfig().selection(THESIS.sigma, regularize=False)
    codes = (targets < 0).astype(np.int32)
    machines, _ = fit_pairs(x, codes, 2, selection, n_workers=1, calibration=THESIS.calibration)
    fitted, found = (machines.outputs(frames, 1)[:, 0] for frames in (x, new))
    svm = SVC(C=SvmConfig().cost, gamma=0.5 / THESIS.sigma**2).fit(x, targets)
    wrong = (np.sign(found) != new_targets, np.sign(fitted) != targets, svm.predict(new) != new_targets)
    residual = np.sqrt(np.mean((fitted - targets) ** 2))
    return (*(float(w.mean()) for w in wrong), float(residual), machines.centers_a_pair, len(svm.support_))


def generated_parts(n_each: int) -> Parts:
    """Return ``n_each`` frames of each generated state to learn from, and as many to test."""
    learned, new = generated_frames(n_each).x, generated_frames(n_each, part=NEW).x
    return [(learned[a : a + n_each], new[a : a + n_each]) for a in range(0, len(learned), n_each)]


def parts_of_halves(frames: LabelledFrames, n_each: int) -> Parts:
    """Return frames of fold 0 to learn from and of fold 1 to test, of the states with enough of both."""
    rng, parts = np.random.default_rng(0), []
    for k in range(frames.n_classes):
        learned, new = (frames.x[(frames.codes == k) & (frames.folds == fold)] for fold in (0, 1))
        if min(len(learned), len(new)) >= n_each:
            parts.append((rng.permutation(learned)[:n_each], rng.permutation(new)[:n_each]))
    return parts


def an4_frames(corpus: Path, work: Path) -> LabelledFrames:
    """Return AN4's training frames, labelled with monophone states; folds are halves of the speakers."""
    recipe, hybrid = load_recipe("an4"), replace(THESIS, max_frames=_MOST_FRAMES)
    config = replace(recipe.recipe.config, hybrid=hybrid)
    made = Made(Experiment(recipe, corpus, work, config, "best"), "pools")
    data = made.fitting("train")
    return frames_of(data, load_units(made.units(), data), hybrid, made)


def overlap_table(found: Sequence[tuple[str, Overlap]]) -> str:
    """Return the overlaps as a table in Markdown."""
    head = (
        "states",
        "pairs",
        "error < 1 %, share of pairs",
        "1–10 %",
        "> 10 %",
        "mean error %",
        "error % on frames learned from",
        "mean error % of libsvm",
        "root mean square residual",
        "centres a pair",
        "support vectors",
    )
    cells = [
        (
            f"{name}: {o.states}",
            o.pairs,
            *(f"{100 * share:.0f} %" for share in (o.below_1, o.below_10, o.above)),
            round(100 * o.error, 2),
            round(100 * o.training_error, 2),
            round(100 * o.svm_error, 2),
            round(o.residual, 3),
            round(o.centers),
            round(o.support_vectors),
        )
        for name, o in found
    ]
    return markdown_table(head, cells)


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--work", type=Path, required=True, help="experiment directory for what comes before")
    parser.add_argument("--page", action="store_true", help=f"write docs/results/{PAGE.name}")
    arguments = parser.parse_args()
    found = [
        ("AN4", overlap(parts_of_halves(an4_frames(arguments.corpus, arguments.work), N_EACH))),
        ("generated", overlap(generated_parts(N_EACH))),
    ]
    table = overlap_table(found)
    print(table)
    if arguments.page:
        write_section(PAGE, "overlap", table)
    write_report(arguments.out, {name: asdict(o) for name, o in found})


if __name__ == "__main__":
    main()
