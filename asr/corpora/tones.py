"""A tone language: five sounds, four words, any number of speakers, made of sines and noise in a moment.

It is for trying an installation and for tests; nobody speaks it.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import soundfile

from foundation.arrays import Floats, Singles

RATE = 16000
WORDS = ("ASA", "IMI", "SUS", "MAUI")
FORMANTS_HZ = {"A": (700, 1200, 2600), "I": (300, 2300, 3000), "U": (320, 800, 2300), "M": (250, 1000, 2100)}


def speak(words: tuple[str, ...], scale: float, rng: np.random.Generator) -> Singles:
    """Return words (n_samples,) by a speaker whose formants are ``scale`` times the usual ones."""
    pieces = [np.zeros(RATE // 10)]
    for word in words:
        pieces += [_sound(letter, scale, rng) for letter in word]
        pieces.append(np.zeros(RATE // 20))
    signal = np.concatenate([*pieces, np.zeros(RATE // 20)])
    return (signal + 1e-3 * rng.normal(size=len(signal))).astype(np.float32)


def _sound(letter: str, scale: float, rng: np.random.Generator) -> Floats:
    """Return a hiss for S, three sines for other letters."""
    t = np.arange(int(rng.uniform(0.06, 0.1) * RATE)) / RATE
    if letter == "S":
        return np.diff(0.1 * rng.normal(size=len(t) + 1)) * np.hanning(len(t))
    loud = 0.05 if letter == "M" else 0.15
    phases = rng.uniform(0, 2 * np.pi, 3)
    tones = [np.sin(2 * np.pi * f * scale * t + p) for f, p in zip(FORMANTS_HZ[letter], phases, strict=True)]
    return np.asarray(loud * np.sum(tones, axis=0) * np.hanning(len(t)) ** 0.3)


def write_tones(directory: Path, *, n_speakers: int = 8, n_each: int = 5) -> Path:
    """Write a folder of ``speaker N/name.wav`` + ``name.txt`` and return it; the same bytes each time."""
    rng = np.random.default_rng(7)
    pairs = itertools.cycle(itertools.permutations(WORDS, 2))
    for s in range(n_speakers):
        folder = directory / f"speaker {s}"  # a space in every path
        folder.mkdir(parents=True)
        for n in range(n_each):
            words = (*next(pairs), WORDS[(s + n) % 4])[: 2 + n % 2]
            soundfile.write(folder / f"{n}.wav", speak(words, 0.9 + 0.03 * s, rng), RATE)
            (folder / f"{n}.txt").write_text(" ".join(words) + "\n", encoding="utf-8", newline="\n")
    return directory
