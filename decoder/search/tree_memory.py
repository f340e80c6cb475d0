"""The working memory of a search over a prefix tree, allocated before it begins; all of it grows."""

from __future__ import annotations

import numpy as np

from decoder.search.tree_compiled import N_COUNTS, N_FREE, STAMP, START, Ends, Memory, Offers, TreeGraph

N_SLOTS, N_TABLE = 4096, 16384  # the size of a hash table is a power of 2


def new_memory(graph: TreeGraph) -> Memory:
    """Return the working memory of a search that has not started."""
    n_contexts = graph.final_log_probs.size
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
        context_scores=np.full((n_contexts, 2), -np.inf),
        context_ends=np.full((n_contexts, 2), -1, dtype=np.int32),
        reached=np.zeros(n_contexts, dtype=np.int32),
        is_reached=np.zeros(n_contexts, dtype=np.bool_),
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
        boundaries=np.zeros(N_SLOTS, dtype=np.int32),
        predecessors=np.zeros(N_SLOTS, dtype=np.int32),
        scores=np.zeros(N_SLOTS),
    )
    ends.leaves[0], ends.contexts[0], ends.predecessors[0] = START, start_context, -1
    return ends
