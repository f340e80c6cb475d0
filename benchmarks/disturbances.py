"""Streams that something disturbs: word accuracy on AN4's dev speakers with a click, another gain, a pause.

    asr train an4 --corpus AN4 --out exp/an4dev --model gmm --model pools --set retrain_with_dev=false
    python benchmarks/disturbances.py exp/an4dev --corpus AN4

The recordings of a speaker are one stream in pieces of 100 ms, each a sentence. A click is 30 ms of noise, so
many dB over the loudest speech, between background of the recording, in a sentence of its own, whose words
count for nothing; a pause repeats the softest tenth of a second of a recording. Each row is measured with the
loudest frame never forgotten and pauses counted as speech is, and as streams are.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from live import PIECE_S, Task, pieces_of
from report import argument_parser, print_table, write_report

from asr import Recognizer
from asr.corpora.corpus import read_corpus
from asr.live.stream import StreamConfig
from features.stream import RunningConfig, RunningFrames
from recipes import an4

CLICK_S, BACKGROUND_S = 0.03, 0.5
HEAD = ("model", "grammar", "disturbance", "remembering", "as it is")
REMEMBERING = RunningConfig(fall_db=0.0, pause_s=1e6)
DISTURBANCES = {
    "none": {},
    "a click 20 dB over speech at first": {"first_db": 20},
    "a click 40 dB over speech at first": {"first_db": 40},
    "a click 40 dB over speech in the middle": {"middle_db": 40},
    "12 dB softer from the middle on": {"gain_db": -12},
    "a minute of background in the middle": {"pause_s": 60},
}


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published")
    parser.add_argument("--models", nargs="+", default=["gmm", "pools"])
    parser.add_argument("--grammars", nargs="+", default=["loop", "bigram"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        an4.prepare(options.corpus, Path(folder))
        rate = Recognizer.load(options.experiment).model.front_end.config.mfcc.sample_rate
        task = Task(read_corpus(Path(folder) / "dev"), rate)
    rows = [
        measured(task, Recognizer.load(options.experiment, model, grammar), name)
        for model in options.models
        for grammar in options.grammars
        for name in DISTURBANCES
    ]
    print_table(
        ("model", "grammar", "disturbance", "remembering", "as it is"), [tuple(r.values()) for r in rows]
    )
    write_report(options.out, {"disturbances": rows})


def measured(task, recognizer, name):
    """Return a row: word accuracy if all is remembered, and as streams are."""
    with patch("asr.live.stream.RunningFrames", partial(RunningFrames, config=REMEMBERING)):
        remembering = heard(task, recognizer, **DISTURBANCES[name])
    return {
        "model": recognizer.name,
        "grammar": recognizer.grammar,
        "disturbance": name,
        "remembering": task.score(remembering).word_accuracy,
        "as_it_is": task.score(heard(task, recognizer, **DISTURBANCES[name])).word_accuracy,
    }


def heard(task, recognizer, *, first_db=None, middle_db=None, gain_db=0.0, pause_s=0.0):
    """Return the words of each recording."""
    texts, size = {}, round(PIECE_S * task.sample_rate)
    for ids in task.by_speaker.values():
        stream, rng = recognizer.stream(config=StreamConfig(pause_s=None)), np.random.default_rng(1)
        loudest = max(loudest_frame(task.samples[i], task.sample_rate) for i in ids)
        for n, i in enumerate(ids):
            samples, is_middle = task.samples[i], n == len(ids) // 2
            level_db = first_db if n == 0 else middle_db if is_middle else None
            if level_db is not None:
                say(stream, click(samples, loudest * 10 ** (level_db / 20), task.sample_rate, rng), size)
            if is_middle and pause_s:
                say(stream, background(samples, pause_s, task.sample_rate), size)
            gain = 10 ** (gain_db / 20) if n >= len(ids) // 2 else 1.0
            texts[i] = say(stream, np.float32(gain) * samples, size)
    return texts


def say(stream, samples, size):
    """Return the words of a sentence that comes in pieces."""
    for piece in pieces_of(samples, size):
        stream.accept(piece)
    return stream.finish().text


def loudest_frame(samples, rate):
    """Return the root mean square of the loudest 25 ms."""
    n = rate // 40
    return np.sqrt(np.square(samples[: len(samples) // n * n].reshape(-1, n)).mean(axis=1).max())


def click(samples, amplitude, rate, rng):
    """Return a click between background of a recording."""
    noise = amplitude * rng.normal(size=round(CLICK_S * rate))
    around = background(samples, BACKGROUND_S, rate)
    return np.concatenate([around, noise.astype(np.float32), around])


def background(samples, seconds, rate):
    """Return the softest tenth of a second of a recording, as often as it takes."""
    n = rate // 10
    starts = range(0, len(samples) - n, n // 2)
    softest = min((samples[s : s + n] for s in starts), key=lambda piece: float(np.square(piece).sum()))
    return np.resize(softest, round(seconds * rate))


if __name__ == "__main__":
    main()
