"""Calibration of the posteriors of HMM states on speakers that are not in the training data.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4
    python benchmarks/state_calibration.py --experiment exp/an4 --models gmm pools
    python benchmarks/state_calibration.py --experiment exp/an4 --experiment exp/thesis

Models trained on train alone are measured on the dev speakers of finished experiments. The right state of a
frame is given by forced alignment of the transcripts with a GMM that is trained on train, too
(``--aligner``), in the states of the measured model; this favours models whose features resemble those of the
GMM. A hybrid's posteriors are taken before priors are divided out and the GMM's scores are added. A GMM's
posteriors follow from Bayes' rule with the states' shares of the training frames as priors. A model that
adapts frames to their speaker uses the words that it recognised itself.

The table has for each model: how often its best state is right; the same after the posteriors of all states
that stand for one state of the GMM are added up, since models have different numbers of states; the mean
posterior of the best state and its expected calibration error (15 bins of equal width); the calibration error
of the pairs of a frame's state with each other state (a hybrid's own pairs, before coupling); and the mean
−log posterior of the right state. The figure shows the reliability of the best state's posterior for bins of
30 frames or more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import matplotlib
import numpy as np
from reliability import Outcome, draw_reliability
from report import argument_parser, print_table, write_report

from acoustic.alignment import align
from acoustic.emissions.adaptation import adapted_frames
from acoustic.emissions.emission_model import (
    CombinedModel,
    EmissionModel,
    PairwiseDiscriminantModel,
    uncombined,
)
from acoustic.errors import AlignmentError
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.tying import base_states
from acoustic.model import AcousticModel, load_model
from acoustic.pairs.coupling import CouplingName, all_pairs
from asr.corpora.corpus import read_corpus
from asr.corpora.speech_data import SpeechData, load_cepstra
from asr.errors import ConfigError, ExperimentError
from asr.files import read_json
from asr.formats.model_directories import DECODING, MODELS
from asr.formats.transcripts import read_transcripts
from asr.store import RECORD
from asr.training.gmm import utterance_graphs
from asr.training.learned_from import usable_for_training
from asr.transcribe import emission_scores, heard_states
from decoder.lexicon import Lexicon
from foundation.threads import parallel_map

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from foundation.arrays import Floats, Ints, Singles

N_BINS = 15
FEWEST = 30  # frames of a bin that is drawn
HEIGHTS = (2.6, 1)
COLORS = {"gmm": "0.35", "svm": "C4", "pools": "C0", "npd": "C3", "orols": "C1", "krls": "C2"}


class HeldOut(NamedTuple):
    """The dev part of an experiment, and its aligning GMM."""

    data: SpeechData
    lexicon: Lexicon
    aligner: AcousticModel


@dataclass(frozen=True)
class Measured:
    """How well a model's posteriors are calibrated.

    Attributes
    ----------
    n_states : number of states that the model tells apart
    n_frames : number of frames with a known state
    n_left_out : number of frames without a known state, or whose state had no training frames
    best : posteriors of the best states, and whether they were right
    pairs : posteriors of the likelier state in pairs of a frame's state and another, and whether it was the
        frame's
    monophone_accuracy : share of the frames whose best state is right among the aligner's, in per cent
    log_loss : mean −log posterior of the right state, in nats
    """

    n_states: int
    n_frames: int
    n_left_out: int
    best: Outcome
    pairs: Outcome
    monophone_accuracy: float
    log_loss: float

    def row(self) -> dict[str, Any]:
        """Return the row of the table."""
        return {
            "states": self.n_states,
            "frames": self.n_frames,
            "left out": self.n_left_out,
            "best is right %": 100 * float(self.best.happened.mean()),
            "monophone %": self.monophone_accuracy,
            "mean posterior %": 100 * float(self.best.promised.mean()),
            "calibration error %": self.best.calibration_error(N_BINS),
            "of pairs %": self.pairs.calibration_error(N_BINS),
            "-log p": self.log_loss,
        }


def stage_of(experiment: Path, digest: str) -> Path:
    """Return the directory of the stage whose output has a digest."""
    for record in sorted((experiment / "stages").glob(f"[!.]*/{RECORD}")):
        if read_json(record)["digest"] == digest:
            return record.parent
    raise ExperimentError(f"{experiment}: no stage with digest {digest}, expected one; run asr train again")


def held_out_stages(experiment: Path, name: str) -> dict[str, Path]:
    """Return where the tuning of a model lies, and what it was made from: model, task, features of dev."""
    recognizer = read_json(experiment / MODELS / name / RECORD)["inputs"]
    tuning = stage_of(experiment, recognizer["tuning"])
    inputs = read_json(tuning / RECORD)["inputs"]
    return {"tuning": tuning} | {key: stage_of(experiment, inputs[key]) for key in ("model", "task", "dev")}


def held_out(experiment: Path, aligner: str) -> HeldOut:
    """Return the dev part of an experiment and the GMM that aligns it."""
    stages = held_out_stages(experiment, aligner)
    lexicon = Lexicon.read(stages["task"] / "lexicon.txt")
    data = load_cepstra(read_corpus(stages["task"] / "dev"), stages["dev"], "dev")
    return HeldOut(
        usable_for_training(data, lexicon, most_left_out=1.0), lexicon, load_model(stages["model"])
    )


def frame_labels(dev: HeldOut, model: AcousticModel) -> list[Ints]:
    """Return the model's state of each frame as the GMM aligns the transcripts, −1 where it cannot."""
    data, states = dev.data, base_states(model.topology, dev.aligner.topology)
    frames = dev.aligner.front_end.transform(data.cepstra, data.speakers)
    graphs = utterance_graphs(data, dev.lexicon, model.topology)

    def one(k: int) -> Ints:
        scores = dev.aligner.emissions.log_likelihoods(frames[k])[:, states]
        try:
            return align(scores, graphs[k], model.topology).states
        except AlignmentError:
            return np.full(len(scores), -1, dtype=np.int32)

    return list(parallel_map(one, range(len(frames))))


def class_of_state(model: AcousticModel) -> Ints:
    """Return the class of each state (S,), −1 for states without training frames."""
    if isinstance(model.emissions, GmmModel):
        return np.where(model.occupancy > 0, np.arange(model.topology.n_states), -1).astype(np.int32)
    return uncombined(model.emissions).states.class_of_state


def log_posteriors(model: AcousticModel, frames: Singles) -> Floats:
    """Return log P(class | frame), (T, D) -> (T, K)."""
    if not isinstance(model.emissions, GmmModel):
        return uncombined(model.emissions).log_posteriors(frames)
    with np.errstate(divide="ignore"):
        joint = model.emissions.log_likelihoods(frames) + np.log(model.occupancy / model.occupancy.sum())
    return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)


def log_odds(model: AcousticModel, frames: Singles, posteriors: Floats, codes: Ints) -> Floats:
    """Return the log odds of each frame's class against every other class, (T, K − 1)."""
    n_classes, pairs = posteriors.shape[1], uncombined(model.emissions)
    rows = np.arange(len(frames))[:, None]
    if hasattr(pairs, "log_odds"):
        first, second = all_pairs(n_classes).T
        place, sign = np.zeros((2, n_classes, n_classes), dtype=np.int32)
        place[first, second] = place[second, first] = np.arange(len(first))
        sign[first, second], sign[second, first] = 1, -1
        odds = sign[codes] * pairs.log_odds(frames)[rows, place[codes]]
    else:
        odds = posteriors[rows, codes[:, None]] - posteriors
    is_other = codes[:, None] != np.arange(n_classes)
    return odds[is_other].reshape(len(frames), n_classes - 1)


def frames_of(dev: HeldOut, model: AcousticModel, words: Mapping[str, Sequence[str]]) -> list[Singles]:
    """Return the frames (T, D) that a model sees, adapted by some words where it adapts."""
    data, emissions = dev.data, model.emissions
    frames = model.front_end.transform(data.cepstra, data.speakers)
    if model.adaptation is not None:
        scores = emission_scores(frames, model)
        texts = [words[i] for i in data.corpus.ids]
        heard = [heard_states(s, w, dev.lexicon, model) for s, w in zip(scores, texts, strict=True)]
        frames = adapted_frames(frames, heard, data.speakers, model.adaptation)
    stop = emissions.first_stop if isinstance(emissions, CombinedModel) else None
    return [np.ascontiguousarray(f[:, :stop]) for f in frames]


def measure(dev: HeldOut, model: AcousticModel, words: Mapping[str, Sequence[str]]) -> Measured:
    """Return what a model's posteriors of the dev frames are worth; the words are what it recognised."""
    frames = frames_of(dev, model, words)
    classes = class_of_state(model)
    labels = [np.where(y >= 0, classes[y], -1) for y in frame_labels(dev, model)]

    def one(k: int) -> tuple[Floats, Floats, Ints]:
        is_known = labels[k] >= 0
        x, codes = frames[k][is_known], labels[k][is_known]
        found = np.asarray(log_posteriors(model, x), dtype=np.float64)
        return found, log_odds(model, x, found, codes), codes

    parts = list(parallel_map(one, range(len(frames))))
    posteriors, odds, codes = (np.concatenate(part) for part in zip(*parts, strict=True))
    odds = odds.ravel()
    best = posteriors.argmax(axis=1)
    base = base_of_class(model, dev.aligner)
    summed = np.exp(posteriors) @ (base[:, None] == np.arange(dev.aligner.topology.n_states))
    return Measured(
        posteriors.shape[1],
        len(codes),
        sum(map(len, frames)) - len(codes),
        Outcome(np.exp(posteriors.max(axis=1)), best == codes),
        Outcome(1.0 / (1.0 + np.exp(-np.abs(odds))), odds > 0),
        100 * float(np.mean(summed.argmax(axis=1) == base[codes])),
        -float(np.mean(posteriors[np.arange(len(codes)), codes])),
    )


def measure_model(
    experiment: Path, name: str, dev: HeldOut, couplings: Sequence[CouplingName]
) -> dict[str, Measured]:
    """Return what a trained model's posteriors are worth, by other couplings of its pairs, too."""
    stages, record = held_out_stages(experiment, name), read_json(experiment / MODELS / name / DECODING)
    words = read_transcripts(stages["tuning"] / f"{record['default_grammar']}.txt")
    model = load_model(stages["model"])
    found = {name: measure(dev, model, words)}
    if isinstance(pairs := uncombined(model.emissions), PairwiseDiscriminantModel):
        for coupling in couplings:
            emissions: EmissionModel = replace(pairs, coupling=coupling)
            if isinstance(model.emissions, CombinedModel):
                emissions = replace(model.emissions, first=emissions)
            found[f"{name}, {coupling}"] = measure(dev, replace(model, emissions=emissions), words)
    return found


def base_of_class(model: AcousticModel, aligner: AcousticModel) -> Ints:
    """Return the aligner's state (K,) that a class stands for; of those that share one the first."""
    classes, states = np.unique(class_of_state(model), return_index=True)
    base = base_states(model.topology, aligner.topology)
    found = np.zeros(classes.max() + 1, dtype=np.int32)
    found[classes[classes >= 0]] = base[states[classes >= 0]]
    return found


def draw_shares(panel: Axes, found: Mapping[str, Measured], colors: Mapping[str, str]) -> None:
    """Draw how many frames have how high a posterior of the best state."""
    edges = np.linspace(0, 1, N_BINS + 1)
    for name, measured in found.items():
        counts, _ = np.histogram(measured.best.promised, edges)
        panel.stairs(100 * counts / counts.sum(), edges, color=colors[name], linewidth=1.2)
    panel.set(xlim=(0, 1), xlabel="posterior of the best state")
    panel.set_box_aspect(HEIGHTS[1] / HEIGHTS[0])


def draw(found: Mapping[str, Mapping[str, Measured]], path: Path) -> None:
    """Save the figure: one column for each experiment."""
    names = [name for models in found.values() for name in models]
    others = [name for name in dict.fromkeys(names) if name not in COLORS]
    colors = COLORS | {name: f"C{5 + k % 5}" for k, name in enumerate(others)}
    figure, panels = plt.subplots(
        2,
        len(found),
        figsize=(0.6 + 3.9 * len(found), 5.6),
        layout="constrained",
        height_ratios=HEIGHTS,
        sharey="row",
        squeeze=False,
    )
    for (title, models), (top, bottom) in zip(found.items(), panels.T, strict=True):
        outcomes = {name: measured.best for name, measured in models.items()}
        draw_reliability(top, outcomes, colors, N_BINS, FEWEST)
        top.set_title(title)
        draw_shares(bottom, models, colors)
    panels[1, 0].set_ylim(bottom=0)
    panels[0, 0].set_ylabel("share of frames it was right for")
    panels[1, 0].set_ylabel("frames, %")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def models_of(experiments: Sequence[Path], wanted: Sequence[str]) -> dict[Path, list[str]]:
    """Return the models of each experiment that are wanted, all by default."""
    there = {e: list(read_json(e / "config.json")["models"]) for e in experiments}
    known = list(dict.fromkeys(name for names in there.values() for name in names))
    if missing := [name for name in wanted if name not in known]:
        raise ConfigError(
            f"no model {', '.join(missing)} in any experiment; expected among {', '.join(known)}"
        )
    return {e: [n for n in names if not wanted or n in wanted] for e, names in there.items()}


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--experiment", type=Path, action="append", required=True, help="may be repeated")
    parser.add_argument("--models", nargs="+", default=[], help="by default all of each experiment")
    parser.add_argument(
        "--couplings", nargs="+", default=[], choices=get_args(CouplingName), help="beside each model's own"
    )
    parser.add_argument("--aligner", default="gmm", help="GMM of each experiment")
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/state_calibration.png"))
    arguments = parser.parse_args()
    found: dict[str, dict[str, Measured]] = {}
    for experiment, names in models_of(arguments.experiment, arguments.models).items():
        dev = held_out(experiment, arguments.aligner)
        title = f"preset {read_json(experiment / 'config.json')['preset']}"
        if title in found:
            title = f"{title}, {experiment}"
        measured = (measure_model(experiment, name, dev, arguments.couplings) for name in names)
        found[title] = {name: one for models in measured for name, one in models.items()}
    rows = [
        {"experiment": title, "model": name, **measured.row()}
        for title, models in found.items()
        for name, measured in models.items()
    ]
    print_table(list(rows[0]), [list(row.values()) for row in rows])
    draw(found, arguments.figure)
    write_report(arguments.out, {"rows": rows}, ("matplotlib",))


if __name__ == "__main__":
    main()
