"""Thesis table 4.2 on AN4: GMM, SVM, NPD, OROLS and KRLS as emission models of the same monophones.

    python benchmarks/table_4_2.py --corpus ../shared/data/an4 --out table_4_2.json

The thesis's system (``--preset thesis``): 39 components standardised over the corpus, Gaussians of fitted
outputs, coupling of Price, division by the prior. Decoder weights are tuned on the ten dev speakers, models
retrained on train and dev, the official test decoded once. Differences are paired by utterance against the
GMM. CPU seconds are those of the discriminants alone, aligned frames given.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from report import argument_parser, print_table, write_report

from acoustic.combined_model import CombinedModel
from acoustic.discriminants.pooled_machines import PooledMachines
from acoustic.gmm import GmmModel
from acoustic.hybrid import aligned_frames, train_emissions
from acoustic.model import TENSORS_NAME, AcousticModel, load_model
from acoustic.one_vs_rest_model import OneVsRestModel
from acoustic.pairwise_model import PairwiseDiscriminantModel
from asr.config import with_settings
from asr.experiment import Experiment
from asr.hybrid_stages import load_units
from asr.recipe import load_recipe
from asr.recognizer import MODELS
from asr.results import Result
from asr.scoring import compare
from asr.transcripts import read_transcripts
from asr.verbs import with_preset

NAMES = ("gmm", "svm", "npd", "orols", "krls")
RM1 = {"gmm": 91.96, "svm": 94.10, "npd": 94.41, "orols": 94.25, "krls": 90.1}  # thesis table 4.2, Feb'89


@dataclass(frozen=True)
class Cost:
    """What a model's discriminants cost.

    Attributes
    ----------
    centers_per_machine, distinct_centers : training frames that machines, and all together, hold
    training_cpu_s : of the discriminants on aligned frames
    scoring_x_real_time : CPU seconds a second of test recordings
    megabytes : of the model's tensors
    """

    centers_per_machine: float
    distinct_centers: int
    training_cpu_s: float
    scoring_x_real_time: float
    megabytes: float


def cost_of(experiment: Experiment, name: str) -> Cost:
    """Return what a trained model costs; its discriminants are trained once more, on train and dev."""
    path = experiment.out / MODELS / name
    model = load_model(path)
    seconds = 0.0 if isinstance(model.emissions, GmmModel) else training_seconds(experiment, model, name)
    per_machine, distinct = n_centers(model)
    size = (path / TENSORS_NAME).stat().st_size / 1e6
    return Cost(per_machine, distinct, seconds, scoring_speed(experiment, model), size)


def training_seconds(experiment: Experiment, model: AcousticModel, name: str) -> float:
    """Return the CPU seconds of a model's discriminants, aligned frames given."""
    splits = ("train", "dev")
    data = experiment.task.data(splits)
    units = load_units(experiment.models.units(splits).path, data)
    hybrid = experiment.config.hybrid
    front_end = replace(model.front_end, config=replace(model.front_end.config, keep_cepstra=False))
    frames = front_end.transform(data.cepstra, data.speakers)
    chosen = aligned_frames(frames, units.labels, data.speakers, units.topology.n_states, hybrid)
    start = time.process_time()
    train_emissions(name, chosen, hybrid)
    return time.process_time() - start


def n_centers(model: AcousticModel) -> tuple[float, int]:
    """Return the mean number of centres of a machine, and that of distinct ones."""
    emissions = model.emissions
    if isinstance(emissions, CombinedModel):
        emissions = emissions.first
    if isinstance(emissions, OneVsRestModel):
        return float(len(emissions.centers)), len(emissions.centers)
    if isinstance(emissions, PairwiseDiscriminantModel):
        machines = emissions.machines
        if isinstance(machines, PooledMachines):
            return float(2 * np.diff(machines.starts).mean()), len(machines.centers)
        return float(np.mean(np.sum(machines.slots >= 0, axis=1))), len(machines.centers)
    return 0.0, 0


def scoring_speed(experiment: Experiment, model: AcousticModel) -> float:
    """Return the CPU seconds of all scores of a second of test recordings, features given."""
    data = experiment.task.data(("test",))
    frames = model.front_end.transform(data.cepstra, data.speakers)
    model.emissions.log_likelihoods(frames[0])
    start = time.process_time()
    for f in frames:
        model.emissions.log_likelihoods(f)
    recorded_s = sum(map(len, frames)) * model.front_end.frame_shift_s
    return (time.process_time() - start) / recorded_s


def test_words(experiment: Experiment, name: str, grammar: str) -> dict[str, tuple[str, ...]]:
    """Return the words a model found on test."""
    (path,) = experiment.store.directory.glob(f"test-{name}-*/{grammar}.txt")
    return read_transcripts(path)


def comparison(experiment: Experiment, name: str, grammar: str) -> dict[str, Any]:
    """Return how much better a model is on test than the GMM."""
    reference = experiment.task.corpus("test").text
    found = compare(reference, test_words(experiment, "gmm", grammar), test_words(experiment, name, grammar))
    return {
        "model": name,
        "grammar": grammar,
        "difference": found.difference,
        "interval": found.interval,
        "p_value": found.p_value,
    }


def print_accuracies(results: Sequence[Result], comparisons: Sequence[dict[str, Any]]) -> None:
    against = {(c["model"], c["grammar"]): c for c in comparisons}
    rows = []
    for r in results:
        if r.split != "test":
            continue
        c = against.get((r.model, r.grammar), {"difference": 0.0, "interval": (0.0, 0.0), "p_value": 1.0})
        rows.append(
            (r.model, r.grammar, r.word_accuracy, *r.interval, c["difference"], c["p_value"], RM1[r.model])
        )
    print_table(("model", "grammar", "test acc %", "low", "high", "- GMM", "p", "RM1, thesis"), rows)


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--models", nargs="+", default=list(NAMES), choices=NAMES, help="gmm is always there")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="as of asr train")
    parser.add_argument("--preset", default="thesis", choices=["thesis", "best"])
    parser.add_argument("--work", type=Path, help="experiment directory, to resume; by default thrown away")
    arguments = parser.parse_args()
    recipe = load_recipe("an4")
    config = with_settings(with_preset(recipe.recipe.config, arguments.preset), arguments.set)
    names = tuple(dict.fromkeys(("gmm", *arguments.models)))
    with tempfile.TemporaryDirectory() as temporary:
        out = arguments.work or Path(temporary)
        experiment = Experiment(recipe, arguments.corpus, out, config, arguments.preset)
        results = experiment.run(names)
        grammars = experiment.task.grammars
        comparisons = [comparison(experiment, n, g) for n in names[1:] for g in grammars]
        costs = {name: cost_of(experiment, name) for name in names}
    print_accuracies(results, comparisons)
    head = ("model", "centres a machine", "distinct", "training CPU s", "scoring x real time", "MB")
    print_table(head, [(name, *astuple(cost)) for name, cost in costs.items()])
    report = {"preset": arguments.preset, "settings": arguments.set, "thesis_rm1": RM1}
    rows = {"results": [asdict(r) for r in results], "comparisons": comparisons}
    write_report(arguments.out, {**report, **rows, "costs": {n: asdict(c) for n, c in costs.items()}})


if __name__ == "__main__":
    main()
