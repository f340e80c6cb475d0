"""Commands of one's own against foreign speech: false commands an hour, and the share of commands kept.

    python benchmarks/commands.py --fsdd FSDD --an4 AN4

Models are trained as the page trains them, on a few takes of each command by one speaker: seven digits of
FSDD, and eight commands in synthesised voices (extra ``demo``). Each hears one stream with quiet between the
sentences: its commands in other takes, words that it has no command for, and foreign speech: of a digits'
model AN4's test, other people's sentences; of a synthesised one sentences by its own voice and by others.
"Before" is what a search does that takes any words in any order for spoken, as the page did before it had a
list of commands.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soxr
from report import argument_parser, print_table, write_report

from asr import Recognizer
from asr.corpora.corpus import read_corpus
from asr.serving.studio import command_line, write_task
from asr.serving.takes import RATE, Takes
from asr.spotting.detection import poisson_interval
from features.audio import read_audio
from recipes import an4
from recipes.espeak import SAMPLE_RATE, EspeakVoice, synthesize

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LISTED = range(1, 8)
N_RECORDINGS, N_TESTED = 50, 10  # of a digit by a speaker of FSDD; of these so many are heard
COMMANDS = ("open the door", "close", "stop", "go", "help me", "lights on", "lights off", "play music")
OWN_VOICES = {"England": ("en", "m3"), "America": ("en-us", "f2"), "Scotland": ("en-gb-scotland", "f4")}
OTHER_VOICES = (("en-us", "m1"), ("en-029", "f3"), ("en-gb-x-rp", "m7"), ("de", "m2"), ("fi", "f1"))
SENTENCES = (
    *("I would like a cup of tea", "the weather is quite nice today", "where did you put my keys"),
    *("she said that it was not her fault", "tomorrow we are going to the market", "what a lovely garden"),
    *("my brother works in a big office", "please pass me the salt and pepper", "he is opening a shop"),
    *("the train leaves at half past nine", "close friends are hard to find", "stop by on your way home"),
)
WORDS = ("banana", "thank you", "tomorrow", "water", "hello there", "no", "computer", "seven")
QUIET_S, NOISE, PEAK = 1.2, 1.5e-3, 0.3
ROOM = np.random.default_rng(0)
HEAD = (
    *("model", "takes", "grammar", "heard", "commands", "kept %", "wrong %", "other words", "taken for one"),
    *("foreign minutes", "false", "false an hour", "95 % interval"),
)


@dataclass(frozen=True)
class Task:
    """Takes to train on, and sounds to hear; samples are at the rate of takes."""

    name: str
    takes: list[tuple[str, np.ndarray]]
    commands: list[tuple[str, np.ndarray]]
    words: list[np.ndarray]
    foreign: list[np.ndarray]


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--fsdd", type=Path, required=True, help="the free spoken digits")
    parser.add_argument("--an4", type=Path, required=True, help="AN4 as published")
    parser.add_argument("--takes", type=int, nargs="+", default=[5], help="of each command")
    parser.add_argument("--speakers", nargs="+", help="of FSDD and of OWN_VOICES; all by default")
    parser.add_argument("--work", type=Path, help="folder that keeps what is trained")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        foreign = an4_sentences(options.an4, Path(folder) / "an4")
        for n_takes in options.takes:
            for task in tasks(options, n_takes, foreign):
                rows += measured(task, n_takes, work)
                print_table(HEAD, [tuple(row.values()) for row in rows[-3:]])
    sums = [summed(rows, kind, n, grammar) for n in options.takes for kind in kinds(rows) for grammar in WAYS]
    print_table(HEAD, [tuple(row.values()) for row in sums])
    write_report(options.out, {"models": rows, "sums": sums})


def tasks(options, n_takes, foreign):
    """Yield the tasks of all speakers."""
    speakers = sorted({path.stem.split("_")[1] for path in (options.fsdd / "recordings").glob("*.wav")})
    for speaker in options.speakers or (*speakers, *OWN_VOICES):
        if speaker in OWN_VOICES:
            yield spoken_task(speaker, n_takes)
        else:
            yield digit_task(options.fsdd / "recordings", speaker, n_takes, foreign)


def digit_task(folder, speaker, n_takes, foreign):
    """Return a task of a speaker of FSDD: recordings to train on and to hear lie in all parts of the set."""
    order = np.random.default_rng(n_takes).permutation(N_RECORDINGS)
    every = {(d, n): read_audio(folder / f"{d}_{speaker}_{n}.wav", RATE) for d in range(10) for n in order}
    gain = PEAK / np.median([np.abs(samples).max() for samples in every.values()])  # of a microphone

    def digit(d, n):
        return (gain * every[d, n]).clip(-1, 1)

    heard = order[n_takes : n_takes + N_TESTED]
    return Task(
        f"FSDD {speaker}",
        [(DIGITS[d], padded(digit(d, n))) for n in order[:n_takes] for d in LISTED],
        [(DIGITS[d], digit(d, n)) for n in heard for d in LISTED],
        [digit(d, n) for n in heard for d in range(10) if d not in LISTED],
        foreign,
    )


def spoken_task(name, n_takes):
    """Return a task of a synthesised voice."""
    rng = np.random.default_rng(n_takes)
    own = OWN_VOICES[name]
    return Task(
        f"espeak {name}",
        [(text, padded(said(text, own, rng))) for _ in range(n_takes) for text in COMMANDS],
        [(text, said(text, own, rng)) for _ in range(N_TESTED) for text in COMMANDS],
        [said(text, own, rng) for text in WORDS],
        [said(text, voice, rng) for text in SENTENCES for voice in (own, *OTHER_VOICES)],
    )


def said(text, voice, rng):
    """Return samples of a text, in a manner that differs from time to time."""
    pitch, span, rate_wpm = (int(rng.integers(*bounds)) for bounds in ((42, 60), (40, 62), (145, 185)))
    samples = soxr.resample(synthesize(text, EspeakVoice(*voice, pitch, span, rate_wpm)), SAMPLE_RATE, RATE)
    loud = np.flatnonzero(np.abs(samples) > 0.01)
    samples = samples[loud[0] : loud[-1] + 1]
    return (PEAK * 10 ** rng.uniform(-0.2, 0.2) * samples / np.abs(samples).max()).astype(np.float32)


def an4_sentences(corpus, folder):
    """Return AN4's test, without what FSDD's telephone band has not."""
    an4.prepare(corpus, folder)
    found = []
    for utterance in read_corpus(folder / "test"):
        samples = soxr.resample(read_audio(utterance.audio_path, 8000), 8000, RATE)
        found.append((PEAK * samples / np.abs(samples).max()).astype(np.float32))
    return found


def quiet(seconds):
    """Return the noise of a room, another one each time."""
    return (NOISE * ROOM.normal(size=round(seconds * RATE))).astype(np.float32)


def padded(samples):
    """Return samples with a moment of quiet around them, as takes of the page have it."""
    return np.concatenate([quiet(0.3), samples, quiet(0.31)])


WAYS = ("any words", "commands", "commands, rejection")


def measured(task, n_takes, work):
    """Return a row for each way to hear."""
    name = f"{task.name.replace(' ', '-')}-{n_takes}"
    folder, experiment = work / name, work / f"exp-{name}"
    if not (experiment / "results.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        takes = Takes(folder, len(task.takes))
        takes.set_prompts(list(dict.fromkeys(text for text, _ in task.takes)))
        for text, samples in task.takes:
            takes.add(text, samples, RATE)
        write_task(folder, takes.prompts())
        command = [a for a in command_line(experiment, folder) if a != "-v"]
        subprocess.run([sys.executable, "-m", "asr", *command, "-q"], check=True)
    listed = Recognizer.load(experiment, grammar="commands")
    recognizers = (
        Recognizer.load(experiment, grammar="bigram"),
        listed.sure(reject=False),
        listed.sure(),
    )
    return [row_of(task, n_takes, way, r) for way, r in zip(WAYS, recognizers, strict=True)]


def row_of(task, n_takes, way, recognizer):
    """Return what one way hears of one task."""
    items = [*task.commands, *((None, s) for s in task.words), *(("", s) for s in task.foreign)]
    order = np.random.default_rng(0).permutation(len(items))
    kept = wrong = taken = false = 0
    foreign_s = 0.0
    for place, heard in zip(order, heard_in(recognizer, [items[n][1] for n in order]), strict=True):
        text, samples = items[place]
        if text:
            kept += heard == [text]
            wrong += any(sentence != text for sentence in heard)
        elif text is None:
            taken += bool(heard)
        else:
            false += len(heard)
            foreign_s += len(samples) / RATE + QUIET_S
    return _row(
        task.name,
        n_takes,
        recognizer.name,
        way,
        len(task.commands),
        kept,
        wrong,
        len(task.words),
        taken,
        foreign_s,
        false,
    )


def _row(name, n_takes, model, way, n, kept, wrong, n_words, taken, foreign_s, false):
    low, high = poisson_interval(false)
    return {
        "name": name,
        "takes": n_takes,
        "grammar": way,
        "model": model,
        "commands": n,
        "kept": 100 * kept / n,
        "wrong": 100 * wrong / n,
        "words": n_words,
        "taken": taken,
        "foreign_minutes": foreign_s / 60,
        "false": false,
        "false_an_hour": 3600 * false / foreign_s,
        "interval": f"{3600 * low / foreign_s:.1f}–{3600 * high / foreign_s:.1f}",
    }


def heard_in(recognizer, items):
    """Return the sentences that a stream finds in each item, which come with quiet between them."""
    stream, found, ends, n = recognizer.stream(RATE), [], [], 0
    stream.accept(quiet(1.0))
    n += RATE
    for samples in items:
        for piece in np.array_split(np.concatenate([samples, quiet(QUIET_S)]), 10):
            found += stream.accept(piece).finished
        n += len(samples) + round(QUIET_S * RATE)
        ends.append(n / RATE)
    found.append(stream.finish())
    texts = [[] for _ in items]
    for sentence in (s for s in found if s.words):
        middle = (sentence.words[0].start_s + sentence.words[-1].end_s) / 2
        texts[min(int(np.searchsorted(ends, middle)), len(items) - 1)].append(" ".join(sentence.text))
    return texts


def kinds(rows):
    """Return the kinds of tasks."""
    return sorted({row["name"].split()[0] for row in rows})


def summed(rows, kind, n_takes, way):
    """Return the row of all models of a kind together."""
    own = [r for r in rows if (r["name"].split()[0], r["takes"], r["grammar"]) == (kind, n_takes, way)]
    n = sum(r["commands"] for r in own)
    return _row(
        f"{kind}: all {len(own)}",
        n_takes,
        own[0]["model"],
        way,
        n,
        sum(r["kept"] * r["commands"] for r in own) / 100,
        sum(r["wrong"] * r["commands"] for r in own) / 100,
        sum(r["words"] for r in own),
        sum(r["taken"] for r in own),
        60 * sum(r["foreign_minutes"] for r in own),
        sum(r["false"] for r in own),
    )


if __name__ == "__main__":
    main()
