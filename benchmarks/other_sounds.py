"""Sounds without keywords: noises made by formula, halves of the Iban radio news; and speech in noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile

from asr.corpora.corpus import Corpus, write_corpus
from features.audio import audio_info, read_audio

LEVELS_DB = (-6, -30, -54)  # of the largest sample
NOISE_S = 60.0  # of each kind at each level
N_VOICES = 6
HALVES = ("A", "B")  # to choose thresholds by, and to test with
ECHO_DIRECT = 0.7  # amplitude of what comes straight, of all that is reflected


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
    yield "pink", pink(n, rng)
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


def write_changed(speech: Corpus, rate: int, folder: Path) -> None:
    """Write data directories of the same speech in noise, and in a room that echoes."""
    for name, change in CHANGES.items():
        utterances = []
        for utterance in speech:
            samples = read_audio(utterance.audio_path, rate, utterance.start_s, utterance.end_s)
            path = folder / name / "wav" / f"{utterance.utterance_id}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            changed = 0.5 * change(samples, np.random.default_rng(len(samples)), rate)
            soundfile.write(path, changed.astype(np.float32), rate, subtype="FLOAT")
            utterances.append(replace(utterance, audio_path=path, start_s=0.0, end_s=None))
        write_corpus(Corpus(tuple(utterances)), folder / name)


def with_noise(samples, level_db, rng):
    """Return samples with pink noise so many dB below them, both on average over the recording."""
    noise = pink(len(samples), rng)
    ratio = np.sqrt(np.mean(samples**2) / np.mean(noise**2))
    return samples + 10 ** (-level_db / 20) * ratio * noise


def with_echo(samples, rate):
    """Return samples as in a room whose sound falls by 60 dB in 0.4 s, with two thirds of it reflected."""
    n = int(0.3 * rate)
    room = np.random.default_rng(1).normal(size=n) * np.exp(-np.arange(n) / (0.06 * rate))
    room[0] = ECHO_DIRECT * np.sqrt(np.sum(room[1:] ** 2))
    return np.convolve(samples, room / np.sqrt(np.sum(room**2)))[: len(samples)]


def pink(n, rng):
    """Return n samples of noise whose power falls with the frequency."""
    spectrum = np.fft.rfft(rng.normal(size=n))
    return np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), n)


CHANGES = {
    "noise 20 dB below": lambda samples, rng, rate: with_noise(samples, 20, rng),
    "noise 10 dB below": lambda samples, rng, rate: with_noise(samples, 10, rng),
    "echo": lambda samples, rng, rate: with_echo(samples, rate),
}


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
