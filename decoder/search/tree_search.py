"""The search over a prefix tree, from scores to word ends, around `decoder.search.tree_compiled`."""

from __future__ import annotations

import numpy as np

from decoder.search import tree_compiled
from decoder.search.compiled import Pruning, Weights
from decoder.search.tree_compiled import (
    N_COUNTS,
    N_FREE,
    STAMP,
    START,
    Ends,
    Memory,
    Offers,
    Rules,
    TreeGraph,
)
from decoder.search.tree_network import TreeNetwork
from decoder.search.word_ends import (
    OpenPath,
    SearchResult,
    WordEnds,
    best_result,
    final_log_probs_at,
    final_scores,
    first_nodes,
    open_path,
)
from foundation.arrays import Floats, Ints, Longs

N_SLOTS, N_TABLE = 4096, 16384  # the size of a hash table is a power of 2

# Of the beam that paths need which are compared without look-ahead; docs/adr/0013-prefix-tree.md.
BEAM_SHARE = 0.6
MAX_ACTIVE = 5000  # tokens in a frame, if nothing else is said; docs/adr/0013-prefix-tree.md


class TreeSearch:
    """A search over a prefix tree that moves on frame by frame.

    Parameters
    ----------
    network, weights, pruning : what is searched, and how
    look_ahead : changes what is pruned, never a score
    """

    def __init__(
        self, network: TreeNetwork, weights: Weights, pruning: Pruning, *, look_ahead: bool = True
    ) -> None:
        self._network = network
        self._rules = Rules(*weights, *pruning, look_ahead=weights.lm_scale if look_ahead else 0.0)
        self._memory, self._offers = new_memory(network.graph), new_offers()
        self._ends = new_ends(network.start_context)
        tree_compiled.begin(network.graph, self._memory, network.start_context)

    def advance(self, scores: Floats) -> None:
        """Search the next frames, given their log emission scores (T, S) float64."""
        self._memory, self._offers, self._ends = tree_compiled.advance(
            self._network.graph, scores, self._rules, self._memory, self._offers, self._ends
        )

    def open_path(self) -> OpenPath:
        """Return the best path up to here; the word it is in is known where no other begins like it."""
        counts, leaf_words = self._memory.counts, self._network.leaf_words
        return open_path(
            lambda end: int(leaf_words[self._ends.leaves[end]]),
            self._ends.boundaries,
            self._ends.predecessors,
            int(counts[tree_compiled.OPEN_END]),
            self._open_word(int(counts[tree_compiled.BEST_SLOT])),
            int(counts[tree_compiled.BOUNDARY]),
            bool(counts[tree_compiled.IS_DEAD]),
        )

    def _open_word(self, slot: int) -> int | None:
        """Return the word of the token in a slot, None if there are several."""
        graph = self._network.graph
        if slot < 0:
            return None
        node = self._memory.nodes[slot]
        words = self._network.leaf_words[graph.leaf_first[node] : graph.leaf_stop[node]]
        return int(words[0]) if (words == words[0]).all() else None

    def end(self) -> SearchResult:
        """End the search; return the word ends and the best path."""
        network, counts, rules = self._network, self._memory.counts, self._rules
        self._ends = tree_compiled.end(network.graph, rules, self._memory, self._ends)
        ends = _chosen(self._ends, np.arange(counts[tree_compiled.N_ENDS]))
        open_end = int(counts[tree_compiled.OPEN_END])
        if rules.record_beam > -np.inf:
            ends, open_end = _without_repetitions(network, ends, open_end)
        ending = final_log_probs_at(network.arc_table, ends.contexts, ends.seams)
        return best_result(
            _word_ends(network, ends),
            int(counts[tree_compiled.BOUNDARY]),
            not counts[tree_compiled.IS_DEAD],
            open_end,
            final_scores(ending, rules.lm_scale),
        )


def tree_search(
    network: TreeNetwork, scores: Floats, weights: Weights, pruning: Pruning, *, look_ahead: bool = True
) -> SearchResult:
    """Return the word ends and the best path through a (T, S) float64 matrix of log emission scores.

    ``look_ahead`` changes what is pruned, never a score.
    """
    found = TreeSearch(network, weights, pruning, look_ahead=look_ahead)
    found.advance(scores)
    return found.end()


def _without_repetitions(network: TreeNetwork, ends: Ends, open_end: int) -> tuple[Ends, int]:
    """Return of the ends that agree on word, sounds, context and boundary the best only, as lattices want.

    Words have the same end from several contexts. Only the best of those was followed any further, so all
    predecessors are kept.
    """
    begun = first_nodes(network.arc_table.seams, ends.seams[ends.predecessors], ends.leaves)
    columns = ends.boundaries, ends.leaves, ends.contexts, ends.seams, begun
    order = np.lexsort((-ends.scores, *columns[::-1]))
    keys = np.stack([column[order] for column in columns])
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
        ends.seams[chosen],
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
        seams=ends.seams,
        ends=ends.boundaries,
        predecessors=ends.predecessors,
        scores=ends.scores,
        usage=_usage(network.graph, ends.leaves),
    )


def _usage(graph: TreeGraph, leaves: Ints) -> Floats | None:
    """Return what the usage of words adds to the scores of their ends, as `WordEnds` has it."""
    if not (graph.leaf_log_probs.any() or graph.leaf_pauses.any()):
        return None
    found = np.column_stack([np.zeros(len(leaves)), graph.leaf_log_probs[leaves], graph.leaf_pauses[leaves]])
    found[leaves == START] = 0.0
    return found


# The working memory of a search over a prefix tree, allocated before it begins; all of it grows.


def new_memory(graph: TreeGraph) -> Memory:
    """Return the working memory of a search that has not started."""
    n_states = int(np.diff(graph.unit_offsets).max())
    counts = np.zeros(N_COUNTS, dtype=np.int64)
    counts[N_FREE] = N_SLOTS
    counts[STAMP] = 1  # the entries of an empty hash table have stamp 0
    return Memory(
        nodes=np.zeros(N_SLOTS, dtype=np.int32),
        contexts=np.zeros(N_SLOTS, dtype=np.int32),
        arc_first=np.zeros(N_SLOTS, dtype=np.int32),
        arc_stop=np.zeros(N_SLOTS, dtype=np.int32),
        ahead=np.zeros(N_SLOTS),
        entry_scores=np.full(N_SLOTS, -np.inf),
        entry_ends=np.zeros(N_SLOTS, dtype=np.int32),
        best=np.full(N_SLOTS, -np.inf),
        scores=np.full((N_SLOTS, n_states), -np.inf),
        ends=np.zeros((N_SLOTS, n_states), dtype=np.int32),
        active=np.zeros(N_SLOTS, dtype=np.int32),
        free=np.arange(N_SLOTS, dtype=np.int32),
        keys=np.zeros(N_TABLE, dtype=np.int64),
        slots=np.zeros(N_TABLE, dtype=np.int32),
        stamps=np.zeros(N_TABLE, dtype=np.int64),
        junction_contexts=np.zeros(N_SLOTS, dtype=np.int32),
        junction_seams=np.zeros(N_SLOTS, dtype=np.int32),
        junction_scores=np.zeros((N_SLOTS, 3)),
        junction_ends=np.zeros((N_SLOTS, 3), dtype=np.int32),
        counts=counts,
        levels=np.full(2, -np.inf),
    )


def new_offers() -> Offers:
    """Return room for the offers of a boundary."""
    return Offers(
        nodes=np.empty(N_SLOTS, dtype=np.int32),
        contexts=np.empty(N_SLOTS, dtype=np.int32),
        arc_first=np.empty(N_SLOTS, dtype=np.int32),
        arc_stop=np.empty(N_SLOTS, dtype=np.int32),
        scores=np.empty(N_SLOTS),
        emissions=np.empty(N_SLOTS),
        ends=np.empty(N_SLOTS, dtype=np.int32),
    )


def new_ends(start_context: int) -> Ends:
    """Return word ends with only the start of the sentence in them, and room for more."""
    ends = Ends(
        leaves=np.zeros(N_SLOTS, dtype=np.int32),
        contexts=np.zeros(N_SLOTS, dtype=np.int32),
        seams=np.zeros(N_SLOTS, dtype=np.int32),
        boundaries=np.zeros(N_SLOTS, dtype=np.int32),
        predecessors=np.zeros(N_SLOTS, dtype=np.int32),
        scores=np.zeros(N_SLOTS),
    )
    ends.leaves[0], ends.contexts[0], ends.predecessors[0] = START, start_context, -1
    return ends
