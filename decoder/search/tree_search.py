"""The search over a prefix tree, from scores to word ends, around `decoder.search.tree_compiled`."""

from __future__ import annotations

import numpy as np

from decoder.search.compiled import Pruning, Weights
from decoder.search.tree_compiled import START, Ends, Rules, tree_viterbi
from decoder.search.tree_memory import new_ends, new_memory, new_offers
from decoder.search.tree_network import TreeNetwork
from decoder.search.word_ends import SearchResult, WordEnds, best_result, final_scores
from foundation.arrays import Floats, Longs

BEAM_SHARE = 0.6  # of the beam that paths need which are compared without look-ahead
MAX_ACTIVE = 5000  # tokens in a frame, if nothing else is said


def tree_search(
    network: TreeNetwork, scores: Floats, weights: Weights, pruning: Pruning, *, look_ahead: bool = True
) -> SearchResult:
    """Return the word ends and the best path through a (T, S) float64 matrix of log emission scores.

    ``look_ahead`` changes what is pruned, never a score.
    """
    graph = network.graph
    rules = Rules(*weights, *pruning, look_ahead=weights.lm_scale if look_ahead else 0.0)
    ends, n_ends, last_boundary, open_end = tree_viterbi(
        graph,
        network.start_context,
        scores,
        rules,
        new_memory(graph),
        new_offers(),
        new_ends(network.start_context),
    )
    ends = _chosen(ends, np.arange(n_ends))
    if pruning.record_beam > -np.inf:
        ends, open_end = _without_repetitions(ends, open_end)
    return best_result(
        _word_ends(network, ends),
        last_boundary,
        len(scores),
        open_end,
        final_scores(graph.final_log_probs, weights.lm_scale),
    )


def _without_repetitions(ends: Ends, open_end: int) -> tuple[Ends, int]:
    """Return of the ends that agree on word, context and boundary the best only, as lattices want them.

    Words have the same end from several contexts. Only the best of those was followed any further, so all
    predecessors are kept.
    """
    order = np.lexsort((-ends.scores, ends.contexts, ends.leaves, ends.boundaries))
    keys = np.stack([ends.boundaries[order], ends.leaves[order], ends.contexts[order]])
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    kept = np.sort(order[is_first])
    numbers: Longs = np.cumsum(np.bincount(kept, minlength=len(order))) - 1
    predecessors = numbers[ends.predecessors[kept]].astype(np.int32)
    predecessors[0] = -1
    return _chosen(ends, kept)._replace(predecessors=predecessors), int(numbers[open_end])


def _chosen(ends: Ends, chosen: Longs) -> Ends:
    """Return some of the word ends."""
    return Ends(
        ends.leaves[chosen],
        ends.contexts[chosen],
        ends.boundaries[chosen],
        ends.predecessors[chosen],
        ends.scores[chosen],
    )


def _word_ends(network: TreeNetwork, ends: Ends) -> WordEnds:
    """Return the word ends with their words; labels are leaves, destinations contexts."""
    words = np.where(ends.leaves == START, -1, network.leaf_words[ends.leaves])
    return WordEnds(
        words=words.astype(np.int32),
        labels=ends.leaves,
        destinations=ends.contexts,
        contexts=ends.contexts,
        ends=ends.boundaries,
        predecessors=ends.predecessors,
        scores=ends.scores,
    )
