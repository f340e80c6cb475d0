"""Whether anything is spoken in a recording at all; if not, it has no words, whatever the search would find.

Features are normalised, so that to a search the faintest hiss is as loud as speech. Two tests are made before
normalisation, of energy: speech is not so faint that 16 bits cannot hold it, and it rises and falls. One is
made on the emission scores: the best path through any phones and silences must have room for a word.
Their limits are far from any speech (docs/results/keywords.md).
"""

from __future__ import annotations

import numpy as np

from acoustic.hmm.topology import Topology
from asr.decoding.scored_sound import ScoredSound
from decoder.lexicon import Lexicon
from features.recording import Recording
from foundation.arrays import Reals

FAINTEST_DB = -90.0  # of the loudest part of a recording; one step of 16 bits to and fro has -88
STEADIEST_DB = 2.0  # between loud and soft parts of a recording
BRIEFLY_STEADIEST_DB = 0.5  # of a recording that may be one vowel
BRIEF_S = 0.3
_TOO_BRIEF_S = 0.1  # to tell; hardly any word fits in
_SMOOTHED = 5  # frames whose mean power is taken


def why_not_heard(recording: Recording) -> str:
    """Return why the energy of a recording is not that of speech, empty if it may be.

    Examples
    --------
    >>> from features.mfcc import MfccConfig
    >>> hiss = np.random.default_rng(0).normal(size=16000).astype(np.float32)
    >>> why_not_heard(Recording.of(0.1 * hiss, MfccConfig()))
    'its sound is steady within 0.7 dB'
    """
    soft, loud, loudest = _levels_db(recording.powers)
    if loudest < FAINTEST_DB:
        return f"its loudest part has {loudest:.0f} dB of full scale"
    duration_s = len(recording) * recording.config.shift_ms / 1000
    limit = BRIEFLY_STEADIEST_DB if duration_s < BRIEF_S else STEADIEST_DB
    if loud - soft < limit and duration_s >= _TOO_BRIEF_S:
        return f"its sound is steady within {loud - soft:.1f} dB"
    return ""


def _levels_db(powers: Reals) -> tuple[float, float, float]:
    """Return the levels that 5 and 95 % and all of the powers (T,) do not pass, in dB of full scale."""
    width = min(_SMOOTHED, len(powers))
    smoothed = np.convolve(powers, np.full(width, 1 / width), "valid")
    quantiles = np.percentile(smoothed, (5, 95, 100))
    soft, loud, loudest = 10 * np.log10(np.maximum(quantiles, np.finfo(np.float32).tiny))
    return float(soft), float(loud), float(loudest)


def why_no_words(sound: ScoredSound, n_least: int) -> str:
    """Return why a sound has no room for a word, empty if it has.

    Parameters
    ----------
    sound : emission scores of a recording
    n_least : frames that the shortest word takes, `shortest_word`
    """
    n_speech = int(sound.is_speech.sum())
    if n_speech >= n_least:
        return ""
    return f"{n_speech} of its {len(sound.scores)} frames sound like speech, a word takes {n_least}"


def shortest_word(lexicon: Lexicon, topology: Topology) -> int:
    """Return the least number of frames that a word of a lexicon takes: one for each of its states."""

    def n_states(pronunciation: tuple[str, ...]) -> int:
        units = topology.units(pronunciation)
        return sum(len(topology.phone_states[topology.phone_id(unit)]) for unit in units)

    return min(n_states(p) for word in lexicon for p in lexicon.pronunciations(word))
