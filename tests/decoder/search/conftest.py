"""Lattices of a loop of 40 words, and one small enough to be written down."""

import numpy as np
import pytest

from decoder import Decoder, WordLoop
from decoder.search.compiled import Pruning, Weights
from decoder.search.lattice import Lattice, build_lattice
from decoder.search.viterbi import search


@pytest.fixture
def lattice_of(task):
    decoder = Decoder(task.lexicon, WordLoop(task.lexicon.words), task.topology)
    weights = Weights(1.0, 0.0, 0.0)

    def make(scores, beam):
        result = search(decoder.network, scores, weights, Pruning(400.0, 0, beam))
        return result, build_lattice(decoder.network.arc_table, result, weights, beam)

    return make


@pytest.fixture
def by_hand():
    """Return a lattice of two words (0, 1) and silence over four frames.

    Its paths: 0 or 1 (-1, -2), then 1 (-2), silence and 1 (-2.5), or 0 (-5); or one long 0 (-7.5).
    """
    return Lattice(
        boundaries=np.array([0, 2, 3, 4], dtype=np.int32),
        final_scores=np.array([-np.inf, -np.inf, -np.inf, 0.0]),
        start=0,
        sources=np.array([0, 0, 0, 1, 1, 1, 2], dtype=np.int32),
        targets=np.array([1, 1, 3, 3, 2, 3, 3], dtype=np.int32),
        words=np.array([0, 1, 0, 1, -1, 0, 1], dtype=np.int32),
        scores=np.array([-1.0, -2.0, -7.5, -2.0, -0.5, -5.0, -2.0]),
        log_probs=np.array([-0.7, -0.2, -1.0, -1.0, 0.0, -0.1, -0.5]),
        final_log_probs=np.array([-np.inf, -np.inf, -np.inf, -0.25]),
        beam=10.0,
    )
