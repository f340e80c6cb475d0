"""Sounds in which no keyword is said: noises made by formula, and halves of the Iban radio news."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

from asr.corpora.corpus import Corpus
from features.audio import audio_info, read_audio

LEVELS_DB = (-6, -30, -54)  # of the largest sample
NOISE_S = 60.0  # of each kind at each level
N_VOICES = 6
HALVES = ("A", "B")  # to choose thresholds by, and to test with


def write_noises(folder: Path, rate: int, speech: Corpus, seed: int) -> None:
    """Write white, pink, hum, clicks and babble of overlapped speech, at several levels."""
    rng = np.random.default_rng(seed)
    for name, samples in noises(rate, [read_audio(u.audio_path, rate) for u in speech], rng):
        for level in LEVELS_DB:
            scaled = 10 ** (level / 20) * samples / np.abs(samples).max()
            target = folder / f"{name}{level}" / "noise.wav"
            target.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(target, scaled.astype(np.float32), rate)


def noises(rate, speech, rng):
    """Yield each kind of noise with its samples."""
    n = int(NOISE_S * rate)
    time_s, faint = np.arange(n) / rate, 1e-3 * rng.normal(size=n)
    yield "white", rng.normal(size=n)
    spectrum = np.fft.rfft(rng.normal(size=n))
    yield "pink", np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), n)
    phases = rng.uniform(0, 2 * np.pi, 5)
    overtones = zip((1, 2, 3, 5, 7), phases, strict=True)
    yield "hum", faint + sum(np.sin(2 * np.pi * 50 * k * time_s + p) / k for k, p in overtones)
    clicks, decay = faint.copy(), np.exp(-np.arange(200) / 20)
    for start in rng.integers(0, n - 200, int(2 * NOISE_S)):
        clicks[start : start + 200] += rng.uniform(0.2, 1) * decay * rng.normal(size=200)
    yield "clicks", clicks
    yield "babble", sum(voice(speech, n, rng) for _ in range(N_VOICES))


def voice(speech, n, rng):
    """Return n samples of utterances one behind the other, in a random order."""
    row = []
    while sum(map(len, row)) < n:
        row.append(speech[rng.integers(len(speech))])
    return np.concatenate(row)[:n]


def link_iban(iban: Path, folder: Path, minutes: float) -> None:
    """Link recordings of the Iban corpus into folders ``A/SPEAKER`` and ``B/SPEAKER``, no speaker in both."""
    speakers = sorted(path for path in (iban / "data" / "wav").iterdir() if path.is_dir())
    for place, half in enumerate(HALVES):
        files = [file for speaker in speakers[place::2] for file in sorted(speaker.glob("*.wav"))]
        order, seconds = np.random.default_rng(place).permutation(len(files)), 0.0
        for n in order:
            target = folder / half / files[n].parent.name / files[n].name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(files[n].absolute())
            seconds += audio_info(files[n]).duration_s
            if seconds > 60 * minutes:
                break
