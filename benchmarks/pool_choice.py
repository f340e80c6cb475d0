"""How the centres that all pairs of a state share are best chosen: rules compared on held-out frames of AN4.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4
    python benchmarks/pool_choice.py --experiment exp/an4 --page docs/results/an4.md

Machines of monophone states are trained on AN4's training speakers (squared hinge, held-out logistic curves,
no warped copies) and evaluated on the ten dev speakers, labelled by forced alignment with the GMM. The
official test is not touched. To be quick, every fourth state is taken, in four parts with different
seeds; the figures are means over the parts. Rows that the JSON already has are kept; ``--only`` runs some.
Beside the product's rules (`acoustic.pairs.pool_centers`) stand peers (`pool_rules`), all on as many frames
of other states as of the state itself.

−log p is the mean −log posterior of the frame's state, each frame counting 5 nats at most; CPU seconds are
those of one part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markdown import markdown_table
from pool_rules import (
    Sample,
    error_reduction,
    held_out_residual,
    largest_residual,
    left_out_misclassification,
)
from report import argument_parser, print_table, write_report
from state_calibration import stage_of

from acoustic.emissions.aligned_frames import halves
from acoustic.emissions.hybrid import HybridConfig
from acoustic.emissions.model_files import load_model
from acoustic.emissions.pairwise import PairwiseDiscriminantModel
from acoustic.emissions.state_priors import StatePriors
from acoustic.kernels.gaussian import CenteredGaussian, mean_point
from acoustic.pairs import train_pools
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.pool_centers import Choice, drawn, pool_centers
from acoustic.pairs.train_pools import PoolsConfig
from asr.config import ExperimentConfig
from asr.corpora.corpus import read_corpus
from asr.corpora.speech_data import load_cepstra
from asr.files import read_json
from asr.store import RECORD
from asr.training.gmm import usable_for_training
from asr.training.hybrid import hybrid_front_end, own_units
from benchmarks.papers.layout import write_section
from decoder.lexicon import Lexicon
from foundation.arrays import Floats, Ints, Longs, Singles

N_PARTS = 4
N_ROWS = 1000  # most frames of a state that a peer selects among
MOST_FRAMES = 1500  # of a state
MOST_NATS = 5.0
CONFIG = HybridConfig()
Select = Callable[[Sample, int], Longs]
RANDOM, NPD = "`pools`, random", "`npd`: blocks of eight, drawn ∝ residual²"
SIZES = {RANDOM: (50, 100, 200), NPD: (50, 100, 200)}  # all others have 100 centres


class Part(NamedTuple):
    """Training frames of some states, how far each is from its segment's border, and held-out frames."""

    frames: LabelledFrames
    depth: Longs
    x: Singles
    codes: Longs


@dataclass(frozen=True)
class Peer:
    """A rule of `pool_rules` and the frames it sees.

    Attributes
    ----------
    select : the rule
    is_near : whether frames of other states are drawn by the states' similarity instead of all alike
    depth : frames nearer to the border of their segment than this are no candidates
    """

    select: Select
    is_near: bool = False
    depth: int = 0

    def centers(self, part: Part, n: int, seed: int) -> list[Singles]:
        """Return the centres (C, D) of each class."""
        x, codes, folds = part.frames.x, part.frames.codes, part.frames.folds
        near = similarities(part.frames) if self.is_near else None
        found = []
        for k in range(part.frames.n_classes):
            rng = np.random.default_rng((seed, k))
            own = drawn(np.flatnonzero(codes == k), N_ROWS, rng)
            others = _others(part.frames, k, len(own), rng, None if near is None else near[k])
            rows = np.concatenate([own, others])
            may = (part.depth[rows] >= self.depth) | (codes[rows] != k)
            chosen = own[self.select(Sample(x[rows], len(own), folds[rows], may, CONFIG.sigma), n)]
            rest = drawn(np.setdiff1d(own, chosen), n - len(chosen), rng)
            found.append(x[np.concatenate([chosen, rest])])
        return found


RULES: dict[str, Peer | Choice] = {
    RANDOM: "random",
    "`pools`, kmeans": "kmeans",
    NPD: "npd",
    "`orols`: the same with λ": "orols",
    "largest residual, one at a time": Peer(largest_residual),
    "largest residual against similar states": Peer(largest_residual, is_near=True),
    "largest residual, without frames at segment borders": Peer(largest_residual, depth=1),
    "largest residual up to 1": Peer(partial(largest_residual, highest=1.0)),
    "largest leave-one-out residual": Peer(partial(largest_residual, left_out=True)),
    "largest residual on the other half of the speakers": Peer(held_out_residual),
    "leave-one-out misclassification (slides)": Peer(left_out_misclassification),
    "error reduction": Peer(error_reduction),
    "error reduction against similar states": Peer(error_reduction, is_near=True),
    "the same, beside 100 centres of these": Peer(partial(error_reduction, n_rivals=100), is_near=True),
}


def similarities(frames: LabelledFrames, n_frames: int = 60) -> Floats:
    """Return mean kernel values (K, K) between frames of two classes, as shares of those within; 0 of a class
    with itself.
    """
    rng = np.random.default_rng(0)
    rows = [drawn(np.flatnonzero(frames.codes == k), n_frames, rng) for k in range(frames.n_classes)]
    x = frames.x[np.concatenate(rows)]
    gaussian = CenteredGaussian(0.6 * CONFIG.sigma, mean_point(x))
    starts = np.cumsum([0, *map(len, rows)])[:-1]
    values = gaussian.values(gaussian.left(x), gaussian.right(x)).astype(np.float64)
    sums = np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1)
    means = sums / np.outer(*[[len(r) for r in rows]] * 2)
    within = np.sqrt(np.diag(means))
    return means / np.outer(within, within) - np.eye(len(means))


def read_parts(experiment: Path) -> list[Part]:
    """Return the parts of an experiment's training and dev frames, as its GMM aligns them."""
    tuning = max((experiment / "stages").glob("tuning-gmm-*"), key=lambda path: path.stat().st_mtime)
    inputs = read_json(tuning / RECORD)["inputs"]
    stages = {key: stage_of(experiment, inputs[key]) for key in ("model", "task", "dev")}
    lexicon, aligner = Lexicon.read(stages["task"] / "lexicon.txt"), load_model(stages["model"])
    heard = stage_of(experiment, read_json(stages["model"] / RECORD)["inputs"]["train"])
    both = {"train": heard, "dev": stages["dev"]}
    data = {
        split: usable_for_training(
            load_cepstra(read_corpus(stages["task"] / split), path, split), lexicon, most_left_out=1.0
        )
        for split, path in both.items()
    }
    units = {split: own_units(d, aligner, lexicon, ExperimentConfig().gmm.beam) for split, d in data.items()}
    options = ExperimentConfig().front_end.front_end(CONFIG.input_projection)
    front_end = hybrid_front_end([data["train"]], units["train"], options)
    x, held_out = (
        np.concatenate(front_end.transform(data[split].cepstra, data[split].speakers)) for split in both
    )
    states, truth = (np.concatenate(units[split].labels) for split in both)
    folds = np.repeat(halves(data["train"].speakers), [len(y) for y in units["train"].labels])
    depth = np.concatenate([depths(y) for y in units["train"].labels])
    counts = np.bincount(states[states >= 0], minlength=units["train"].topology.n_states)
    return [
        _part(
            np.flatnonzero(counts >= CONFIG.min_frames)[p::N_PARTS],
            (x, states, folds, depth),
            (held_out, truth),
        )
        for p in range(N_PARTS)
    ]


def depths(states: Ints) -> Longs:
    """Return how many frames lie between each frame (T,) and the nearer border of its run of equal states.

    >>> depths(np.array([3, 3, 3, 7, 7]))
    array([0, 1, 0, 0, 0])
    """
    borders = np.concatenate([[0], np.flatnonzero(np.diff(states)) + 1, [len(states)]])
    t = np.arange(len(states))
    run = np.searchsorted(borders, t, side="right") - 1
    return np.minimum(t - borders[run], borders[run + 1] - 1 - t)


def _part(chosen: Longs, train: tuple[Singles, Ints, Ints, Longs], held_out: tuple[Singles, Ints]) -> Part:
    """Return the frames of some states."""
    x, states, folds, depth = train
    rng = np.random.default_rng(0)
    rows = np.concatenate([drawn(np.flatnonzero(states == s), MOST_FRAMES, rng) for s in chosen])
    codes = np.searchsorted(chosen, states[rows]).astype(np.int32)
    counts = np.array([np.sum(states == s) for s in chosen], dtype=np.float64)
    frames = LabelledFrames(x[rows], codes, folds[rows].astype(np.int32), counts)
    tested = np.flatnonzero(np.isin(held_out[1], chosen))
    return Part(frames, depth[rows], held_out[0][tested], np.searchsorted(chosen, held_out[1][tested]))


def _others(frames: LabelledFrames, k: int, n: int, rng: np.random.Generator, near: Floats | None) -> Longs:
    """Return rows of ``n`` frames of other classes: all alike, or by the similarity (K,) of their classes."""
    if near is None:
        return drawn(np.flatnonzero(frames.codes != k), n, rng)
    numbers = rng.multinomial(n, near / near.sum())
    rows = [drawn(np.flatnonzero(frames.codes == j), numbers[j], rng) for j in np.flatnonzero(numbers)]
    return np.concatenate(rows)


def measure(part: Part, rule: Peer | Choice, n: int, seed: int) -> dict[str, float]:
    """Return how well machines on the centres of a rule do on held-out frames, and what they cost."""
    clock = [time.process_time()]
    if isinstance(rule, Peer):
        centers = rule.centers(part, n, seed)
    else:
        centers = pool_centers(part.frames, rule, n, CONFIG.sigma, seed, 1)
    clock.append(time.process_time())
    own = PoolsConfig()
    found = train_pools.fit_pools(
        part.frames, centers, CONFIG.sigma, own.ridge, CONFIG.calibration, hinge_steps=1, n_workers=1
    )
    clock.append(time.process_time())
    log_priors = np.log(part.frames.counts / part.frames.counts.sum())
    states = StatePriors(np.arange(part.frames.n_classes, dtype=np.int32), log_priors)
    log_p = PairwiseDiscriminantModel(*found, states).log_posteriors(part.x)
    loss = -log_p[np.arange(len(log_p)), part.codes]
    return {
        "-log p": float(np.minimum(loss, MOST_NATS).mean()),
        "right %": 100 * float(np.mean(log_p.argmax(axis=1) == part.codes)),
        "selection CPU s": clock[1] - clock[0],
        "training CPU s": clock[2] - clock[1],
    }


def saved_parts(parts: Callable[[], list[Part]], path: Path | None) -> list[Part]:
    """Return the parts; a file (npz) that is given keeps them for the next run."""
    if path is not None and path.is_file():
        with np.load(path) as kept:
            columns = [[kept[f"{p} {k}"] for k in range(7)] for p in range(N_PARTS)]
        return [Part(LabelledFrames(*c[:4]), *c[4:]) for c in columns]
    found = parts()
    if path is not None:
        arrays = [[p.frames.x, p.frames.codes, p.frames.folds, p.frames.counts, *p[1:]] for p in found]
        np.savez(path, **{f"{p} {k}": a for p, own in enumerate(arrays) for k, a in enumerate(own)})
    return found


def compared(
    parts: Sequence[Part], kept: Sequence[Mapping[str, Any]], only: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the row of each rule and number of centres: means over the parts, and their -log p.

    Rows that are kept are not made again; of the others, those are made whose name contains ``only``.
    """
    old = {(row["rule"], row["centres"]): row for row in kept}
    for name, rule in RULES.items():
        for n in SIZES.get(name, (100,)):
            if (name, n) in old or only not in f"{name} {n}":
                yield from [old[name, n]] if (name, n) in old else []
                continue
            runs = [measure(part, rule, n, seed) for seed, part in enumerate(parts)]
            means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            row = {"rule": name, "centres": n, **means, "parts": [run["-log p"] for run in runs]}
            print(row, flush=True)
            yield row


def page_section(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of a page."""
    head = ("rule", "centres a state", "−log p", "best state is right %", "selection CPU s", "training CPU s")
    body = [
        (
            row["rule"],
            row["centres"],
            f"{row['-log p']:.3f}",
            f"{row['right %']:.1f}",
            f"{row['selection CPU s']:.1f}",
            f"{row['training CPU s']:.1f}",
        )
        for row in rows
    ]
    return markdown_table(head, body)


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument(
        "--experiment", type=Path, required=True, help="that asr train has finished, with gmm"
    )
    parser.add_argument("--page", type=Path, help="page whose section pool-choice is written")
    parser.add_argument("--only", default="", help="make only the rows whose rule and number contain this")
    parser.add_argument("--frames", type=Path, help="npz file that keeps the frames for the next run")
    arguments = parser.parse_args()
    kept = read_json(arguments.out)["rows"] if arguments.out.is_file() else []
    parts = saved_parts(lambda: read_parts(arguments.experiment), arguments.frames)
    rows = list(compared(parts, kept, arguments.only))
    shown = [{key: value for key, value in row.items() if key != "parts"} for row in rows]
    print_table(tuple(shown[0]), [tuple(row.values()) for row in shown])
    if arguments.page is not None:
        write_section(arguments.page, "pool-choice", page_section(rows))
    write_report(arguments.out, {"rows": rows})


if __name__ == "__main__":
    main()
