"""Whether anything is spoken in a recording at all; if not, it has no words, whatever the search would find.

Features are normalised, so that to a search the faintest hiss is as loud as speech. Before normalisation the
energy is tested (`features.energy`); then the emission scores: the best path through any phones and silences
must have room for a word. The limits are far from any speech (docs/results/keywords.md).
"""

from __future__ import annotations

import numpy as np

from acoustic.emissions.model_files import AcousticModel
from acoustic.hmm.graph import loop_graph
from acoustic.hmm.topology import Topology
from acoustic.hmm.viterbi import best_path
from decoder.lexicon import Lexicon
from features.energy import why_no_speech
from features.recording import Recording
from foundation.arrays import Reals

_BEAM = 400.0


def why_not_heard(recording: Recording) -> str:
    """Return why the energy of a recording is not that of speech, empty if it may be.

    Examples
    --------
    >>> from features.mfcc import MfccConfig
    >>> hiss = np.random.default_rng(0).normal(size=16000).astype(np.float32)
    >>> why_not_heard(Recording.of(0.1 * hiss, MfccConfig()))
    'its sound is steady within 0.7 dB'
    """
    return why_no_speech(recording.powers, recording.config.shift_ms / 1000)


def why_no_words(scores: Reals, model: AcousticModel, n_least: int) -> str:
    """Return why emission scores (T, S) have no room for a word, empty if they have.

    Parameters
    ----------
    scores : (T, S) log-likelihoods
    model : topology
    n_least : frames that the shortest word takes, `shortest_word`
    """
    topology = model.topology
    loop = loop_graph(topology)
    _, path = best_path(scores, loop.states.astype(np.int64), loop, topology, _BEAM)
    n_speech = int(topology.is_speech()[loop.states[path]].sum())
    if n_speech >= n_least:
        return ""
    return f"{n_speech} of its {len(scores)} frames sound like speech, a word takes {n_least}"


def shortest_word(lexicon: Lexicon, topology: Topology) -> int:
    """Return the least number of frames that a word of a lexicon takes: one for each of its states."""

    def n_states(pronunciation: tuple[str, ...]) -> int:
        units = topology.units(pronunciation)
        return sum(len(topology.phone_states[topology.phone_id(unit)]) for unit in units)

    return min(n_states(p) for word in lexicon for p in lexicon.pronunciations(word))
