"""Time of training the discriminants of pairs of monophone states on AN4.

    python benchmarks/pair_training.py --corpus ../shared/data/an4 --work exp/an4

Frames, labels and front ends are made beforehand (by the GMM; kept in ``--work``); timed is what turns
aligned frames into an emission model, on all cores.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from made_steps import Made
from report import argument_parser, print_table, write_report

from acoustic.emissions.aligned_frames import THESIS, AlignedFrames, HybridConfig, aligned_frames, halves
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_pools import PoolsConfig
from acoustic.ways import train_emissions
from asr.corpora.speech_data import SpeechData
from asr.experiment import Experiment
from asr.recipe import load_recipe
from asr.training.hybrid import Units, hybrid_front_end, load_units
from foundation.threads import default_workers

BEST = HybridConfig(units="phone")
RUNS = (
    ("NPD, 100 centres a pair (preset thesis)", "npd", THESIS, PairForwardConfig()),
    ("OROLS, 100 centres a pair (preset thesis)", "orols", THESIS, PairForwardConfig()),
    ("100 drawn centres a state, least squares", "pools", BEST, PoolsConfig(loss="squared", choice="random")),
    (
        "200 drawn centres a state, least squares",
        "pools",
        BEST,
        PoolsConfig(200, loss="squared", choice="random"),
    ),
    ("100 drawn centres a state, squared hinge", "pools", BEST, PoolsConfig(choice="random")),
    ("200 drawn centres a state, squared hinge", "pools", BEST, PoolsConfig(200, choice="random")),
    ("100 centres a state by OROLS, squared hinge", "pools", BEST, PoolsConfig(choice="orols")),
    ("100 centres a state by NPD, squared hinge (preset best)", "pools", BEST, PoolsConfig()),
    ("the same, all pairs", "pools", BEST, PoolsConfig(rivals=1.0)),
)


def frames_of(data: SpeechData, units: Units, config: HybridConfig, made: Made) -> AlignedFrames:
    """Return what discriminants of a configuration are trained on."""
    options = replace(
        made.config.front_end, normalize="global" if config.input_projection == "none" else "speaker"
    )
    front_end = hybrid_front_end([data], units, options.front_end(config.input_projection))
    frames = front_end.transform(data.cepstra, data.speakers)
    return aligned_frames(
        lambda: enumerate(frames),
        units.labels,
        halves(data.speakers),
        units.topology.n_states,
        max_frames=config.max_frames,
        min_frames=config.min_frames,
    )


def few_of(chosen: AlignedFrames) -> AlignedFrames:
    """Return a twentieth of the frames."""
    return replace(chosen, x=chosen.x[::20], codes=chosen.codes[::20], folds=chosen.folds[::20])


def measure(
    name: str, way: str, config: HybridConfig, own: object, chosen: AlignedFrames
) -> dict[str, object]:
    """Return the seconds of one training."""
    started = time.perf_counter(), time.process_time()
    model = train_emissions(way, chosen, config, own)
    wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
    pairs = model.machines.n_pairs
    return {"machines": name, "pairs": pairs, "frames": len(chosen.x), "wall_s": wall, "cpu_s": cpu}


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--work", type=Path, required=True, help="experiment directory for what comes before")
    arguments = parser.parse_args()
    recipe = load_recipe("an4")
    config = replace(recipe.recipe.config, hybrid=BEST)
    made = Made(Experiment(recipe, arguments.corpus, arguments.work, config, "best"), "pools")
    data = made.fitting("train")
    units = load_units(made.units(), data)
    rows = []
    for name, way, hybrid, own in RUNS:
        chosen = frames_of(data, units, hybrid, made)
        train_emissions(way, few_of(chosen), hybrid, replace(own, n_centers=2))  # compiles
        rows.append(measure(name, way, hybrid, own, chosen))
        print(rows[-1], flush=True)
    print(f"{default_workers()} cores")
    print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
    write_report(arguments.out, {"rows": rows, "cores": default_workers()})


if __name__ == "__main__":
    main()
