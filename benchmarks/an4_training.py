"""CPU seconds of training 1 to 8 Gaussians a state on AN4 and of aligning it; Viterbi training beside it.

    python benchmarks/an4_training.py --corpus ../shared/data/an4

CPU seconds count all threads. The numba kernels are compiled before anything is timed; what compiling costs
on a fresh machine is measured in a process of its own with an empty cache. Training and alignment use the 948
official training utterances and the recipe's configuration. The comparison of estimators trains on the
recipe's train set and is judged on its dev set, decoder weights tuned for each (so the accuracies are
optimistic alike).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from report import argument_parser, cpu_time, print_table, write_report

from acoustic.hmm.forward_backward import Posteriors
from acoustic.hmm.graph import UtteranceGraph
from acoustic.hmm.topology import SILENCE, Topology
from acoustic.hmm.training import posteriors_with_retries
from acoustic.hmm.viterbi import best_path
from acoustic.model import AcousticModel
from asr.corpora.corpus import Corpus, read_corpus
from asr.corpora.speech_data import SpeechData, compute_cepstra
from asr.decoding.passes import accuracy_of, scored_speech
from asr.decoding.tuning import tune
from asr.scoring.scoring import WordAccuracy, compare
from asr.training.gmm import align_data, fit_front_end, start_flat, train_components, training_utterances
from decoder import Decoder, Lexicon, WordLoop
from foundation.arrays import Integers, Longs, Singles
from recipes.an4 import RECIPE

TRAINING_TARGET_S = 50.0  # HTK and Kaldi need 51 and 52
ALIGNMENT_TARGET_S = 3.0
N_GAUSSIANS = 8
N_WARM_UP = 24
CONFIG = RECIPE.config
FRONT_END = CONFIG.front_end.front_end()

Expectation = Callable[..., Posteriors]


@dataclass(frozen=True)
class Passes:
    """EM passes with one number of Gaussians and one way to divide the frames among the states."""

    n_components: int
    n_iterations: int
    expectation: Expectation = posteriors_with_retries


def schedule(expectation: Expectation, n_iterations: Sequence[int] | None = None) -> list[Passes]:
    """Return the default passes up to 8 Gaussians with one expectation."""
    mixtures = [n for n in CONFIG.gmm.mixtures if n <= N_GAUSSIANS]
    iterations = n_iterations or CONFIG.gmm.iterations
    return [
        Passes(n, iterations[min(stage, len(iterations) - 1)], expectation)
        for stage, n in enumerate(mixtures)
    ]


def hard_posteriors(
    scores: Singles,
    columns: Longs,
    graph: UtteranceGraph,
    topology: Topology,
    beam: float,
) -> Posteriors:
    """Return the best path as if it were certain: Viterbi training on the level of states."""
    for width in (beam, np.inf):
        log_score, path = best_path(scores, columns, graph, topology, width)
        if len(path):
            return path_posteriors(log_score, path, scores.shape, columns)
    return no_posteriors(scores, graph)


def equal_posteriors(
    scores: Singles,
    columns: Longs,
    graph: UtteranceGraph,
    topology: Topology,
    beam: float,
) -> Posteriors:
    """Return equally long states along silence, first pronunciations, silence: the usual first alignment."""
    is_silence = (graph.words < 0) & (graph.phones == topology.phone_id(SILENCE))
    nodes = np.flatnonzero(is_silence | (graph.variants == 0))
    if len(scores) < len(nodes):
        return no_posteriors(scores, graph)
    path = nodes[np.arange(len(scores)) * len(nodes) // len(scores)]
    return path_posteriors(
        float(scores[np.arange(len(path)), columns[path]].sum()), path, scores.shape, columns
    )


def path_posteriors(log_score: float, path: Integers, shape: tuple[int, ...], columns: Longs) -> Posteriors:
    """Return the posteriors of one path of nodes (T,)."""
    occupancy = np.zeros(shape)
    occupancy[np.arange(len(path)), columns[path]] = 1.0
    stays = path[1:][path[1:] == path[:-1]]
    n_nodes = len(columns)
    return Posteriors(
        log_score,
        occupancy,
        np.bincount(stays, minlength=n_nodes).astype(np.float64),
        np.bincount(path, minlength=n_nodes).astype(np.float64),
    )


def no_posteriors(scores: Singles, graph: UtteranceGraph) -> Posteriors:
    nothing = np.zeros(graph.n_nodes)
    return Posteriors(-np.inf, np.zeros(scores.shape), nothing, nothing)


ESTIMATORS = {
    "Baum-Welch (the default)": schedule(posteriors_with_retries),
    "Viterbi, from equal segments": [
        Passes(1, 1, equal_posteriors),
        Passes(1, CONFIG.gmm.iterations[0] - 1, hard_posteriors),
        *schedule(hard_posteriors)[1:],
    ],
    "Baum-Welch with 1 Gaussian, then Viterbi": [
        *schedule(posteriors_with_retries)[:1],
        *schedule(hard_posteriors)[1:],
    ],
}


def train(
    data: SpeechData, lexicon: Lexicon, passes: Sequence[Passes], seconds: dict[str, float]
) -> AcousticModel:
    """Return the model after all passes; their CPU time goes into ``seconds``."""
    with cpu_time(seconds, "flat start"):
        model = start_flat(data, fit_front_end(FRONT_END, data), lexicon)
    for stage in passes:
        with (
            cpu_time(seconds, f"{stage.n_components} Gaussians"),
            patch("acoustic.hmm.training.posteriors_with_retries", stage.expectation),
        ):
            model, _ = train_components(
                data, model, lexicon, stage.n_components, stage.n_iterations, CONFIG.gmm
            )
    return model


def warm_up(corpus: Corpus, lexicon: Lexicon) -> float:
    """Compile (or load from numba's cache) all that training and alignment run; return the CPU seconds."""
    seconds: dict[str, float] = {}
    few = Corpus(corpus.utterances[:N_WARM_UP])
    with cpu_time(seconds, "warm-up"):
        data = compute_cepstra(few, FRONT_END)
        model = train(data, lexicon, schedule(posteriors_with_retries, (1,)), {})
        align_data(data, model, lexicon, CONFIG.gmm.beam)
    return seconds["warm-up"]


def compilation_seconds(corpus_dir: Path) -> float:
    """Return the CPU seconds by which the first training with an empty numba cache exceeds the second."""
    with tempfile.TemporaryDirectory() as cache:
        output = subprocess.run(
            [sys.executable, __file__, "--corpus", str(corpus_dir), "--warm-up-only"],
            env={**os.environ, "NUMBA_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    first, second = json.loads(output)
    return float(first - second)


def load_task(corpus_dir: Path) -> tuple[Corpus, Corpus, Lexicon]:
    """Return the recipe's train and dev sets (together the official 948) and the lexicon."""
    with tempfile.TemporaryDirectory() as directory:
        RECIPE.prepare(corpus_dir, Path(directory))
        train_set, dev = (read_corpus(Path(directory) / split) for split in ("train", "dev"))
        return train_set, dev, Lexicon.read(Path(directory) / "lexicon.txt")


def measure_training(corpus: Corpus, lexicon: Lexicon, n_repeats: int) -> dict[str, Any]:
    """Return median CPU seconds of each step of training and alignment, and how many were aligned."""
    runs = []
    for _ in range(n_repeats):
        seconds: dict[str, float] = {}
        with cpu_time(seconds, "features"):
            data = compute_cepstra(corpus, FRONT_END)
        model = train(data, lexicon, schedule(posteriors_with_retries), seconds)
        with cpu_time(seconds, "alignment"):
            _, failures = align_data(data, model, lexicon, CONFIG.gmm.beam)
        with cpu_time(seconds, "alignment: of this, frames and graphs"):
            training_utterances(data, model.front_end, lexicon, model.topology)
        runs.append(seconds)
    medians = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    in_training = [name for name in medians if name == "flat start" or name.endswith("Gaussians")]
    return {
        "utterances": len(corpus),
        "frames": sum(map(len, data.cepstra)),
        "repeats": n_repeats,
        "cpu_seconds": medians,
        "training_cpu_seconds": sum(medians[name] for name in in_training),
        "training_with_features_cpu_seconds": medians["features"] + sum(medians[n] for n in in_training),
        "alignment_cpu_seconds": medians["alignment"],
        "aligned": len(corpus) - len(failures),
        "not_aligned": failures,
    }


def compare_estimators(train_set: Corpus, dev: Corpus, lexicon: Lexicon) -> list[dict[str, Any]]:
    """Return CPU seconds and dev word accuracy of each estimator, paired with the first."""
    data, dev_data = (compute_cepstra(corpus, FRONT_END) for corpus in (train_set, dev))
    rows: list[dict[str, Any]] = []
    texts: list[dict[str, tuple[str, ...]]] = []
    for name, passes in ESTIMATORS.items():
        seconds: dict[str, float] = {}
        model = train(data, lexicon, passes, seconds)
        weights, accuracy, text = tuned_accuracy(dev_data, model, lexicon)
        texts.append(text)
        paired = compare(dev.text, texts[0], text)
        rows.append(
            {
                "estimator": name,
                "cpu_seconds": sum(seconds.values()),
                "weights": weights,
                "dev_word_accuracy": accuracy.word_accuracy,
                "interval": accuracy.interval,
                "difference_to_first": paired.difference,
                "interval_of_difference": paired.interval,
                "p_value": paired.p_value,
            }
        )
    return rows


def tuned_accuracy(
    data: SpeechData, model: AcousticModel, lexicon: Lexicon
) -> tuple[dict[str, float], WordAccuracy, dict[str, tuple[str, ...]]]:
    """Return decoder weights tuned on data in the word loop, the word accuracy with them, and the words."""
    scores = scored_speech(data.cepstra, data.speakers, model).scores
    decoder = Decoder(lexicon, WordLoop(lexicon.words), model.topology, CONFIG.decoder)
    references = [u.words for u in data.corpus]
    tuned, decoded = tune(decoder, scores, references, CONFIG.tuning, with_lm_scale=False)
    texts = {i: h.text for i, h in zip(data.corpus.ids, decoded, strict=True)}
    return tuned.weights, accuracy_of(data.corpus, decoded), texts


def print_report(
    training: dict[str, Any], compilation_s: float, estimators: Sequence[dict[str, Any]]
) -> bool:
    """Print the tables; return whether the targets are met."""
    print(f"{training['utterances']} utterances, {training['frames']} frames")
    rows = [*training["cpu_seconds"].items()]
    rows += [("training 1 to 8 Gaussians, without features", training["training_cpu_seconds"])]
    rows += [("training 1 to 8 Gaussians, with features", training["training_with_features_cpu_seconds"])]
    rows += [("once on a fresh machine: compiling the kernels", compilation_s)]
    print_table(("step", "CPU s"), rows)
    head = ("estimator", "CPU s", "dev acc %", "low", "high", "difference", "low", "high", "p")
    print_table(
        head,
        [
            (
                row["estimator"],
                row["cpu_seconds"],
                row["dev_word_accuracy"],
                *row["interval"],
                row["difference_to_first"],
                *row["interval_of_difference"],
                row["p_value"],
            )
            for row in estimators
        ],
    )
    is_met: bool = (
        training["training_with_features_cpu_seconds"] <= TRAINING_TARGET_S
        and training["alignment_cpu_seconds"] <= ALIGNMENT_TARGET_S
        and training["aligned"] == training["utterances"]
    )
    print(
        f"targets (training <= {TRAINING_TARGET_S:.0f} CPU s, alignment <= {ALIGNMENT_TARGET_S:.0f} CPU s, "
        f"{training['aligned']} of {training['utterances']} aligned): {'met' if is_met else 'MISSED'}"
    )
    return is_met


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--warm-up-only", action="store_true", help="print the CPU s of two warm-ups; for the script itself"
    )
    arguments = parser.parse_args()
    train_set, dev, lexicon = load_task(arguments.corpus)
    if arguments.warm_up_only:
        print(json.dumps([warm_up(train_set, lexicon) for _ in range(2)]))
        return
    warm_up(train_set, lexicon)
    training = measure_training(Corpus(train_set.utterances + dev.utterances), lexicon, arguments.repeats)
    compilation_s = compilation_seconds(arguments.corpus)
    estimators = compare_estimators(train_set, dev, lexicon)
    is_met = print_report(training, compilation_s, estimators)
    report = {**training, "compilation_cpu_seconds": compilation_s, "estimators": estimators}
    write_report(arguments.out, {**report, "targets_met": is_met})


if __name__ == "__main__":
    main()
