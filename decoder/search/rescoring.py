"""The best words of a lattice with other weights than those it was made with.

Acoustic and grammar scores, words and silences of an edge count separately, so other weights need no search:
one pass over the edges finds the best of all paths in the lattice, exactly. That is the best path of the
search, too, as far as the lattice holds it: words start where they do with the lattice's own weights (the
word-pair approximation, `decoder.search.lattice`), and what was outside its beam is missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from decoder.search.compiled import Weights
from decoder.search.lattice import Lattice
from foundation.arrays import Floats, Ints
from foundation.compiled import njit


@dataclass(frozen=True, eq=False)
class WeighedLattice:
    """A lattice with the weights it was made with, and the names (W,) of its words."""

    lattice: Lattice
    weights: Weights
    names: tuple[str, ...]

    def best_words(self, weights: Weights) -> tuple[str, ...]:
        """Return the words, without silences, of the best path with some weights."""
        lattice, own = self.lattice, self.weights
        finals = np.isfinite(lattice.final_scores)  # 0 * -inf is not a number
        longer = np.where(finals, lattice.final_log_probs, 0.0) * (weights.lm_scale - own.lm_scale)
        path = _best_path(
            lattice.sources,
            lattice.targets,
            lattice.words,
            lattice.scores,
            lattice.log_probs,
            lattice.final_scores + longer,
            lattice.start,
            weights.lm_scale - own.lm_scale,
            weights.word_penalty - own.word_penalty,
            weights.silence_log_prob - own.silence_log_prob,
        )
        words = lattice.words[path]
        return tuple(self.names[word] for word in words[words >= 0])


@njit(nogil=True, cache=True)
def _best_path(
    sources: Ints,
    targets: Ints,
    words: Ints,
    scores: Floats,
    log_probs: Floats,
    final: Floats,
    start: int,
    more_scale: float,
    more_penalty: float,
    more_silence: float,
) -> Ints:
    """Return the edges of the best path, in order, when so much is added to the weights."""
    arrived = np.full(final.size, -np.inf)
    before = np.full(final.size, -1, dtype=np.int32)
    arrived[start] = 0.0
    for edge in range(sources.size):
        added = more_penalty if words[edge] >= 0 else more_silence
        score = arrived[sources[edge]] + scores[edge] + more_scale * log_probs[edge] + added
        if score > arrived[targets[edge]]:
            arrived[targets[edge]], before[targets[edge]] = score, edge
    node = np.argmax(arrived + final)
    n_edges, path = 0, np.empty(final.size, dtype=np.int32)
    while node != start:
        path[n_edges] = before[node]
        node = sources[before[node]]
        n_edges += 1
    return path[:n_edges][::-1].copy()
