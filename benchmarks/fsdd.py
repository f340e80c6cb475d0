"""Phone HMMs beside whole-word HMMs (hmmlearn) on the spoken digits of FSDD: same features, same split.

    python benchmarks/fsdd.py --corpus ../shared/data/fsdd

Test are recordings 0-4 of each speaker and digit, dev 5-9, train the rest; all six speakers are in all parts.
The number of states of the whole-word models is chosen on dev, as are the phone models' decoder weights; both
are then trained on train and dev together. The phone models decode one digit a recording (``word-pair``),
which is what a whole-word model does by its nature, and freely (``loop``), where they may insert or omit
digits.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asr.stages.task import TaskStages
from report import argument_parser, cpu_time, print_table, write_report
from threadpoolctl import threadpool_limits
from whole_word import WholeWordRecognizer

from asr.corpora.speech_data import SpeechData
from asr.experiment import Experiment
from asr.formats.transcripts import read_transcripts
from asr.recipe import load_recipe
from asr.scoring.scoring import WordAccuracy, compare, score
from asr.systems import find_system
from features.frontend import FrontEnd
from foundation.arrays import Singles

TARGET = 97.0
MODEL = "gmm"
N_STATES = (3, 5, 8, 10, 12)  # of a word, one Gaussian each: hmmlearn's mixtures take minutes
GRAMMARS = ("word-pair", "loop")

Texts = dict[str, tuple[str, ...]]


def phone_models(experiment: Experiment) -> tuple[dict[str, Texts], dict[str, float]]:
    """Return the words of the test set with each grammar, and the CPU seconds of each step."""
    seconds: dict[str, float] = {}
    system, everything = find_system(MODEL), ("train", "dev")
    with cpu_time(seconds, "features"):
        for split in ("train", "dev", "test"):
            experiment.task.features(split)
    with cpu_time(seconds, "tuning"):
        tuning = experiment.decoding.tuning(MODEL, experiment.models.gmm(system, ("train",)))
    with cpu_time(seconds, "training"):
        model = experiment.models.gmm(system, everything)
    recognizer = experiment.decoding.recognizer(MODEL, model, tuning, everything)
    with cpu_time(seconds, "test"):
        output = experiment.decoding.evaluation(MODEL, recognizer)
    return {g: read_transcripts(output.path / f"{g}.txt") for g in GRAMMARS}, seconds


def whole_words(task: TaskStages) -> tuple[Texts, dict[str, float], list[dict[str, Any]]]:
    """Return the words of the test set, the CPU seconds of each step, and the trials on dev."""
    seconds: dict[str, float] = {}
    with cpu_time(seconds, "tuning"):
        trials = [try_states(task, n_states) for n_states in N_STATES]
    best = max(trials, key=lambda trial: trial["dev_word_accuracy"])
    with cpu_time(seconds, "training"):
        recognizer = fit(task, ("train", "dev"), best["n_states"])
    with cpu_time(seconds, "test"):
        found = recognise(task, recognizer, "test")
    return found, seconds, trials


def try_states(task: TaskStages, n_states: int) -> dict[str, Any]:
    """Return the dev word accuracy of whole-word models with so many states."""
    found = recognise(task, fit(task, ("train",), n_states), "dev")
    accuracy = score(task.corpus("dev").text, found, n_resamples=1).word_accuracy
    return {"n_states": n_states, "dev_word_accuracy": accuracy}


def fit(task: TaskStages, splits: Sequence[str], n_states: int) -> WholeWordRecognizer:
    data = task.data(splits)
    words = [u.words[0] for u in data.corpus]
    with threadpool_limits(limits=1):
        return WholeWordRecognizer(n_states).fit(frames(task, data), words)


def recognise(task: TaskStages, recognizer: WholeWordRecognizer, split: str) -> Texts:
    data = task.data((split,))
    with threadpool_limits(limits=1):
        found = recognizer.predict(frames(task, data))
    return {i: (word,) for i, word in zip(data.corpus.ids, found, strict=True)}


def frames(task: TaskStages, data: SpeechData) -> list[Singles]:
    """Return the same frames (T, 39) the phone models are trained on."""
    return FrontEnd(task.config.front_end.front_end()).transform(data.cepstra, data.speakers)


def print_report(
    accuracies: dict[str, WordAccuracy],
    seconds: dict[str, dict[str, float]],
    trials: Sequence[dict[str, Any]],
) -> None:
    print_table(("states of a word", "dev acc %"), [(t["n_states"], t["dev_word_accuracy"]) for t in trials])
    print_table(
        ("on test", "words", "word acc %", "low", "high", "sub", "del", "ins"),
        [
            (name, s.words, s.word_accuracy, *s.interval, s.substitutions, s.deletions, s.insertions)
            for name, s in accuracies.items()
        ],
    )
    steps = ("features", "tuning", "training", "test")
    print_table(
        ("CPU s", *steps),
        [(name, *(times.get(step, 0.0) for step in steps)) for name, times in seconds.items()],
    )


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="FSDD (recordings/)")
    arguments = parser.parse_args()
    recipe = load_recipe("fsdd")
    with tempfile.TemporaryDirectory() as directory:
        experiment = Experiment(recipe, arguments.corpus, Path(directory), recipe.recipe.config, "best")
        by_grammar, phone_seconds = phone_models(experiment)
        words, word_seconds, trials = whole_words(experiment.task)
        reference = experiment.task.corpus("test").text
    texts = {f"phone HMMs, {g}": text for g, text in by_grammar.items()} | {
        "whole-word HMMs (hmmlearn)": words
    }
    accuracies = {name: score(reference, text) for name, text in texts.items()}
    seconds = {"phone HMMs, both grammars": phone_seconds, "whole-word HMMs (hmmlearn)": word_seconds}
    print_report(accuracies, seconds, trials)
    paired = compare(reference, words, by_grammar["word-pair"])
    print(
        f"phone against whole-word HMMs, one digit a recording: {paired.difference:+.2f} points "
        f"[{paired.interval[0]:.2f}, {paired.interval[1]:.2f}], p = {paired.p_value:.3g}"
    )
    accuracy = min(s.word_accuracy for name, s in accuracies.items() if name.startswith("phone"))
    is_met = accuracy >= TARGET
    print(f"target (phone HMMs at least {TARGET} % with either grammar): {'met' if is_met else 'MISSED'}")
    report = {
        "word_accuracy": {
            name: {"value": s.word_accuracy, "interval": s.interval} for name, s in accuracies.items()
        },
        "cpu_seconds": seconds,
        "whole_word_trials_on_dev": trials,
        "phone_minus_whole_word": {
            "points": paired.difference,
            "interval": paired.interval,
            "p_value": paired.p_value,
        },
        "target_met": is_met,
    }
    write_report(arguments.out, report)


if __name__ == "__main__":
    main()
