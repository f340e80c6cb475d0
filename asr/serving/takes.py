"""Recordings made on the page: a folder of ``name.wav`` + ``name.txt``, as ``asr train folder`` takes it.

The prompts are kept beside them in a hidden file. Names of files are made here from the prompt and a number;
what clients send is looked up among them, and never becomes a path. A take is kept if it is long enough, loud
enough, not clipped and above the noise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
import soundfile
import soxr

from asr.corpora.sound_faults import CLIPPED_SHARE, sound_of
from asr.files import file_stem, read_json, write_json, write_text
from asr.serving.limits import BAD, CONFLICT, NOT_FOUND, UNUSABLE, Refusal
from asr.text.plain import has_digit, has_sign, plain
from features.audio import read_audio
from foundation.arrays import Floats, Singles
from foundation.errors import AsrError
from foundation.files import put_in_place

PROMPTS = ".prompts.json"
RATE = 16000  # at which takes are kept
LONGEST_PROMPT, LEAST_PROMPTS, MOST_PROMPTS = 60, 2, 200
_NUMBERED = re.compile(r"(.+)-(\d+)")

# What a take must be to be kept, by feel.
SHORTEST_S, LONGEST_S = 0.3, 20.0
SPOKEN_S = 0.1  # of sound well above the noise
QUIETEST_DB = -40.0  # peak, relative to full scale
LEAST_SNR_DB = 6.0
FULL_SCALE = 0.985  # flat tops below it are not the microphone's
_FRAME_S = 0.02
_LEAST_POWER = 1e-10


@dataclass(frozen=True)
class Levels:
    """What is measured of a take.

    Attributes
    ----------
    duration_s : its length
    peak_db : largest sample, relative to full scale
    snr_db : level of what is spoken above that of the quiet parts
    spoken_s : how much of it is nearer to the loud parts than to the quiet ones
    clipped : share of the samples in flat tops at full scale
    """

    duration_s: float
    peak_db: float
    snr_db: float
    spoken_s: float
    clipped: float


def levels_of(samples: Singles, sample_rate: int) -> Levels:
    """Return the levels of some samples (n,)."""
    duration_s = samples.size / sample_rate
    peak = float(np.abs(samples).max()) if samples.size else 0.0
    frame = max(round(_FRAME_S * sample_rate), 1)
    n_frames = samples.size // frame
    if not n_frames or not peak:
        return Levels(duration_s, float(_decibels(peak**2)), 0.0, 0.0, 0.0)
    frames = samples[: n_frames * frame].reshape(n_frames, frame)
    powers_db = _decibels(np.var(frames, axis=1, dtype=np.float64))
    quiet, loud = np.percentile(powers_db, (10, 95))
    n_spoken = int(np.count_nonzero(powers_db > (quiet + loud) / 2))
    clipped = sound_of(samples).clipped if peak >= FULL_SCALE else 0.0
    return Levels(
        duration_s, float(_decibels(peak**2)), float(loud - quiet), n_spoken * frame / sample_rate, clipped
    )


def fault_of(levels: Levels) -> str | None:
    """Return what is wrong with a take and what to do, or nothing if it can be kept."""
    if levels.duration_s < SHORTEST_S:
        return (
            f"too short: {levels.duration_s:.2f} s, expected at least {SHORTEST_S:g} s; "
            "leave a moment of quiet around the word"
        )
    if levels.duration_s > LONGEST_S:
        return too_long(levels.duration_s)
    if levels.peak_db < QUIETEST_DB:
        return (
            f"nearly silent: peak {levels.peak_db:.0f} dB, expected at least {QUIETEST_DB:.0f} dB; "
            "check the microphone, or speak closer to it"
        )
    if levels.clipped > CLIPPED_SHARE:
        return (
            f"clipped: {100 * levels.clipped:.0f} % of the samples at full scale, expected at most "
            f"{100 * CLIPPED_SHARE:.0f} %; turn the microphone down, or move away from it"
        )
    if levels.snr_db < LEAST_SNR_DB or levels.spoken_s < SPOKEN_S:
        return (
            f"no speech above the noise: {levels.snr_db:.0f} dB, expected at least {LEAST_SNR_DB:.0f} dB; "
            "speak closer to the microphone, with a moment of quiet before and after"
        )
    return None


def too_long(duration_s: float) -> str:
    """Return what is said of a take that is too long."""
    return f"too long: {duration_s:.0f} s, expected at most {LONGEST_S:g} s; say the command alone"


def _decibels(power: Floats | float) -> Floats:
    """Return powers in decibels."""
    return np.asarray(10 * np.log10(np.maximum(power, _LEAST_POWER)))


@dataclass(frozen=True)
class Take:
    """A recording of a prompt.

    Attributes
    ----------
    name : of its files, without suffix
    prompt : what is said
    levels : how loud it is
    """

    name: str
    prompt: str
    levels: Levels


class Takes:
    """The takes in a folder; used by several threads.

    Parameters
    ----------
    folder : made with the first prompt or take
    most : how many takes are kept
    """

    def __init__(self, folder: Path, most: int) -> None:
        self.folder, self.most = folder, most
        self._lock = Lock()
        self._known: dict[str, tuple[tuple[int, int], Take]] = {}  # by name, with the times of both files

    def prompts(self) -> list[str]:
        """Return the prompts in order: those that were set, else all of which there are takes."""
        path = self.folder / PROMPTS
        chosen = read_json(path) if path.is_file() else []
        known = [str(prompt) for prompt in chosen] if isinstance(chosen, list) else []
        return known or list(dict.fromkeys(take.prompt for take in self.all()))

    def set_prompts(self, prompts: Sequence[str]) -> None:
        """Keep a list of prompts; `Refusal` of the first that cannot be one."""
        kept = list(dict.fromkeys(map(checked_prompt, prompts)))
        if not LEAST_PROMPTS <= len(kept) <= MOST_PROMPTS:
            what = "at least two" if len(kept) < LEAST_PROMPTS else f"at most {MOST_PROMPTS}"
            raise Refusal(f"{len(kept)} commands, expected {what}; write {what} commands, one a line", BAD)
        with self._lock:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / PROMPTS, kept)

    def all(self) -> list[Take]:
        """Return all takes, in order of their names; those that changed are measured anew."""
        with self._lock:
            return self._all()

    def _all(self) -> list[Take]:
        """Return all takes; the lock is held."""
        found = (self._take(path) for path in sorted(self.folder.glob("*.wav")))
        return [take for take in found if take is not None]

    def _take(self, path: Path) -> Take | None:
        text = path.with_suffix(".txt")
        if not text.is_file():
            return None
        times = path.stat().st_mtime_ns, text.stat().st_mtime_ns
        if path.stem not in self._known or self._known[path.stem][0] != times:
            try:
                levels = levels_of(read_audio(path, RATE), RATE)
            except AsrError:  # `asr validate` names it
                return None
            prompt = " ".join(text.read_text(encoding="utf-8", errors="replace").split())
            self._known[path.stem] = times, Take(path.stem, prompt, levels)
        return self._known[path.stem][1]

    def add(self, prompt: str, samples: Singles, sample_rate: int) -> Take:
        """Keep samples (n,) as a take of a prompt; `Refusal` if they are of no use."""
        prompt = checked_prompt(prompt)
        levels = levels_of(samples, sample_rate)
        if fault := fault_of(levels):
            raise Refusal(fault, UNUSABLE)
        kept = soxr.resample(samples, sample_rate, RATE, quality="HQ") if sample_rate != RATE else samples
        with self._lock:
            if len(self._all()) >= self.most:
                raise Refusal(f"there are {self.most} takes, expected no more; delete some", CONFLICT)
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self._free_path(prompt)
            partial = path.with_name(f".{path.stem}.partial")
            try:
                soundfile.write(partial, np.clip(kept, -1, 1), RATE, subtype="PCM_16", format="WAV")
                write_text(path.with_suffix(".txt"), prompt + "\n")
                put_in_place(partial, path)
            finally:
                partial.unlink(missing_ok=True)
        return Take(path.stem, prompt, levels)

    def _free_path(self, prompt: str) -> Path:
        """Return a path that no take has: one more than the largest number of the prompt's takes.

        Takes of "On" and "on" are counted together: on some systems these are one name.
        """
        stem = file_stem("_".join(prompt.split()))
        matches = (_NUMBERED.fullmatch(path.stem) for path in self.folder.iterdir())
        numbers = [int(found[2]) for found in matches if found and _alike(found[1]) == _alike(stem)]
        return self.folder / f"{stem}-{max(numbers, default=0) + 1:03d}.wav"

    def path(self, name: str) -> Path:
        """Return the sound of a take; `Refusal` if there is no take of that name."""
        known = {take.name for take in self.all()}
        if name not in known:
            raise Refusal("no such take, expected one of the list; load the page again", NOT_FOUND)
        return self.folder / f"{name}.wav"

    def delete(self, name: str) -> None:
        """Remove a take's two files."""
        path = self.path(name)
        with self._lock:
            path.unlink(missing_ok=True)
            path.with_suffix(".txt").unlink(missing_ok=True)
            self._known.pop(name, None)


def _alike(name: str) -> str:
    """Return a name as systems compare it that know no capitals, and one way to write an accent."""
    return unicodedata.normalize("NFC", name).casefold()


def checked_prompt(prompt: str) -> str:
    """Return a prompt with single spaces; `Refusal` if it cannot be a transcript or is too long.

    >>> checked_prompt(" light  on")
    'light on'
    """
    found = " ".join(prompt.split())
    if not found.isprintable() or len(found) > LONGEST_PROMPT:
        raise Refusal(
            f"a command of {len(found)} characters, expected 1 to {LONGEST_PROMPT}; shorten it", BAD
        )
    wrong = [word for word in found.split() if has_digit(word) or has_sign(word) or not plain(word)]
    if wrong or not found:
        said = f'"{wrong[0]}"' if wrong else "an empty command"
        raise Refusal(f"{said}: expected words; write numbers and signs as they are spoken", BAD)
    if len(plain_words(found)) != len(found.split()):
        raise Refusal(f'"{found}": expected words with spaces between them; change it', BAD)
    return found


def plain_words(prompt: str) -> list[str]:
    """Return the words of a prompt as a lexicon has them."""
    return [plain(word) for word in prompt.split() if plain(word)]


def counts(takes: Sequence[Take], prompts: Sequence[str]) -> Mapping[str, int]:
    """Return how many takes there are of each prompt."""
    found = dict.fromkeys(prompts, 0)
    for take in takes:
        found[take.prompt] = found.get(take.prompt, 0) + 1
    return found
