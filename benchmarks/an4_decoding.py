"""CPU x real time of decoding AN4's uniform loop, and what the beam costs and saves.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4 --model gmm --model gmm16
    python benchmarks/an4_decoding.py exp/an4 --corpus ../shared/data/an4

One thread, BLAS too. Models are those trained without dev (the experiment's stages; what is missing is
trained first), decoder weights those tuned on dev; word accuracies are of dev alone, the test recordings are
only timed. Each time is the median of the repeats after one warm-up. A beam loses nothing if no utterance
gets other words on a worse path than without one.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from report import argument_parser, cpu_time, print_table, write_report
from threadpoolctl import threadpool_limits

from acoustic.model import AcousticModel, load_model
from asr.corpora.speech_data import SpeechData
from asr.decoding.grammars import read_grammar
from asr.decoding.passes import accuracy_of
from asr.experiment import Experiment
from asr.files import read_json
from asr.recipe import load_recipe
from asr.recognizer import Recognizer
from asr.systems import find_system
from decoder import Decoder, Hypothesis
from features import read_audio
from foundation.arrays import Singles

TARGET = 0.01  # CPU x real time
BEAMS = (50.0, 80.0, 100.0, 150.0, 200.0, 300.0, np.inf)
MAX_ACTIVE = (10, 20, 30, 50, 80, 0)
SAME_SCORE = 1e-6  # nats
GRAMMARS = ("loop", "bigram")

Scores = list[Singles]


@dataclass(frozen=True)
class Task:
    """A model trained without dev, its data, and a decoder with tuned weights for each grammar."""

    model: AcousticModel
    dev: SpeechData
    test: SpeechData
    decoders: dict[str, Decoder]


def load_task(experiment: Experiment, name: str) -> Task:
    """Return what the stages of an experiment hold for one model."""
    output = experiment.models.gmm(find_system(name), ("train",))
    tuning = experiment.decoding.tuning(name, output)
    grammars = experiment.task.grammar_files(("train",))
    model, lexicon = load_model(output.path), experiment.task.lexicon
    decoders = {
        grammar: Decoder(lexicon, read_grammar(grammar, grammars.path, lexicon), model.topology).with_config(
            **read_json(tuning.path / f"{grammar}.json")["weights"]
        )
        for grammar in GRAMMARS
    }
    return Task(model, experiment.task.data(("dev",)), experiment.task.data(("test",)), decoders)


def median_cpu(function: Callable[[], object], n_repeats: int) -> float:
    """Return the median CPU seconds of a call after one warm-up."""
    function()
    times = []
    for _ in range(n_repeats):
        seconds: dict[str, float] = {}
        with cpu_time(seconds, "call"):
            function()
        times.append(seconds["call"])
    return statistics.median(times)


def time_parts(task: Task, data: SpeechData, n_repeats: int) -> dict[str, float]:
    """Return seconds of audio and CPU seconds of features, emission scores and search in the loop."""
    front_end, emissions = task.model.front_end, task.model.emissions
    rate = front_end.config.mfcc.sample_rate
    paths = [u.audio_path for u in data.corpus]

    def frames() -> list[Singles]:
        return front_end.transform(
            [front_end.cepstra(read_audio(path, rate)) for path in paths], data.speakers
        )

    def scores(inputs: Sequence[Singles]) -> Scores:
        return [emissions.log_likelihoods(x) for x in inputs]

    inputs = frames()
    matrices = scores(inputs)
    return {
        "audio_s": sum(len(read_audio(path, rate)) for path in paths) / rate,
        "features": median_cpu(frames, n_repeats),
        "emission scores": median_cpu(lambda: scores(inputs), n_repeats),
        "search": median_cpu(lambda: decode(task.decoders["loop"], matrices), n_repeats),
    }


def decode(decoder: Decoder, scores: Scores) -> list[Hypothesis]:
    return [decoder.decode(matrix) for matrix in scores]


def is_worse(pruned: Hypothesis, exact: Hypothesis) -> bool:
    """Return whether pruning lost the best path; other words of the same score are a tie."""
    return pruned.complete < exact.complete or pruned.log_score < exact.log_score - SAME_SCORE


def measure_pruning(
    task: Task, grammar: str, changes: Sequence[Mapping[str, float]], n_repeats: int
) -> list[dict[str, Any]]:
    """Return dev word accuracy, loss against no beam and search CPU seconds of each pruning."""
    scores = [
        task.model.emissions.log_likelihoods(x)
        for x in task.model.front_end.transform(task.dev.cepstra, task.dev.speakers)
    ]
    exact = decode(task.decoders[grammar].with_config(beam=np.inf, max_active=0), scores)
    rows = []
    for change in changes:
        decoder = task.decoders[grammar].with_config(**change)
        found = decode(decoder, scores)
        pairs = list(zip(found, exact, strict=True))
        accuracy = accuracy_of(task.dev.corpus, found)
        rows.append(
            {
                "grammar": grammar,
                "beam": str(decoder.config.beam),
                "max_active": decoder.config.max_active,
                "dev_word_accuracy": accuracy.word_accuracy,
                "worse_scores": sum(is_worse(a, b) for a, b in pairs),
                "other_words": sum(is_worse(a, b) and a.text != b.text for a, b in pairs),
                "incomplete": sum(not h.complete for h in found),
                "search_cpu_seconds": median_cpu(partial(decode, decoder, scores), n_repeats),
            }
        )
    return rows


def measure(task: Task, n_repeats: int) -> dict[str, Any]:
    """Return the times of one model on dev and test, and its pruning tables on dev."""
    beams = [{"beam": beam} for beam in BEAMS]
    limits = [{"max_active": limit} for limit in MAX_ACTIVE]
    return {
        "times": {part: time_parts(task, getattr(task, part), n_repeats) for part in ("dev", "test")},
        "beams": [row for g in GRAMMARS for row in measure_pruning(task, g, beams, n_repeats)],
        "max_active": [row for g in GRAMMARS for row in measure_pruning(task, g, limits, n_repeats)],
    }


def time_transcribe(experiment: Path, name: str, data: SpeechData, n_repeats: int) -> float:
    """Return CPU x real time of recordings one by one, as a user has them, with BLAS threads as they come."""
    recognizer = Recognizer.load(experiment, name, "loop")
    paths = [u.audio_path for u in data.corpus]
    rate = recognizer.model.front_end.config.mfcc.sample_rate
    audio_s = sum(len(read_audio(path, rate)) for path in paths) / rate
    return median_cpu(lambda: [recognizer.transcribe(path) for path in paths], n_repeats) / audio_s


def real_time_factor(times: dict[str, float]) -> float:
    return sum(times[part] for part in ("features", "emission scores", "search")) / times["audio_s"]


def smallest_lossless_beam(results: Mapping[str, dict[str, Any]]) -> float:
    """Return the smallest beam, of those tried, that changes no words in any model and grammar."""
    rows = [row for result in results.values() for row in result["beams"]]
    lossy = [float(row["beam"]) for row in rows if row["other_words"]]
    return min(beam for beam in BEAMS if beam > max(lossy, default=0.0))


def print_report(results: Mapping[str, dict[str, Any]]) -> None:
    parts = ("features", "emission scores", "search")
    rows = [
        (
            f"{name}, {part}",
            times["audio_s"],
            *(times[p] / times["audio_s"] for p in parts),
            real_time_factor(times),
        )
        for name, result in results.items()
        for part, times in result["times"].items()
    ]
    print_table(("CPU x real time, word loop", "audio s", *parts, "total"), rows)
    head = (
        "on dev",
        "max active",
        "beam",
        "word acc %",
        "other words",
        "worse score",
        "incomplete",
        "search CPU s",
    )
    for table in ("beams", "max_active"):
        print_table(
            head,
            [
                (
                    f"{name}, {row['grammar']}",
                    row["max_active"],
                    row["beam"],
                    row["dev_word_accuracy"],
                    row["other_words"],
                    row["worse_scores"],
                    row["incomplete"],
                    row["search_cpu_seconds"],
                )
                for name, result in results.items()
                for row in result[table]
            ],
        )


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--models", nargs="+", help="names; all of the experiment by default")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    recipe = load_recipe("an4")
    experiment = Experiment(recipe, arguments.corpus, arguments.experiment, recipe.recipe.config, "best")
    models = arguments.models or read_json(arguments.experiment / "config.json")["models"]
    with threadpool_limits(limits=1):
        results = {name: measure(load_task(experiment, name), arguments.repeats) for name in models}
    dev = experiment.task.data(("dev",))
    for name, result in results.items():
        result["transcribe"] = time_transcribe(arguments.experiment, name, dev, arguments.repeats)
    print_report(results)
    for name, result in results.items():
        print(f"{name}: Recognizer.transcribe, file after file: {result['transcribe']:.5f} CPU x real time")
    beam, default = smallest_lossless_beam(results), experiment.config.decoder.beam
    slowest = max(real_time_factor(t) for result in results.values() for t in result["times"].values())
    is_met = slowest <= TARGET and default >= beam
    print(f"smallest beam without loss on dev: {beam:g}; the default is {default:g}")
    print(
        f"target (at most {TARGET} x real time, slowest {slowest:.5f}, no loss at the default beam): "
        f"{'met' if is_met else 'MISSED'}"
    )
    report = {"models": results, "smallest_lossless_beam": str(beam), "default_beam": default}
    write_report(arguments.out, {**report, "slowest_real_time_factor": slowest, "target_met": is_met})


if __name__ == "__main__":
    main()
