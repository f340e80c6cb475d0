"""Hours of speech in one process: whether memory stays flat, as one stream and as ever new recordings.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4 --model gmm
    python tests/robustness/long_stream.py exp/an4 --corpus ../shared/data/an4 --model gmm --hours 24

The recordings of AN4's test are given over and over, in pieces of 100 ms, to one stream that ends sentences
by itself, never told that a recording ends (``stream``), or one by one to `Recognizer.transcribe`
(``recordings``). Every so often the memory that the process holds is read, after garbage is collected. The
slope is that of a straight line through the second half of the readings: the first half fills caches.
"""

from __future__ import annotations

import gc
import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from asr.corpora.corpus import read_corpus
from asr.recipe import load_recipe
from asr.recognizer import Recognizer
from benchmarks.report import argument_parser, print_table, write_report
from features import read_audio
from foundation.arrays import Singles

PIECE_S = 0.1
N_READINGS = 24
WAYS = ("stream", "recordings")


def resident_mb() -> float:
    """Return the memory that this process holds, in MB (Linux)."""
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmRSS"))
    return int(kilobytes) / 1024


def streamed_words(recognizer: Recognizer, recordings: Iterator[Singles]) -> Iterator[tuple[float, int]]:
    """Yield seconds heard and number of words found, recording by recording, of one endless stream."""
    stream, rate = recognizer.stream(), recognizer.model.front_end.config.mfcc.sample_rate
    size = int(PIECE_S * rate)
    for samples in recordings:
        n_words = 0
        for start in range(0, len(samples), size):
            finished = stream.accept(samples[start : start + size]).finished
            n_words += sum(len(sentence.words) for sentence in finished)
        yield len(samples) / rate, n_words


def recorded_words(recognizer: Recognizer, recordings: Iterator[Singles]) -> Iterator[tuple[float, int]]:
    """Yield seconds and number of words of each recording."""
    rate = recognizer.model.front_end.config.mfcc.sample_rate
    for samples in recordings:
        yield len(samples) / rate, len(recognizer.transcribe(samples).words)


def measured(recognizer: Recognizer, samples: list[Singles], way: str, hours: float) -> dict[str, object]:
    """Return words, costs and memory of so many hours."""
    words_of = streamed_words if way == "stream" else recorded_words
    readings: list[tuple[float, float]] = []
    began, heard_s, n_words = time.process_time(), 0.0, 0
    for seconds, found in words_of(recognizer, itertools.cycle(samples)):
        heard_s, n_words = heard_s + seconds, n_words + found
        if heard_s >= len(readings) * hours * 3600 / N_READINGS:
            readings.append((heard_s / 3600, resident_mb()))
        if heard_s >= hours * 3600:
            break
    at, memory = np.array(readings[len(readings) // 2 :]).T
    return {
        "way": way,
        "hours": heard_s / 3600,
        "words": n_words,
        "cpu_share": (time.process_time() - began) / heard_s,
        "first_mb": readings[1][1],
        "last_mb": readings[-1][1],
        "mb_per_hour": float(np.polyfit(at, memory, 1)[0]),
        "readings": readings,
    }


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--recipe", default="an4")
    parser.add_argument("--model", default="gmm")
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    options = parser.parse_args()
    recognizer = Recognizer.load(options.experiment, model=options.model)
    rate = recognizer.model.front_end.config.mfcc.sample_rate
    with tempfile.TemporaryDirectory() as prepared:
        load_recipe(options.recipe).recipe.prepare(options.corpus, Path(prepared))
        samples = [read_audio(u.audio_path, rate) for u in read_corpus(Path(prepared) / "test")]
    rows = [measured(recognizer, samples, way, options.hours) for way in options.ways]
    columns = ("way", "hours", "words", "cpu_share", "first_mb", "last_mb", "mb_per_hour")
    print_table(columns, [[row[name] for name in columns] for row in rows])
    write_report(options.out, {"model": options.model, "rows": rows})


if __name__ == "__main__":
    main()
