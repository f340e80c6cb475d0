"""Machines of rivals alone beside machines of all pairs of states: frames of held-out speakers of AN4.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4 --model pools
    python benchmarks/rivals.py --corpus ../shared/data/an4 --work exp/an4 --page docs/results/an4.md

Tied states of the recommended hybrid, trained on AN4's training speakers without dev and evaluated on the ten
dev speakers, labelled by forced alignment with the GMM; the official test is not touched. The machines of all
pairs are trained once; machines of rivals are those among them, so that rows differ in nothing else.

−log p is the mean −log posterior of the frame's state, each frame counting 5 nats at most. Scoring is CPU
time on one thread. "Missed" are the frames whose state is not in their list; without machines, the prototypes
decide alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from made_steps import Made
from report import argument_parser, markdown_table, print_table, write_report

from acoustic.alignment import align
from acoustic.emissions.aligned_frames import AlignedFrames
from acoustic.hmm.graph import utterance_graph
from acoustic.hmm.tying import base_states
from acoustic.model import AcousticModel, load_model
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.machines import Machines, PooledMachines
from acoustic.pairs.rivals import (
    N_LISTED,
    Prototypes,
    RivalMachines,
    best_classes,
    fit_prototypes,
    rival_pairs,
)
from acoustic.pairs.train_pools import PoolsConfig, fit_pools, pool_centers
from asr.corpora.speech_data import SpeechData
from asr.experiment import Experiment
from asr.recipe import load_recipe
from asr.training.hybrid import Units, hybrid_frames, hybrid_front_end, load_units
from benchmarks.papers.layout import write_section
from decoder.lexicon import Lexicon
from foundation.arrays import Floats, Ints, Singles
from foundation.threads import single_threaded_libraries

MOST_NATS = 5.0
EVERY = 3  # of the dev frames, neighbours being alike
SHARES = (0.6, 0.8, 0.9, 0.95, 1.0)
LENGTHS = (10, 15, 20, N_LISTED)


class Trained(NamedTuple):
    """Machines of all pairs, their curves, the prototypes and the training frames."""

    machines: PooledMachines
    curves: Floats
    prototypes: Prototypes
    frames: LabelledFrames
    seconds: float


class HeldOut(NamedTuple):
    """Frames (T, D) of the dev speakers and their classes (T,)."""

    x: Singles
    codes: Ints


def dev_states(
    data: SpeechData, model: AcousticModel, units: Units, frames: list[Singles], lexicon: Lexicon
) -> Iterator[Ints]:
    """Yield the tied states (T,) of each utterance by alignment with the GMM's scores of their phones."""
    states, start = base_states(units.topology, model.topology), -model.front_end.config.mfcc.n_features
    for utterance, x in zip(data.corpus, frames, strict=True):
        scores = model.emissions.log_likelihoods(np.ascontiguousarray(x[:, start:]))[:, states]
        graph = utterance_graph([lexicon.pronunciations(w) for w in utterance.words], units.topology)
        yield align(scores, graph, units.topology).states


def prepared(made: Made) -> tuple[AlignedFrames, HeldOut]:
    """Return the frames that the recommended hybrid is trained on, and those of dev."""
    hybrid, copies = made.config.hybrid, made.copies("train")
    units, aligner = (
        load_units(made.units(), copies[0]),
        load_model(made.aligner()),
    )
    config = made.config.front_end.front_end(hybrid.input_projection, keep_cepstra=True)
    front_end = hybrid_front_end(copies, units, config)
    trained, spoken = hybrid_frames(copies, units, front_end, hybrid), made.data("dev")
    frames = front_end.transform(spoken.cepstra, spoken.speakers)
    found = np.concatenate(list(dev_states(spoken, aligner, units, frames, made.lexicon)))
    codes, x = trained.class_of_state[found], np.concatenate(frames)[:, : trained.x.shape[1]]
    kept = np.flatnonzero(codes >= 0)[::EVERY]
    return trained, HeldOut(np.ascontiguousarray(x[kept]), codes[kept])


def train_all(frames: AlignedFrames, made: Made) -> Trained:
    """Return the machines of all pairs."""
    hybrid, own = made.config.hybrid, PoolsConfig()
    start = time.process_time()
    centers = pool_centers(frames, "npd", own.n_centers, hybrid.sigma, hybrid.seed)
    found = fit_pools(frames, centers, hybrid.sigma, own.ridge, hybrid.calibration, hinge_steps=1)
    seconds = time.process_time() - start
    return Trained(*found, fit_prototypes(frames, hybrid.seed), frames, seconds)


def rivals_of(trained: Trained, share: float, n_listed: int) -> tuple[RivalMachines, Floats]:
    """Return the machines of the rivals that make a share of the meetings, and their curves."""
    pooled, n = trained.machines, trained.machines.n_classes
    pairs = rival_pairs(trained.prototypes, trained.frames, share, seed=0) if share else np.array([[0, 1]])
    i, j = pairs[:, 0].astype(int), pairs[:, 1].astype(int)
    places = i * (2 * n - i - 1) // 2 + j - i - 1
    pools = [slice(a, b) for a, b in zip(pooled.starts[:-1], pooled.starts[1:], strict=True)]
    weights = [np.concatenate([pooled.weights[pools[a], b], -pooled.weights[pools[b], a]]) for a, b in pairs]
    machines = RivalMachines(
        pooled.sigma,
        pairs.astype(np.int32),
        pooled.centers,
        pooled.starts,
        np.concatenate(weights),
        pooled.biases[places],
        trained.prototypes,
        n_listed,
    )
    return machines, trained.curves[places]


def row_of(name: str, machines: Machines, curves: Floats, trained: Trained, dev: HeldOut) -> dict[str, Any]:
    """Return how well machines tell the dev frames' states, and what that costs."""
    machines.log_posteriors(curves, dev.x[:600], 1)  # compiles
    with single_threaded_libraries():
        start = time.process_time()
        found = machines.log_posteriors(curves, dev.x, 1)
        seconds = time.process_time() - start
    n_classes, nats = machines.n_classes, -found[np.arange(len(dev.codes)), dev.codes]
    n_listed = getattr(machines, "n_listed", n_classes)
    listed = best_classes(trained.prototypes.scores(dev.x), n_listed)
    return {
        "machines": name,
        "pairs %": 100 * machines.n_pairs / (n_classes * (n_classes - 1) / 2),
        "-log p": float(np.minimum(nats, MOST_NATS).mean()),
        "frames right %": 100 * float(np.mean(found.argmax(axis=1) == dev.codes)),
        "missed %": 100 * float(np.mean(~(listed == dev.codes[:, None]).any(axis=1))),
        "microseconds a frame": 1e6 * seconds / len(dev.x),
    }


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--work", type=Path, required=True, help="experiment directory of what comes before")
    parser.add_argument("--page", type=Path, help='page whose section "rivals" is written')
    arguments = parser.parse_args()
    recipe = load_recipe("an4")
    experiment = Experiment(recipe, arguments.corpus, arguments.work, recipe.recipe.config, "best")
    made = Made(experiment, "pools")
    frames, dev = prepared(made)
    trained = train_all(frames, made)
    rows = [row_of("all pairs", trained.machines, trained.curves, trained, dev)]
    chosen = [(0.0, N_LISTED), *((s, N_LISTED) for s in SHARES)]
    for share, n in [*chosen, *((PoolsConfig().rivals, n) for n in LENGTHS if n != N_LISTED)]:
        name = f"{100 * share:g} % of meetings, lists of {n}" if share else f"prototypes alone, lists of {n}"
        rows.append(row_of(name, *rivals_of(trained, share, n), trained, dev))
    machines, curves = rivals_of(trained, PoolsConfig().rivals, N_LISTED)
    exact = replace(trained.prototypes, scale=trained.prototypes.scale / np.float32(np.sqrt(2)))
    name = f"{100 * PoolsConfig().rivals:g} % of meetings, Gaussians half as broad"
    rows.append(row_of(name, replace(machines, prototypes=exact), curves, trained, dev))
    print(f"{trained.machines.n_classes} classes, all pairs trained in {trained.seconds:.0f} CPU s")
    print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
    if arguments.page is not None:
        digits = ("{}", "{:.0f}", "{:.3f}", "{:.1f}", "{:.1f}", "{:.0f}")
        body = [[d.format(cell) for d, cell in zip(digits, row.values(), strict=True)] for row in rows]
        write_section(arguments.page, "rivals", markdown_table(tuple(rows[0]), body))
    write_report(arguments.out, {"rows": rows, "training_cpu_s": trained.seconds})


if __name__ == "__main__":
    main()
