"""Words of AN4's test while they are spoken: accuracy beside offline, latency, processor time.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4 --model gmm
    asr train an4 --corpus ../shared/data/an4 --out exp/an4 --model pools
    python benchmarks/live.py exp/an4 --corpus ../shared/data/an4 --page docs/results/live.md

Each recording is given in pieces of 100 ms, the recordings of a speaker one after the other. Offline rows see
all recordings of a speaker (``speaker``) or one recording (``recording``) before they decode; ``running``
rows see what was heard so far: of this recording alone, or of the speaker's earlier ones, too (``carried``).
With adaptation, frames are transformed by the words heard. Differences are from the offline row of the same
knowledge, paired by recording.

Latency is that of a microphone: a piece arrives when its last sample is spoken, and is worked on when the one
before it is done. A word's partial latency is the time from its end (as finally recognised) until it is
among the partial words to stay; it is negative where a word is known before it ends. The final latency is the
time from the end of a sentence's last word until the sentence is over, the pause that ends it included.
Recordings end before such a pause, so one second of each one's own background is put behind it. Times are
wall times of one thread and say what the machine was doing, too; the processor time beside them says less of
that.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from report import argument_parser, markdown_table, print_table, write_report

from asr.corpora.corpus import Corpus, read_corpus
from asr.live.stream import StreamConfig
from asr.recipe import load_recipe
from asr.recognizer import Recognizer
from asr.scoring.scoring import WordAccuracy, compare, score
from asr.transcribe import adapted, scored_speech
from benchmarks.papers.layout import write_section
from decoder import HypothesisWord
from features import read_audio
from foundation.arrays import Singles

GRAMMARS = ("loop", "bigram")
PIECE_S = 0.1
SIZES_S = (0.01, 0.1, 1.0, 1e6)  # of pieces, that must give the same words
BACKGROUND_S = 1.0  # put behind each recording
PERCENTILES = (50, 95, 99)
PARTS = ("accuracy", "latency")
DELAYS = {
    "behind": "searched behind spoken",
    "partial": "partial word behind its end",
    "final": "end of a sentence behind its last word",
    "work": "work for a piece",
}
ACCURACY_HEAD = ["model", "grammar", "known of the speaker", "word accuracy", "difference", "CPU × real time"]
LATENCY_HEAD = ["model", "grammar", "seconds", *(f"{p} %" for p in PERCENTILES)]
Texts = dict[str, tuple[str, ...]]


@dataclass
class Latencies:
    """Seconds that were measured while recordings were streamed."""

    partial: list[float] = field(default_factory=list)
    final: list[float] = field(default_factory=list)
    behind: list[float] = field(default_factory=list)  # from what was spoken to what was searched
    work: list[float] = field(default_factory=list)  # of each piece


@dataclass(frozen=True)
class Streamed:
    """Words of all recordings, and what it cost."""

    texts: Texts
    cpu_share: float


class Task:
    """A test set with its recordings in memory."""

    def __init__(self, corpus: Corpus, sample_rate: int) -> None:
        self.corpus, self.sample_rate = corpus, sample_rate
        self.samples = {u.utterance_id: read_audio(u.audio_path, sample_rate) for u in corpus}
        self.by_speaker: dict[str, list[str]] = {}
        for utterance in corpus:
            self.by_speaker.setdefault(utterance.speaker, []).append(utterance.utterance_id)

    @property
    def duration_s(self) -> float:
        return sum(map(len, self.samples.values())) / self.sample_rate

    def score(self, texts: Texts) -> WordAccuracy:
        return score(self.corpus.text, texts)


def pieces_of(samples: Singles, size: int) -> Iterator[Singles]:
    for start in range(0, len(samples), size):
        yield samples[start : start + size]


def offline(task: Task, recognizer: Recognizer, *, per_speaker: bool, adapts: bool) -> Texts:
    """Return the words when all of a speaker, or of a recording, is known before any is decoded."""
    model = recognizer.model
    speakers = [u.speaker if per_speaker else u.utterance_id for u in task.corpus]
    cepstra = [model.front_end.cepstra(task.samples[i]) for i in task.corpus.ids]
    speech = scored_speech(cepstra, speakers, model)
    decoder = recognizer.decoder
    if adapts and recognizer.first_pass is not None:
        speech = adapted(speech, model, recognizer.first_pass, recognizer.lexicon)
    elif recognizer.first_pass is not None:
        decoder = recognizer.first_pass
    return {i: decoder.decode(s).text for i, s in zip(task.corpus.ids, speech.scores, strict=True)}


def streamed(
    task: Task, recognizer: Recognizer, *, carried: bool, adapts: bool, piece_s: float = PIECE_S
) -> Streamed:
    """Return the words when recordings come in pieces, each one sentence."""
    config = StreamConfig(pause_s=None, adapts=adapts)
    texts, start = {}, time.process_time()
    size = max(int(piece_s * task.sample_rate), 1)
    for ids in task.by_speaker.values():
        stream = recognizer.stream(config=config)
        for i in ids:
            if not carried:
                stream.reset()
            for piece in pieces_of(task.samples[i], size):
                stream.accept(piece)
            texts[i] = stream.finish().text
    return Streamed(texts, (time.process_time() - start) / task.duration_s)


def latencies(task: Task, recognizer: Recognizer) -> Latencies:
    """Return how late words are when sentences end by silence."""
    found = Latencies()
    for ids in task.by_speaker.values():
        stream = recognizer.stream()
        for i in ids:
            samples = task.samples[i]
            tail = np.resize(quietest(samples, task.sample_rate), int(BACKGROUND_S * task.sample_rate))
            _stream_one(stream, np.concatenate([samples, tail]), task.sample_rate, found)
    return found


def quietest(samples: Singles, sample_rate: int) -> Singles:
    """Return the quietest tenth of a second of a recording."""
    size = sample_rate // 10
    starts = range(0, max(len(samples) - size, 1), size // 2)
    return min((samples[s : s + size] for s in starts), key=lambda piece: float(np.square(piece).sum()))


def _stream_one(stream, samples: Singles, sample_rate: int, found: Latencies) -> None:
    seen: list[tuple[float, set[tuple[str, int]]]] = []
    finals: list[tuple[float, HypothesisWord]] = []
    clock = spoken_s = 0.0
    for piece in pieces_of(samples, int(PIECE_S * sample_rate)):
        spoken_s += len(piece) / sample_rate
        began = time.perf_counter()
        partial = stream.accept(piece)
        work = time.perf_counter() - began
        clock = max(clock, spoken_s) + work
        found.work.append(work)
        found.behind.append(clock - partial.heard_s)
        now = {(w.word, round(w.start_s * 10)) for w in partial.words}
        now |= {(w.word, round(w.start_s * 10)) for h in partial.finished for w in h.words}
        seen.append((clock, now))
        finals += [(clock, w) for h in partial.finished for w in h.words]
        found.final += [clock - h.words[-1].end_s for h in partial.finished]
    stream.finish()
    for at, word in finals:
        found.partial.append(_appeared(word, seen, at) - word.end_s)


def _appeared(word: HypothesisWord, seen: Sequence[tuple[float, set[tuple[str, int]]]], at: float) -> float:
    """Return when a final word was first among the partial ones to stay there."""
    place = round(word.start_s * 10)
    is_there = [
        any((word.word, place + shift) in words for shift in (-2, -1, 0, 1, 2))
        for clock, words in seen
        if clock <= at
    ]
    times = [clock for clock, _ in seen if clock <= at]
    first = len(is_there)
    while first > 0 and is_there[first - 1]:
        first -= 1
    return times[min(first, len(times) - 1)]


def percentiles(values: Sequence[float]) -> list[float]:
    return [float(x) for x in np.percentile(values, PERCENTILES)] if values else [float("nan")] * 3


def accuracy_rows(task: Task, recognizer: Recognizer, name: str, grammar: str) -> list[list[object]]:
    """Return a row for each way of knowing the speaker."""
    adapts = recognizer.first_pass is not None
    ways: list[tuple[str, Texts, float | None, str]] = []
    for adapting in (False, True) if adapts else (False,):
        suffix = ", adapted" if adapting else ""
        for per_speaker, known in ((True, "speaker"), (False, "recording")):
            texts = offline(task, recognizer, per_speaker=per_speaker, adapts=adapting)
            ways.append((f"offline, {known}{suffix}", texts, None, ""))
        for carried, known in ((False, "this recording"), (True, "carried over")):
            run = streamed(task, recognizer, carried=carried, adapts=adapting)
            reference = f"offline, {'speaker' if carried else 'recording'}{suffix}"
            ways.append((f"running, {known}{suffix}", run.texts, run.cpu_share, reference))
    texts_of = {way: texts for way, texts, *_ in ways}
    rows: list[list[object]] = []
    for way, texts, share, reference in ways:
        accuracy = task.score(texts)
        low, high = accuracy.interval
        row: list[object] = [name, grammar, way, f"{accuracy.word_accuracy:.1f} ({low:.1f}–{high:.1f})"]
        row.append(_difference(task, texts_of[reference], texts) if reference else None)
        rows.append([*row, share])
    return rows


def _difference(task: Task, texts: Texts, others: Texts) -> str:
    found = compare(task.corpus.text, texts, others)
    low, high = found.interval
    return f"{found.accuracy_b - found.accuracy_a:+.1f} ({low:+.1f}, {high:+.1f})"


def same_words(task: Task, recognizer: Recognizer) -> bool:
    """Return whether all sizes of pieces give the same words."""
    found = [streamed(task, recognizer, carried=True, adapts=True, piece_s=s).texts for s in SIZES_S]
    return all(texts == found[0] for texts in found)


def latency_rows(task: Task, recognizer: Recognizer, name: str, grammar: str) -> list[list[object]]:
    """Return a row for each kind of delay."""
    measured = latencies(task, recognizer)
    return [[name, grammar, what, *percentiles(getattr(measured, key))] for key, what in DELAYS.items()]


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--recipe", default="an4")
    parser.add_argument("--split", default="test")
    parser.add_argument("--models", nargs="+", default=["gmm", "pools"])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as prepared:
        load_recipe(options.recipe).recipe.prepare(options.corpus, Path(prepared))
        corpus = read_corpus(Path(prepared) / options.split)
    accuracy: list[list[object]] = []
    late: list[list[object]] = []
    same: dict[str, bool] = {}
    for name in options.models:
        for grammar in GRAMMARS:
            recognizer = Recognizer.load(options.experiment, model=name, grammar=grammar)
            task = Task(corpus, recognizer.model.front_end.config.mfcc.sample_rate)
            if "accuracy" in options.parts:
                accuracy += accuracy_rows(task, recognizer, name, grammar)
                same[f"{name} {grammar}"] = same_words(task, recognizer)
            if "latency" in options.parts:
                late += latency_rows(task, recognizer, name, grammar)
    tables = {"accuracy": (ACCURACY_HEAD, accuracy), "latency": (LATENCY_HEAD, late)}
    for part in options.parts:
        print_table(*tables[part])
        if options.page:
            write_section(options.page, part, markdown_table(*tables[part]))
    print("pieces of 10 ms, 100 ms, 1 s and whole recordings give the same words:", same)
    report = {"accuracy": accuracy, "latency": late, "same words for all sizes of pieces": same}
    write_report(options.out, report)


if __name__ == "__main__":
    main()
