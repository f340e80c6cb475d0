"""How sure a recognised word is: posteriors of the edges of a lattice.

F. Wessel, R. Schlüter, K. Macherey and H. Ney, "Confidence measures for large vocabulary continuous speech
recognition", IEEE Trans. Speech and Audio Processing 9(3), 2001.
"""

from __future__ import annotations

import numpy as np

from decoder.search.lattice import Lattice
from foundation.arrays import Floats, Ints
from foundation.compiled import njit


def edge_posteriors(lattice: Lattice, scale: float) -> Floats:
    """Return the posterior of each edge when path scores are multiplied by a scale, shape (E,) float64.

    Forward-backward over the lattice; at every frame the posteriors of the edges across it sum to one.
    """
    found: Floats = _edge_posteriors(
        lattice.sources, lattice.targets, scale * lattice.scores, scale * lattice.final_scores, lattice.start
    )
    return found


@njit(nogil=True, cache=True)
def _edge_posteriors(
    sources: Ints,
    targets: Ints,
    scores: Floats,
    final: Floats,
    start: int,
) -> Floats:
    forward = np.full(final.size, -np.inf)
    forward[start] = 0.0
    backward = final.copy()
    for edge in range(sources.size):
        target = targets[edge]
        forward[target] = np.logaddexp(forward[target], forward[sources[edge]] + scores[edge])
    for edge in range(sources.size - 1, -1, -1):
        source = sources[edge]
        backward[source] = np.logaddexp(backward[source], backward[targets[edge]] + scores[edge])
    posteriors = np.empty(sources.size)
    for edge in range(sources.size):
        score = forward[sources[edge]] + scores[edge] + backward[targets[edge]] - backward[start]
        posteriors[edge] = np.exp(min(score, 0.0))
    return posteriors


def word_confidence(lattice: Lattice, posteriors: Floats, word: int, start: int, end: int) -> float:
    """Return the confidence in [0, 1] of a word between two boundaries.

    It is the largest posterior that the word has at any of its frames, where the posterior at a frame is
    summed over all edges of the same word across that frame: C_max of Wessel et al. 2001. Unlike the sum over
    all overlapping hypotheses it does not exceed 1.
    """
    starts, ends = lattice.boundaries[lattice.sources], lattice.boundaries[lattice.targets]
    same = (lattice.words == word) & (starts < end) & (ends > start)
    change = np.zeros(end - start + 1)
    np.add.at(change, np.maximum(starts[same], start) - start, posteriors[same])
    np.add.at(change, np.minimum(ends[same], end) - start, -posteriors[same])
    return float(np.clip(np.cumsum(change)[:-1].max(), 0.0, 1.0))
