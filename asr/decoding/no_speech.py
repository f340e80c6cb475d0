"""Whether anything is spoken in a recording at all; if not, it has no words, whatever the search would find.

Features are normalised, so that to a search the faintest hiss is as loud as speech. Before normalisation the
energy is tested (`features.samples`); then the emission scores: the best path through any phones and silences
must have room for a word. The limits are far from any speech (docs/results/keywords.md).
"""

from __future__ import annotations

from acoustic.hmm.topology import Topology
from asr.decoding.scored_sound import ScoredSound
from decoder.lexicon import Lexicon
from features.recording import Recording
from features.samples import why_no_speech


def why_not_heard(recording: Recording) -> str:
    """Return why the energy of a recording is not that of speech, empty if it may be.

    Examples
    --------
    >>> import numpy as np
    >>> from features.mfcc import MfccConfig
    >>> hiss = np.random.default_rng(0).normal(size=16000).astype(np.float32)
    >>> why_not_heard(Recording.of(0.1 * hiss, MfccConfig()))
    'its sound is steady within 0.7 dB'
    """
    return why_no_speech(recording.powers, recording.config.shift_ms / 1000)


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
