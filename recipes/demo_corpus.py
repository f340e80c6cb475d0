"""Synthetic many-speaker corpora of spoken commands: sentences from patterns, espeak-ng voices, added noise.

A speaker is one variant of vocal tract with an accent, pitch and rate; no person is heard, so figures
measured on such a corpus say nothing about real speech. Everything random about an utterance comes from one
generator, derived from the seed and the utterance's number: the number of workers changes no byte.
"""

from __future__ import annotations

import wave
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import soxr
from joblib import Parallel, delayed  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray

from asr.corpora.corpus import SPLITS, Corpus, Utterance, write_corpus
from asr.errors import ConfigError, CorpusError
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon
from foundation.arrays import Floats
from recipes import espeak
from recipes.espeak import EspeakVoice

SAMPLE_RATE = 16000

# One variant of espeak-ng a speaker, so that held-out speakers have vocal tracts never heard in training.
VARIANTS = {
    "train": "m1 f1 m3 Annie m4 f3 Alex grandma m6 f4 Denis aunty m8 Nguyen Mario linda boris steph "
    "Diogo Michael grandpa gustave max michel quincy rob victor",
    "dev": "m5 f5 Gene Andrea croak",
    "test": "m2 f2 Mike belinda marcelo shelby robert m7",
}
ACCENTS = (
    "en-us",
    "en",
    "en-gb-scotland",
    "en-gb-x-rp",
    "en-029",
    "en-gb-x-gbclan",
    "en-gb-x-gbcwmd",
    "en-us-nyc",
)
NOISES = ("quiet", "white", "pink", "hum", "babble")
QUIET_SNR_DB = 40.0
BABBLE_VOICES, BABBLE_S = 6, 30

# Each purpose has its own stream of random numbers beside the seed.
_SPEAKER, _TEXT, _UTTERANCE, _BABBLE = range(4)

Sentence = tuple[str, ...]


@dataclass(frozen=True)
class CommandTask:
    """Which sentences can be said, and how.

    Attributes
    ----------
    patterns : sentences of words and names of classes, either with a ``?`` behind it if it may be left out
    classes : the words of each class, separated by spaces
    pronunciations : ``WORD PH PH …``, one per line or separated by semicolons
    new_sentence : a sentence of the patterns that is left out of the corpus and recorded separately
    """

    patterns: Sequence[str]
    classes: Mapping[str, str]
    pronunciations: str
    new_sentence: str


@dataclass(frozen=True)
class DemoCorpusConfig:
    """How many sentences a speaker reads in each split, and the range of the noisy ones' SNR."""

    seed: int = 0
    train_sentences: int = 16
    dev_sentences: int = 12
    test_sentences: int = 20
    low_snr_db: float = 10.0
    high_snr_db: float = 25.0


@dataclass(frozen=True)
class Speaker:
    """A synthetic speaker, in one split only."""

    name: str
    split: str
    voice: EspeakVoice


@dataclass(frozen=True)
class PlannedUtterance:
    """A sentence to be read; its number seeds its silences, noise and level."""

    number: int
    speaker: Speaker
    words: Sentence
    wav_path: Path  # relative to the corpus

    @property
    def utterance_id(self) -> str:
        """Name of the recording."""
        return self.wav_path.stem


def write_demo_corpus(
    task: CommandTask, output_dir: Path, config: DemoCorpusConfig | None = None, n_workers: int = 2
) -> None:
    """Write a corpus of synthetic speech: data directories, recordings, lexicon, grammar and a new recording.

    They are ``{train,dev,test}/``, ``wav/{speaker}/``, ``lexicon.txt``, ``word_pairs.txt``, and ``new.wav``
    with ``new.txt``, a sentence that is in no split, by a test speaker. Paths in ``wav.scp`` are relative to
    the data directory, so `output_dir` may be moved.
    """
    config = config or DemoCorpusConfig()
    *utterances, new = plan_utterances(task, config)
    babble = babble_noise([u for u in utterances if u.speaker.split == "train"], config.seed)
    by_speaker = [
        [u for u in (*utterances, new) if u.speaker == speaker] for speaker in draw_speakers(config.seed)
    ]
    # Processes, as espeak-ng keeps its state in globals and threads would have to wait for each other.
    Parallel(n_jobs=n_workers)(
        delayed(_write_wavs)(us, babble, config, output_dir) for us in by_speaker if us
    )
    for split in SPLITS:
        of_split = [u for u in utterances if u.speaker.split == split]
        write_corpus(
            Corpus(
                tuple(Utterance(u.utterance_id, ".." / u.wav_path, u.words, u.speaker.name) for u in of_split)
            ),
            output_dir / split,
        )
    task_lexicon(task).write(output_dir / "lexicon.txt")
    WordPairGrammar(word_pairs(task)).write(output_dir / "word_pairs.txt")
    (output_dir / "new.txt").write_text(" ".join(new.words) + "\n", encoding="utf-8", newline="\n")


# The text


def task_lexicon(task: CommandTask) -> Lexicon:
    """Return the pronunciations of the task's words."""
    entries: dict[str, list[list[str]]] = {}
    for entry in task.pronunciations.strip().replace(";", "\n").split("\n"):
        word, *phones = entry.split()
        entries.setdefault(word, []).append(phones)
    return Lexicon(entries)


def expand_patterns(task: CommandTask) -> list[list[Sentence]]:
    """Return, for every pattern with its options in or out, the alternatives at each place.

    Examples
    --------
    >>> expand_patterns(CommandTask(["SEND boat NOW?"], {"boat": "FERRY BARGE"}, "", ""))
    [[('SEND',), ('FERRY', 'BARGE'), ('NOW',)], [('SEND',), ('FERRY', 'BARGE')]]
    """
    expanded = []
    for pattern in task.patterns:
        tokens = [(token.rstrip("?"), token.endswith("?")) for token in pattern.split()]
        places = [tuple(task.classes.get(name, name).split()) for name, _ in tokens]
        for present in product(*([True, False] if optional else [True] for _, optional in tokens)):
            expanded.append([words for words, is_in in zip(places, present, strict=True) if is_in])
    return expanded


def word_pairs(task: CommandTask) -> dict[str, tuple[str, ...]]:
    """Return which words may follow a word, `SENTENCE_START` and `SENTENCE_END` among them, all sorted."""
    successors: dict[str, set[str]] = {}
    for places in expand_patterns(task):
        for before, after in pairwise([(SENTENCE_START,), *places, (SENTENCE_END,)]):
            for word in before:
                successors.setdefault(word, set()).update(after)
    return {word: tuple(sorted(successors[word])) for word in sorted(successors)}


def draw_sentences(task: CommandTask, n_sentences: int, rng: np.random.Generator) -> list[Sentence]:
    """Return different sentences other than the new one.

    Patterns are equally likely, then their options; of the words that fit, one of the least used so far is
    taken, so that none is rare.
    """
    by_pattern = [expand_patterns(replace(task, patterns=[pattern])) for pattern in task.patterns]
    drawn: dict[Sentence, None] = {}
    n_uses: Counter[str] = Counter()
    for _ in range(100 * n_sentences):
        options = by_pattern[rng.integers(len(by_pattern))]
        places = options[rng.integers(len(options))]
        sentence = tuple(min(words, key=lambda word: (n_uses[word], rng.random())) for words in places)
        if sentence not in drawn and sentence != tuple(task.new_sentence.split()):
            drawn[sentence] = None
            n_uses.update(sentence)
        if len(drawn) == n_sentences:
            return list(drawn)
    raise ConfigError(
        f"demo corpus: expected {n_sentences} different sentences, got {len(drawn)} from the patterns;"
        " ask for fewer or add patterns"
    )


# Who says what


def draw_speakers(seed: int) -> list[Speaker]:
    """Return the speakers of all splits; their accents go in turn, pitch and rate are drawn."""
    speakers = []
    for number, (split, variant) in enumerate((s, v) for s in SPLITS for v in VARIANTS[s].split()):
        rng = np.random.default_rng([seed, _SPEAKER, number])
        voice = EspeakVoice(
            language=ACCENTS[number % len(ACCENTS)],
            variant=variant,
            pitch=int(rng.integers(35, 66)),
            pitch_range=int(rng.integers(30, 71)),
            rate_wpm=int(rng.integers(140, 191)),
        )
        speakers.append(Speaker(f"s{number + 1:02d}", split, voice))
    return speakers


def plan_utterances(task: CommandTask, config: DemoCorpusConfig) -> list[PlannedUtterance]:
    """Return all utterances, their sentences all different; the last is the new one, by a test speaker."""
    n_by_split = {s: getattr(config, f"{s}_sentences") for s in SPLITS}
    speakers = draw_speakers(config.seed)
    readers = [
        (s, f"wav/{s.name}/{s.name}-{k + 1:03d}.wav") for s in speakers for k in range(n_by_split[s.split])
    ]
    sentences = draw_sentences(task, len(readers), np.random.default_rng([config.seed, _TEXT]))
    readers.append((speakers[-1], "new.wav"))
    sentences.append(tuple(task.new_sentence.split()))
    return [
        PlannedUtterance(number, speaker, words, Path(path))
        for number, ((speaker, path), words) in enumerate(zip(readers, sentences, strict=True))
    ]


# The sound


def _write_wavs(
    utterances: Sequence[PlannedUtterance], babble: Floats, config: DemoCorpusConfig, output_dir: Path
) -> None:
    for utterance in utterances:
        path = output_dir / utterance.wav_path
        pcm = render(utterance, babble, config)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as stream, wave.open(stream) as file:
                file.setparams((1, 2, SAMPLE_RATE, len(pcm), "NONE", "not compressed"))
                file.writeframes(pcm.astype("<i2").tobytes())
        except OSError as error:
            raise CorpusError(
                f"{path}: cannot write the recording ({error.strerror}); make room or choose another place"
            ) from error


def render(utterance: PlannedUtterance, babble: Floats, config: DemoCorpusConfig) -> NDArray[np.int16]:
    """Return the samples (T,) int16 at `SAMPLE_RATE` of an utterance: synthetic speech within noise."""
    rng = np.random.default_rng([config.seed, _UTTERANCE, utterance.number])
    speech = speak(utterance.words, utterance.speaker.voice)
    lead, tail = (rng.uniform(0.15, 0.45, size=2) * SAMPLE_RATE).astype(int)
    kind = str(rng.choice(NOISES))
    noise = draw_noise(kind, lead + len(speech) + tail, babble, rng)
    snr_db = QUIET_SNR_DB if kind == "quiet" else rng.uniform(config.low_snr_db, config.high_snr_db)
    mixed = mix_at_snr(speech, noise, lead, snr_db)
    peak = rng.uniform(0.2, 0.9)
    pcm: NDArray[np.int16] = np.rint(32767 * peak * mixed / np.abs(mixed).max()).astype(np.int16)
    return pcm


def speak(words: Sentence, voice: EspeakVoice) -> Floats:
    """Return the samples (T,) float64 at `SAMPLE_RATE` of a sentence without noise, silent ends cut off."""
    samples = espeak.synthesize(" ".join(words).lower(), voice).astype(np.float64)
    heard = np.flatnonzero(samples)
    return np.asarray(soxr.resample(samples[heard[0] : heard[-1] + 1], espeak.SAMPLE_RATE, SAMPLE_RATE))


def mix_at_snr(speech: Floats, noise: Floats, start: int, snr_db: float) -> Floats:
    """Return the noise, scaled, with the shorter speech added from sample `start` on; both are samples.

    The SNR is that of the mean powers of all of the speech and all of the noise.
    """
    power_ratio = np.mean(speech**2) / np.mean(noise**2)
    mixed = noise * np.sqrt(power_ratio / 10 ** (snr_db / 10))
    mixed[start : start + len(speech)] += speech
    return np.asarray(mixed)


def draw_noise(kind: str, n_samples: int, babble: Floats, rng: np.random.Generator) -> Floats:
    """Return a stretch (n_samples,) float64 of a kind of noise of `NOISES`, at any level."""
    if kind == "white":
        return rng.standard_normal(n_samples)
    if kind == "hum":
        return _hum(n_samples, rng)
    if kind == "babble":
        return np.take(babble, rng.integers(len(babble)) + np.arange(n_samples), mode="wrap")
    return _pink_noise(n_samples, rng)


def _pink_noise(n_samples: int, rng: np.random.Generator) -> Floats:
    """Return noise (n_samples,) whose power falls with frequency, level below 20 Hz."""
    spectrum = np.fft.rfft(rng.standard_normal(n_samples))
    frequency_hz = np.fft.rfftfreq(n_samples, 1 / SAMPLE_RATE)
    return np.asarray(np.fft.irfft(spectrum / np.sqrt(np.maximum(frequency_hz, 20.0)), n_samples))


def _hum(n_samples: int, rng: np.random.Generator) -> Floats:
    """Return the hum of the mains (n_samples,): ten harmonics of 50 or 60 Hz, the higher the weaker."""
    harmonics = np.arange(1, 11)
    amplitudes = rng.uniform(0.3, 1.0, size=10) / harmonics
    phases = rng.uniform(0, 2 * np.pi, size=10)
    cycles = rng.choice([50.0, 60.0]) * np.arange(n_samples) / SAMPLE_RATE
    return np.asarray(np.sin(2 * np.pi * np.outer(cycles, harmonics) + phases) @ amplitudes)


def babble_noise(utterances: Sequence[PlannedUtterance], seed: int) -> Floats:
    """Return `BABBLE_S` seconds (T,) of `BABBLE_VOICES` synthetic speakers at once, equally loud."""
    rng = np.random.default_rng([seed, _BABBLE])
    names = rng.choice(sorted({u.speaker.name for u in utterances}), size=BABBLE_VOICES, replace=False)
    tracks = []
    for name in names:
        own = [u for u in utterances if u.speaker.name == name]
        track = np.concatenate([speak(u.words, u.speaker.voice) for u in own])
        track = np.resize(np.roll(track, rng.integers(len(track))), BABBLE_S * SAMPLE_RATE)
        tracks.append(track / np.sqrt(np.mean(track**2)))
    return np.asarray(np.sum(tracks, axis=0))
