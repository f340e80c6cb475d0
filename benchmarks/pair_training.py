"""Time of training the discriminants of all pairs of monophone states on AN4.

    python benchmarks/pair_training.py --corpus ../shared/data/an4 --work exp/an4

Frames, labels and front ends are made beforehand (by the GMM; kept in ``--work``); timed is what turns
aligned frames into an emission model, on all cores.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from report import argument_parser, print_table, write_report

from acoustic.emissions.hybrid import THESIS, AlignedFrames, HybridConfig, aligned_frames, train_emissions
from asr.corpora.speech_data import SpeechData
from asr.recipe import load_recipe
from asr.stages.models import ModelStages
from asr.stages.store import StageStore
from asr.stages.task import TaskStages
from asr.training.hybrid import Units, hybrid_front_end, load_units
from foundation.threads import default_workers

BEST = HybridConfig(units="phone")
RUNS = (
    ("NPD, 100 centres a pair (preset thesis)", "npd", THESIS),
    ("OROLS, 100 centres a pair (preset thesis)", "orols", THESIS),
    ("100 shared centres a state, least squares", "npd", replace(BEST, n_centers=100, loss="squared")),
    ("200 shared centres a state, least squares", "npd", replace(BEST, loss="squared")),
    ("200 shared centres a state, squared hinge (preset best)", "npd", BEST),
)


def frames_of(data: SpeechData, units: Units, config: HybridConfig, stages: ModelStages) -> AlignedFrames:
    """Return what discriminants of a configuration are trained on."""
    normalize = "global" if config.input_projection == "none" else "speaker"
    front_end_config = replace(
        stages.config.front_end, projection=config.input_projection, normalize=normalize
    )
    front_end = hybrid_front_end([data], units, front_end_config)
    frames = front_end.transform(data.cepstra, data.speakers)
    return aligned_frames(frames, units.labels, data.speakers, units.topology.n_states, config)


def measure(name: str, classifier: str, config: HybridConfig, chosen: AlignedFrames) -> dict[str, object]:
    """Return the seconds of one training."""
    started = time.perf_counter(), time.process_time()
    train_emissions(classifier, chosen, config)
    wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
    n_classes = len(chosen.counts)
    pairs = n_classes * (n_classes - 1) // 2
    return {"machines": name, "pairs": pairs, "frames": len(chosen.x), "wall_s": wall, "cpu_s": cpu}


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--work", type=Path, required=True, help="experiment directory for what comes before")
    arguments = parser.parse_args()
    recipe = load_recipe("an4")
    config = replace(recipe.recipe.config, hybrid=BEST)
    stages = ModelStages(TaskStages(StageStore(arguments.work), recipe, arguments.corpus, config))
    data = stages.task.data(("train",))
    units = load_units(stages.units(("train",)).path, data)
    rows = []
    for name, classifier, hybrid in RUNS:
        chosen = frames_of(data, units, hybrid, stages)
        few = aligned_frames([chosen.x[::20]], [chosen.codes[::20]], ["a"], len(chosen.counts), hybrid)
        train_emissions(classifier, few, replace(hybrid, n_centers=2))  # compiles
        rows.append(measure(name, classifier, hybrid, chosen))
        print(rows[-1], flush=True)
    print(f"{default_workers()} cores")
    print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
    write_report(arguments.out, {"rows": rows, "cores": default_workers()})


if __name__ == "__main__":
    main()
