"""What is wrong with the sound of recordings: nearly silent, clipped, or with nobody who speaks in them.

Utterances with a transcript in whose recordings nothing is spoken, as far as their energy tells, are not left
out: that is for who knows the recordings to decide. Digital silence is an error elsewhere, for features
cannot be made of it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from asr.corpora.utterances import Corpus, Utterance
from asr.progress import progress_bar
from features.audio import audio_info, read_audio
from foundation.arrays import Singles
from foundation.errors import AsrError
from foundation.threads import parallel_map

logger = logging.getLogger(__name__)

CLIPPED_SHARE = 0.01  # of the samples; of undistorted speech less than a thousandth is in flat tops; by feel
QUIETER_DB = 30.0  # than the median recording: no more than noise is left at 16 bits; by feel
_LEAST_POWER = 1e-12
_LEAST_S = 0.025  # a frame
_FEW_RECORDINGS = 5000  # that are read in moments; by feel
_N_NAMED = 10  # by feel


class Sound(NamedTuple):
    """The level of an utterance, and how much of it is clipped."""

    level_db: float  # mean power, relative to full scale
    clipped: float  # share of the samples in flat tops at the limit


def sound_of(samples: Singles) -> Sound:
    """Return the level of some samples (n,), and the share that is in runs of the largest or least value.

    >>> sound_of(np.array([0.0, 0.5, 0.5, 0.5, -0.1, -0.2, 0.1, 0.2], dtype=np.float32)).clipped
    0.375
    """
    at_limit = (samples == samples.max()) | (samples == samples.min())
    with_next = np.append(at_limit[:-1] & (samples[:-1] == samples[1:]), False)
    flat = with_next | np.roll(with_next, 1)
    power = float(np.mean(np.square(samples - samples.mean(), dtype=np.float64)))
    return Sound(10 * np.log10(power + _LEAST_POWER), float(flat.mean()))


def sounds(corpus: Corpus) -> dict[str, Sound]:
    """Return level and clipping of each utterance that can be read."""

    def one(utterance: Utterance) -> Sound | None:
        try:
            return sound_of(read_audio(utterance.audio_path, None, utterance.start_s, utterance.end_s))
        except AsrError:  # reported when features are computed
            return None

    found = progress_bar(parallel_map(one, corpus.utterances), len(corpus), "levels of recordings")
    return {u.utterance_id: sound for u, sound in zip(corpus, found, strict=True) if sound is not None}


def can_be_used(corpus: Corpus) -> frozenset[str]:
    """Return the utterances that have words and a recording, by what takes moments to find.

    The sound itself is read of small corpora alone; what nobody looks at here is found with the features.
    """
    is_small = len(corpus) <= _FEW_RECORDINGS

    def one(utterance: Utterance) -> bool:
        try:
            rate = audio_info(utterance.audio_path).sample_rate
            if is_small:
                samples = read_audio(utterance.audio_path, None, utterance.start_s, utterance.end_s)
                return bool(len(samples) >= _LEAST_S * rate and samples.any())
        except AsrError:  # reported when features are computed
            return False
        return True

    spoken = [u for u in corpus if u.words]
    found = zip(spoken, parallel_map(one, spoken), strict=True)
    return frozenset(u.utterance_id for u, is_usable in found if is_usable)


def sound_faults(measured: Mapping[str, Sound]) -> dict[str, str]:
    """Return what is wrong with the sound of some utterances."""
    if not measured:
        return {}
    median_db = float(np.median([sound.level_db for sound in measured.values()]))
    faults: dict[str, str] = {}
    for utterance_id, sound in measured.items():
        if sound.level_db < median_db - QUIETER_DB:
            faults[utterance_id] = (
                f"nearly silent: {median_db - sound.level_db:.0f} dB below the median level"
            )
        elif sound.clipped > CLIPPED_SHARE:
            faults[utterance_id] = f"clipped: {100 * sound.clipped:.0f} % of samples at the limit"
    return faults


def no_speech(utterance: Utterance, why: str) -> str:
    """Return what is wrong with a transcribed utterance without speech, in one line.

    ``why`` is what `features.samples` says of its sound.
    """
    n_words = len(utterance.spoken)
    expected = f"the {n_words} words of its transcript" if n_words > 1 else "the word of its transcript"
    what = f"{utterance.audio_path}: no speech in it, expected {expected}"
    return f"{what}; {why}; listen to it, record it again or remove it"


def warn_of_silences(found: Sequence[tuple[Utterance, str]]) -> None:
    """Log a line for each transcribed utterance without speech; of many the first, and how many more."""
    silent = [f"{u.utterance_id}: {no_speech(u, why)}" for u, why in found if u.spoken]
    for line in silent[:_N_NAMED]:
        logger.warning("%s", line)
    for line in silent[_N_NAMED:]:
        logger.info("%s", line)
    if len(silent) > _N_NAMED:
        logger.warning(
            "no speech in %d more utterances with a transcript; asr validate lists all",
            len(silent) - _N_NAMED,
        )
